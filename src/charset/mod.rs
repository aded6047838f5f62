//! Collation ids, the character sets they belong to, and text as UTF-8.
//!
//! In: a collation id from the log, stored bytes. Out: UTF-8. Called by `binlog::table_map` (names, ENUM and SET members)
//! and by `columnar` (text cells).
//!
//! <https://dev.mysql.com/doc/refman/9.7/en/charset-charsets.html>

mod collation;
mod decode;

pub use collation::{Charset, Collation, Transcoding};
pub(crate) use decode::latin1_into;
