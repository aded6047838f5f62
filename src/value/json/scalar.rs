//! Literals, numbers, strings and opaque values in their stored form.
//!
//! ```text
//! literal   00 null, 01 true, 02 false          integers, double   little-endian
//! string    length, then utf8mb4                opaque             field type u8, length, data
//!
//! length    7 bits per byte, low ones first; the top bit says that more follow; at most 5 bytes
//! ```
//!
//! <https://dev.mysql.com/doc/dev/mysql-server/latest/json__binary_8h.html>

use super::Scalar;
use crate::error::DecodeError;
use crate::wire::{Reader, Result};

/// A value that contains no other values.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum ScalarValue<'a> {
    Null,
    Bool(bool),
    Signed(i64),
    Unsigned(u64),
    Double(f64),
    /// Should be UTF-8, but is not checked yet.
    String(&'a [u8]),
    /// A value of another MySQL type: the number of the type and the bytes.
    Opaque(u8, &'a [u8]),
}

/// Reads the value at the start of `reader`. The bytes after it are not read: they may belong to
/// another value.
#[inline(always)]
pub(super) fn read<'a>(scalar: Scalar, reader: &mut Reader<'a>) -> Result<ScalarValue<'a>> {
    Ok(match scalar {
        Scalar::Literal => match reader.u8("JSON literal")? {
            0 => ScalarValue::Null,
            1 => ScalarValue::Bool(true),
            2 => ScalarValue::Bool(false),
            code => {
                return Err(DecodeError::Invalid { what: "JSON literal", value: u64::from(code) });
            }
        },
        Scalar::I16 => ScalarValue::Signed(i64::from(reader.u16("JSON i16")? as i16)),
        Scalar::U16 => ScalarValue::Unsigned(u64::from(reader.u16("JSON u16")?)),
        Scalar::I32 => ScalarValue::Signed(i64::from(reader.u32("JSON i32")? as i32)),
        Scalar::U32 => ScalarValue::Unsigned(u64::from(reader.u32("JSON u32")?)),
        Scalar::I64 => ScalarValue::Signed(reader.i64("JSON i64")?),
        Scalar::U64 => ScalarValue::Unsigned(reader.u64("JSON u64")?),
        Scalar::Double => {
            let value = reader.array("JSON double").map(f64::from_le_bytes)?;
            if !value.is_finite() {
                return Err(DecodeError::Invalid {
                    what: "JSON double that is not a number",
                    value: 0,
                });
            }
            ScalarValue::Double(value)
        }
        Scalar::String => ScalarValue::String(variable(reader, "JSON string")?),
        Scalar::Opaque => {
            let field_type = reader.u8("JSON opaque type")?;
            ScalarValue::Opaque(field_type, variable(reader, "JSON opaque value")?)
        }
    })
}

/// Reads a length and this number of bytes.
#[inline]
pub(super) fn variable<'a>(reader: &mut Reader<'a>, what: &'static str) -> Result<&'a [u8]> {
    if let Some((length @ 0..0x80, _)) = reader.as_slice().split_first() {
        // Most texts are short.
        let length = usize::from(*length);
        reader.u8(what)?;
        return reader.take(length, what);
    }
    long_variable(reader, what)
}

/// [`variable`] for any length.
fn long_variable<'a>(reader: &mut Reader<'a>, what: &'static str) -> Result<&'a [u8]> {
    let mut length = 0u64;
    for shift in (0..35).step_by(7) {
        let byte = reader.u8(what)?;
        length |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            let limit = u64::from(u32::MAX);
            return match usize::try_from(length) {
                Ok(bytes) if length <= limit => reader.take(bytes, what),
                _ => Err(DecodeError::Limit { what, value: length, limit }),
            };
        }
    }
    Err(DecodeError::Invalid { what: "JSON length of more than 5 bytes", value: length })
}
