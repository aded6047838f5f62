//! TIME(fsp), DATETIME(fsp) and TIMESTAMP(fsp) with a fraction as MariaDB 5.3 stores them, and
//! later versions with `mysql56_temporal_format=OFF`. `fsp` is 1 to 6; without a fraction they are
//! stored as in [`old`](super::old). The log contains only the type code of the column; the number
//! of digits is known from SHOW CREATE TABLE.
//!
//! ```text
//! TIME(3)      -01:02:03.004     00 b3 ce d6 84           all is one big-endian number in units of the fraction, plus
//!                                                         839 hours' worth of them
//! DATETIME(2)  2010-10-17 19:27:30.12                     one big-endian number in units of the fraction:
//!              06 92 bf 19 19 54                          (((((year × 13 + month) × 32 + day) × 24 + hour) × 60 + ...
//! TIMESTAMP(3) 1970-01-01 00:00:01.005  00 00 00 01 00 05  seconds, then the fraction in its own units
//! ```
//!
//! <https://mariadb.com/kb/en/microseconds-in-mariadb/>

use super::date::{Date, MAX_YEAR};
use super::datetime::DateTime;
use super::time::MAX_HOUR;
use super::{MAX_FSP, SECOND, check_below, check_fsp, check_length};
use crate::wire::{Reader, Result};

/// The number of bytes of a TIME(fsp).
pub const fn time_bytes(fsp: u8) -> usize {
    match fsp {
        ..=2 => 4,
        3..=5 => 5,
        _ => 6,
    }
}

/// The number of bytes of a DATETIME(fsp).
pub const fn datetime_bytes(fsp: u8) -> usize {
    match fsp {
        ..=2 => 6,
        3..=5 => 7,
        _ => 8,
    }
}

/// The number of bytes of a TIMESTAMP(fsp).
pub const fn timestamp_bytes(fsp: u8) -> usize {
    4 + fraction_bytes(fsp)
}

/// Signed microseconds of a TIME(fsp).
pub fn time(bytes: &[u8], fsp: u8) -> Result<i64> {
    let number = complete_number(bytes, fsp, time_bytes(fsp))?;
    let micros = number.saturating_mul(unit(fsp));
    check_below(micros, 2 * ZERO_TIME, "TIME above 838 hours")?;
    let micros = micros as i64 - ZERO_TIME as i64;
    check_below(micros.unsigned_abs(), ZERO_TIME, "TIME above 838 hours").map(|()| micros)
}

/// Date and time of day of a DATETIME(fsp).
pub fn datetime(bytes: &[u8], fsp: u8) -> Result<DateTime> {
    let number = complete_number(bytes, fsp, datetime_bytes(fsp))?;
    let units = SECOND as u64 / unit(fsp);
    let (rest, microsecond) = (number / units, number % units * unit(fsp));
    let (rest, second) = (rest / 60, rest % 60);
    let (rest, minute) = (rest / 60, rest % 60);
    let (rest, hour) = (rest / 24, rest % 24);
    let (months, day) = (rest / 32, rest % 32);
    let (year, month) = (months / 13, months % 13);
    check_below(year, u64::from(MAX_YEAR) + 1, "year above 9999")?;
    Ok(DateTime {
        date: Date { year: year as u16, month: month as u8, day: day as u8 },
        hour: hour as u8,
        minute: minute as u8,
        second: second as u8,
        microsecond: microsecond as u32,
    })
}

/// Microseconds since 1970-01-01 00:00:00 UTC of a TIMESTAMP(fsp); `None` is the zero date.
pub fn timestamp(bytes: &[u8], fsp: u8) -> Result<Option<i64>> {
    check_fsp(fsp)?;
    check_length(bytes.len(), timestamp_bytes(fsp))?;
    let mut reader = Reader::new(bytes);
    let seconds = reader.uint_be(4, "TIMESTAMP")?;
    let fraction = reader.uint_be(fraction_bytes(fsp), "TIMESTAMP")?;
    let micros = fraction * unit(fsp);
    check_below(micros, SECOND as u64, "fraction of a second or more")?;
    Ok(match (seconds, micros) {
        (0, 0) => None,
        _ => Some(seconds as i64 * SECOND + micros as i64),
    })
}

/// Returns the bytes of the value as one number.
fn complete_number(bytes: &[u8], fsp: u8, len: usize) -> Result<u64> {
    check_fsp(fsp)?;
    check_length(bytes.len(), len)?;
    Reader::new(bytes).uint_be(len, "temporal value")
}

/// The number of microseconds in one unit of the fraction.
const fn unit(fsp: u8) -> u64 {
    10_u64.pow(MAX_FSP.saturating_sub(fsp) as u32)
}

const fn fraction_bytes(fsp: u8) -> usize {
    match fsp {
        ..=2 => 1,
        3 | 4 => 2,
        _ => 3,
    }
}

/// The number, in microseconds, that is stored for zero: one second more than the longest TIME.
const ZERO_TIME: u64 = (MAX_HOUR as u64 + 1) * 3600 * SECOND as u64;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times() {
        assert_eq!(time(&[0x00, 0xb3, 0xce, 0xd6, 0x84], 3), Ok(-3_723_004_000));
        for fsp in 1..=6 {
            let stored = |micros: i64| {
                let number = (ZERO_TIME as i64 + micros) as u64 / unit(fsp);
                number.to_be_bytes()[8 - time_bytes(fsp)..].to_vec()
            };
            for micros in [0, 100_000, -100_000, 3_020_399_900_000, -3_020_399_900_000] {
                assert_eq!(time(&stored(micros), fsp), Ok(micros));
            }
            for wrong in [-(ZERO_TIME as i64), ZERO_TIME as i64] {
                assert!(time(&stored(wrong), fsp).is_err(), "839 hours");
            }
            assert!(time(&vec![0xff; time_bytes(fsp)], fsp).is_err());
            assert!(time(&vec![0; time_bytes(fsp) - 1], fsp).is_err());
        }
        assert!(time(&[0; 6], 7).is_err());
    }

    #[test]
    fn datetimes() {
        let text = |bytes: &[u8], fsp| {
            let mut out = Vec::new();
            datetime(bytes, fsp).unwrap().write_text(fsp, &mut out);
            String::from_utf8(out).unwrap()
        };
        let bytes = [0x06, 0x92, 0xbf, 0x19, 0x19, 0x54];
        assert_eq!(text(&bytes, 2), "2010-10-17 19:27:30.12");
        assert_eq!(text(&[0; 8], 6), "0000-00-00 00:00:00.000000");
        for fsp in 1..=6 {
            assert!(datetime(&vec![0xff; datetime_bytes(fsp)], fsp).is_err());
            assert!(datetime(&vec![0; datetime_bytes(fsp) + 1], fsp).is_err());
        }
    }

    #[test]
    fn timestamps() {
        assert_eq!(timestamp(&[0, 0, 0, 1, 0, 5], 3), Ok(Some(1_005_000)));
        assert_eq!(timestamp(&[0xff, 0xff, 0xff, 0xff, 9], 1), Ok(Some(4_294_967_295_900_000)));
        assert_eq!(timestamp(&[0; 7], 6), Ok(None));
        assert!(timestamp(&[0, 0, 0, 1, 10], 1).is_err(), "ten tenths");
        assert!(timestamp(&[0; 4], 1).is_err() && timestamp(&[0; 6], 2).is_err());
    }
}
