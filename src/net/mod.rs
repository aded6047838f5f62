//! The network: sockets, TLS, packets, and connections that are logged in and execute queries. All
//! I/O with servers.
//!
//! Input: options of a connection. Output: rows of text, and events of a dump. Called by `source`
//! and `python`.
//!
//! | file | adds |
//! |---|---|
//! | `socket.rs` | TCP and Unix sockets, time limits |
//! | `tls.rs` | rustls, and the certificates that are accepted |
//! | `pem.rs` | certificates and keys, as files or as text |
//! | `read_ahead.rs` | a socket under TLS, read in large pieces |
//! | `transport.rs` | a socket, with or without TLS |
//! | `packets.rs` | packets, compressed or not |
//! | `connection.rs`, `options.rs` | the login; queries |
//! | `rows.rs` | rows of a query in the binary protocol, one by one |
//! | `server.rs` | the identity of the server, and the end of its log |
//! | `visible.rs` | a position of its log such that a later SELECT sees all transactions before it |
//! | `dump.rs`, `dump_event.rs`, `dump_place.rs` | the events of its log, and their files and offsets |
//! | `log_range.rs` | the events between two positions |

mod connection;
mod dump;
mod dump_event;
mod dump_place;
mod log_range;
mod options;
mod packets;
mod pem;
mod read_ahead;
mod rows;
mod server;
mod socket;
mod tls;
mod transport;
mod visible;

pub use connection::Connection;
pub use dump::{Dump, DumpOptions, DumpStart, random_id};
pub(crate) use dump_event::{
    NextFile, artificial_body, complete_event, is_opening, is_own, next_file, resolve,
};
pub(crate) use dump_place::{DumpPlace, LogEvent};
pub(crate) use log_range::LogRange;
pub use options::ConnectOptions;
pub use pem::Pem;
pub use server::{BinlogFile, Flavor, Identity, Server};
pub use socket::{Endpoint, SocketHandle};
pub use tls::{TlsFiles, TlsMode};
