//! The cells of batches as literals: one function per column and side, created once per batch.

use super::literal;
use crate::charset::Charset;
use crate::error::{DecodeError, Result};
use crate::schema::{Column, ColumnType};
use crate::value::{digits, json};
use arrow_array::cast::AsArray;
use arrow_array::types::{
    Decimal128Type, Decimal256Type, DecimalType, Float32Type, Float64Type, Int8Type, Int16Type,
    Int32Type, Int64Type, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, StringArray};
use arrow_schema::DataType;
use std::cell::RefCell;
use std::sync::Arc;

/// Appends the cell of a row, which is not NULL.
pub(super) type Cell<'b> = Box<dyn Fn(usize, &mut Vec<u8>) -> Result<(), Refused> + 'b>;

/// The reason why a value has no literal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Refused {
    /// Text that is not valid in its character set.
    InvalidText(Charset),
    /// Text that was converted to UTF-8, of a character set in which several characters may have
    /// the same code in Unicode.
    Converted(Charset),
    /// A number that no server stores.
    Number,
    /// A document with a value that no expression has, or that is damaged.
    Document,
    /// Members of a SET that the column does not have.
    Members,
    /// A damaged cell.
    Damaged(DecodeError),
}

impl From<DecodeError> for Refused {
    fn from(error: DecodeError) -> Self {
        Self::Damaged(error)
    }
}

/// The use of a literal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Use {
    /// It is assigned, or compared with a column of a key.
    Value,
    /// It is compared with [`compared`], which must be equal only for the same value.
    Exact,
}

/// Appends the expression of a column that is compared exactly.
pub(super) fn compared(column: &Column, name: &[u8], is_text: bool, out: &mut Vec<u8>) {
    use ColumnType as T;
    let (before, after): (&[u8], &[u8]) = match column.column_type {
        T::Geometry { .. } | T::Vector { .. } | T::VectorVarBinary { .. } => (b"HEX(", b")"),
        T::Set { .. } | T::Year => (b"CAST(", b" AS UNSIGNED)"),
        _ if !column.column_type.is_character() || is_binary(column) => (b"", b""),
        _ if is_text && !is_utf8(column) => (b"CAST(CONVERT(", b" USING utf8mb4) AS BINARY)"),
        _ => (b"CAST(", b" AS BINARY)"),
    };
    out.extend_from_slice(before);
    out.extend_from_slice(name);
    out.extend_from_slice(after);
}

