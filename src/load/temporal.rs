//! DATE, TIME, DATETIME and TIMESTAMP: from the binary protocol to the forms of a row image, which
//! `value::temporal` describes.
//!
//! ```text
//! DATE, DATETIME, TIMESTAMP   length: 0, 4, 7 or 11 | year u16 | month | day | hour | minute | second | microseconds u32
//! TIME                        length: 0, 8 or 12 | is negative | days u32 | hour | minute | second | microseconds u32
//! ```
//!
//! Fields that the length leaves out are zero.
//!
//! <https://dev.mysql.com/doc/dev/mysql-server/latest/page_protocol_binary_resultset.html>

use crate::error::DecodeError;
use crate::value::temporal::Date;
use crate::value::temporal::time::{MAX_HOUR, byte_count};
use crate::wire::{Reader, Result};

/// A date with a time, of which any field may be zero.
#[derive(Default)]
struct Fields {
    year: u16,
    month: u8,
    day: u8,
    hour: u8,
    minute: u8,
    second: u8,
    micros: u32,
}

impl Fields {
    fn read(row: &mut Reader<'_>) -> Result<Self> {
        const WHAT: &str = "date of a prepared statement's row";
        let mut fields = Self::default();
        let length = row.u8(WHAT)?;
        if !matches!(length, 0 | 4 | 7 | 11) {
            return Err(DecodeError::Invalid { what: WHAT, value: length.into() });
        }
        if length >= 4 {
            (fields.year, fields.month, fields.day) =
                (row.u16(WHAT)?, row.u8(WHAT)?, row.u8(WHAT)?);
        }
        if length >= 7 {
            (fields.hour, fields.minute, fields.second) =
                (row.u8(WHAT)?, row.u8(WHAT)?, row.u8(WHAT)?);
        }
        if length == 11 {
            fields.micros = row.u32(WHAT)?;
        }
        Ok(fields)
    }
}

/// Reads a DATE: three bytes.
pub(super) fn date(row: &mut Reader<'_>, out: &mut Vec<u8>) -> Result<()> {
    let Fields { year, month, day, .. } = Fields::read(row)?;
    let packed = u32::from(year) << 9 | u32::from(month) << 5 | u32::from(day);
    out.extend(packed.to_le_bytes().into_iter().take(3));
    Ok(())
}

/// Reads a DATETIME(fsp): five bytes and the fraction.
pub(super) fn datetime(row: &mut Reader<'_>, fsp: u8, out: &mut Vec<u8>) -> Result<()> {
    let fields = Fields::read(row)?;
    let months = u64::from(fields.year) * 13 + u64::from(fields.month);
    let days = months << 5 | u64::from(fields.day);
    let time =
        u64::from(fields.hour) << 12 | u64::from(fields.minute) << 6 | u64::from(fields.second);
    let packed = (days << 17 | time) + 0x80_0000_0000;
    out.extend(packed.to_be_bytes().into_iter().skip(3));
    fraction(fields.micros, fsp, out);
    Ok(())
}

/// Reads a TIMESTAMP(fsp) of a session whose time zone is UTC: four bytes and the fraction.
pub(super) fn timestamp(row: &mut Reader<'_>, fsp: u8, out: &mut Vec<u8>) -> Result<()> {
    let fields = Fields::read(row)?;
    let date = Date { year: fields.year, month: fields.month, day: fields.day };
    let seconds = match date.days_since_epoch() {
        Some(days) => {
            let time = [(fields.hour, 3600), (fields.minute, 60), (fields.second, 1)];
            i64::from(days) * 86_400
                + time.into_iter().map(|(n, unit)| i64::from(n) * unit).sum::<i64>()
        }
        // The zero date.
        None => 0,
    };
    let seconds = u32::try_from(seconds).map_err(|_| DecodeError::Invalid {
        what: "TIMESTAMP of a prepared statement's row",
        value: seconds as u64,
    })?;
    out.extend(seconds.to_be_bytes());
    fraction(fields.micros, fsp, out);
    Ok(())
}

/// A TIME.
#[derive(Default)]
struct Span {
    is_negative: bool,
    hours: u64,
    minute: u8,
    second: u8,
    micros: u32,
}

impl Span {
    fn read(row: &mut Reader<'_>) -> Result<Self> {
        const WHAT: &str = "TIME of a prepared statement's row";
        let length = row.u8(WHAT)?;
        let mut span = Self::default();
        match length {
            0 => {}
            8 | 12 => {
                span.is_negative = row.u8(WHAT)? != 0;
                let days = u64::from(row.u32(WHAT)?);
                span.hours = days * 24 + u64::from(row.u8(WHAT)?);
                (span.minute, span.second) = (row.u8(WHAT)?, row.u8(WHAT)?);
                span.micros = if length == 12 { row.u32(WHAT)? } else { 0 };
                if span.hours > u64::from(MAX_HOUR) {
                    return Err(DecodeError::Invalid { what: WHAT, value: span.hours });
                }
            }
            _ => return Err(DecodeError::Invalid { what: WHAT, value: length.into() }),
        }
        Ok(span)
    }
}

