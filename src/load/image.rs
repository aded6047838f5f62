//! Rows of the binary protocol as row images: the form that rows have in the log.
//!
//! Input: a row of a prepared statement. Output: the row's image, as in a Write_rows event. So the
//! builders of the change stream decode loaded rows too, and a loaded cell is the Arrow value of the
//! streamed cell. Called by `rows.rs`.

use super::{decimal, temporal};
use crate::error::{DecodeError, Error, ErrorKind};
use crate::protocol::{BinaryRow, ResultColumn};
use crate::schema::{Column, ColumnType, quoted_name};
use crate::value::{inet, uuid};
use crate::wire::{Reader, Result};
use flate2::Compression;
use flate2::write::ZlibEncoder;
use std::io::Write;

/// The conversion of the values of one column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CellForm {
    /// Numbers, which have the same bytes in both forms. An image leaves out bytes at the end: one of MEDIUMINT.
    Number {
        /// The number of bytes in the protocol.
        bytes: u8,
        /// The number of bytes in an image.
        kept: u8,
    },
    /// The number of an ENUM or SET value, of which an image has this many bytes: the protocol has an integer.
    Ordinal { kept: u8 },
    /// A YEAR: two bytes in the protocol; in an image one byte, from 1900 on. MariaDB sends two digits of a YEAR(2).
    Year { two_digits: bool },
    /// DECIMAL(precision, scale): text in the protocol.
    Decimal { precision: u8, scale: u8 },
    /// BIT of this many bytes.
    Bit { bytes: u8 },
    /// DATE.
    Date,
    /// TIME(fsp).
    Time { fsp: u8 },
    /// DATETIME(fsp).
    DateTime { fsp: u8 },
    /// TIMESTAMP(fsp).
    Timestamp { fsp: u8 },
    /// Text or bytes, whose length has this many bytes in an image.
    Bytes { length_bytes: u8 },
    /// Text or bytes with MariaDB's COMPRESSED attribute: the server sends them inflated, and an image may contain them so.
    Compressed { length_bytes: u8 },
    /// UUID: text in the protocol.
    Uuid,
    /// INET4: text in the protocol.
    Inet4,
    /// INET6: text in the protocol.
    Inet6,
}

impl CellForm {
    /// The form of a column's values, and the expression that selects them.
    ///
    /// # Errors
    /// A SELECT does not return values of this column.
    pub(super) fn of(column: &Column, name: &str) -> std::result::Result<(Self, String), Error> {
        use ColumnType as T;
        let number = |bytes| Self::Number { bytes, kept: bytes };
        let declared =
            |max_bytes: u16| Self::Bytes { length_bytes: if max_bytes > 255 { 2 } else { 1 } };
        let name = quoted_name(name);
        let form = match column.column_type {
            T::Tiny => number(1),
            T::Short => number(2),
            T::Int24 => Self::Number { bytes: 4, kept: 3 },
            T::Long | T::Float => number(4),
            T::LongLong | T::Double => number(8),
            T::Decimal { precision, scale } => Self::Decimal { precision, scale },
            T::Bit { bits } => Self::Bit { bytes: bits.div_ceil(8) },
            T::Year => Self::Year { two_digits: false },
            T::Date => Self::Date,
            T::Time2 { fsp } => Self::Time { fsp },
            T::DateTime2 { fsp } => Self::DateTime { fsp },
            T::Timestamp2 { fsp } => Self::Timestamp { fsp },
            T::Char { max_bytes } | T::VarChar { max_bytes } | T::VectorVarBinary { max_bytes } => {
                declared(max_bytes)
            }
            T::Blob { length_bytes }
            | T::JsonText { length_bytes }
            | T::Geometry { length_bytes }
            | T::Vector { length_bytes } => Self::Bytes { length_bytes },
            T::VarCharCompressed { max_bytes } => {
                Self::Compressed { length_bytes: if max_bytes > 255 { 2 } else { 1 } }
            }
            T::BlobCompressed { length_bytes } => Self::Compressed { length_bytes },
            T::Uuid => Self::Uuid,
            T::Inet4 => Self::Inet4,
            T::Inet6 => Self::Inet6,
            // The number of the member, or of the set: an image does not contain the text.
            T::Enum { bytes } | T::Set { bytes } => {
                return Ok((Self::Ordinal { kept: bytes }, format!("CAST({name} AS UNSIGNED)")));
            }
            T::Json { .. }
            | T::TimeOld { .. }
            | T::DateTimeOld { .. }
            | T::TimestampOld { .. }
            | T::TypedArray => {
                let kind = column.sql_type();
                return Err(Error::new(
                    ErrorKind::Unsupported,
                    format!("column {name}: values of {kind} cannot be loaded"),
                ));
            }
        };
        Ok((form, name))
    }

