//! The rows of a server's tables, in the form of the change stream.
//!
//! Input: a connection. Output: record batches of inserts, of the types that streamed rows of the
//! table have. Called by `python`.
//!
//! | file | does |
//! |---|---|
//! | `snapshot.rs` | opens a snapshot, and determines its position in the log |
//! | `rows.rs` | reads the rows of a table in the snapshot |
//! | `query.rs` | the query of a table's rows |
//! | `members.rs` | completes members of ENUM and SET columns |
//! | `image.rs`, `temporal.rs`, `decimal.rs` | convert rows of the binary protocol to row images |
//!
//! <https://dev.mysql.com/doc/dev/mysql-server/latest/page_protocol_binary_resultset.html>

mod decimal;
mod image;
mod members;
mod query;
mod rows;
mod snapshot;
mod temporal;

pub use rows::{Killer, TableRequest, TableRows};
pub use snapshot::{Locks, Snapshot};
