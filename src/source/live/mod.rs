//! A server's log while it is written: its files as they come, for the cutter to cut like any others.
//!
//! | file | does |
//! |---|---|
//! | `stream.rs` | the dump, connected anew when the connection is lost |
//! | `file.rs` | one file of the log as an input |
//! | `spool.rs` | what came and may be asked for again |
//! | `feed.rs` | the files one after the other |
//! | `again.rs` | a part of a file a second time |

mod again;
mod feed;
mod file;
mod spool;
mod stream;

pub use feed::{LiveFeed, LiveStart};
pub use stream::{Connector, LiveControl, LiveOptions};
