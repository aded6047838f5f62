//! The number of bytes of a cell: enough to skip it without decoding it.
//!
//! Input: a column's type, the cursor over a row image. Output: the cursor after the cell. The
//! builders of [`super::make_builder`] consume the same bytes, and incomplete input causes the same
//! errors. Called by `columnar::table_builder` for columns that are not selected, and to find the
//! place of a cell before its column reads it.

use super::length::CellLength;
use super::unknown_fraction;
use crate::error::Error;
use crate::schema::{Column, ColumnType};
use crate::value::decimal;
use crate::value::temporal::{date, datetime, mariadb53, old, time, timestamp};
use crate::wire::{Reader, Result};

/// The size of the cells of a column, if they are in the image and not NULL.
#[derive(Debug, Clone, Copy)]
pub(crate) enum CellSize {
    /// All cells have the same number of bytes.
    Fixed {
        /// The number of bytes.
        bytes: usize,
        /// The name of the cell in errors.
        what: &'static str,
    },
    /// The length is before the cell.
    Prefixed(CellLength),
}

impl CellSize {
    /// Determines the size of a column's cells; an error if the log does not contain it.
    pub(crate) fn of(column: &Column, is_mariadb: bool) -> std::result::Result<Self, Error> {
        use ColumnType as T;
        let fixed = |bytes: usize, what| Ok(Self::Fixed { bytes, what });
        let prefixed = |length| Ok(Self::Prefixed(length));
        match column.column_type {
            T::Tiny | T::Year => fixed(1, "number"),
            T::Short => fixed(2, "number"),
            T::Int24 => fixed(3, "number"),
            T::Long | T::Float => fixed(4, "number"),
            T::LongLong | T::Double => fixed(8, "number"),
            T::Decimal { precision, scale } => {
                fixed(decimal::byte_count(precision, scale), "DECIMAL")
            }
            T::Bit { bits } => fixed(usize::from(bits.div_ceil(8)), "BIT"),
            T::Date => fixed(date::BYTES, "DATE"),
            T::Time2 { fsp } => fixed(time::byte_count(fsp), "TIME"),
            T::DateTime2 { fsp } => fixed(datetime::byte_count(fsp), "DATETIME"),
            T::Timestamp2 { fsp } => fixed(timestamp::byte_count(fsp), "TIMESTAMP"),
            T::DateTimeOld { fsp: None }
            | T::TimestampOld { fsp: None }
            | T::TimeOld { fsp: None }
                if is_mariadb =>
            {
                Err(unknown_fraction(column))
            }
            T::TimeOld { fsp: None | Some(0) } => fixed(old::TIME_BYTES, "TIME"),
            T::DateTimeOld { fsp: None | Some(0) } => fixed(old::DATETIME_BYTES, "DATETIME"),
            T::TimestampOld { fsp: None | Some(0) } => fixed(old::TIMESTAMP_BYTES, "TIMESTAMP"),
            T::TimeOld { fsp: Some(fsp) } => fixed(mariadb53::time_bytes(fsp), "TIME"),
            T::DateTimeOld { fsp: Some(fsp) } => fixed(mariadb53::datetime_bytes(fsp), "DATETIME"),
            T::TimestampOld { fsp: Some(fsp) } => {
                fixed(mariadb53::timestamp_bytes(fsp), "TIMESTAMP")
            }
            T::Enum { bytes } => fixed(if bytes == 1 { 1 } else { 2 }, "ENUM"),
            T::Set { bytes } => fixed(usize::from(bytes), "SET"),
            T::Char { max_bytes }
            | T::VarChar { max_bytes }
            | T::VarCharCompressed { max_bytes }
            | T::VectorVarBinary { max_bytes } => prefixed(CellLength::declared(max_bytes)),
            T::Blob { length_bytes }
            | T::BlobCompressed { length_bytes }
            | T::Json { length_bytes }
            | T::JsonText { length_bytes }
            | T::Geometry { length_bytes }
            | T::Vector { length_bytes } => prefixed(CellLength::blob(length_bytes)),
            T::Uuid | T::Inet6 => prefixed(CellLength::declared(16)),
            T::Inet4 => prefixed(CellLength::declared(4)),
            T::TypedArray => Err(super::not_decoded(column)),
        }
    }

