//! The optional metadata at the end of a Table_map event: fields of type, length, value (WL#4618 and later).
//!
//! <https://dev.mysql.com/doc/dev/mysql-server/latest/classmysql_1_1binlog_1_1event_1_1Table__map__event.html>

use super::name::text;
use crate::charset::Collation;
use crate::error::{DecodeError, Error};
use crate::limits::{MAX_ENUM_MEMBERS, MAX_SET_MEMBERS};
use crate::schema::{Column, ColumnType, GeometryType, KeyPart};
use crate::wire::{MsbBitmap, Reader, Result};
use std::sync::Arc;

/// The fields, each as its bytes; absent if the server did not log the field.
#[derive(Debug, Clone, Copy, Default)]
pub struct OptionalMetadata<'a> {
    fields: [Option<&'a [u8]>; FIELD_COUNT],
}

/// Field numbers of the format are 1 to 13.
const FIELD_COUNT: usize = 13;

const SIGNEDNESS: usize = 1;
const DEFAULT_CHARSET: usize = 2;
const COLUMN_CHARSET: usize = 3;
const COLUMN_NAME: usize = 4;
const SET_STR_VALUE: usize = 5;
const ENUM_STR_VALUE: usize = 6;
const GEOMETRY_TYPE: usize = 7;
const SIMPLE_PRIMARY_KEY: usize = 8;
const PRIMARY_KEY_WITH_PREFIX: usize = 9;
const ENUM_AND_SET_DEFAULT_CHARSET: usize = 10;
const ENUM_AND_SET_COLUMN_CHARSET: usize = 11;
const COLUMN_VISIBILITY: usize = 12;
const VECTOR_DIMENSIONALITY: usize = 13;

impl<'a> OptionalMetadata<'a> {
    /// Splits the bytes into fields. Unknown fields are skipped by their lengths: vendors add some.
    pub fn decode(bytes: &'a [u8]) -> Result<Self> {
        let mut metadata = Self::default();
        let mut reader = Reader::new(bytes);
        while !reader.is_empty() {
            let number = usize::from(reader.u8("optional metadata type")?);
            let value = reader.lenenc_str("optional metadata")?;
            if let Some(slot) =
                number.checked_sub(1).and_then(|index| metadata.fields.get_mut(index))
                && slot.replace(value).is_some()
            {
                return Err(DecodeError::Invalid {
                    what: "a second optional metadata field of one type",
                    value: number as u64,
                });
            }
        }
        for (one, other) in [
            (DEFAULT_CHARSET, COLUMN_CHARSET),
            (SIMPLE_PRIMARY_KEY, PRIMARY_KEY_WITH_PREFIX),
            (ENUM_AND_SET_DEFAULT_CHARSET, ENUM_AND_SET_COLUMN_CHARSET),
        ] {
            if metadata.field(one).is_some() && metadata.field(other).is_some() {
                return Err(DecodeError::Invalid {
                    what: "optional metadata with both forms of one field",
                    value: other as u64,
                });
            }
        }
        Ok(metadata)
    }