/// Reads a TIME(fsp). All its bytes are one number.
pub(super) fn time(row: &mut Reader<'_>, fsp: u8, out: &mut Vec<u8>) -> Result<()> {
    let Span { is_negative, hours, minute, second, micros } = Span::read(row)?;
    let clock = hours << 12 | u64::from(minute) << 6 | u64::from(second);
    let bytes = byte_count(fsp);
    let fraction_bits = 8 * (bytes - 3);
    let (_, unit) = fraction_unit(fsp);
    let magnitude = (clock << fraction_bits | u64::from(micros / unit)) as i64;
    let packed = (0x80_0000 << fraction_bits) + if is_negative { -magnitude } else { magnitude };
    out.extend(packed.to_be_bytes().into_iter().skip(8 - bytes));
    Ok(())
}

/// Reads a DATE as text.
pub(super) fn date_text(row: &mut Reader<'_>) -> Result<String> {
    let Fields { year, month, day, .. } = Fields::read(row)?;
    Ok(format!("{year:04}-{month:02}-{day:02}"))
}

/// Reads a DATETIME or TIMESTAMP as text, with microseconds.
pub(super) fn datetime_text(row: &mut Reader<'_>) -> Result<String> {
    let Fields { year, month, day, hour, minute, second, micros } = Fields::read(row)?;
    Ok(format!("{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}.{micros:06}"))
}

/// Reads a TIME as text, with microseconds.
pub(super) fn time_text(row: &mut Reader<'_>) -> Result<String> {
    let Span { is_negative, hours, minute, second, micros } = Span::read(row)?;
    let sign = if is_negative { "-" } else { "" };
    Ok(format!("{sign}{hours:02}:{minute:02}:{second:02}.{micros:06}"))
}

/// Appends the fraction of a second.
fn fraction(micros: u32, fsp: u8, out: &mut Vec<u8>) {
    let (bytes, unit) = fraction_unit(fsp);
    out.extend((micros / unit).to_be_bytes().into_iter().skip(4 - bytes));
}

/// The number of bytes of a fraction with `fsp` digits, and the number of microseconds of its unit.
const fn fraction_unit(fsp: u8) -> (usize, u32) {
    match fsp {
        0 => (0, 1_000_000),
        1 | 2 => (1, 10_000),
        3 | 4 => (2, 100),
        _ => (3, 1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::temporal::{
        date as date_of, datetime as datetime_of, time as time_of, timestamp as timestamp_of,
    };

    fn text(read: impl FnOnce(&mut Reader<'_>, &mut Vec<u8>) -> Result<()>, row: &[u8]) -> Vec<u8> {
        let mut image = Vec::new();
        let mut row = Reader::new(row);
        read(&mut row, &mut image).unwrap();
        assert!(row.is_empty());
        image
    }

    #[test]
    fn times() {
        let row = |negative: u8, micros: u32| {
            let mut row = vec![12, negative, 34, 0, 0, 0, 22, 59, 59];
            row.extend(micros.to_le_bytes());
            row
        };
        let seconds = (34 * 24 + 22) * 3600 + 59 * 60 + 59;
        for (fsp, unit) in [(0, 1_000_000), (1, 100_000), (2, 10_000), (3, 1000), (4, 100), (6, 1)]
        {
            let micros = if fsp == 0 { 0 } else { 789_000 / unit * unit };
            for sign in [1, -1] {
                let row = row(u8::from(sign < 0), micros);
                let image = text(|row, out| time(row, fsp, out), &row);
                let found = time_of::decode2(&image, fsp).unwrap();
                assert_eq!(found, sign * (seconds * 1_000_000 + i64::from(micros)), "{fsp} {sign}");
            }
        }
        let half = [12, 1, 0, 0, 0, 0, 0, 0, 0, 0x20, 0xa1, 0x07, 0];
        for fsp in [1, 2, 3, 4, 5, 6] {
            let image = text(|row, out| time(row, fsp, out), &half);
            assert_eq!(time_of::decode2(&image, fsp), Ok(-500_000), "{fsp}");
        }
        assert_eq!(time_of::decode2(&text(|row, out| time(row, 0, out), &[0]), 0), Ok(0));
        assert!(time(&mut Reader::new(&[5]), 0, &mut Vec::new()).is_err());
    }

    #[test]
    fn dates() {
        let row = [11, 0xe8, 0x07, 2, 29, 23, 59, 58, 0x40, 0xe2, 0x01, 0];
        let shown = |fsp| {
            let image = text(|row, out| datetime(row, fsp, out), &row);
            let mut out = Vec::new();
            datetime_of::decode2(&image, fsp).unwrap().write_text(fsp, &mut out);
            String::from_utf8(out).unwrap()
        };
        assert_eq!(shown(6), "2024-02-29 23:59:58.123456");
        assert_eq!(shown(3), "2024-02-29 23:59:58.123");
        assert_eq!(shown(0), "2024-02-29 23:59:58");
        let image = text(|row, out| timestamp(row, 6, out), &row);
        assert_eq!(timestamp_of::decode2(&image, 6), Ok(Some(1_709_251_198_123_456)));
        let zero = text(|row, out| timestamp(row, 0, out), &[0]);
        assert_eq!(timestamp_of::decode2(&zero, 0), Ok(None));
        let image = text(date, &[4, 0xe8, 0x07, 0, 31]);
        let found = date_of::decode(image.try_into().unwrap());
        assert_eq!((found.year, found.month, found.day), (2024, 0, 31));
        assert!(date(&mut Reader::new(&[5, 0, 0, 0, 0, 0]), &mut Vec::new()).is_err());
    }
}
