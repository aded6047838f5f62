//! TIMESTAMP(fsp): a moment in UTC, in 4 bytes and the fraction, big-endian.
//!
//! ```text
//! 1970-01-01 00:00:01.005      00 00 00 01 | 00 32
//!                              seconds       1/10 000 s
//! ```
//!
//! The seconds are unsigned: MySQL stops at 2038, MariaDB from 11.5 on at 2106. If all bytes are
//! zero, the value is the zero date.
//!
//! <https://dev.mysql.com/doc/refman/8.4/en/datetime.html>

use super::{SECOND, fraction, fraction_bytes};
use crate::wire::{Reader, Result};

/// The number of bytes of a stored TIMESTAMP(fsp).
#[inline]
pub const fn byte_count(fsp: u8) -> usize {
    4 + fraction_bytes(fsp)
}

/// Microseconds since 1970-01-01 00:00:00 UTC; `None` is the zero date `0000-00-00 00:00:00`.
#[inline]
pub fn decode2(bytes: &[u8], fsp: u8) -> Result<Option<i64>> {
    let mut reader = Reader::new(bytes);
    let seconds = reader.array("TIMESTAMP").map(u32::from_be_bytes)?;
    let microsecond = fraction(reader.rest(), fsp)?;
    Ok(match (seconds, microsecond) {
        (0, 0) => None,
        _ => Some(i64::from(seconds) * SECOND + i64::from(microsecond)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vectors() {
        assert_eq!(decode2(&[0, 0, 0, 1, 0, 0x32], 3), Ok(Some(1_005_000)));
        assert_eq!(decode2(&[0xff; 4], 0), Ok(Some(4_294_967_295_000_000)));
        for fsp in 0..=6 {
            assert_eq!(decode2(&vec![0; byte_count(fsp)], fsp), Ok(None));
        }
    }

    #[test]
    fn rejects() {
        assert!(decode2(&[0; 3], 0).is_err());
        assert!(decode2(&[0; 5], 0).is_err());
        assert!(decode2(&[0; 4], 1).is_err());
        assert!(decode2(&[0; 8], 7).is_err());
        assert!(decode2(&[0, 0, 0, 1, 0x0f, 0x42, 0x40], 6).is_err(), "a million microseconds");
    }
}