    fn field(&self, number: usize) -> Option<Reader<'a>> {
        self.fields.get(number - 1).copied().flatten().map(Reader::new)
    }

    /// Writes the contents of the fields to `columns` and `primary_key`. The columns that a field
    /// counts differ by server.
    pub fn apply(
        &self,
        columns: &mut [Column],
        primary_key: &mut Vec<KeyPart>,
        is_mariadb: bool,
    ) -> Result<(), Error> {
        if let Some(field) = self.field(SIGNEDNESS) {
            let numeric = columns.iter_mut().filter(|column| column.column_type.is_numeric());
            apply_bits(field, numeric, "SIGNEDNESS", |column, bit| {
                column.unsigned = Some(bit && column.column_type != ColumnType::Year);
            })?;
        }
        let is_character = |column: &Column| match column.column_type {
            ColumnType::Vector { .. } => !is_mariadb,
            ColumnType::Geometry { .. } => is_mariadb,
            ref other => other.is_character(),
        };
        let is_listed = |column: &Column| {
            matches!(column.column_type, ColumnType::Enum { .. } | ColumnType::Set { .. })
        };
        if let Some(field) = self.field(DEFAULT_CHARSET) {
            apply_default_charset(field, columns, is_character)?;
        }
        if let Some(field) = self.field(COLUMN_CHARSET) {
            apply_column_charset(field, columns, is_character)?;
        }
        if let Some(field) = self.field(ENUM_AND_SET_DEFAULT_CHARSET) {
            apply_default_charset(field, columns, is_listed)?;
        }
        if let Some(field) = self.field(ENUM_AND_SET_COLUMN_CHARSET) {
            apply_column_charset(field, columns, is_listed)?;
        }
        if let Some(mut field) = self.field(COLUMN_NAME) {
            for column in columns.iter_mut() {
                column.name = Some(text(field.lenenc_str("column name")?, "column name")?);
            }
            field.finish("COLUMN_NAME")?;
        }
        if let Some(field) = self.field(GEOMETRY_TYPE) {
            let geometry = columns
                .iter_mut()
                .filter(|column| matches!(column.column_type, ColumnType::Geometry { .. }));
            apply_geometry_types(field, geometry)?;
        }
        if let Some(mut field) = self.field(VECTOR_DIMENSIONALITY) {
            let vectors = columns
                .iter_mut()
                .filter(|column| matches!(column.column_type, ColumnType::Vector { .. }));
            for column in vectors {
                let dimension = field.lenenc_int("VECTOR dimension")?;
                column.dimension = u32::try_from(dimension).ok();
            }
            field.finish("VECTOR_DIMENSIONALITY")?;
        }
        if let Some(field) = self.field(SET_STR_VALUE) {
            let sets =
                columns.iter_mut().filter(|c| matches!(c.column_type, ColumnType::Set { .. }));
            apply_members(field, sets, MAX_SET_MEMBERS, "SET_STR_VALUE")?;
        }
        if let Some(field) = self.field(ENUM_STR_VALUE) {
            let enums =
                columns.iter_mut().filter(|c| matches!(c.column_type, ColumnType::Enum { .. }));
            apply_members(field, enums, MAX_ENUM_MEMBERS, "ENUM_STR_VALUE")?;
        }
        for (number, has_prefix) in [(SIMPLE_PRIMARY_KEY, false), (PRIMARY_KEY_WITH_PREFIX, true)] {
            if let Some(field) = self.field(number) {
                *primary_key = key_parts(field, has_prefix, columns.len())?;
            }
        }
        if let Some(field) = self.field(COLUMN_VISIBILITY) {
            apply_bits(field, columns.iter_mut(), "COLUMN_VISIBILITY", |column, bit| {
                column.visible = Some(bit);
            })?;
        }
        Ok(())
    }
}

fn apply_bits<'c>(
    mut field: Reader<'_>,
    columns: impl Iterator<Item = &'c mut Column>,
    what: &'static str,
    set: impl Fn(&mut Column, bool),
) -> Result<()> {
    let bits = MsbBitmap(field.rest());
    for (index, column) in columns.enumerate() {
        if index >= bits.0.len() * 8 {
            return Err(DecodeError::UnexpectedEnd {
                what,
                needed: index / 8 + 1,
                left: bits.0.len(),
            });
        }
        set(column, bits.get(index));
    }
    Ok(())
}

fn collation(field: &mut Reader<'_>) -> Result<Collation> {
    let id = field.lenenc_int("collation")?;
    u32::try_from(id)
        .map(Collation)
        .map_err(|_| DecodeError::Invalid { what: "collation", value: id })
}

fn apply_default_charset(
    mut field: Reader<'_>,
    columns: &mut [Column],
    counts: impl Fn(&Column) -> bool,
) -> Result<()> {
    let default = collation(&mut field)?;
    let mut counted: Vec<_> = columns.iter_mut().filter(|column| counts(column)).collect();
    for column in &mut counted {
        column.collation = Some(default);
    }
    while !field.is_empty() {
        let index = field.lenenc_len("column index")?;
        let collation = collation(&mut field)?;
        match counted.get_mut(index) {
            Some(column) => column.collation = Some(collation),
            None => {
                return Err(DecodeError::Invalid {
                    what: "column index in DEFAULT_CHARSET",
                    value: index as u64,
                });
            }
        }
    }
    Ok(())
}

