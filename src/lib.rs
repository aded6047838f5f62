//! MySQL and MariaDB change data, straight into Arrow.
//!
//! ```text
//! file ── events ── walk (source) ── segments ── workers (reader) ── in order ── ChangeBatch (Arrow)
//!                   headers only                 pure decoding
//! ```
//!
//! The layers, each using only those above it in this list:
//!
//! | layer | modules | knows |
//! |---|---|---|
//! | 0 | [`wire`], [`charset`], [`position`], [`schema`], [`limits`] | bytes, text, positions, the words all layers share |
//! | 1 | [`binlog`], [`value`] | one event, one cell: bytes to borrowed views, no I/O |
//! | 2 | [`change`], [`history`], [`columnar`] | transactions and filters; CREATE TABLE text; row images into Arrow builders |
//! | 3 | [`source`], [`reader`], [`export`], [`baseline`] | files to segments; segments to batches, on threads; batches to other tools' events, or of many tables to one schema; structures of a server's tables |
//! | 4 | `python` | the extension module |

pub mod baseline;
pub mod binlog;
pub mod change;
pub mod charset;
pub mod columnar;
pub mod error;
pub mod export;
pub mod history;
pub mod limits;
pub mod net;
pub mod position;
pub mod protocol;
pub mod reader;
pub mod schema;
pub mod source;
pub mod store;
pub mod value;
pub mod wire;

#[cfg(feature = "python")]
mod python;

pub use error::{DecodeError, Error, ErrorKind, Result};
