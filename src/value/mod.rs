//! Cell values. Input: the bytes of a cell. Output: a number, a date, borrowed bytes, or text.
//!
//! ```text
//! row image ── cell bytes ── value::<type>::decode… ── i128, Date, i64 µs, f32s …   (no allocation)
//!                         └─ value::<type>::write_text ── appended to the caller's Vec<u8>
//! ```
//!
//! [`base64`] writes bytes as text, and [`Cell`] is a value of any type. Called by `columnar` and
//! `export`, which know the column's type and metadata. This module has no knowledge of columns,
//! tables or positions in the log: an error describes what is wrong with the bytes and never
//! contains a value.
//!
//! | module | MySQL types |
//! |---|---|
//! | [`bit`] | BIT |
//! | [`compressed`] | VARCHAR and BLOB with MariaDB's COMPRESSED attribute |
//! | [`decimal`] | NEWDECIMAL |
//! | [`geometry`] | GEOMETRY |
//! | [`inet`] | INET4, INET6 of MariaDB |
//! | [`json`] | JSON in MySQL's binary form |
//! | [`temporal`] | DATE, TIME, DATETIME, TIMESTAMP, old and new |
//! | [`uuid`] | UUID of MariaDB |
//! | [`vector`] | VECTOR |
//!
//! <https://dev.mysql.com/doc/dev/mysql-server/latest/classmysql_1_1binlog_1_1event_1_1Table__map__event.html>

pub mod base64;
pub mod bit;
pub(crate) mod block;
mod cell;
pub mod compressed;
pub mod decimal;
pub(crate) mod digits;
pub(crate) mod float;
pub mod geometry;
pub mod inet;
pub mod json;
pub mod temporal;
pub mod uuid;
pub mod vector;

pub use cell::Cell;
pub use temporal::{Date, DateTime};
