//! A server's log while it is written: its files, one after another, as the server's dump sends them.
//!
//! | file | does |
//! |---|---|
//! | `options.rs` | how a read connects, and what it requests |
//! | `start.rs` | the start of the dump |
//! | `stream.rs` | the dump, which is requested again if the connection is lost |
//! | `connecting.rs` | its connections, which are tried again as long as the cause of a failure may pass |
//! | `server_files.rs` | checks if the server's files contain a position |
//! | `file.rs` | the events of one file |
//! | `goal.rs` | the position that must be reached, and a log that ends before it |
//! | `first_events.rs` | the first events of a file |
//! | `file_start.rs` | the position at the start of a file, with the GTIDs before it |
//! | `feed.rs` | the files one after another, of one server or of several |
//! | `counters.rs` | counters of a read, which other threads can read |

mod connecting;
mod counters;
mod feed;
mod file;
mod file_start;
mod first_events;
mod goal;
mod options;
mod server_files;
mod start;
mod stream;

pub(crate) use connecting::Connecting;
pub use counters::LiveCounters;
pub use feed::LiveFeed;
pub use file_start::file_start;
pub use options::{Connector, ForeignKeyQuestion, LiveOptions};
pub use start::LiveStart;

/// The target of log messages.
pub(super) const LOG: &str = "binarrow::live";