    /// Skips one cell that is in the image and not NULL.
    #[inline]
    pub(crate) fn skip(self, image: &mut Reader<'_>) -> Result<()> {
        match self {
            Self::Fixed { bytes, what } => image.take(bytes, what).map(drop),
            Self::Prefixed(length) => length.cell(image).map(drop),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::make_builder;
    use super::*;
    use crate::charset::Collation;
    use crate::columnar::type_options::{
        Enumeration, Geometry, InvalidText, Json, Profile, Time, TypeOptions, ZeroDates,
    };
    use crate::error::DecodeError;
    use std::sync::Arc;

    /// Each type, with each size that its metadata can specify.
    fn types() -> Vec<ColumnType> {
        use ColumnType as T;
        let mut types = vec![
            T::Tiny,
            T::Short,
            T::Int24,
            T::Long,
            T::LongLong,
            T::Float,
            T::Double,
            T::Year,
            T::Date,
            T::TimeOld { fsp: None },
            T::DateTimeOld { fsp: None },
            T::TimestampOld { fsp: None },
            T::Uuid,
            T::Inet4,
            T::Inet6,
            T::Enum { bytes: 1 },
            T::Enum { bytes: 2 },
        ];
        for fsp in 0..=6 {
            types.extend([
                T::Time2 { fsp },
                T::DateTime2 { fsp },
                T::Timestamp2 { fsp },
                T::TimeOld { fsp: Some(fsp) },
                T::DateTimeOld { fsp: Some(fsp) },
                T::TimestampOld { fsp: Some(fsp) },
            ]);
        }
        types.extend((1..=64).map(|bits| T::Bit { bits }));
        types.extend([1, 2, 3, 4, 8].map(|bytes| T::Set { bytes }));
        for precision in 1..=65_u8 {
            let scales = 0..=precision.min(38);
            types.extend(scales.map(|scale| T::Decimal { precision, scale }));
        }
        for max_bytes in [0, 3, 255, 256, 65535] {
            types.extend([
                T::Char { max_bytes },
                T::VarChar { max_bytes },
                T::VarCharCompressed { max_bytes },
                T::VectorVarBinary { max_bytes },
            ]);
        }
        for length_bytes in 1..=4 {
            types.extend([
                T::Blob { length_bytes },
                T::BlobCompressed { length_bytes },
                T::Json { length_bytes },
                T::Geometry { length_bytes },
                T::Vector { length_bytes },
            ]);
        }
        types
    }

    /// Cells that are valid for at least one type, and others that are valid for none.
    fn inputs(seed: u64) -> Vec<Vec<u8>> {
        let mut state = seed | 1;
        let mut byte = move || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state as u8
        };
        let mut inputs = vec![vec![0; 80], vec![0xff; 80], vec![0x80; 80]];
        // The zero of DECIMAL, TIME and DATETIME.
        inputs.push([&[0x80][..], &[0; 79]].concat());
        for _ in 0..12 {
            inputs.push((0..80).map(|_| byte()).collect());
        }
        // Lengths of 1 to 4 bytes before cells of this length: text, a JSON string, a point, two
        // floats.
        let point =
            [&[0, 0, 0, 0, 1, 1, 0, 0, 0][..], &1.0_f64.to_le_bytes(), &2.0_f64.to_le_bytes()];
        let cells = [&b""[..], b"abc", b"\0", b"\x0c\x02hi", &point.concat(), &[0; 8], b"\0text"];
        for cell in cells {
            for width in 1..=4 {
                let mut input = cell.len().to_le_bytes()[..width].to_vec();
                input.extend(cell);
                input.extend([byte(), byte(), byte()]);
                inputs.push(input);
            }
        }
        inputs
    }

    fn options() -> [TypeOptions; 3] {
        let text = TypeOptions {
            zero_dates: ZeroDates::Text,
            time: Time::Text,
            json: Json::Bytes,
            geometry: Geometry::Mysql,
            enumeration: Enumeration::Ordinal,
            invalid_text: InvalidText::Replace,
            ..TypeOptions::new(Profile::Native)
        };
        let variant = TypeOptions { json: Json::Variant, ..TypeOptions::new(Profile::Spark) };
        [TypeOptions::new(Profile::Native), text, variant]
    }

    #[test]
    fn skips_what_builders_consume() {
        let members: Arc<[Arc<str>]> = (0..64).map(|n| format!("m{n}").into()).collect();
        let mut taken = 0;
        for (number, column_type) in types().into_iter().enumerate() {
            // utf8mb4_general_ci, binary, and latin1_swedish_ci.
            for (collation, options) in [45, 63, 8].into_iter().zip(options()) {
                let column = Column {
                    unsigned: Some(number % 2 == 0),
                    collation: Some(Collation(collation)),
                    members: (collation != 63).then(|| Arc::clone(&members)),
                    ..Column::new(None, column_type.clone())
                };
                let size = CellSize::of(&column, false).unwrap();
                let mut builder = make_builder(&column, &options, false).unwrap();
                let mut taken_of_type = 0;
                for input in inputs(number as u64 + 1) {
                    for end in 0..=input.len() {
                        let (mut skipped, mut appended) =
                            (Reader::new(&input[..end]), Reader::new(&input[..end]));
                        let skips = size.skip(&mut skipped);
                        match (skips, builder.append(&mut appended)) {
                            (Ok(()), Ok(())) => {
                                assert_eq!(skipped.left(), appended.left(), "{column_type:?}");
                                taken_of_type += 1;
                            }
                            // The cell is complete, but contains a value that its type does not
                            // allow.
                            (Ok(()), Err(_)) => {}
                            (Err(skip), append) => {
                                assert_eq!(Err(skip), append, "{column_type:?} {end}");
                            }
                        }
                    }
                }
                assert!(taken_of_type > 0, "{column_type:?} takes nothing");
                taken += taken_of_type;
            }
        }
        assert!(taken > 10_000, "{taken}");
    }

    #[test]
    fn lengths_over_the_declared_maximum_are_errors() {
        let column = Column::new(None, ColumnType::VarChar { max_bytes: 3 });
        let skipped = CellSize::of(&column, false).unwrap().skip(&mut Reader::new(b"\x04abcd"));
        assert_eq!(skipped, Err(DecodeError::Limit { what: "cell length", value: 4, limit: 3 }));
    }

    #[test]
    fn sizes_that_the_log_does_not_contain_are_errors() {
        let column = Column::new(None, ColumnType::TimeOld { fsp: None });
        assert!(CellSize::of(&column, true).is_err() && CellSize::of(&column, false).is_ok());
        assert!(CellSize::of(&Column::new(None, ColumnType::TypedArray), false).is_err());
    }
}
