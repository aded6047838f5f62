//! Collation ids, their character sets, and the conversion of text to UTF-8.
//!
//! Input: a collation id from the log, stored bytes. Output: UTF-8. Called by `binlog` (names, ENUM
//! and SET members, statements) and by `columnar` (text cells).
//!
//! <https://dev.mysql.com/doc/refman/9.7/en/charset-charsets.html>

mod collation;
mod collation_by_name;
mod collation_name;
mod decode;
mod multi_byte;
mod scheme;
mod single_byte;
mod transcoding;
mod wide;

pub use collation::{Charset, Collation};
pub use decode::Transcoding;
