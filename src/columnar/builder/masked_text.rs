//! The text of every type's values, for hashes: what `SELECT` prints, whatever the reader's types are.
//!
//! | column | what is hashed |
//! |---|---|
//! | integers, DECIMAL | the digits: `-5`, `1.50` |
//! | FLOAT, DOUBLE | the fewest digits that give the number back, as the server writes a DOUBLE: `1`, `0.1`, `1.5e20` |
//! | BIT | the bits as a number: `5` |
//! | DATE, DATETIME, TIME, YEAR | `2024-02-29`, `2024-02-29 10:00:00.25`, `-10:00:00`, `2024`; zero dates too |
//! | TIMESTAMP | likewise, in UTC |
//! | CHAR, VARCHAR, TEXT | the text in UTF-8 |
//! | ENUM, SET | the members; their number where they are not known |
//! | JSON | the document as printed |
//! | UUID, INET4, INET6 | as printed, where they are known for what they are |
//! | BINARY, VARBINARY, BLOB, GEOMETRY, VECTOR | the bytes; BINARY with the zeros at its end |

use super::address::{Inet4Text, Inet6Text, UuidText};
use super::decimal::DecimalText;
use super::length::CellLength;
use super::number::enum_ordinal;
use super::set::write_members;
use super::temporal_text::{self, TextCell};
use super::{not_decoded, unknown_collation, unknown_fraction};
use crate::charset::Charset;
use crate::columnar::type_options::{InvalidText, TypeOptions};
use crate::error::{DecodeError, Error};
use crate::schema::{Column, ColumnType};
use crate::value::compressed::plain;
use crate::value::{decimal, digits, float, json};
use crate::wire::{Inflater, Reader, Result};
use std::sync::Arc;

/// How the cells of a column become text.
pub(super) fn text_cell(
    column: &Column,
    options: &TypeOptions,
    is_mariadb: bool,
) -> std::result::Result<Box<dyn TextCell>, Error> {
    use ColumnType as T;
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
        T::Char { max_bytes } => {
            character(column, CellLength::declared(max_bytes), options, max_bytes)?
        }
        T::VarChar { max_bytes } => character(column, CellLength::declared(max_bytes), options, 0)?,
        T::Blob { length_bytes } => character(column, CellLength::blob(length_bytes), options, 0)?,
        T::VarCharCompressed { max_bytes } => {
            let plain = character(column, CellLength::whole(), options, 0)?;
            Box::new(CompressedText::new(CellLength::declared(max_bytes), plain))
        }
        T::BlobCompressed { length_bytes } => {
            let plain = character(column, CellLength::whole(), options, 0)?;
            Box::new(CompressedText::new(CellLength::blob(length_bytes), plain))
        }
        T::Enum { bytes } => Box::new(EnumText { bytes, members: column.members.clone() }),
        T::Set { bytes } => Box::new(SetText { bytes, members: column.members.clone() }),
        T::Json { length_bytes } => Box::new(JsonText { length: CellLength::blob(length_bytes) }),
        T::Geometry { length_bytes } | T::Vector { length_bytes } => {
            Box::new(BytesText { length: CellLength::blob(length_bytes), pad_to: 0 })
        }
        T::VectorVarBinary { max_bytes } => {
            Box::new(BytesText { length: CellLength::declared(max_bytes), pad_to: 0 })
        }
        T::Uuid => Box::new(UuidText),
        T::Inet4 => Box::new(Inet4Text),
        T::Inet6 => Box::new(Inet6Text),
        T::TypedArray => return Err(not_decoded(column)),
    })
}

fn integer(column: &Column, bytes: u32) -> std::result::Result<Box<dyn TextCell>, Error> {
    match column.unsigned {
        Some(unsigned) => Ok(Box::new(IntegerText { bytes, unsigned })),
        None => Err(Error::schema("the log does not tell whether the column is signed")),
    }
}

/// Text or bytes, as the column's own builder would have it.
fn character(
    column: &Column,
    length: CellLength,
    options: &TypeOptions,
    pad_to: u16,
) -> std::result::Result<Box<dyn TextCell>, Error> {
    let as_bytes = |pad_to: u16| Box::new(BytesText { length, pad_to: usize::from(pad_to) });
    let Some(collation) = column.collation else { return Ok(as_bytes(0)) };
    let charset = collation.charset();
    match charset.transcoding() {
        _ if charset.is_binary() => Ok(as_bytes(pad_to)),
        _ if options.invalid_text == InvalidText::Binary => Ok(as_bytes(0)),
        Some(_) => {
            let replace = options.invalid_text == InvalidText::Replace;
            Ok(Box::new(CharacterText { length, charset, replace }))
        }
        None => Err(unknown_collation(collation)),
    }
}

struct IntegerText {
    bytes: u32,
    unsigned: bool,
}

