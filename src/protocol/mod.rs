//! The client protocol as bytes: packets, the login, commands, rows of text. No I/O.
//!
//! Input: the bytes from a server. Output: the bytes to send next, and the server's answers. Called
//! by `net`, which has the socket.
//!
//! | file | contains |
//! |---|---|
//! | `packet.rs`, `compression.rs` | the packets and frames of all data |
//! | `greeting.rs`, `handshake_response.rs`, `login`, `auth` | the login |
//! | `command.rs` | the client's requests |
//! | `response.rs`, `result_set.rs`, `dump_packet.rs` | the server's answers |
//! | `prepared.rs` | prepared statements: requests, and rows in the binary protocol |

mod auth;
mod capabilities;
pub mod command;
mod compression;
mod dump_packet;
mod greeting;
mod handshake_response;
mod login;
mod packet;
mod prepared;
mod response;
mod result_set;
mod secret;

pub use capabilities::Capabilities;
pub use compression::{FRAME_HEADER_LEN, FrameHeader, Frames};
pub use dump_packet::DumpPacket;
pub use greeting::Greeting;
pub use login::{Compression, Login, LoginError, LoginOptions, Step, TlsWish};
pub use packet::{FULL_PIECE, HEADER_LEN, PacketHeader, write_packets};
pub use prepared::{BinaryRow, Prepared, ResultColumn, close_statement, execute, prepare};
pub use response::{ServerRefusal, is_eof, is_ok};
pub use result_set::{ResultSet, TextRow};
pub use secret::Secret;