/// The literals of an array; `None` for a type that is not supported.
pub(super) fn cell<'b>(column: &'b Column, values: &'b dyn Array, of: Use) -> Option<Cell<'b>> {
    use ColumnType as T;
    use DataType as D;
    macro_rules! numbers {
        ($of:ty, $push:path) => {{
            let array = values.as_primitive_opt::<$of>()?;
            Box::new(move |row, out: &mut Vec<u8>| {
                $push(out, array.value(row).into());
                Ok(())
            })
        }};
    }
    Some(match (&column.column_type, values.data_type()) {
        (_, D::Int8) => numbers!(Int8Type, digits::push_signed),
        (_, D::Int16) => numbers!(Int16Type, digits::push_signed),
        (_, D::Int32) => numbers!(Int32Type, digits::push_signed),
        (_, D::Int64) => numbers!(Int64Type, digits::push_signed),
        (_, D::UInt8) => numbers!(UInt8Type, digits::push),
        (_, D::UInt16) => numbers!(UInt16Type, digits::push),
        (_, D::UInt32) => numbers!(UInt32Type, digits::push),
        (_, D::UInt64) => numbers!(UInt64Type, digits::push),
        (T::Bit { .. }, D::Boolean) => {
            let array = values.as_boolean_opt()?;
            Box::new(move |row, out| {
                out.push(b'0' + u8::from(array.value(row)));
                Ok(())
            })
        }
        (T::Enum { .. }, D::Dictionary(..)) => {
            let keys = values.as_dictionary_opt::<UInt16Type>()?.keys();
            Box::new(move |row, out| {
                digits::push(out, keys.value(row).into());
                Ok(())
            })
        }
        (T::Float, D::Float32) => {
            let array = values.as_primitive_opt::<Float32Type>()?;
            Box::new(move |row, out| double(array.value(row).into(), out))
        }
        (T::Double, D::Float64) => {
            let array = values.as_primitive_opt::<Float64Type>()?;
            Box::new(move |row, out| double(array.value(row), out))
        }
        (T::Decimal { .. }, D::Decimal128(_, scale)) => {
            let scale = usize::try_from(*scale).ok()?;
            let array = values.as_primitive_opt::<Decimal128Type>()?;
            Box::new(move |row, out| {
                literal::decimal(array.value(row), scale, out);
                Ok(())
            })
        }
        // More than 38 digits: rare.
        (T::Decimal { .. }, D::Decimal256(precision, scale)) => {
            let (precision, scale) = (*precision, *scale);
            let array = values.as_primitive_opt::<Decimal256Type>()?;
            Box::new(move |row, out| {
                let text = Decimal256Type::format_decimal(array.value(row), precision, scale);
                out.extend_from_slice(text.as_bytes());
                Ok(())
            })
        }
        (T::Set { .. }, D::Utf8) => set(column.members.as_ref()?, values.as_string_opt()?)?,
        (T::Json { .. }, D::Binary) => document(values, of)?,
        (T::Geometry { .. }, D::Binary) => {
            let array = values.as_binary_opt::<i32>()?;
            Box::new(move |row, out| {
                write_bytes(array.value(row), of, out);
                Ok(())
            })
        }
        (T::Vector { .. } | T::VectorVarBinary { .. }, D::List(_)) => vector(values, of)?,
        (kind, D::Binary | D::Utf8) if kind.is_character() => characters(column, values, of)?,
        (kind, D::Utf8) if is_plain_text(kind) => {
            let array = values.as_string_opt::<i32>()?;
            Box::new(move |row, out| {
                literal::quoted(array.value(row).as_bytes(), out);
                Ok(())
            })
        }
        _ => return None,
    })
}

/// Dates, times and addresses: text without special characters.
pub(super) const fn is_plain_text(kind: &ColumnType) -> bool {
    use ColumnType as T;
    matches!(
        kind,
        T::Date
            | T::Time2 { .. }
            | T::TimeOld { .. }
            | T::DateTime2 { .. }
            | T::DateTimeOld { .. }
            | T::Timestamp2 { .. }
            | T::TimestampOld { .. }
            | T::Uuid
            | T::Inet4
            | T::Inet6
    )
}

fn is_binary(column: &Column) -> bool {
    column.collation.is_some_and(|collation| collation.charset().is_binary())
}

fn is_utf8(column: &Column) -> bool {
    let charset = column.collation.map(|collation| collation.charset());
    matches!(charset, Some(Charset::Utf8mb3 | Charset::Utf8mb4))
}

/// Appends a FLOAT or DOUBLE.
pub(super) fn double(value: f64, out: &mut Vec<u8>) -> Result<(), Refused> {
    if literal::double(value, out) { Ok(()) } else { Err(Refused::Number) }
}

fn characters<'b>(column: &Column, values: &'b dyn Array, of: Use) -> Option<Cell<'b>> {
    let charset = column.collation?.charset();
    if let Some(array) = values.as_string_opt::<i32>() {
        return Some(converted(charset, array, of));
    }
    let array = values.as_binary_opt::<i32>()?;
    Some(Box::new(move |row, out| write_characters(array.value(row), charset, of, out)))
}

/// Appends the literal of a geometry or a vector.
pub(super) fn write_bytes(bytes: &[u8], of: Use, out: &mut Vec<u8>) {
    match of {
        Use::Exact => literal::quoted_hex(bytes, out),
        Use::Value => literal::bytes(bytes, out),
    }
}

/// Appends the literal of stored bytes or text.
#[inline]
pub(super) fn write_characters(
    stored: &[u8],
    charset: Charset,
    of: Use,
    out: &mut Vec<u8>,
) -> Result<(), Refused> {
    match of {
        _ if charset.is_binary() => literal::bytes(stored, out),
        Use::Exact => literal::compared_bytes(stored, charset, out),
        Use::Value if literal::stored_text(stored, charset, out) => {}
        Use::Value => return Err(Refused::InvalidText(charset)),
    }
    Ok(())
}