    /// The form of values that the server sends as `sent`; `None` if it is not one of this column's type.
    pub(super) fn as_sent(self, sent: ResultColumn) -> Option<Self> {
        let bytes = match sent.type_code {
            LONG => 4,
            _ => 8,
        };
        match self {
            // CAST AS UNSIGNED is an INT in MariaDB if its values have few digits.
            Self::Ordinal { kept } => (matches!(sent.type_code, LONG | LONGLONG) && kept <= bytes)
                .then_some(Self::Number { bytes, kept }),
            Self::Year { .. } => matches!(sent.type_code, SHORT | YEAR)
                .then_some(Self::Year { two_digits: sent.length == 2 }),
            form => form.is_sent_as(sent.type_code).then_some(form),
        }
    }

    fn is_sent_as(self, type_code: u8) -> bool {
        let types: &[u8] = match self {
            Self::Ordinal { .. } | Self::Year { .. } => &[],
            Self::Number { bytes: 1, .. } => &[TINY],
            Self::Number { bytes: 2, .. } => &[SHORT],
            Self::Number { bytes: 4, .. } => &[LONG, INT24, FLOAT],
            Self::Number { .. } => &[LONGLONG, DOUBLE],
            Self::Date => &[DATE, NEWDATE],
            Self::Time { .. } => &[TIME],
            Self::DateTime { .. } => &[DATETIME],
            Self::Timestamp { .. } => &[TIMESTAMP],
            Self::Decimal { .. } => &[NEWDECIMAL],
            Self::Bit { .. } => &[BIT],
            Self::Bytes { .. }
            | Self::Compressed { .. }
            | Self::Uuid
            | Self::Inet4
            | Self::Inet6 => &TEXTS,
        };
        types.contains(&type_code)
    }

    /// Reads a value that is not NULL, and appends its cell.
    #[inline]
    fn convert(self, row: &mut Reader<'_>, out: &mut Vec<u8>) -> Result<()> {
        const WHAT: &str = "value of a prepared statement's row";
        match self {
            // Replaced by a number when the query starts.
            Self::Ordinal { .. } => return Err(DecodeError::Invalid { what: WHAT, value: 0 }),
            Self::Number { bytes, kept } => {
                let value = row.take(bytes.into(), WHAT)?;
                out.extend_from_slice(value.get(..kept.into()).unwrap_or_default());
            }
            Self::Year { two_digits } => {
                let stored = match (row.u16(WHAT)?, two_digits) {
                    (0, false) => 0,
                    (year @ 1901..=2155, false) => year - 1900,
                    (year @ 0..=69, true) => year + 100,
                    (year @ 70..=99, true) => year,
                    (year, _) => {
                        return Err(DecodeError::Invalid { what: "YEAR", value: year.into() });
                    }
                };
                out.push(stored as u8);
            }
            Self::Decimal { precision, scale } => {
                decimal::encode(row.lenenc_str(WHAT)?, precision, scale, out)?;
            }
            Self::Bit { bytes } => {
                let value = row.lenenc_str(WHAT)?;
                let missing = usize::from(bytes).checked_sub(value.len()).ok_or_else(|| {
                    DecodeError::Limit {
                        what: "BIT",
                        value: value.len() as u64,
                        limit: bytes.into(),
                    }
                })?;
                out.resize(out.len() + missing, 0);
                out.extend_from_slice(value);
            }
            Self::Date => temporal::date(row, out)?,
            Self::Time { fsp } => temporal::time(row, fsp, out)?,
            Self::DateTime { fsp } => temporal::datetime(row, fsp, out)?,
            Self::Timestamp { fsp } => temporal::timestamp(row, fsp, out)?,
            Self::Bytes { length_bytes } => {
                let value = row.lenenc_str(WHAT)?;
                push_length(value.len(), length_bytes, out)?;
                out.extend_from_slice(value);
            }
            Self::Compressed { length_bytes } => {
                push_compressed(row.lenenc_str(WHAT)?, length_bytes, out)?;
            }
            Self::Uuid => {
                out.push(16);
                out.extend(uuid::parse(row.lenenc_str(WHAT)?)?);
            }
            Self::Inet4 => {
                out.push(4);
                out.extend(inet::parse_inet4(row.lenenc_str(WHAT)?)?);
            }
            Self::Inet6 => {
                out.push(16);
                out.extend(inet::parse_inet6(row.lenenc_str(WHAT)?)?);
            }
        }
        Ok(())
    }

