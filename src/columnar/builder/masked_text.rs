//! The text of values of each type, for hashes and statements: the text that `SELECT` prints. It does not depend
//! on the reader's options of types.
//!
//! | column | text that is hashed |
//! |---|---|
//! | integers, DECIMAL | the digits: `-5`, `1.50` |
//! | FLOAT, DOUBLE | the fewest digits from which the same number is read again, as the server writes a DOUBLE: `1`, `0.1`, `1.5e20` |
//! | BIT | the bits as a number: `5` |
//! | DATE, DATETIME, TIME, YEAR | `2024-02-29`, `2024-02-29 10:00:00.25`, `-10:00:00`, `2024`; also zero dates |
//! | TIMESTAMP | the same, in UTC |
//! | CHAR, VARCHAR, TEXT | the text in UTF-8 |
//! | ENUM, SET | the members, or their number if the members are not known |
//! | JSON | the document as printed |
//! | UUID, INET4, INET6 | as printed, if the type is known |
//! | BINARY, VARBINARY, BLOB, GEOMETRY, VECTOR | the bytes; BINARY includes the zeros at its end |

use super::address::{Inet4Text, Inet6Text, UuidText};
use super::binary::Bytes;
use super::character::Character;
use super::compressed::Compressed;
use super::decimal::DecimalText;
use super::enumeration::EnumText;
use super::json::JsonText;
use super::length::CellLength;
use super::set::SetText;
use super::temporal_text;
use super::text::Text;
use super::var_len::VarLenCell;
use super::{is_unsigned, not_decoded, unknown_fraction};
use crate::charset::Charset;
use crate::columnar::type_options::TypeOptions;
use crate::error::Error;
use crate::schema::{Column, ColumnType};
use crate::value::{decimal, digits, float};
use crate::wire::{Reader, Result};
use std::sync::Arc;

