//! Column builders: the bytes of a cell are decoded directly into the vector that becomes an Arrow array.
//!
//! Input: the cursor over a row image. Output: an Arrow array. [`make_builder`] is the type table:
//! the only place that maps a MySQL column to an Arrow type. Called by `columnar::table_builder`.

mod address;
mod binary;
mod bits;
mod boolean;
mod cell_size;
mod cells;
mod character;
mod compressed;
mod decimal;
mod enumeration;
mod geometry;
mod json;
mod length;
mod masked;
mod masked_text;
mod nulls;
mod number;
mod primitive;
mod set;
mod skipped;
mod temporal;
mod temporal_text;
mod text;
mod var_bytes;
mod var_len;
mod variant;
mod vector;

use super::mask::Mask;
use super::type_options::{Enumeration, Geometry, Json, Time, TypeOptions, ZeroDates};
use crate::charset::Charset;
use crate::columnar::spare::SpareVectors;
use crate::error::{DecodeError, Error};
use crate::schema::{Column, ColumnType};
use crate::wire::{Reader, Result};
use arrow_array::ArrayRef;
use arrow_schema::DataType;
pub(crate) use cell_size::CellSize;
pub(crate) use cells::{CellPlace, Cells};
use character::Character;
use compressed::Compressed;
pub(crate) use length::CellLength;
pub(crate) use masked_text::{TextOf, text_of};
use primitive::Primitive;
use ring::hmac;
use std::sync::Arc;
pub(crate) use var_bytes::VarBytes;
use var_len::VarLen;
pub(crate) use variant::VariantColumn;

/// A column under construction.
pub(crate) trait ColumnBuilder: Send {
    /// The Arrow type of the column.
    fn data_type(&self) -> DataType;

    /// Reserves memory for a batch like the previous one: called before a batch's first row.
    fn begin(&mut self, _spare: &SpareVectors) {}

