//! A server's log while it is written: its files as they come, to be read like any others.
//!
//! | file | does |
//! |---|---|
//! | `start.rs` | where it begins |
//! | `stream.rs` | the dump, connected anew when the connection is lost |
//! | `connecting.rs` | its connections, made for as long as what is wrong may pass |
//! | `file.rs` | one file of the log as an input |
//! | `spool.rs` | what came and may be asked for again |
//! | `goal.rs` | a log that ends before what must be reached |
//! | `file_start.rs` | where a file begins, and what stands before it by GTID |
//! | `feed.rs` | the files one after the other, of one server or of those it goes on at |
//! | `control.rs` | what others see of it, and how they end it |

mod connecting;
mod control;
mod feed;
mod file;
mod file_start;
mod goal;
mod spool;
mod start;
mod stream;

pub use control::LiveControl;
pub use feed::LiveFeed;
pub use file_start::file_start;
pub use start::LiveStart;
pub(super) use stream::LOG;
pub use stream::{Connector, ForeignKeyQuestion, LiveOptions};
