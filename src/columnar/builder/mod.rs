//! Column builders: a cell's bytes go straight into the vector that becomes an Arrow array.
//!
//! In: the cursor over a row image. Out: an Arrow array. [`make_builder`] is the type table: the one place that maps a
//! MySQL column to an Arrow type. Called by `columnar::table_builder`.

mod address;
mod binary;
mod bits;
mod boolean;
mod cell_size;
mod compressed;
mod decimal;
mod dictionary;
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
mod variant;
mod vector;

use super::mask::Mask;
use super::type_options::{Enumeration, Geometry, InvalidText, Json, Time, TypeOptions, ZeroDates};
use crate::charset::{Collation, Transcoding};
use crate::error::{DecodeError, Error};
use crate::schema::{Column, ColumnType};
use crate::wire::{Reader, Result};
use arrow_array::ArrayRef;
use arrow_schema::DataType;
pub(crate) use cell_size::CellSize;
use length::CellLength;
use primitive::Primitive;
use ring::hmac;
pub(crate) use var_bytes::VarBytes;
pub(crate) use variant::VariantColumn;

/// A column under construction.
pub(crate) trait ColumnBuilder: Send {
    /// The Arrow type of the column.
    fn data_type(&self) -> DataType;

    /// Makes room for a batch like the one before: called before a batch's first row.
    fn begin(&mut self) {}

    /// Reads one cell that is there and not NULL.
    fn append(&mut self, image: &mut Reader<'_>) -> Result<()>;

    /// The changes of a JSON document in place of the document.
    fn append_diffs(&mut self, _diffs: &[u8]) -> Result<()> {
        Err(DecodeError::Invalid { what: "partial bit of a column without JSON", value: 1 })
    }

    /// A NULL, or a column that the image leaves out.
    fn append_null(&mut self);

    /// Checks what came since the last call: the end of a rows event. On an error gives the row, counted from the first
    /// of the batch.
    fn seal(&mut self) -> std::result::Result<(), (usize, DecodeError)> {
        Ok(())
    }

    /// Forgets all rows from `rows` on: a rows event that broke leaves nothing behind.
    fn truncate(&mut self, rows: usize);

    /// Zero dates that became NULL since the last call.
    fn take_zero_dates(&mut self) -> u64 {
        0
    }

    /// Bytes that cells took beyond those of their rows event, since the last call.
    fn take_inflated(&mut self) -> usize {
        0
    }

    /// The rows so far as an array; the builder is empty afterwards.
    fn finish(&mut self) -> std::result::Result<ArrayRef, Error>;
}

/// The builder for a column that is not wanted: it passes over the cells.
pub(crate) fn skip_builder(size: CellSize) -> Box<dyn ColumnBuilder> {
    Box::new(skipped::Skipped(size))
}

/// The builder for a masked column. `key`: of the hashes.
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
            Box::new(masked::Hashed::new(cell, key.clone()))
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
    let text_dates = options.zero_dates == ZeroDates::Text;
    let zero_is_error = options.zero_dates == ZeroDates::Error;
    Ok(match column.column_type {
        T::Tiny | T::Short | T::Int24 | T::Long | T::LongLong => integer(column, spark)?,
        T::Float => Primitive::boxed(number::Float),
        T::Double => Primitive::boxed(number::Double),
        T::Decimal { precision, scale } => decimal::make(precision, scale, spark),
        T::Bit { bits: 1 } => Box::new(boolean::BitBuilder::default()),
        T::Bit { bits } => bits::make(bits, spark),
        T::Year => Primitive::boxed(number::Year),
        T::Date if text_dates => temporal_text::boxed(temporal_text::DateText),
        T::DateTime2 { fsp } if text_dates => {
            temporal_text::boxed(temporal_text::DateTimeText { fsp })
        }
        T::Timestamp2 { fsp } if text_dates => {
            temporal_text::boxed(temporal_text::TimestampText { fsp })
        }
        T::DateTimeOld { fsp: None } | T::TimestampOld { fsp: None } | T::TimeOld { fsp: None }
            if is_mariadb =>
        {
            return Err(unknown_fraction(column));
        }
        T::DateTimeOld { fsp } if text_dates => {
            temporal_text::boxed(temporal_text::DateTimeOldText { fsp: fsp.unwrap_or(0) })
        }
        T::TimestampOld { fsp } if text_dates => {
            temporal_text::boxed(temporal_text::TimestampOldText { fsp: fsp.unwrap_or(0) })
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
            Time::Text => temporal_text::boxed(temporal_text::TimeText { fsp }),
        },
        T::TimeOld { fsp } => {
            let fsp = fsp.unwrap_or(0);
            match options.time {
                Time::Duration | Time::Interval => {
                    Primitive::boxed(temporal::TimeOldDuration { fsp })
                }
                Time::Micros => Primitive::boxed(temporal::TimeOldMicros { fsp }),
                Time::Text => temporal_text::boxed(temporal_text::TimeOldText { fsp }),
            }
        }
        T::Char { max_bytes } => {
            character(column, CellLength::declared(max_bytes), options, max_bytes)?
        }
        T::VarChar { max_bytes } => character(column, CellLength::declared(max_bytes), options, 0)?,
        T::Blob { length_bytes } => character(column, CellLength::blob(length_bytes), options, 0)?,
        T::Enum { bytes } => match (&column.members, options.enumeration) {
            (Some(members), Enumeration::Dictionary) => {
                Box::new(dictionary::EnumDictionary::new(bytes, members))
            }
            (Some(members), Enumeration::Text) => Box::new(set::EnumText::new(bytes, members)),
            _ if spark => Primitive::boxed(number::EnumOrdinal32 { bytes }),
            _ => Primitive::boxed(number::EnumOrdinal16 { bytes }),
        },
        T::Set { bytes } => match &column.members {
            Some(members) => Box::new(set::SetText::new(bytes, members)),
            None if spark => Primitive::boxed(bits::SetDecimal { bytes }),
            None => Primitive::boxed(bits::SetBits { bytes }),
        },
        T::Json { length_bytes } => match options.json {
            Json::Text | Json::Diff => Box::new(json::JsonText::new(length_bytes)),
            Json::Variant => Box::new(variant::JsonVariant::new(length_bytes)),
            Json::Bytes => Box::new(binary::Binary::new(CellLength::blob(length_bytes))),
        },
        T::Geometry { length_bytes } => match options.geometry {
            Geometry::Mysql => Box::new(binary::Binary::new(CellLength::blob(length_bytes))),
            Geometry::Ewkb => Box::new(binary::GeometryBytes::new(length_bytes, true)),
            Geometry::Wkb => Box::new(binary::GeometryBytes::new(length_bytes, false)),
        },
        T::Vector { length_bytes } => {
            Box::new(vector::VectorList::new(CellLength::blob(length_bytes)))
        }
        T::VectorVarBinary { max_bytes } => {
            Box::new(vector::VectorList::new(CellLength::declared(max_bytes)))
        }
        T::Uuid => temporal_text::boxed(address::UuidText),
        T::Inet4 => temporal_text::boxed(address::Inet4Text),
        T::Inet6 => temporal_text::boxed(address::Inet6Text),
        T::VarCharCompressed { max_bytes } => {
            let plain = character(column, CellLength::whole(), options, 0)?;
            compressed::boxed(CellLength::declared(max_bytes), plain)
        }
        T::BlobCompressed { length_bytes } => {
            let plain = character(column, CellLength::whole(), options, 0)?;
            compressed::boxed(CellLength::blob(length_bytes), plain)
        }
        T::TypedArray => return Err(not_decoded(column)),
    })
}

