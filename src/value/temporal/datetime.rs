//! DATETIME(fsp): date and time of day without a zone, in 5 bytes and the fraction, big-endian.
//!
//! ```text
//! 2010-10-17 19:27:30.12      99 87 23 36 de | 0c
//!                             1 + 17 + 5 + 5 + 6 + 6 bits
//!                             │   │    │   │   │   └ second
//!                             │   │    │   │   └ minute
//!                             │   │    │   └ hour
//!                             │   │    └ day
//!                             │   └ year * 13 + month
//!                             └ 1
//! ```
//!
//! <https://dev.mysql.com/doc/refman/8.4/en/datetime.html>

use super::date::{self, Date, MAX_YEAR};
use super::{SECOND, check_below, fraction, fraction_bytes, push_clock, push_fraction};
use crate::error::DecodeError;
use crate::wire::{Reader, Result};

/// Date and time of day in the stored form, including zero and partial dates.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DateTime {
    /// The date.
    pub date: Date,
    /// 0 to 23.
    pub hour: u8,
    /// 0 to 59.
    pub minute: u8,
    /// 0 to 59.
    pub second: u8,
    /// 0 to 999 999.
    pub microsecond: u32,
}

/// The number of bytes of a stored DATETIME(fsp).
#[inline]
pub const fn byte_count(fsp: u8) -> usize {
    5 + fraction_bytes(fsp)
}

/// Unpacks a stored DATETIME(fsp).
#[inline]
pub fn decode2(bytes: &[u8], fsp: u8) -> Result<DateTime> {
    let mut reader = Reader::new(bytes);
    let [a, b, c, d, e] = reader.array("DATETIME")?;
    let packed = u64::from_be_bytes([0, 0, 0, a, b, c, d, e]);
    let microsecond = fraction(reader.rest(), fsp)?;
    if packed & SIGN == 0 {
        return Err(DecodeError::Invalid { what: "DATETIME below zero", value: 0 });
    }
    from_packed(packed ^ SIGN, microsecond)
}

/// Microseconds since 1970-01-01 00:00:00 of a stored DATETIME. `None` if it is not a moment in one of the usual years: then
/// [`decode2`] shows what it is.
#[inline]
pub(crate) fn usual_micros(bytes: &[u8]) -> Option<i64> {
    // The bytes of the fraction follow those of the date and the time. The first and the last bytes may overlap.
    let (first, last) = (bytes.first_chunk()?, bytes.last_chunk()?);
    let (first, last) = (u32::from_be_bytes(*first), u64::from(u32::from_be_bytes(*last)));
    let (packed, fraction) = match bytes.len() {
        5 => (u64::from(first) << 8 | last & 0xff, 0),
        6 => (u64::from(first) << 8 | last >> 8 & 0xff, (last & 0xff) * 10_000),
        7 => (u64::from(first) << 8 | last >> 16 & 0xff, (last & 0xffff) * 100),
        8 => (u64::from(first) << 8 | last >> 24, last & 0xff_ffff),
        _ => return None,
    };
    let packed = packed ^ SIGN;
    let (hour, minute, second) = (packed >> 12 & 31, packed >> 6 & 63, packed & 63);
    // Negative values have a year that is too large.
    let days = date::usual_days((packed >> 22) as u32, (packed >> 17 & 31) as u32)?;
    let is_time = (hour < 24) & (minute < 60) & (second < 60) & (fraction < SECOND as u64);
    let seconds = i64::from(days) * 86_400 + (hour * 3600 + minute * 60 + second) as i64;
    is_time.then_some(seconds * SECOND + fraction as i64)
}

