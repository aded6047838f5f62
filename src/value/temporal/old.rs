//! TIME, DATETIME and TIMESTAMP as before MySQL 5.6: no fraction, little-endian. Tables from that
//! time still have them.
//!
//! ```text
//! TIME      -01:02:03                25 d8 ff                       signed ±HHMMSS: -10203
//! DATETIME  2010-10-17 19:27:30      1a 49 fd 21 48 12 00 00        YYYYMMDDhhmmss: 20101017192730
//! TIMESTAMP 1970-01-01 00:00:01      01 00 00 00                    seconds, UTC
//! ```
//!
//! MariaDB tables with `mysql56_temporal_format=OFF` and a fraction use the same type codes with
//! other widths, which are not in the log: see [`mariadb53`](super::mariadb53).
//!
//! <https://dev.mysql.com/doc/refman/5.7/en/upgrading-from-previous-series.html>

use super::date::{Date, MAX_YEAR};
use super::datetime::DateTime;
use super::time::MAX_HOUR;
use super::{SECOND, check_below};
use crate::wire::{Reader, Result};

/// The number of bytes of an old TIME.
pub const TIME_BYTES: usize = 3;

/// The number of bytes of an old DATETIME.
pub const DATETIME_BYTES: usize = 8;

/// The number of bytes of an old TIMESTAMP.
pub const TIMESTAMP_BYTES: usize = 4;

/// Signed microseconds of an old TIME.
#[inline]
pub fn time(bytes: &[u8]) -> Result<i64> {
    let mut reader = Reader::new(bytes);
    let stored = reader.u24("TIME")?;
    reader.finish("TIME")?;
    // The sign is bit 23: two shifts extend it.
    let value = (stored << 8) as i32 >> 8;
    let number = u64::from(value.unsigned_abs());
    let (hour, minute, second) = (number / 10_000, number / 100 % 100, number % 100);
    check_below(hour, u64::from(MAX_HOUR) + 1, "hour of a TIME above 838")?;
    check_below(minute, 60, "minute above 59")?;
    check_below(second, 60, "second above 59")?;
    let micros = ((hour * 60 + minute) * 60 + second) as i64 * SECOND;
    Ok(if value < 0 { -micros } else { micros })
}

/// Date and time of day of an old DATETIME.
#[inline]
pub fn datetime(bytes: &[u8]) -> Result<DateTime> {
    let mut reader = Reader::new(bytes);
    let number = reader.u64("DATETIME")?;
    reader.finish("DATETIME")?;
    let (date, clock) = (number / 1_000_000, number % 1_000_000);
    let (year, month, day) = (date / 10_000, date / 100 % 100, date % 100);
    let (hour, minute, second) = (clock / 10_000, clock / 100 % 100, clock % 100);
    check_below(year, u64::from(MAX_YEAR) + 1, "year above 9999")?;
    check_below(month, 13, "month above 12")?;
    check_below(day, 32, "day above 31")?;
    check_below(hour, 24, "hour of a day above 23")?;
    check_below(minute, 60, "minute above 59")?;
    check_below(second, 60, "second above 59")?;
    Ok(DateTime {
        date: Date { year: year as u16, month: month as u8, day: day as u8 },
        hour: hour as u8,
        minute: minute as u8,
        second: second as u8,
        microsecond: 0,
    })
}

/// Microseconds since 1970-01-01 00:00:00 UTC of an old TIMESTAMP; `None` is the zero date.
#[inline]
pub fn timestamp(bytes: &[u8]) -> Result<Option<i64>> {
    let mut reader = Reader::new(bytes);
    let seconds = reader.u32("TIMESTAMP")?;
    reader.finish("TIMESTAMP")?;
    Ok((seconds != 0).then(|| i64::from(seconds) * SECOND))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times() {
        assert_eq!(time(&[0x25, 0xd8, 0xff]), Ok(-3_723_000_000));
        assert_eq!(time(&8_385_959u32.to_le_bytes()[..3]), Ok(3_020_399_000_000));
        assert_eq!(time(&[0, 0, 0]), Ok(0));
        assert!(time(&60u32.to_le_bytes()[..3]).is_err());
        assert!(time(&6_000u32.to_le_bytes()[..3]).is_err());
        assert!(time(&[0, 0, 0x80]).is_err());
        assert!(time(&[0, 0]).is_err() && time(&[0; 4]).is_err());
    }

    #[test]
    fn datetimes() {
        let text = |number: u64| {
            let mut out = Vec::new();
            datetime(&number.to_le_bytes()).unwrap().write_text(0, &mut out);
            String::from_utf8(out).unwrap()
        };
        assert_eq!(20_101_017_192_730u64.to_le_bytes(), [0x1a, 0x49, 0xfd, 0x21, 0x48, 0x12, 0, 0]);
        assert_eq!(text(20_101_017_192_730), "2010-10-17 19:27:30");
        assert_eq!(text(0), "0000-00-00 00:00:00");
        assert_eq!(text(20_150_500_000_000), "2015-05-00 00:00:00");
        for bad in [
            u64::MAX,
            100_000_000_000_000_000,
            20_151_300_000_000,
            20_150_132_000_000,
            240_000,
            6_000,
            60,
        ] {
            assert!(datetime(&bad.to_le_bytes()).is_err());
        }
        assert!(datetime(&[0; 7]).is_err() && datetime(&[0; 9]).is_err());
    }

    #[test]
    fn timestamps() {
        assert_eq!(timestamp(&[1, 0, 0, 0]), Ok(Some(1_000_000)));
        assert_eq!(timestamp(&[0; 4]), Ok(None));
        assert!(timestamp(&[0; 3]).is_err() && timestamp(&[0; 5]).is_err());
    }
}