impl TextCell for IntegerText {
    fn read(&mut self, image: &mut Reader<'_>, out: &mut Vec<u8>) -> Result<()> {
        let value = image.uint_le(self.bytes as usize, "number")?;
        if self.unsigned {
            digits::push(out, value);
        } else {
            // The sign bit moves up to the top, and fills what is above it on the way down.
            let above = 64 - 8 * self.bytes;
            digits::push_signed(out, ((value << above) as i64) >> above);
        }
        Ok(())
    }
}

struct FloatText;

impl TextCell for FloatText {
    fn read(&mut self, image: &mut Reader<'_>, out: &mut Vec<u8>) -> Result<()> {
        float::write_single(f32::from_le_bytes(image.array("number")?), out);
        Ok(())
    }
}

struct DoubleText;

impl TextCell for DoubleText {
    fn read(&mut self, image: &mut Reader<'_>, out: &mut Vec<u8>) -> Result<()> {
        float::write_double(f64::from_le_bytes(image.array("number")?), out);
        Ok(())
    }
}

struct BitText {
    bytes: usize,
}

impl TextCell for BitText {
    fn read(&mut self, image: &mut Reader<'_>, out: &mut Vec<u8>) -> Result<()> {
        digits::push(out, image.uint_be(self.bytes, "BIT")?);
        Ok(())
    }
}

struct YearText;

impl TextCell for YearText {
    fn read(&mut self, image: &mut Reader<'_>, out: &mut Vec<u8>) -> Result<()> {
        let year = match image.u8("number")? {
            0 => 0,
            year => 1900 + u64::from(year),
        };
        digits::push_padded(out, year, 4);
        Ok(())
    }
}

struct CharacterText {
    length: CellLength,
    charset: Charset,
    /// What is no character becomes U+FFFD instead of an error.
    replace: bool,
}

impl TextCell for CharacterText {
    fn read(&mut self, image: &mut Reader<'_>, out: &mut Vec<u8>) -> Result<()> {
        let cell = self.length.cell(image)?;
        match self.replace {
            false => self.charset.decode_into(cell, "a cell", out),
            true => {
                self.charset.decode_lossy_into(cell, out);
                Ok(())
            }
        }
    }
}

pub(super) struct BytesText {
    pub(super) length: CellLength,
    /// Zeros at the end, which the server has cut, make it so long.
    pub(super) pad_to: usize,
}

impl TextCell for BytesText {
    fn read(&mut self, image: &mut Reader<'_>, out: &mut Vec<u8>) -> Result<()> {
        let cell = self.length.cell(image)?;
        out.extend_from_slice(cell);
        out.resize(out.len() + self.pad_to.saturating_sub(cell.len()), 0);
        Ok(())
    }
}

struct CompressedText {
    length: CellLength,
    inflater: Inflater,
    plain: Box<dyn TextCell>,
}

impl CompressedText {
    fn new(length: CellLength, plain: Box<dyn TextCell>) -> Self {
        Self { length, inflater: Inflater::default(), plain }
    }
}

impl TextCell for CompressedText {
    fn read(&mut self, image: &mut Reader<'_>, out: &mut Vec<u8>) -> Result<()> {
        let value = plain(self.length.cell(image)?, &mut self.inflater)?;
        self.plain.read(&mut Reader::new(value), out)
    }
}

struct EnumText {
    bytes: u8,
    members: Option<Arc<[Arc<str>]>>,
}

impl TextCell for EnumText {
    fn read(&mut self, image: &mut Reader<'_>, out: &mut Vec<u8>) -> Result<()> {
        let ordinal = enum_ordinal(image, self.bytes)?;
        match (&self.members, usize::from(ordinal).checked_sub(1)) {
            (None, _) => digits::push(out, u64::from(ordinal)),
            (Some(_), None) => {}
            (Some(members), Some(index)) => {
                let member = members.get(index).ok_or(DecodeError::Invalid {
                    what: "ENUM ordinal beyond the members",
                    value: u64::from(ordinal),
                })?;
                out.extend_from_slice(member.as_bytes());
            }
        }
        Ok(())
    }
}

struct SetText {
    bytes: u8,
    members: Option<Arc<[Arc<str>]>>,
}

impl TextCell for SetText {
    fn read(&mut self, image: &mut Reader<'_>, out: &mut Vec<u8>) -> Result<()> {
        let bits = image.uint_le(usize::from(self.bytes), "SET")?;
        match &self.members {
            Some(members) => write_members(bits, members, out),
            None => {
                digits::push(out, bits);
                Ok(())
            }
        }
    }
}

struct JsonText {
    length: CellLength,
}

impl TextCell for JsonText {
    fn read(&mut self, image: &mut Reader<'_>, out: &mut Vec<u8>) -> Result<()> {
        json::write_text(self.length.cell(image)?, out)
    }
}
