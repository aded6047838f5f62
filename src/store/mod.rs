//! Stores of table histories: implementations of [`Store`](crate::history::Store).
//!
//! Input: rows of [`history`](crate::history). Output: the same rows, in order; a write is stored
//! completely or not at all. Called by `python`, which parses the user's URL.
//!
//! | file | stores them |
//! |---|---|
//! | `sqlite.rs` | in an SQLite database: one file |
//! | `sqlite_sql.rs` | (its statements) |
//! | `lock_file.rs` | (its lock: one writer per source) |
//! | `server.rs` | in a database of a MySQL or MariaDB server |
//! | `server_lock.rs` | (its lock) |
//! | `server_queries.rs` | (its queries, on one connection) |
//! | `server_sql.rs` | (its statements) |

mod lock_file;
mod server;
mod server_lock;
mod server_queries;
mod server_sql;
mod sqlite;
mod sqlite_sql;

pub use server::ServerStore;
pub use server_queries::SERVER_VERSION;
pub use sqlite::SqliteStore;
pub use sqlite_sql::FILE_VERSION;
