//! MySQL and MariaDB change data, straight into Arrow.
//!
//! ```text
//! file ── events ── walk (source) ── segments ── workers (reader) ── in order ── ChangeBatch (Arrow)
//!                   headers only                 pure decoding
//! ```
//!
//! Each folder may use only those below it. CONTRIBUTING.md contains the list in this order, with
//! the contents of each folder; `tests/it/layers.rs` checks it.

pub mod baseline;
pub mod binlog;
pub mod cancel;
pub mod change;
pub mod charset;
pub mod columnar;
pub mod ddl;
pub mod error;
pub mod export;
pub mod filter;
pub mod history;
pub mod index;
pub mod limits;
pub mod load;
pub mod net;
pub mod past;
pub mod platform;
pub mod position;
pub mod protocol;
pub mod reader;
pub mod schema;
pub mod source;
pub mod store;
pub mod undo;
pub mod url;
pub mod value;
pub mod verify;
pub mod wire;

#[cfg(feature = "python")]
mod python;

pub use error::{DecodeError, Error, ErrorKind, Result};