    /// Reads a value that is not NULL as text, in the form of a constant in SQL: numbers and times in ASCII, other values as they
    /// are.
    pub(super) fn text(self, is_unsigned: bool, row: &mut Reader<'_>) -> Result<Vec<u8>> {
        const WHAT: &str = "key of a prepared statement's row";
        Ok(match self {
            Self::Number { bytes, .. } => {
                let mut wide = [0; 8];
                let value = row.take(bytes.into(), WHAT)?;
                wide.iter_mut().zip(value).for_each(|(wide, byte)| *wide = *byte);
                let shift = 64 - 8 * u32::from(bytes.clamp(1, 8));
                match is_unsigned {
                    true => u64::from_le_bytes(wide).to_string(),
                    false => (i64::from_le_bytes(wide) << shift >> shift).to_string(),
                }
                .into_bytes()
            }
            Self::Year { .. } => row.u16(WHAT)?.to_string().into_bytes(),
            Self::Date => temporal::date_text(row)?.into_bytes(),
            Self::DateTime { .. } | Self::Timestamp { .. } => {
                temporal::datetime_text(row)?.into_bytes()
            }
            Self::Time { .. } => temporal::time_text(row)?.into_bytes(),
            Self::Ordinal { .. } => {
                return Err(DecodeError::Invalid { what: WHAT, value: 0 });
            }
            Self::Decimal { .. }
            | Self::Bit { .. }
            | Self::Bytes { .. }
            | Self::Compressed { .. }
            | Self::Uuid
            | Self::Inet4
            | Self::Inet6 => row.lenenc_str(WHAT)?.to_vec(),
        })
    }
}

/// Appends the image of a row, which begins with a value for each of the columns. Returns the values after them.
///
/// # Errors
/// The row does not have this form: the index of its column, and the reason.
#[inline]
pub(super) fn push_image<'r>(
    forms: &[CellForm],
    row: &BinaryRow<'r>,
    out: &mut Vec<u8>,
) -> std::result::Result<Reader<'r>, (usize, DecodeError)> {
    let bitmap = out.len();
    out.resize(bitmap + forms.len().div_ceil(8), 0);
    let mut values = row.values();
    for (index, form) in forms.iter().enumerate() {
        if row.is_null(index) {
            if let Some(byte) = out.get_mut(bitmap + index / 8) {
                *byte |= 1 << (index % 8);
            }
        } else {
            form.convert(&mut values, out).map_err(|error| (index, error))?;
        }
    }
    Ok(values)
}

/// Appends the length of a cell.
#[inline]
fn push_length(length: usize, length_bytes: u8, out: &mut Vec<u8>) -> Result<()> {
    let limit = (1_u64 << (8 * u32::from(length_bytes))) - 1;
    if length as u64 > limit {
        return Err(DecodeError::Limit { what: "cell length", value: length as u64, limit });
    }
    out.extend(length.to_le_bytes().iter().take(length_bytes.into()));
    Ok(())
}

/// Appends the cell of a COMPRESSED column: the plain value, or the compressed value if the plain one is too long with
/// the byte before it. `value::compressed` describes both.
fn push_compressed(value: &[u8], length_bytes: u8, out: &mut Vec<u8>) -> Result<()> {
    const PLAIN: u8 = 0;
    const ZLIB_WITH_LENGTH_OF_4: u8 = 0x84;
    if (value.len() as u64) < (1 << (8 * u32::from(length_bytes))) - 1 {
        push_length(value.len() + 1, length_bytes, out)?;
        out.push(PLAIN);
        out.extend_from_slice(value);
        return Ok(());
    }
    let mut cell = vec![ZLIB_WITH_LENGTH_OF_4];
    cell.extend((value.len() as u32).to_be_bytes());
    let mut encoder = ZlibEncoder::new(cell, Compression::fast());
    let failed =
        |_| DecodeError::Invalid { what: "a value to compress", value: value.len() as u64 };
    let cell = encoder.write_all(value).and_then(|()| encoder.finish()).map_err(failed)?;
    push_length(cell.len(), length_bytes, out)?;
    out.extend(cell);
    Ok(())
}

// The type codes of the protocol.
const TINY: u8 = 1;
const SHORT: u8 = 2;
const LONG: u8 = 3;
const FLOAT: u8 = 4;
const DOUBLE: u8 = 5;
const TIMESTAMP: u8 = 7;
const LONGLONG: u8 = 8;
const INT24: u8 = 9;
const DATE: u8 = 10;
const TIME: u8 = 11;
const DATETIME: u8 = 12;
const YEAR: u8 = 13;
const NEWDATE: u8 = 14;
const BIT: u8 = 16;
const NEWDECIMAL: u8 = 246;
/// VARCHAR, VECTOR, JSON, the BLOB types, VAR_STRING, STRING, GEOMETRY: all are sent as a length and bytes.
const TEXTS: [u8; 10] = [15, 242, 245, 249, 250, 251, 252, 253, 254, 255];
