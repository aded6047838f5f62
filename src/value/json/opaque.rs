//! Values of MySQL types that JSON does not have: dates and times, decimals, and bytes of any other type.
//!
//! ```text
//! DATETIME 2012-03-18 11:30:45      0f | 0c | 08 | 00 00 00   ad b7 e4 8b 19
//!                                   │    │    │    │          └ year * 13 + month, day, hour, minute, second in bits
//!                                   │    │    │    └ microsecond: the low 24 bits of 8 bytes, little-endian, signed
//!                                   │    │    └ length
//!                                   │    └ field type
//!                                   └ opaque
//! DECIMAL  123.456                  0f | f6 | 06 | 06 03 | 80 7b 01 c8      precision, scale, and as in a column
//! VARCHAR  'U', binary              0f | 0f | 01 | 55                       printed as "base64:type15:VQ=="
//! ```
//!
//! <https://dev.mysql.com/doc/refman/8.4/en/json.html#json-values>

use super::super::temporal::{Date, DateTime, MAX_FSP, datetime, time};
use super::super::{decimal, digits};
use super::base64;
use crate::wire::{Reader, Result};

/// A value by its field type.
#[derive(Debug, Clone, Copy)]
pub(super) enum Opaque<'a> {
    /// A date, which may be a zero date or a partial date.
    Date(Date),
    /// DATETIME and TIMESTAMP: a TIMESTAMP is stored in the time zone of the session that wrote the
    /// document.
    DateTime(DateTime),
    /// Signed microseconds.
    Time(i64),
    Decimal(Decimal<'a>),
    /// Any other type: the number of the field type, and the stored bytes.
    Bytes(u8, &'a [u8]),
}

/// A decimal as in a column, but with larger limits: 81 digits.
#[derive(Debug, Clone, Copy)]
pub(super) struct Decimal<'a> {
    pub(super) precision: u8,
    pub(super) scale: u8,
    pub(super) groups: &'a [u8],
}

impl<'a> Opaque<'a> {
    pub(super) fn read(field_type: u8, data: &'a [u8]) -> Result<Self> {
        Ok(match field_type {
            NEWDECIMAL => {
                let mut reader = Reader::new(data);
                let precision = reader.u8("JSON decimal precision")?;
                let scale = reader.u8("JSON decimal scale")?;
                Self::Decimal(Decimal { precision, scale, groups: reader.rest() })
            }
            DATE => {
                let (packed, microsecond, _) = unpack(data)?;
                Self::Date(datetime::from_packed(packed, microsecond)?.date)
            }
            DATETIME | TIMESTAMP => {
                let (packed, microsecond, _) = unpack(data)?;
                Self::DateTime(datetime::from_packed(packed, microsecond)?)
            }
            TIME => {
                let (packed, microsecond, negative) = unpack(data)?;
                Self::Time(time::from_packed(packed, u64::from(microsecond), negative)?)
            }
            _ => Self::Bytes(field_type, data),
        })
    }

    /// Appends the value: decimals without quotes, all others in quotes.
    pub(super) fn write_text(self, out: &mut Vec<u8>) -> Result<()> {
        if let Self::Decimal(Decimal { precision, scale, groups }) = self {
            return decimal::write_json_text(groups, precision, scale, out);
        }
        out.push(b'"');
        self.write_bare(out)?;
        out.push(b'"');
        Ok(())
    }

    /// Appends the value without quotes.
    pub(super) fn write_bare(self, out: &mut Vec<u8>) -> Result<()> {
        match self {
            Self::Date(date) => date.write_text(out),
            Self::DateTime(value) => value.write_text(MAX_FSP, out),
            Self::Time(micros) => time::write_text(micros, MAX_FSP, out),
            Self::Decimal(Decimal { precision, scale, groups }) => {
                decimal::write_json_text(groups, precision, scale, out)?;
            }
            Self::Bytes(field_type, data) => {
                out.extend_from_slice(b"base64:type");
                digits::push(out, u64::from(field_type));
                out.push(b':');
                base64::write(data, out);
            }
        }
        Ok(())
    }
}

/// Returns the bits of the date and time, the microsecond, and true if the value is negative.
fn unpack(data: &[u8]) -> Result<(u64, u32, bool)> {
    let mut reader = Reader::new(data);
    let packed = reader.i64("JSON temporal value")?;
    reader.finish("JSON temporal value")?;
    let magnitude = packed.unsigned_abs();
    Ok((magnitude >> 24, (magnitude & 0xff_ffff) as u32, packed < 0))
}

const TIMESTAMP: u8 = 7;
const DATE: u8 = 10;
const TIME: u8 = 11;
const DATETIME: u8 = 12;
const NEWDECIMAL: u8 = 246;

#[cfg(test)]
mod tests {
    use super::*;

    fn text(field_type: u8, data: &[u8]) -> Result<String> {
        let mut out = Vec::new();
        Opaque::read(field_type, data)?.write_text(&mut out)?;
        Ok(String::from_utf8(out).unwrap())
    }

    #[test]
    fn temporals() {
        for (field_type, packed, expected) in [
            (DATE, 0x198b_e400_0000_0000, "\"2012-03-18\""),
            (DATETIME, 0x198b_e4b7_ad00_0000, "\"2012-03-18 11:30:45.000000\""),
            (TIMESTAMP, 0x198b_e4b7_ad00_0001, "\"2012-03-18 11:30:45.000001\""),
            (TIME, 0x0577_ee09_fbf1, "\"87:31:46.654321\""),
            (TIME, -0x0577_ee09_fbf1, "\"-87:31:46.654321\""),
            (TIME, -1, "\"-00:00:00.000001\""),
            (TIME, 0, "\"00:00:00.000000\""),
            (DATE, 0, "\"0000-00-00\""),
            (DATETIME, 0, "\"0000-00-00 00:00:00.000000\""),
        ] {
            assert_eq!(text(field_type, &i64::to_le_bytes(packed)).unwrap(), expected);
        }
        for field_type in [DATE, DATETIME, TIME] {
            for bad in [i64::MIN, i64::MAX, 0xff_ffff] {
                assert!(text(field_type, &bad.to_le_bytes()).is_err());
            }
            assert!(text(field_type, &[0; 7]).is_err() && text(field_type, &[0; 9]).is_err());
        }
    }

    #[test]
    fn decimals() {
        assert_eq!(text(NEWDECIMAL, &[6, 3, 0x80, 0x7b, 0x01, 0xc8]).unwrap(), "123.456");
        assert!(text(NEWDECIMAL, &[6, 3, 0x80, 0x7b, 0x01]).is_err());
        assert!(text(NEWDECIMAL, &[6]).is_err());
        assert!(text(NEWDECIMAL, &[82, 3, 0x80]).is_err());
        // A literal with 40 digits after the point.
        let mut small = vec![41, 40, 0x80];
        small.extend([0; 15]);
        small.extend([1, 9, 0x29]);
        assert_eq!(text(NEWDECIMAL, &small).unwrap(), format!("0.{}12345", "0".repeat(35)));
        // The least DECIMAL(65,30), which a cast with an overflow results in.
        let mut least = vec![66, 30, 0x7a, 0x0a, 0x1f, 0x00];
        least.extend([0xc4, 0x65, 0x36, 0x00].repeat(6));
        least.extend([0xfc, 0x18]);
        let expected = format!("-{}.{}", "9".repeat(35), "9".repeat(30));
        assert_eq!(text(NEWDECIMAL, &least).unwrap(), expected);
    }
}