/// Text that was converted to UTF-8.
fn converted(charset: Charset, array: &StringArray, of: Use) -> Cell<'_> {
    use Charset as C;
    let is_exact = matches!(
        charset,
        C::Utf8mb3 | C::Utf8mb4 | C::Ascii | C::Latin1 | C::Ucs2 | C::Utf16 | C::Utf16le | C::Utf32
    );
    Box::new(move |row, out| {
        let text = array.value(row);
        if of == Use::Value && !is_exact && !text.is_ascii() {
            return Err(Refused::Converted(charset));
        }
        literal::quoted(text.as_bytes(), out);
        Ok(())
    })
}

fn set<'b>(members: &'b Arc<[Arc<str>]>, array: &'b StringArray) -> Option<Cell<'b>> {
    // The text does not show whether an empty member is in the set.
    if members.iter().any(|member| member.is_empty()) {
        return None;
    }
    Some(Box::new(move |row, out| {
        let text = array.value(row);
        let parts = text.split(',').filter(|_| !text.is_empty());
        let bits = parts.map(|part| members.iter().position(|member| **member == *part)).try_fold(
            0,
            |bits, at| {
                let bit = u32::try_from(at?).ok().and_then(|at| 1_u64.checked_shl(at))?;
                Some(bits | bit)
            },
        );
        digits::push(out, bits.ok_or(Refused::Members)?);
        Ok(())
    }))
}

fn document(values: &dyn Array, of: Use) -> Option<Cell<'_>> {
    let array = values.as_binary_opt::<i32>()?;
    let text = RefCell::new(Vec::new());
    Some(Box::new(move |row, out| {
        write_document(array.value(row), of, &mut text.borrow_mut(), out)
    }))
}

/// Appends the expression of a document. `text` is memory for its text.
pub(super) fn write_document(
    document: &[u8],
    of: Use,
    text: &mut Vec<u8>,
    out: &mut Vec<u8>,
) -> Result<(), Refused> {
    let refused = |_| Refused::Document;
    if !json::is_same_from_text(document).map_err(refused)? {
        return json::write_expression(document, literal::quoted, out).map_err(refused);
    }
    text.clear();
    json::write_text(document, text).map_err(refused)?;
    out.extend_from_slice(if of == Use::Exact { b"CAST(" } else { b"" });
    literal::quoted(text, out);
    out.extend_from_slice(if of == Use::Exact { b" AS JSON)" } else { b"" });
    Ok(())
}

fn vector(values: &dyn Array, of: Use) -> Option<Cell<'_>> {
    let array = values.as_list_opt::<i32>()?;
    let elements = array.values().as_primitive_opt::<Float32Type>()?;
    let bytes = RefCell::new(Vec::new());
    Some(Box::new(move |row, out| {
        let offsets = array.value_offsets();
        let bounds = [row, row + 1].map(|at| offsets.get(at).map_or(0, |at| *at as usize));
        let of_row = elements.values().get(bounds[0]..bounds[1]).unwrap_or_default();
        let mut bytes = bytes.borrow_mut();
        bytes.clear();
        bytes.extend(of_row.iter().flat_map(|element| element.to_le_bytes()));
        write_bytes(&bytes, of, out);
        Ok(())
    }))
}

impl std::fmt::Display for Refused {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::InvalidText(charset) => {
                write!(
                    f,
                    "the text is not valid in {}, so no literal has this value",
                    charset.name()
                )
            }
            Self::Converted(charset) => write!(
                f,
                "with ⟦where⟧ text is compared in UTF-8, from which text in {} cannot be restored exactly: select without it",
                charset.name()
            ),
            Self::Number => f.write_str("the number is not finite, so no literal has this value"),
            Self::Document => f.write_str(
                "the document contains a value that no expression of SQL has, or it is damaged",
            ),
            Self::Damaged(error) => error.fmt(f),
            Self::Members => f.write_str("the SET contains a member that the column does not have"),
        }
    }
}
