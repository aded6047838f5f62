//! Converts cells, as the log contains them, into literals: one converter per column, created once per table.

use super::cells::{
    Refused, Use, double, is_plain_text, write_bytes, write_characters, write_document,
};
use super::literal;
use crate::charset::Charset;
use crate::columnar::{CellLength, TablePlan, TextOf};
use crate::error::DecodeError;
use crate::schema::ColumnType;
use crate::value::decimal::{self, ShortDecimal};
use crate::value::{digits, vector};
use crate::wire::{Reader, Result as WireResult};
use std::cell::RefCell;

/// Converts the cells of a column.
pub(super) enum StoredCell {
    /// INT and BIGINT are the most frequent types of keys.
    Long,
    LongLong,
    Signed(usize),
    Unsigned(usize),
    Bit(usize),
    Year,
    Float,
    Double,
    /// A decimal of at most 18 digits, its precision and scale.
    Short(ShortDecimal, u8, u8),
    Decimal {
        precision: u8,
        scale: u8,
    },
    /// The number of bytes, and the number of members.
    Enum(usize, usize),
    Set(usize, u32),
    /// Text without special characters.
    Plain(RefCell<TextOf>),
    Characters {
        length: CellLength,
        charset: Charset,
        of: Use,
    },
    /// Bytes, and the length to which BINARY(n) is padded.
    Binary {
        length: CellLength,
        pad_to: usize,
    },
    /// COMPRESSED columns, with memory for a value.
    Inflated {
        value: RefCell<(TextOf, Vec<u8>)>,
        charset: Charset,
        of: Use,
    },
    Geometry {
        length: CellLength,
        of: Use,
    },
    Vector {
        length: CellLength,
        of: Use,
    },
    Document {
        length: CellLength,
        of: Use,
        text: RefCell<Vec<u8>>,
    },
}

impl StoredCell {
    /// `None` for a type without literals.
    pub(super) fn of(plan: &TablePlan, index: usize, of: Use) -> Option<Self> {
        use ColumnType as T;
        let column = plan.table.columns.get(index)?;
        let integer = |bytes| match column.unsigned {
            Some(true) => Some(Self::Unsigned(bytes)),
            Some(false) => Some(Self::Signed(bytes)),
            None => None,
        };
        let charset = || column.collation.map(|collation| collation.charset());
        let members = column.members.as_ref().map(|members| members.len());
        let length = || plan.cell_length(index);
        Some(match column.column_type {
            T::Tiny => integer(1)?,
            T::Short => integer(2)?,
            T::Int24 => integer(3)?,
            T::Long if column.unsigned == Some(false) => Self::Long,
            T::LongLong if column.unsigned == Some(false) => Self::LongLong,
            T::Long => integer(4)?,
            T::LongLong => integer(8)?,
            T::Float => Self::Float,
            T::Double => Self::Double,
            T::Decimal { precision, scale } => match ShortDecimal::of(precision, scale) {
                Some(form) => Self::Short(form, precision, scale),
                None => Self::Decimal { precision, scale },
            },
            T::Bit { bits } => Self::Bit(usize::from(bits.div_ceil(8))),
            T::Year => Self::Year,
            T::Enum { bytes } => Self::Enum(usize::from(bytes), members.unwrap_or(usize::MAX)),
            T::Set { bytes } => {
                Self::Set(usize::from(bytes), u32::try_from(members.unwrap_or(64)).ok()?)
            }
            T::Char { max_bytes } if charset()?.is_binary() => {
                Self::Binary { length: length()?, pad_to: usize::from(max_bytes) }
            }
            T::VarChar { .. } | T::Blob { .. } if charset()?.is_binary() => {
                Self::Binary { length: length()?, pad_to: 0 }
            }
            T::Char { .. } | T::VarChar { .. } | T::Blob { .. } => {
                Self::Characters { length: length()?, charset: charset()?, of }
            }
            T::VarCharCompressed { .. } | T::BlobCompressed { .. } => {
                let value = RefCell::new((plan.text_of(index)?, Vec::new()));
                Self::Inflated { value, charset: charset()?, of }
            }
            T::Geometry { .. } => Self::Geometry { length: length()?, of },
            T::Vector { .. } | T::VectorVarBinary { .. } => Self::Vector { length: length()?, of },
            T::Json { .. } => Self::Document { length: length()?, of, text: RefCell::default() },
            _ if is_plain_text(&column.column_type) => {
                Self::Plain(RefCell::new(plan.text_of(index)?))
            }
            _ => return None,
        })
    }

