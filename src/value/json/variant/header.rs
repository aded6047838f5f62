//! The first byte of a value: its type.
//!
//! ```text
//! header   type << 2      null 0 · true 1 · false 2 · int8 3 · int16 4 · int32 5 · int64 6 · double 7
//!                         decimal4 8 · decimal8 9 · decimal16 10 · date 11 · timestamp 12 · timestamp without zone 13
//!                         float 14 · binary 15 · long string 16
//!          length << 2 | 1      a string of up to 63 bytes
//! ```

/// Appends a header and a number.
#[inline]
pub(super) fn tagged(kind: u8, bytes: &[u8], out: &mut Vec<u8>) {
    out.push(header(kind));
    out.extend_from_slice(bytes);
}

pub(super) const fn header(kind: u8) -> u8 {
    kind << 2
}

pub(super) const fn short_header(len: usize) -> u8 {
    (len as u8) << 2 | SHORT_STRING
}

pub(super) const NULL: u8 = 0;
pub(super) const TRUE: u8 = 1;
pub(super) const FALSE: u8 = 2;
pub(super) const INT8: u8 = 3;
pub(super) const INT16: u8 = 4;
pub(super) const INT32: u8 = 5;
pub(super) const INT64: u8 = 6;
pub(super) const DOUBLE: u8 = 7;
pub(super) const DECIMAL4: u8 = 8;
pub(super) const DECIMAL8: u8 = 9;
pub(super) const DECIMAL16: u8 = 10;
pub(super) const DATE: u8 = 11;
pub(super) const TIMESTAMP: u8 = 12;
pub(super) const TIMESTAMP_NTZ: u8 = 13;
pub(super) const SINGLE: u8 = 14;
pub(super) const BINARY: u8 = 15;
pub(super) const LONG_STRING: u8 = 16;

const SHORT_STRING: u8 = 1;
pub(super) const MAX_SHORT: usize = 63;
