//! Literals, numbers and strings.
//!
//! ```text
//! literal   00 null, 01 true, 02 false          integers, double   little-endian
//! string    length, then utf8mb4                opaque             field type u8, length, data
//!
//! length    7 bits per byte, low ones first; the top bit says that more follow; at most 5 bytes
//! ```
//!
//! <https://dev.mysql.com/doc/dev/mysql-server/latest/json__binary_8h.html>

use super::super::digits;
use super::{Scalar, double, escape, opaque};
use crate::error::DecodeError;
use crate::wire::{Reader, Result};

/// Appends the value at the front of `reader`. What follows it is left alone: it may be another's.
pub(super) fn write(scalar: Scalar, reader: &mut Reader<'_>, out: &mut Vec<u8>) -> Result<()> {
    match scalar {
        Scalar::Literal => out.extend_from_slice(match reader.u8("JSON literal")? {
            0 => b"null",
            1 => b"true",
            2 => b"false",
            code => {
                return Err(DecodeError::Invalid { what: "JSON literal", value: u64::from(code) });
            }
        }),
        Scalar::I16 => digits::push_signed(out, i64::from(reader.u16("JSON i16")? as i16)),
        Scalar::U16 => digits::push(out, u64::from(reader.u16("JSON u16")?)),
        Scalar::I32 => digits::push_signed(out, i64::from(reader.u32("JSON i32")? as i32)),
        Scalar::U32 => digits::push(out, u64::from(reader.u32("JSON u32")?)),
        Scalar::I64 => digits::push_signed(out, reader.i64("JSON i64")?),
        Scalar::U64 => digits::push(out, reader.u64("JSON u64")?),
        Scalar::Double => double::write(reader.array("JSON double").map(f64::from_le_bytes)?, out)?,
        Scalar::String => escape::quote(variable(reader, "JSON string")?, out),
        Scalar::Opaque => {
            let field_type = reader.u8("JSON opaque type")?;
            opaque::write(field_type, variable(reader, "JSON opaque value")?, out)?;
        }
    }
    Ok(())
}

/// A length and as many bytes.
fn variable<'a>(reader: &mut Reader<'a>, what: &'static str) -> Result<&'a [u8]> {
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