/// Unpacks the packed form without its sign bit; binary JSON contains this form too.
#[inline]
pub(crate) fn from_packed(packed: u64, microsecond: u32) -> Result<DateTime> {
    let months = packed >> 22;
    let (hour, minute, second) = (packed >> 12 & 31, packed >> 6 & 63, packed & 63);
    check_below(months, (MAX_YEAR as u64 + 1) * 13, "year above 9999")?;
    check_below(hour, 24, "hour of a day above 23")?;
    check_below(minute, 60, "minute above 59")?;
    check_below(second, 60, "second above 59")?;
    check_below(u64::from(microsecond), SECOND as u64, "fraction of a second or more")?;
    let months = months as u32;
    Ok(DateTime {
        date: Date {
            year: (months / 13) as u16,
            month: (months % 13) as u8,
            day: (packed >> 17 & 31) as u8,
        },
        hour: hour as u8,
        minute: minute as u8,
        second: second as u8,
        microsecond,
    })
}

impl DateTime {
    /// Microseconds since 1970-01-01 00:00:00, if all days have 24 hours. `None` if the date does
    /// not exist in the calendar, or if a part of the time is out of range.
    #[inline]
    pub const fn micros_since_epoch(self) -> Option<i64> {
        if self.hour > 23
            || self.minute > 59
            || self.second > 59
            || self.microsecond >= SECOND as u32
        {
            return None;
        }
        let Some(days) = self.date.days_since_epoch() else {
            return None;
        };
        let minutes = self.hour as i64 * 60 + self.minute as i64;
        let seconds = days as i64 * 86_400 + minutes * 60 + self.second as i64;
        Some(seconds * SECOND + self.microsecond as i64)
    }

    /// Returns the time of a TIMESTAMP in UTC; `None` is the zero date.
    pub fn from_timestamp(micros: Option<i64>) -> Self {
        let zero = Self {
            date: Date { year: 0, month: 0, day: 0 },
            hour: 0,
            minute: 0,
            second: 0,
            microsecond: 0,
        };
        let Some(micros) = micros else { return zero };
        let seconds = micros.div_euclid(SECOND);
        let (days, second_of_day) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
        Self {
            date: Date::from_days_since_epoch(days as i32),
            hour: (second_of_day / 3600) as u8,
            minute: (second_of_day / 60 % 60) as u8,
            second: (second_of_day % 60) as u8,
            microsecond: micros.rem_euclid(SECOND) as u32,
        }
    }

    /// Appends the value as MySQL prints a DATETIME(fsp), including zero and partial dates.
    pub fn write_text(self, fsp: u8, out: &mut Vec<u8>) {
        self.date.write_text(out);
        out.push(b' ');
        push_clock(out, u64::from(self.hour), u64::from(self.minute), u64::from(self.second));
        push_fraction(out, self.microsecond, fsp);
    }
}