fn apply_column_charset(
    mut field: Reader<'_>,
    columns: &mut [Column],
    counts: impl Fn(&Column) -> bool,
) -> Result<()> {
    for column in columns.iter_mut().filter(|column| counts(column)) {
        column.collation = Some(collation(&mut field)?);
    }
    field.finish("COLUMN_CHARSET")
}

fn apply_geometry_types<'c>(
    mut field: Reader<'_>,
    columns: impl Iterator<Item = &'c mut Column>,
) -> Result<()> {
    for column in columns {
        let code = field.lenenc_int("geometry type")?;
        column.geometry_type = Some(
            GeometryType::from_code(code)
                .ok_or(DecodeError::Invalid { what: "geometry type", value: code })?,
        );
    }
    field.finish("GEOMETRY_TYPE")
}

fn apply_members<'c>(
    mut field: Reader<'_>,
    columns: impl Iterator<Item = &'c mut Column>,
    limit: usize,
    what: &'static str,
) -> Result<(), Error> {
    for column in columns {
        let count = field.lenenc_len(what)?;
        if count > limit || count > field.left() {
            return Err(
                DecodeError::Limit { what, value: count as u64, limit: limit as u64 }.into()
            );
        }
        // If the log does not contain the character set, the members cannot be decoded, and they
        // are not needed.
        let charset = column.collation.map(Collation::charset);
        let mut members: Vec<Arc<str>> = Vec::with_capacity(count);
        for _ in 0..count {
            let bytes = field.lenenc_str(what)?;
            let Some(charset) = charset else { continue };
            let member = match charset.is_binary() {
                true => text(bytes, "ENUM or SET member")?,
                false => charset
                    .decode(bytes, "ENUM or SET member")
                    .map_err(|error| {
                        let name = column.name.as_deref().unwrap_or("?");
                        Error::from(error)
                            .context(format_args!("column {name}, {}", charset.name()))
                    })?
                    .into(),
            };
            members.push(member);
        }
        column.members = charset.map(|_| members.into());
    }
    Ok(field.finish(what)?)
}

fn key_parts(mut field: Reader<'_>, has_prefix: bool, column_count: usize) -> Result<Vec<KeyPart>> {
    let mut parts = Vec::new();
    while !field.is_empty() {
        let column = field.lenenc_len("primary key column")?;
        if column >= column_count {
            return Err(DecodeError::Invalid { what: "primary key column", value: column as u64 });
        }
        let prefix = if has_prefix { field.lenenc_int("primary key prefix")? } else { 0 };
        let prefix = u32::try_from(prefix)
            .map_err(|_| DecodeError::Invalid { what: "primary key prefix", value: prefix })?;
        parts.push(KeyPart { column, prefix });
    }
    Ok(parts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_fields_are_passed_over_and_bad_ones_are_errors() {
        assert!(OptionalMetadata::decode(&[72, 2, 0, 0, 1, 1, 0]).is_ok());
        assert!(OptionalMetadata::decode(&[1, 1, 0, 1, 1, 0]).is_err());
        assert!(OptionalMetadata::decode(&[2, 1, 0, 3, 1, 0]).is_err());
        assert!(OptionalMetadata::decode(&[8, 1, 0, 9, 2, 0, 0]).is_err());
        assert!(OptionalMetadata::decode(&[1, 5, 0]).is_err());
    }

    #[test]
    fn key_parts_are_bounded() {
        assert!(key_parts(Reader::new(&[3]), false, 3).is_err());
        assert_eq!(
            key_parts(Reader::new(&[0, 0, 6, 10]), true, 7),
            Ok(vec![KeyPart { column: 0, prefix: 0 }, KeyPart { column: 6, prefix: 10 }])
        );
    }
}
