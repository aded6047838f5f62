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
//! | `key.rs` | the order of a table's rows, and the conditions of a part |
//! | `members.rs` | completes members of ENUM and SET columns |
//! | `ranges.rs` | divides a table's rows into ranges of its key |
//! | `between.rs` | values between two values of a key |
//! | `range.rs` | reads the rows of a range |
//! | `join.rs` | an initial load: chunks of rows, and the log between their snapshots |
//! | `load_options.rs` | the options of a load |
//! | `load_source.rs` | what the join reads: the chunks and the log of a server |
//! | `loader.rs` | opens the chunks one after another |
//! | `query_errors.rs` | errors of queries whose table a statement changed |
//! | `chunk.rs` | reads a chunk in a thread |
//! | `certificate.rs` | the certificate of a load: counts and hashes of its chunks |
//! | `row_hash.rs` | the bytes of rows, and their hash |
//! | `pace.rs` | limits the number of rows per second |
//! | `progress.rs` | reports the progress |
//! | `killer.rs` | ends a query that is not needed any more |
//! | `source_log.rs` | the place of a replica's snapshot in the log of its source |
//! | `session.rs` | the settings of the session |
//! | `tables.rs` | the tables of a load |
//! | `image.rs`, `temporal.rs`, `decimal.rs` | convert rows of the binary protocol to row images |
//!
//! <https://dev.mysql.com/doc/dev/mysql-server/latest/page_protocol_binary_resultset.html>

mod between;
mod certificate;
mod chunk;
mod decimal;
mod image;
mod join;
mod key;
mod killer;
mod load_options;
mod load_source;
mod loader;
mod members;
mod pace;
mod progress;
mod query;
mod query_errors;
mod range;
mod ranges;
mod row_hash;
mod rows;
mod session;
mod snapshot;
mod source_log;
mod tables;
mod temporal;

pub use certificate::{CERTIFICATE_VERSION, CertificateFile};
pub use join::load;
pub use killer::Killer;
pub use load_options::{LoadOptions, RowsFrom};
pub use query::Part;
pub use range::{TableRange, read_range};
pub use ranges::{TableRanges, table_identity};
pub use row_hash::{RowBytes, hash_rows};
pub use rows::{TableRequest, TableRows};
pub use snapshot::{Locks, Snapshot};
pub use source_log::SourceLog;
pub use tables::selected;

/// The target of log messages.
const LOG: &str = "binarrow::load";
