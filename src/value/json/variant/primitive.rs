//! Values that contain no other values: a header, then little-endian numbers or text.

use super::super::opaque::Opaque;
use super::super::scalar::ScalarValue;
use super::decimal;
use super::header::{
    BINARY, DATE, DOUBLE, FALSE, INT8, INT16, INT32, INT64, LONG_STRING, MAX_SHORT, NULL,
    TIMESTAMP_NTZ, TRUE, header, short_header, tagged,
};
use crate::error::DecodeError;
use crate::wire::Result;

/// Appends a value.
pub(super) fn write(value: ScalarValue<'_>, out: &mut Vec<u8>) -> Result<()> {
    match value {
        ScalarValue::Null => out.push(header(NULL)),
        ScalarValue::Bool(true) => out.push(header(TRUE)),
        ScalarValue::Bool(false) => out.push(header(FALSE)),
        ScalarValue::Signed(number) => integer(number, out),
        ScalarValue::Unsigned(number) => match i64::try_from(number) {
            Ok(number) => integer(number, out),
            Err(_) => decimal::write(i128::from(number), 0, out),
        },
        ScalarValue::Double(number) => tagged(DOUBLE, &number.to_le_bytes(), out),
        ScalarValue::String(text) => {
            if simdutf8::basic::from_utf8(text).is_err() {
                return Err(DecodeError::Text {
                    what: "string in a JSON document",
                    charset: "utf8mb4",
                });
            }
            string(text, out)?;
        }
        ScalarValue::Opaque(field_type, data) => opaque(Opaque::read(field_type, data)?, out)?,
    }
    Ok(())
}

fn opaque(value: Opaque<'_>, out: &mut Vec<u8>) -> Result<()> {
    match value {
        Opaque::Decimal(number) => {
            if let Some((unscaled, scale)) = decimal::read(number, out)? {
                decimal::write(unscaled, scale, out);
                return Ok(());
            }
        }
        Opaque::Date(date) => {
            if let Some(days) = date.days_since_epoch() {
                tagged(DATE, &days.to_le_bytes(), out);
                return Ok(());
            }
        }
        Opaque::DateTime(moment) => {
            if let Some(micros) = moment.micros_since_epoch() {
                tagged(TIMESTAMP_NTZ, &micros.to_le_bytes(), out);
                return Ok(());
            }
        }
        Opaque::Bytes(_, data) => return binary(data, out),
        Opaque::Time(_) => {}
    }
    text_of(value, out)
}

/// Appends a value without a variant type as a string: a time, an impossible date, a decimal of
/// many digits.
fn text_of(value: Opaque<'_>, out: &mut Vec<u8>) -> Result<()> {
    let start = out.len();
    out.push(0);
    value.write_bare(out)?;
    let text = start + 1;
    let len = out.len() - text;
    if len <= MAX_SHORT {
        if let Some(place) = out.get_mut(start) {
            *place = short_header(len);
        }
        return Ok(());
    }
    // Write it again, after the longer header.
    out.truncate(start);
    tagged(LONG_STRING, &(len as u32).to_le_bytes(), out);
    value.write_bare(out)
}

pub(super) fn integer(number: i64, out: &mut Vec<u8>) {
    if let Ok(number) = i8::try_from(number) {
        tagged(INT8, &number.to_le_bytes(), out);
    } else if let Ok(number) = i16::try_from(number) {
        tagged(INT16, &number.to_le_bytes(), out);
    } else if let Ok(number) = i32::try_from(number) {
        tagged(INT32, &number.to_le_bytes(), out);
    } else {
        tagged(INT64, &number.to_le_bytes(), out);
    }
}

pub(super) fn string(text: &[u8], out: &mut Vec<u8>) -> Result<()> {
    match text.len() {
        len @ 0..=MAX_SHORT => out.push(short_header(len)),
        _ => tagged(LONG_STRING, &length(text)?, out),
    }
    out.extend_from_slice(text);
    Ok(())
}

pub(super) fn binary(data: &[u8], out: &mut Vec<u8>) -> Result<()> {
    tagged(BINARY, &length(data)?, out);
    out.extend_from_slice(data);
    Ok(())
}

fn length(bytes: &[u8]) -> Result<[u8; 4]> {
    u32::try_from(bytes.len()).map(u32::to_le_bytes).map_err(|_| DecodeError::Limit {
        what: "bytes of a value in a JSON document",
        value: bytes.len() as u64,
        limit: u64::from(u32::MAX),
    })
}