    /// Reads one cell that is in the image and not NULL.
    fn append(&mut self, image: &mut Reader<'_>) -> Result<()>;

    /// Appends the cells of several rows. An error contains the number of its row among them.
    fn append_cells(&mut self, cells: Cells<'_>) -> std::result::Result<(), (usize, DecodeError)> {
        for (row, cell) in cells.iter().enumerate() {
            match cell {
                Some(mut image) => self.append(&mut image).map_err(|error| (row, error))?,
                None => self.append_null(),
            }
        }
        Ok(())
    }

    /// Appends the changes of a JSON document instead of the document.
    fn append_diffs(&mut self, _diffs: &[u8]) -> Result<()> {
        Err(no_document())
    }

    /// Appends a NULL: also for a column that the image leaves out.
    fn append_null(&mut self);

    /// True if rows are checked at the end of a rows event.
    fn has_checks(&self) -> bool {
        false
    }

    /// Appends NULLs.
    fn append_nulls(&mut self, rows: usize) {
        for _ in 0..rows {
            self.append_null();
        }
    }

    /// Checks the rows since the last call, at the end of a rows event. An error contains the row, counted from the first
    /// of the batch.
    fn seal(&mut self) -> std::result::Result<(), (usize, DecodeError)> {
        Ok(())
    }

    /// Removes all rows from `rows` on: nothing remains of an invalid rows event.
    fn truncate(&mut self, rows: usize);

    /// Returns the number of zero dates that became NULL since the last call.
    fn take_zero_dates(&mut self) -> u64 {
        0
    }

    /// Returns the number of bytes by which values were larger than their cells, since the last call.
    fn take_inflated(&mut self) -> usize {
        0
    }

    /// Returns the rows so far as an array; the builder is empty afterwards.
    fn finish(&mut self) -> std::result::Result<ArrayRef, Error>;
}

/// The builder for a column that is not wanted: it skips the cells.
pub(crate) fn skip_builder(size: CellSize) -> Box<dyn ColumnBuilder> {
    Box::new(skipped::Skipped(size))
}

/// The builder for a masked column. `key` is the key of the hashes.
pub(crate) fn masked_builder(
    mask: Mask,
    key: &hmac::Key,
    column: &Column,
    options: &TypeOptions,
    is_mariadb: bool,
) -> std::result::Result<Box<dyn ColumnBuilder>, Error> {
    Ok(match mask {
        Mask::Null => Box::new(masked::Nulled {
            size: CellSize::of(column, is_mariadb)?,
            plain: make_builder(column, options, is_mariadb)?,
        }),
        Mask::Sha256 => {
            let cell = masked_text::text_cell(column, options, is_mariadb)?;
            VarLen::text(masked::Hashed::new(cell, key.clone()))
        }
    })
}

/// The builder for a column: the type table.
pub(crate) fn make_builder(
    column: &Column,
    options: &TypeOptions,
    is_mariadb: bool,
) -> std::result::Result<Box<dyn ColumnBuilder>, Error> {
    use ColumnType as T;
    let spark = options.is_spark();
    let character = |length, pad_to| Character::of(column, length, options, pad_to);
    let compressed = |length| {
        character(CellLength::rest(), 0).map(|plain| {
            let is_text = plain.is_text();
            VarLen::boxed(Compressed::new(length, plain.cell()), is_text)
        })
    };
    Ok(match column.column_type {
        T::Tiny | T::Short | T::Int24 | T::Long | T::LongLong => integer(column, spark)?,
        T::Float => Primitive::boxed(number::Float),
        T::Double => Primitive::boxed(number::Double),
        T::Decimal { precision, scale } => decimal::make(precision, scale, spark),
        T::Bit { bits: 1 } => Box::new(boolean::BitBuilder::default()),
        T::Bit { bits } => bits::make(bits, spark),
        T::Year => Primitive::boxed(number::Year),
        T::Date
        | T::DateTime2 { .. }
        | T::DateTimeOld { .. }
        | T::Timestamp2 { .. }
        | T::TimestampOld { .. }
        | T::Time2 { .. }
        | T::TimeOld { .. } => temporal_builder(column, options, is_mariadb)?,
        T::Char { max_bytes } => character(CellLength::declared(max_bytes), max_bytes)?.builder(),
        T::VarChar { max_bytes } => character(CellLength::declared(max_bytes), 0)?.builder(),
        T::Blob { length_bytes } => character(CellLength::blob(length_bytes), 0)?.builder(),
        T::Enum { bytes } => match (&column.members, options.enumeration) {
            (Some(members), Enumeration::Dictionary) => {
                Box::new(enumeration::EnumDictionary::new(bytes, members))
            }
            (Some(members), Enumeration::Text) => {
                VarLen::text(enumeration::EnumText { bytes, members: Arc::clone(members) })
            }
            _ if spark => Primitive::boxed(enumeration::EnumOrdinal32 { bytes }),
            _ => Primitive::boxed(enumeration::EnumOrdinal16 { bytes }),
        },
        T::Set { bytes } => match &column.members {
            Some(members) => VarLen::text(set::SetText::new(bytes, Arc::clone(members))),
            None if spark => Primitive::boxed(set::SetDecimal { bytes }),
            None => Primitive::boxed(set::SetBits { bytes }),
        },
        T::Json { length_bytes } => {
            let length = CellLength::blob(length_bytes);
            match options.json {
                Json::Text | Json::Diff => VarLen::text(json::JsonText::new(length)),
                Json::Variant => Box::new(variant::JsonVariant::new(length)),
                Json::Bytes => VarLen::binary(binary::Bytes::new(length)),
            }
        }
        T::JsonText { length_bytes } => match options.json {
            Json::Text | Json::Diff => {
                VarLen::text(text::Text::utf8(CellLength::blob(length_bytes), Charset::Utf8mb4))
            }
            Json::Variant | Json::Bytes => return Err(json_only_as_text(column)),
        },
        T::Geometry { length_bytes } => {
            let length = CellLength::blob(length_bytes);
            match options.geometry {
                Geometry::Mysql => VarLen::binary(binary::Bytes::new(length)),
                Geometry::Ewkb => VarLen::binary(geometry::Ewkb { length }),
                Geometry::Wkb => VarLen::binary(geometry::Wkb { length }),
            }
        }
        T::Vector { length_bytes } => {
            Box::new(vector::VectorList::new(CellLength::blob(length_bytes)))
        }
        T::VectorVarBinary { max_bytes } => {
            Box::new(vector::VectorList::new(CellLength::declared(max_bytes)))
        }
        T::Uuid => VarLen::text(address::UuidText),
        T::Inet4 => VarLen::text(address::Inet4Text),
        T::Inet6 => VarLen::text(address::Inet6Text),
        T::VarCharCompressed { max_bytes } => compressed(CellLength::declared(max_bytes))?,
        T::BlobCompressed { length_bytes } => compressed(CellLength::blob(length_bytes))?,
        T::TypedArray => return Err(not_decoded(column)),
    })
}

/// The builder for a column of dates or times.
fn temporal_builder(
    column: &Column,
    options: &TypeOptions,
    is_mariadb: bool,
) -> std::result::Result<Box<dyn ColumnBuilder>, Error> {
    use ColumnType as T;
    let text_dates = options.zero_dates == ZeroDates::Text;
    let zero_is_error = options.zero_dates == ZeroDates::Error;
    Ok(match column.column_type {
        T::Date if text_dates => VarLen::text(temporal_text::DateText),
        T::DateTime2 { fsp } if text_dates => VarLen::text(temporal_text::DateTimeText { fsp }),
        T::Timestamp2 { fsp } if text_dates => VarLen::text(temporal_text::TimestampText { fsp }),
        T::DateTimeOld { fsp: None } | T::TimestampOld { fsp: None } | T::TimeOld { fsp: None }
            if is_mariadb =>
        {
            return Err(unknown_fraction(column));
        }
        T::DateTimeOld { fsp } if text_dates => {
            VarLen::text(temporal_text::DateTimeOldText { fsp: fsp.unwrap_or(0) })
        }
        T::TimestampOld { fsp } if text_dates => {
            VarLen::text(temporal_text::TimestampOldText { fsp: fsp.unwrap_or(0) })
        }
        T::Date => Primitive::boxed(temporal::Date { zero_is_error }),
        T::DateTime2 { fsp } => Primitive::boxed(temporal::DateTime { fsp, zero_is_error }),
        T::Timestamp2 { fsp } => Primitive::boxed(temporal::Timestamp { fsp, zero_is_error }),
        T::DateTimeOld { fsp } => {
            Primitive::boxed(temporal::DateTimeOld { fsp: fsp.unwrap_or(0), zero_is_error })
        }
        T::TimestampOld { fsp } => {
            Primitive::boxed(temporal::TimestampOld { fsp: fsp.unwrap_or(0), zero_is_error })
        }
        T::Time2 { fsp } => match options.time {
            Time::Duration | Time::Interval => Primitive::boxed(temporal::TimeDuration { fsp }),
            Time::Micros => Primitive::boxed(temporal::TimeMicros { fsp }),
            Time::Text => VarLen::text(temporal_text::TimeText { fsp }),
        },
        T::TimeOld { fsp } => {
            let fsp = fsp.unwrap_or(0);
            match options.time {
                Time::Duration | Time::Interval => {
                    Primitive::boxed(temporal::TimeOldDuration { fsp })
                }
                Time::Micros => Primitive::boxed(temporal::TimeOldMicros { fsp }),
                Time::Text => VarLen::text(temporal_text::TimeOldText { fsp }),
            }
        }
        _ => return Err(not_decoded(column)),
    })
}

/// The error for changes of a document in a column that contains no documents.
#[cold]
fn no_document() -> DecodeError {
    DecodeError::Invalid { what: "partial bit of a column without JSON", value: 1 }
}

/// True if an integer column is unsigned. The log must contain this.
fn is_unsigned(column: &Column) -> std::result::Result<bool, Error> {
    column.unsigned.ok_or_else(|| Error::schema("the log does not contain the sign of the column"))
}

/// The error for JSON that a SELECT returned, which is text, in another form.
fn json_only_as_text(column: &Column) -> Error {
    Error::unsupported(format!(
        "columns of type {} are read from a table as text: use ⟦json=text⟧",
        column.sql_type()
    ))
}

fn not_decoded(column: &Column) -> Error {
    Error::unsupported(format!("columns of type {} are not decoded yet", column.sql_type()))
}

/// The error for the form of MariaDB 5.3: the size of a value depends on its fraction digits, which
/// are not in the log.
fn unknown_fraction(column: &Column) -> Error {
    Error::unsupported(format!(
        "{} of the MariaDB 5.3 form (mysql56_temporal_format=OFF): the log does not contain its number of fraction digits: \
         pass the table's CREATE TABLE statement with ⟦schemas⟧, or convert the table by ALTER TABLE ... FORCE with the option ON",
        column.sql_type()
    ))
}

fn integer(column: &Column, spark: bool) -> std::result::Result<Box<dyn ColumnBuilder>, Error> {
    use ColumnType as T;
    Ok(match (&column.column_type, is_unsigned(column)?, spark) {
        (T::Tiny, false, _) => Primitive::boxed(number::Tiny),
        (T::Tiny, true, false) => Primitive::boxed(number::TinyUnsigned),
        (T::Tiny, true, true) => Primitive::boxed(number::TinyUnsignedWide),
        (T::Short, false, _) => Primitive::boxed(number::Short),
        (T::Short, true, false) => Primitive::boxed(number::ShortUnsigned),
        (T::Short, true, true) => Primitive::boxed(number::ShortUnsignedWide),
        (T::Int24, false, _) => Primitive::boxed(number::Int24),
        (T::Int24, true, false) => Primitive::boxed(number::Int24Unsigned),
        (T::Int24, true, true) => Primitive::boxed(number::Int24UnsignedWide),
        (T::Long, false, _) => Primitive::boxed(number::Long),
        (T::Long, true, false) => Primitive::boxed(number::LongUnsigned),
        (T::Long, true, true) => Primitive::boxed(number::LongUnsignedWide),
        (_, false, _) => Primitive::boxed(number::LongLong),
        (_, true, false) => Primitive::boxed(number::LongLongUnsigned),
        (_, true, true) => Primitive::boxed(number::LongLongUnsignedWide),
    })
}