    /// Appends the literal of a cell that is not NULL.
    #[inline]
    pub(super) fn write(&self, mut cell: Reader<'_>, out: &mut Vec<u8>) -> Result<(), Refused> {
        let cell = &mut cell;
        match self {
            Self::Long => {
                digits::push_signed(out, i32::from_le_bytes(cell.array(NUMBER)?).into());
            }
            Self::LongLong => {
                digits::push_signed(out, i64::from_le_bytes(cell.array(NUMBER)?));
            }
            Self::Signed(bytes) => {
                let value = cell.uint_le(*bytes, NUMBER)?;
                let above = 64 - 8 * *bytes as u32;
                digits::push_signed(out, ((value << above) as i64) >> above);
            }
            Self::Unsigned(bytes) => digits::push(out, cell.uint_le(*bytes, NUMBER)?),
            Self::Bit(bytes) => digits::push(out, cell.uint_be(*bytes, "BIT")?),
            Self::Year => {
                let year = u64::from(cell.u8(NUMBER)?);
                digits::push(out, if year == 0 { 0 } else { 1900 + year });
            }
            Self::Float => return double(f32::from_le_bytes(cell.array(NUMBER)?).into(), out),
            Self::Double => return double(f64::from_le_bytes(cell.array(NUMBER)?), out),
            Self::Short(form, precision, scale) => {
                let bytes = cell.take(form.bytes(), "DECIMAL")?;
                let value = match form.decode(bytes) {
                    Some(value) => value.into(),
                    None => decimal::decode_i128(bytes, *precision, *scale)?,
                };
                literal::decimal(value, usize::from(*scale), out);
            }
            Self::Decimal { precision, scale } => {
                let bytes = cell.take(decimal::byte_count(*precision, *scale), "DECIMAL")?;
                decimal::write_text(bytes, *precision, *scale, out)?;
            }
            Self::Enum(bytes, members) => {
                let ordinal = cell.uint_le(*bytes, "ENUM")?;
                if ordinal > *members as u64 {
                    let what = "ENUM ordinal beyond the members";
                    return Err(DecodeError::Invalid { what, value: ordinal }.into());
                }
                digits::push(out, ordinal);
            }
            Self::Set(bytes, members) => {
                let bits = cell.uint_le(*bytes, "SET")?;
                if bits.checked_shr(*members).unwrap_or(0) != 0 {
                    return Err(Refused::Members);
                }
                digits::push(out, bits);
            }
            Self::Plain(text) => {
                out.push(b'\'');
                (text.borrow_mut())(cell, out)?;
                out.push(b'\'');
            }
            Self::Characters { length, charset, of } => {
                return write_characters(length.cell(cell)?, *charset, *of, out);
            }
            Self::Binary { length, pad_to } => {
                let bytes = length.cell(cell)?;
                literal::bytes(bytes, out);
                if bytes.len() < *pad_to {
                    pad(bytes.len(), *pad_to, out);
                }
            }
            Self::Inflated { value, charset, of } => {
                let (text, bytes) = &mut *value.borrow_mut();
                bytes.clear();
                text(cell, bytes)?;
                write_characters(bytes, *charset, *of, out)?;
                free_large(bytes);
            }
            Self::Geometry { length, of } => write_bytes(length.cell(cell)?, *of, out),
            Self::Vector { length, of } => {
                let bytes = length.cell(cell)?;
                vector::dimension(bytes)?;
                write_bytes(bytes, *of, out);
            }
            Self::Document { length, of, text } => {
                let document = length.cell(cell)?;
                let mut text = text.borrow_mut();
                write_document(document, *of, &mut text, out)?;
                free_large(&mut text);
            }
        }
        Ok(())
    }
}

/// Appends the zeros that the server removes from the end of a BINARY(n) value.
fn pad(len: usize, pad_to: usize, out: &mut Vec<u8>) {
    if len == 0 {
        // The literal of no bytes.
        out.truncate(out.len() - 2);
        out.extend_from_slice(b"0x");
    }
    out.resize(out.len() + 2 * (pad_to - len), b'0');
}

/// Frees the memory of a large value.
fn free_large(value: &mut Vec<u8>) {
    if value.capacity() > MAX_SPARE {
        *value = Vec::new();
    }
}

/// True if the ordinal of an ENUM is that of the empty error value.
pub(super) fn is_error_value(cell: &[u8]) -> bool {
    cell.iter().all(|byte| *byte == 0)
}

/// True if the text of a cell is one of `texts`.
pub(super) fn is_one_of(text: &mut TextOf, mut cell: Reader<'_>, texts: &[&str]) -> bool {
    let mut written = Vec::new();
    let result: WireResult<()> = text(&mut cell, &mut written);
    result.is_ok() && texts.iter().any(|text| text.as_bytes() == written)
}

const NUMBER: &str = "number";

/// The memory of larger values is not used again.
const MAX_SPARE: usize = 1 << 20;
