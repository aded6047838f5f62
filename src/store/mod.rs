//! Where table histories are kept: implementations of [`Store`](crate::history::Store).
//!
//! In: rows of [`history`](crate::history), which know nothing of how they are kept. Out: the same rows, in order, whole or not at
//! all. Called by `python`, which knows what a user's URL means.
//!
//! | file | keeps them |
//! |---|---|
//! | `sqlite.rs` | in an SQLite database: one file |
//! | `lock_file.rs` | (its lock: one writer a source) |
//! | `server.rs` | in a database of a MySQL or MariaDB server |
//! | `server_lock.rs` | (its lock) |
//! | `server_sql.rs` | (its statements) |

mod lock_file;
mod server;
mod server_lock;
mod server_sql;
mod sqlite;

pub use server::ServerStore;
pub use sqlite::SqliteStore;