fn not_decoded(column: &Column) -> Error {
    Error::unsupported(format!("columns of type {} are not decoded yet", column.sql_type()))
}

/// The form of MariaDB 5.3: how many bytes a value takes depends on its fraction, which the log does not tell.
fn unknown_fraction(column: &Column) -> Error {
    Error::unsupported(format!(
        "{} of the MariaDB 5.3 form (mysql56_temporal_format=OFF): the log does not tell its fraction digits: give the \
         table's CREATE TABLE statement with schemas=, or convert the table by ALTER TABLE ... FORCE with the option ON",
        column.sql_type()
    ))
}

/// The integers: the log must tell whether they are signed.
fn integer(column: &Column, spark: bool) -> std::result::Result<Box<dyn ColumnBuilder>, Error> {
    use ColumnType as T;
    let Some(unsigned) = column.unsigned else {
        return Err(Error::schema("the log does not tell whether the column is signed"));
    };
    Ok(match (&column.column_type, unsigned, spark) {
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

/// Text where the collation says so, bytes where it is binary or not told. `pad_to`: BINARY(n) is cut of its zeros.
fn character(
    column: &Column,
    length: CellLength,
    options: &TypeOptions,
    pad_to: u16,
) -> std::result::Result<Box<dyn ColumnBuilder>, Error> {
    let Some(collation) = column.collation else {
        return Ok(Box::new(binary::Binary::new(length)));
    };
    let charset = collation.charset();
    if charset.is_binary() {
        return Ok(Box::new(binary::Binary::padded(length, usize::from(pad_to))));
    }
    if options.invalid_text == InvalidText::Binary {
        return Ok(Box::new(binary::Binary::new(length)));
    }
    let replace = options.invalid_text == InvalidText::Replace;
    match charset.transcoding() {
        Some(Transcoding::Utf8) if !replace => {
            Ok(Box::new(text::Text::utf8(length, charset.name())))
        }
        Some(Transcoding::Ascii) if !replace => Ok(Box::new(text::Text::ascii(length))),
        Some(_) => Ok(Box::new(text::TranscodedText::new(length, charset, replace))),
        None => Err(unknown_collation(collation)),
    }
}

/// Text whose collation no server known here has.
fn unknown_collation(collation: Collation) -> Error {
    Error::unsupported(format!(
        "collation id {} is of no server known to this version, so the text's character set is not known; \
         invalid_text='binary' gives text columns as bytes",
        collation.0
    ))
}
