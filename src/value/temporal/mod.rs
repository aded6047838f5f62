//! Dates and times. Input: stored bytes. Output: a [`Date`], a [`DateTime`], or microseconds, and
//! text as MySQL prints it.
//!
//! | type | bytes | decoded by | to |
//! |---|---|---|---|
//! | DATE | 3 | [`date::decode`] | [`Date`] |
//! | TIME(fsp) | 3 + fraction | [`time::decode2`] | signed microseconds |
//! | DATETIME(fsp) | 5 + fraction | [`datetime::decode2`] | [`DateTime`] |
//! | TIMESTAMP(fsp) | 4 + fraction | [`timestamp::decode2`] | microseconds since 1970, UTC |
//! | TIME, DATETIME, TIMESTAMP before 5.6 | 3, 8, 4 | [`old`] | as above |
//! | the same with a fraction, of MariaDB 5.3 | 4 to 8 | [`mariadb53`] | as above |
//!
//! The fraction takes `(fsp + 1) / 2` bytes, big-endian, in units of 1/100, 1/10 000 or 1/1 000 000 second.
//!
//! Zero dates and partial dates (`0000-00-00`, `2015-05-00`) are valid values: they are decoded and
//! printed, but their number of days or microseconds is `None`. Values that a server cannot have
//! written, such as 61 minutes, are errors.
//!
//! <https://dev.mysql.com/doc/dev/mysql-server/latest/classmysql_1_1binlog_1_1event_1_1Table__map__event.html>

pub mod date;
pub mod datetime;
pub mod mariadb53;
pub mod old;
pub mod time;
pub mod timestamp;

pub use date::Date;
pub use datetime::DateTime;

use super::digits;
use crate::error::DecodeError;
use crate::wire::Result;

/// The largest number of digits of a fractional second.
pub const MAX_FSP: u8 = 6;

/// The number of bytes of a fraction of `fsp` digits.
#[inline]
pub const fn fraction_bytes(fsp: u8) -> usize {
    fsp.div_ceil(2) as usize
}

/// Microseconds in one second.
const SECOND: i64 = 1_000_000;

/// Returns the fraction in microseconds. `bytes` must have the length for `fsp`.
#[inline]
fn fraction(bytes: &[u8], fsp: u8) -> Result<u32> {
    check_fsp(fsp)?;
    check_length(bytes.len(), fraction_bytes(fsp))?;
    let micros = match *bytes {
        [] => 0,
        [a] => u32::from(a) * 10_000,
        [a, b] => u32::from_be_bytes([0, 0, a, b]) * 100,
        [a, b, c] => u32::from_be_bytes([0, a, b, c]),
        _ => u32::MAX,
    };
    check_below(u64::from(micros), SECOND as u64, "fraction of a second or more").map(|()| micros)
}

#[inline]
fn check_fsp(fsp: u8) -> Result<()> {
    if fsp > MAX_FSP {
        return Err(DecodeError::Invalid {
            what: "fractional seconds precision",
            value: u64::from(fsp),
        });
    }
    Ok(())
}

#[inline]
fn check_length(len: usize, needed: usize) -> Result<()> {
    if len < needed {
        return Err(DecodeError::UnexpectedEnd { what: "temporal value", needed, left: len });
    }
    if len > needed {
        return Err(DecodeError::LeftOver { what: "temporal value", bytes: len - needed });
    }
    Ok(())
}

/// Returns an error if a part of a value is not below `end`. The error contains the bound, not the
/// part.
#[inline]
fn check_below(part: u64, end: u64, what: &'static str) -> Result<()> {
    if part >= end {
        return Err(DecodeError::Invalid { what, value: end });
    }
    Ok(())
}

/// Appends `hh:mm:ss`.
fn push_clock(out: &mut Vec<u8>, hour: u64, minute: u64, second: u64) {
    digits::push_padded(out, hour, 2);
    out.push(b':');
    digits::push_padded(out, minute, 2);
    out.push(b':');
    digits::push_padded(out, second, 2);
}

/// Appends the point and the first `fsp` digits of `micros`; nothing if `fsp` is 0.
fn push_fraction(out: &mut Vec<u8>, micros: u32, fsp: u8) {
    let fsp = fsp.min(MAX_FSP);
    if fsp > 0 {
        out.push(b'.');
        let unit = 10u32.pow(u32::from(MAX_FSP - fsp));
        digits::push_padded(out, u64::from(micros / unit), usize::from(fsp));
    }
}
