//! Functions that Unix and Windows implement in different ways. Both files contain the same ones; no other file of `src/` depends on
//! the system.

#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

#[cfg(unix)]
pub use unix::{
    connect_unix, file_number, for_owner_alone, has_bytes, host_name, read_at, read_exact_at, send,
    write_all_at,
};
#[cfg(windows)]
pub use windows::{
    connect_unix, file_number, for_owner_alone, has_bytes, host_name, read_at, read_exact_at, send,
    write_all_at,
};