/// The top bit of the five bytes. It is 1 in all values that a server writes.
const SIGN: u64 = 1 << 39;

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn text(value: DateTime, fsp: u8) -> String {
        let mut out = Vec::new();
        value.write_text(fsp, &mut out);
        String::from_utf8(out).unwrap()
    }

    fn encode(value: DateTime, fsp: u8) -> Vec<u8> {
        let date = value.date;
        let months = u64::from(date.year) * 13 + u64::from(date.month);
        let days = months << 5 | u64::from(date.day);
        let hms =
            u64::from(value.hour) << 12 | u64::from(value.minute) << 6 | u64::from(value.second);
        let mut bytes = (days << 17 | hms | 1 << 39).to_be_bytes()[3..].to_vec();
        let width = fraction_bytes(fsp);
        let stored = value.microsecond / 100u32.pow(3 - width as u32);
        bytes.extend(&stored.to_be_bytes()[4 - width..]);
        bytes
    }

    #[test]
    fn vectors() {
        for (bytes, fsp, printed, micros) in [
            (
                &[0x99, 0x87, 0x23, 0x36, 0xde][..],
                0,
                "2010-10-17 19:27:30",
                Some(1_287_343_650_000_000),
            ),
            (
                &[0x99, 0x87, 0x23, 0x36, 0xde, 0x0c],
                2,
                "2010-10-17 19:27:30.12",
                Some(1_287_343_650_120_000),
            ),
            (
                &[0x99, 0xb2, 0xba, 0xc8, 0xb8, 0x1e, 0xd2],
                3,
                "2024-02-29 12:34:56.789",
                Some(1_709_210_096_789_000),
            ),
            (
                &[0x8c, 0xb2, 0x42, 0, 0, 0, 0, 1],
                6,
                "1000-01-01 00:00:00.000001",
                Some(-30_610_223_999_999_999),
            ),
            (&[0x80, 0, 0, 0, 0], 0, "0000-00-00 00:00:00", None),
            (&[0x99, 0x96, 0, 0, 0], 0, "2015-05-00 00:00:00", None),
        ] {
            assert_eq!(bytes.len(), byte_count(fsp));
            let value = decode2(bytes, fsp).unwrap();
            assert_eq!(text(value, fsp), printed);
            assert_eq!(value.micros_since_epoch(), micros);
        }
    }

    #[test]
    fn rejects() {
        assert!(decode2(&[0x19, 0x87, 0x23, 0x36, 0xde], 0).is_err(), "below zero");
        assert!(decode2(&[0xff; 5], 0).is_err());
        assert!(decode2(&[0x99, 0x87, 0x23, 0x36, 0xff], 0).is_err(), "second 63");
        assert!(decode2(&[0x80, 0, 0, 0, 0, 100], 2).is_err(), "100 hundredths");
        assert!(decode2(&[0x80, 0, 0, 0], 0).is_err(), "too short");
        assert!(decode2(&[0x80, 0, 0, 0, 0, 0], 0).is_err(), "too long");
        assert!(decode2(&[0x80, 0, 0, 0, 0, 0, 0, 0, 0], 7).is_err(), "precision");
    }

    proptest! {
        #[test]
        fn round_trip(
            (year, month, day) in (0..=9999u16, 0..=12u8, 0..=31u8),
            (hour, minute, second) in (0..24u8, 0..60u8, 0..60u8),
            microsecond in 0..1_000_000u32,
            fsp in 0..=6u8,
        ) {
            let unit = 100u32.pow(3 - fraction_bytes(fsp) as u32);
            let microsecond = microsecond / unit * unit % 1_000_000;
            let date = Date { year, month, day };
            let value = DateTime { date, hour, minute, second, microsecond };
            prop_assert_eq!(decode2(&encode(value, fsp), fsp), Ok(value));
        }

        #[test]
        fn usual_moments(
            (year, month, day) in (1960..=2110u16, 0..=12u8, 0..=31u8),
            (hour, minute, second) in (0..26u8, 0..62u8, 0..62u8),
            fraction in prop_oneof![0..1_010_000u32, 0..=100u32],
            fsp in 0..=6u8,
            is_negative in prop::bool::weighted(0.1),
        ) {
            let date = Date { year, month, day };
            let mut bytes = encode(DateTime { date, hour, minute, second, microsecond: 0 }, fsp);
            let width = fraction_bytes(fsp);
            bytes[5..].copy_from_slice(&fraction.to_be_bytes()[4 - width..]);
            bytes[0] ^= u8::from(is_negative) << 7;
            let micros = decode2(&bytes, fsp).ok().and_then(DateTime::micros_since_epoch);
            let is_usual = (1970..2100).contains(&year);
            prop_assert_eq!(usual_micros(&bytes), micros.filter(|_| is_usual));
        }

        #[test]
        fn any_bytes_do_no_harm(bytes in proptest::collection::vec(any::<u8>(), 0..10), fsp: u8) {
            if fsp <= 6 && bytes.len() == byte_count(fsp) && let Some(micros) = usual_micros(&bytes) {
                prop_assert_eq!(decode2(&bytes, fsp).unwrap().micros_since_epoch(), Some(micros));
            }
            if let Ok(value) = decode2(&bytes, fsp) {
                prop_assert_eq!(value.micros_since_epoch().is_some(), value.date.days_since_epoch().is_some());
                text(value, fsp);
            }
        }
    }
}
