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

use super::super::temporal::{MAX_FSP, datetime, time};
use super::super::{decimal, digits};
use crate::wire::{Reader, Result};

/// Appends the value of a field type: decimals plain, all others in quotes.
pub(super) fn write(field_type: u8, data: &[u8], out: &mut Vec<u8>) -> Result<()> {
    match field_type {
        NEWDECIMAL => write_decimal(data, out),
        DATE => {
            let (packed, microsecond, _) = unpack(data)?;
            let value = datetime::from_packed(packed, microsecond)?;
            quoted(out, |out| value.date.write_text(out));
            Ok(())
        }
        DATETIME | TIMESTAMP => {
            let (packed, microsecond, _) = unpack(data)?;
            let value = datetime::from_packed(packed, microsecond)?;
            quoted(out, |out| value.write_text(MAX_FSP, out));
            Ok(())
        }
        TIME => {
            let (packed, microsecond, negative) = unpack(data)?;
            let micros = time::from_packed(packed, u64::from(microsecond), negative)?;
            quoted(out, |out| time::write_text(micros, MAX_FSP, out));
            Ok(())
        }
        _ => {
            quoted(out, |out| {
                out.extend_from_slice(b"base64:type");
                digits::push(out, u64::from(field_type));
                out.push(b':');
                write_base64(data, out);
            });
            Ok(())
        }
    }
}

/// The date and time bits, the microsecond, and whether the whole is negative.
fn unpack(data: &[u8]) -> Result<(u64, u32, bool)> {
    let mut reader = Reader::new(data);
    let packed = reader.i64("JSON temporal value")?;
    reader.finish("JSON temporal value")?;
    let magnitude = packed.unsigned_abs();
    Ok((magnitude >> 24, (magnitude & 0xff_ffff) as u32, packed < 0))
}

fn write_decimal(data: &[u8], out: &mut Vec<u8>) -> Result<()> {
    let mut reader = Reader::new(data);
    let precision = reader.u8("JSON decimal precision")?;
    let scale = reader.u8("JSON decimal scale")?;
    decimal::write_json_text(reader.rest(), precision, scale, out)
}

fn quoted(out: &mut Vec<u8>, body: impl FnOnce(&mut Vec<u8>)) {
    out.push(b'"');
    body(out);
    out.push(b'"');
}

/// Base64 in the server's manner: padded, in lines of 76 characters. The line ends are escaped, for they stand in a JSON
/// string.
fn write_base64(data: &[u8], out: &mut Vec<u8>) {
    out.reserve(data.len() / 3 * 4 + data.len() / LINE_BYTES * 2 + 4);
    for (index, line) in data.chunks(LINE_BYTES).enumerate() {
        if index > 0 {
            out.extend_from_slice(b"\\n");
        }
        let (groups, rest) = line.as_chunks::<3>();
        for [a, b, c] in groups {
            out.extend_from_slice(&base64_group([*a, *b, *c]));
        }
        match *rest {
            [a] => {
                let [first, second, _, _] = base64_group([a, 0, 0]);
                out.extend_from_slice(&[first, second, b'=', b'=']);
            }
            [a, b] => {
                let [first, second, third, _] = base64_group([a, b, 0]);
                out.extend_from_slice(&[first, second, third, b'=']);
            }
            _ => {}
        }
    }
}

fn base64_group([a, b, c]: [u8; 3]) -> [u8; 4] {
    let bits = u32::from_be_bytes([0, a, b, c]);
    [bits >> 18, bits >> 12, bits >> 6, bits].map(|six| match (six & 63) as u8 {
        six @ 0..=25 => b'A' + six,
        six @ 26..=51 => b'a' + six - 26,
        six @ 52..=61 => b'0' + six - 52,
        62 => b'+',
        _ => b'/',
    })
}

/// Bytes that make a line of 76 characters.
const LINE_BYTES: usize = 57;

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
        write(field_type, data, &mut out).map(|()| String::from_utf8(out).unwrap())
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
        // The least DECIMAL(65,30), as a cast that overflows leaves it.
        let mut least = vec![66, 30, 0x7a, 0x0a, 0x1f, 0x00];
        least.extend([0xc4, 0x65, 0x36, 0x00].repeat(6));
        least.extend([0xfc, 0x18]);
        let expected = format!("-{}.{}", "9".repeat(35), "9".repeat(30));
        assert_eq!(text(NEWDECIMAL, &least).unwrap(), expected);
    }

    #[test]
    fn base64() {
        for (data, expected) in [
            (&b""[..], "\"base64:type15:\""),
            (b"U", "\"base64:type15:VQ==\""),
            (b"Us", "\"base64:type15:VXM=\""),
            (b"Usv", "\"base64:type15:VXN2\""),
            (b"\xfb\xef\xff\x00", "\"base64:type15:++//AA==\""),
        ] {
            assert_eq!(text(15, data).unwrap(), expected);
        }
        let long = text(252, &[0; 115]).unwrap();
        let line = "A".repeat(76);
        assert_eq!(long, format!("\"base64:type252:{line}\\n{line}\\nAA==\""));
    }
}