/// Reads a cell and appends its text.
pub(crate) type TextOf = Box<dyn FnMut(&mut Reader<'_>, &mut Vec<u8>) -> Result<()> + Send>;

/// The text of a column's cells, for statements that are written from them.
pub(crate) fn text_of(
    column: &Column,
    options: &TypeOptions,
    is_mariadb: bool,
) -> std::result::Result<TextOf, Error> {
    let mut cell = text_cell(column, options, is_mariadb)?;
    Ok(Box::new(move |image, out| cell.read(image, out)))
}

/// The cells of a column as text.
pub(super) fn text_cell(
    column: &Column,
    options: &TypeOptions,
    is_mariadb: bool,
) -> std::result::Result<Box<dyn VarLenCell>, Error> {
    use ColumnType as T;
    let character = |length, pad_to| {
        Character::of(column, length, options, pad_to).map(Character::checked_cell)
    };
    Ok(match column.column_type {
        T::Tiny => integer(column, 1)?,
        T::Short => integer(column, 2)?,
        T::Int24 => integer(column, 3)?,
        T::Long => integer(column, 4)?,
        T::LongLong => integer(column, 8)?,
        T::Float => Box::new(FloatText),
        T::Double => Box::new(DoubleText),
        T::Decimal { precision, scale } => {
            let bytes = decimal::byte_count(precision, scale);
            Box::new(DecimalText { precision, scale, bytes })
        }
        T::Bit { bits } => Box::new(BitText { bytes: usize::from(bits.div_ceil(8)) }),
        T::Year => Box::new(YearText),
        T::DateTimeOld { fsp: None } | T::TimestampOld { fsp: None } | T::TimeOld { fsp: None }
            if is_mariadb =>
        {
            return Err(unknown_fraction(column));
        }
        T::Date => Box::new(temporal_text::DateText),
        T::DateTime2 { fsp } => Box::new(temporal_text::DateTimeText { fsp }),
        T::Timestamp2 { fsp } => Box::new(temporal_text::TimestampText { fsp }),
        T::Time2 { fsp } => Box::new(temporal_text::TimeText { fsp }),
        T::DateTimeOld { fsp } => {
            Box::new(temporal_text::DateTimeOldText { fsp: fsp.unwrap_or(0) })
        }
        T::TimestampOld { fsp } => {
            Box::new(temporal_text::TimestampOldText { fsp: fsp.unwrap_or(0) })
        }
        T::TimeOld { fsp } => Box::new(temporal_text::TimeOldText { fsp: fsp.unwrap_or(0) }),
        T::Char { max_bytes } => character(CellLength::declared(max_bytes), max_bytes)?,
        T::VarChar { max_bytes } => character(CellLength::declared(max_bytes), 0)?,
        T::Blob { length_bytes } => character(CellLength::blob(length_bytes), 0)?,
        T::VarCharCompressed { max_bytes } => {
            let plain = character(CellLength::rest(), 0)?;
            Box::new(Compressed::new(CellLength::declared(max_bytes), plain))
        }
        T::BlobCompressed { length_bytes } => {
            let plain = character(CellLength::rest(), 0)?;
            Box::new(Compressed::new(CellLength::blob(length_bytes), plain))
        }
        T::Enum { bytes } => match &column.members {
            Some(members) => Box::new(EnumText { bytes, members: Arc::clone(members) }),
            None => Box::new(UnsignedText { bytes, what: "ENUM" }),
        },
        T::Set { bytes } => match &column.members {
            Some(members) => Box::new(SetText::new(bytes, Arc::clone(members))),
            None => Box::new(UnsignedText { bytes, what: "SET" }),
        },
        T::Json { length_bytes } => Box::new(JsonText::new(CellLength::blob(length_bytes))),
        T::JsonText { length_bytes } => {
            Box::new(Text::utf8(CellLength::blob(length_bytes), Charset::Utf8mb4))
        }
        T::Geometry { length_bytes } | T::Vector { length_bytes } => {
            Box::new(Bytes::new(CellLength::blob(length_bytes)))
        }
        T::VectorVarBinary { max_bytes } => Box::new(Bytes::new(CellLength::declared(max_bytes))),
        T::Uuid => Box::new(UuidText),
        T::Inet4 => Box::new(Inet4Text),
        T::Inet6 => Box::new(Inet6Text),
        T::TypedArray => return Err(not_decoded(column)),
    })
}

fn integer(column: &Column, bytes: u8) -> std::result::Result<Box<dyn VarLenCell>, Error> {
    Ok(match is_unsigned(column)? {
        true => Box::new(UnsignedText { bytes, what: "number" }),
        false => Box::new(SignedText { bytes }),
    })
}

struct UnsignedText {
    bytes: u8,
    what: &'static str,
}

impl VarLenCell for UnsignedText {
    fn read(&mut self, image: &mut Reader<'_>, out: &mut Vec<u8>) -> Result<()> {
        digits::push(out, image.uint_le(usize::from(self.bytes), self.what)?);
        Ok(())
    }
}

struct SignedText {
    bytes: u8,
}

impl VarLenCell for SignedText {
    fn read(&mut self, image: &mut Reader<'_>, out: &mut Vec<u8>) -> Result<()> {
        let value = image.uint_le(usize::from(self.bytes), "number")?;
        // The shift to the left moves the sign bit to the top; the shift to the right copies it into the bits above.
        let above = 64 - 8 * u32::from(self.bytes);
        digits::push_signed(out, ((value << above) as i64) >> above);
        Ok(())
    }
}

struct FloatText;

impl VarLenCell for FloatText {
    fn read(&mut self, image: &mut Reader<'_>, out: &mut Vec<u8>) -> Result<()> {
        float::write_single(f32::from_le_bytes(image.array("number")?), out);
        Ok(())
    }
}

struct DoubleText;

impl VarLenCell for DoubleText {
    fn read(&mut self, image: &mut Reader<'_>, out: &mut Vec<u8>) -> Result<()> {
        float::write_double(f64::from_le_bytes(image.array("number")?), out);
        Ok(())
    }
}

struct BitText {
    bytes: usize,
}

impl VarLenCell for BitText {
    fn read(&mut self, image: &mut Reader<'_>, out: &mut Vec<u8>) -> Result<()> {
        digits::push(out, image.uint_be(self.bytes, "BIT")?);
        Ok(())
    }
}

struct YearText;

impl VarLenCell for YearText {
    fn read(&mut self, image: &mut Reader<'_>, out: &mut Vec<u8>) -> Result<()> {
        let year = match image.u8("number")? {
            0 => 0,
            year => 1900 + u64::from(year),
        };
        digits::push_padded(out, year, 4);
        Ok(())
    }
}
