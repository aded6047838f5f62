//! Table_map: the structure of a table, before the rows events that use its id.
//!
//! ```text
//! table_id u48 | flags u16 | len, database, NUL | len, table, NUL | column count lenenc |
//! types, one byte per column | metadata length lenenc | metadata | nullable bits |
//! optional metadata (type u8, length lenenc, value) ...
//! ```
//!
//! <https://dev.mysql.com/doc/dev/mysql-server/latest/classmysql_1_1binlog_1_1event_1_1Table__map__event.html>

use super::FormatDescription;
use super::name;
use super::optional_metadata::OptionalMetadata;
use crate::error::{DecodeError, Error};
use crate::limits::{MAX_COLUMNS, MAX_NAME_BYTES};
use crate::schema::{Column, ColumnType, TableSchema};
use crate::wire::{Bitmap, Reader, Result};

/// A Table_map event, borrowed from its bytes.
#[derive(Debug, Clone, Copy)]
pub struct TableMap<'a> {
    /// The id that rows events use. It refers to this structure until the end of the statement.
    pub table_id: u64,
    /// Bit 2 (4): column 0 is a generated invisible primary key.
    pub flags: u16,
    /// The name of the database; the server stores it in UTF-8.
    pub database: &'a [u8],
    /// The name of the table.
    pub table: &'a [u8],
    /// The type code of each column.
    pub types: &'a [u8],
    /// Type metadata, 0 to 4 bytes per column.
    pub metadata: &'a [u8],
    /// The columns that may be NULL.
    pub nullable: Bitmap<'a>,
    /// Optional metadata, as type, length, value.
    pub optional: &'a [u8],
}

impl<'a> TableMap<'a> {
    /// Flag: column 0 is `my_row_id`, which the server created
    /// (`sql_generate_invisible_primary_key`).
    pub const GENERATED_INVISIBLE_PRIMARY_KEY: u16 = 4;

    /// Decodes a Table_map event's body.
    pub fn decode(body: &'a [u8], id_width: usize) -> Result<Self> {
        let mut reader = Reader::new(body);
        let table_id = reader.uint_le(id_width, "table id")?;
        let flags = reader.u16("table map flags")?;
        let database = stored_name(&mut reader, "database name")?;
        let table = stored_name(&mut reader, "table name")?;
        let column_count = reader.lenenc_len("column count")?;
        if !(1..=MAX_COLUMNS).contains(&column_count) {
            return Err(DecodeError::Limit {
                what: "column count",
                value: column_count as u64,
                limit: MAX_COLUMNS as u64,
            });
        }
        let types = reader.take(column_count, "column types")?;
        let metadata = reader.lenenc_str("column metadata")?;
        let nullable = Bitmap(reader.take(Bitmap::byte_count(column_count), "nullable bits")?);
        Ok(Self {
            table_id,
            flags,
            database,
            table,
            types,
            metadata,
            nullable,
            optional: reader.rest(),
        })
    }

    /// Returns the table's structure with all metadata of the event.
    pub fn schema(&self, format: &FormatDescription) -> Result<TableSchema, Error> {
        let mut columns = self.columns()?;
        let mut primary_key = Vec::new();
        // Servers before MySQL 8.0.1 and MariaDB 10.5 may write meaningless bytes here.
        if format.optional_metadata_reliable() {
            OptionalMetadata::decode(self.optional)?.apply(
                &mut columns,
                &mut primary_key,
                format.is_mariadb,
            )?;
        }
        Ok(TableSchema {
            database: name::text(self.database, "database name")?,
            table: name::text(self.table, "table name")?,
            columns,
            primary_key,
            indexes: Vec::new(),
            comment: None,
        })
    }

    fn columns(&self) -> Result<Vec<Column>> {
        let mut metadata = Reader::new(self.metadata);
        let columns = self
            .types
            .iter()
            .enumerate()
            .map(|(index, code)| {
                Ok(Column {
                    nullable: self.nullable.get(index),
                    ..Column::new(None, column_type(*code, &mut metadata)?)
                })
            })
            .collect::<Result<Vec<_>>>()?;
        metadata.finish("column metadata")?;
        Ok(columns)
    }
}

fn stored_name<'a>(reader: &mut Reader<'a>, what: &'static str) -> Result<&'a [u8]> {
    let name = reader.lenenc_str(what)?;
    if name.len() > MAX_NAME_BYTES {
        return Err(DecodeError::Limit {
            what,
            value: name.len() as u64,
            limit: MAX_NAME_BYTES as u64,
        });
    }
    match reader.u8(what)? {
        0 => Ok(name),
        value => Err(DecodeError::Invalid { what, value: u64::from(value) }),
    }
}

/// Decodes the type of a column from its code and its metadata bytes, and moves past these bytes.
fn column_type(code: u8, metadata: &mut Reader<'_>) -> Result<ColumnType> {
    const META: &str = "column metadata";
    let bad = |what, value: u64| Err(DecodeError::Invalid { what, value });
    let mut length_bytes = || match metadata.u8(META)? {
        bytes @ 1..=4 => Ok(bytes),
        value => Err(DecodeError::Invalid { what: "BLOB length size", value: u64::from(value) }),
    };
    Ok(match code {
        1 => ColumnType::Tiny,
        2 => ColumnType::Short,
        3 => ColumnType::Long,
        4 | 5 => match (code, metadata.u8(META)?) {
            (4, 4) => ColumnType::Float,
            (5, 8) => ColumnType::Double,
            (_, size) => return bad("FLOAT or DOUBLE size", size.into()),
        },
        7 => ColumnType::TimestampOld { fsp: None },
        8 => ColumnType::LongLong,
        9 => ColumnType::Int24,
        10 | 14 => ColumnType::Date,
        11 => ColumnType::TimeOld { fsp: None },
        12 => ColumnType::DateTimeOld { fsp: None },
        13 => ColumnType::Year,
        15 => ColumnType::VarChar { max_bytes: metadata.u16(META)? },
        16 => {
            let [bits, bytes] = metadata.array(META)?;
            match u16::from(bytes) * 8 + u16::from(bits) {
                total @ 1..=64 if bits < 8 => ColumnType::Bit { bits: total as u8 },
                total => return bad("BIT size", total.into()),
            }
        }
        17..=19 => match (code, metadata.u8(META)?) {
            (_, fsp @ 7..) => return bad("fractional seconds precision", fsp.into()),
            (17, fsp) => ColumnType::Timestamp2 { fsp },
            (18, fsp) => ColumnType::DateTime2 { fsp },
            (_, fsp) => ColumnType::Time2 { fsp },
        },
        20 => typed_array(metadata)?,
        140 => ColumnType::BlobCompressed { length_bytes: length_bytes()? },
        141 => ColumnType::VarCharCompressed { max_bytes: metadata.u16(META)? },
        242 => ColumnType::Vector { length_bytes: length_bytes()? },
        245 => ColumnType::Json { length_bytes: length_bytes()? },
        246 => {
            let [precision, scale] = metadata.array(META)?;
            if !(1..=65).contains(&precision) || scale > precision || scale > 38 {
                return bad(
                    "DECIMAL precision and scale",
                    u64::from(precision) << 8 | u64::from(scale),
                );
            }
            ColumnType::Decimal { precision, scale }
        }
        249..=252 => ColumnType::Blob { length_bytes: length_bytes()? },
        247 | 248 | 253 | 254 => string_type(metadata.array(META)?)?,
        255 => ColumnType::Geometry { length_bytes: length_bytes()? },
        _ => {
            return Err(DecodeError::Unsupported { what: "a column type", value: u64::from(code) });
        }
    })
}

/// STRING contains the real type ENUM or SET, or the upper bits of a length over 255, in its two
/// metadata bytes.
fn string_type([b0, b1]: [u8; 2]) -> Result<ColumnType> {
    let wide = b0 & 0x30 != 0x30;
    let real = b0 | if wide { 0x30 } else { 0 };
    let len = u16::from(b1) | if wide { u16::from(b0 & 0x30 ^ 0x30) << 4 } else { 0 };
    match (real, len) {
        (253 | 254, max_bytes) => Ok(ColumnType::Char { max_bytes }),
        (247, 1 | 2) => Ok(ColumnType::Enum { bytes: len as u8 }),
        (248, 1..=4 | 8) => Ok(ColumnType::Set { bytes: len as u8 }),
        _ => Err(DecodeError::Invalid {
            what: "STRING metadata",
            value: u64::from(b0) << 8 | u64::from(b1),
        }),
    }
}

/// The column of a multi-valued index: the metadata contains the type of its elements. It is never
/// in a row image.
fn typed_array(metadata: &mut Reader<'_>) -> Result<ColumnType> {
    match metadata.u8("typed array metadata")? {
        15 => {
            metadata.take(3, "typed array metadata")?;
        }
        20 => return Err(DecodeError::Invalid { what: "typed array element", value: 20 }),
        element => {
            column_type(element, metadata)?;
        }
    }
    Ok(ColumnType::TypedArray)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The Table_map body of seed 001: `zhjwpku`.`t` (INT, VARCHAR(20) utf8mb4, DATE NULL).
    const SEED: &[u8] = &[
        0x8c, 0, 0, 0, 0, 0, 1, 0, 7, b'z', b'h', b'j', b'w', b'p', b'k', b'u', 0, 1, b't', 0, 3,
        3, 0x0f, 0x0a, 2, 0x50, 0, 4, 1, 1, 0, 2, 3, 0xfc, 0xff, 0,
    ];

    #[test]
    fn seed_001() {
        let map = TableMap::decode(SEED, 6).unwrap();
        assert_eq!((map.table_id, map.database, map.table), (140, &b"zhjwpku"[..], &b"t"[..]));
        let columns = map.columns().unwrap();
        assert_eq!(
            columns.iter().map(|c| c.column_type.clone()).collect::<Vec<_>>(),
            [ColumnType::Long, ColumnType::VarChar { max_bytes: 80 }, ColumnType::Date]
        );
        assert_eq!(columns.iter().map(|c| c.nullable).collect::<Vec<_>>(), [false, false, true]);
        for end in 0..28 {
            assert!(TableMap::decode(&SEED[..end], 6).is_err(), "{end}");
        }
    }

    #[test]
    fn string_metadata() {
        assert_eq!(string_type([0xee, 0x90]), Ok(ColumnType::Char { max_bytes: 400 }));
        assert_eq!(string_type([0xfe, 0x03]), Ok(ColumnType::Char { max_bytes: 3 }));
        assert_eq!(string_type([0xf7, 0x01]), Ok(ColumnType::Enum { bytes: 1 }));
        assert_eq!(string_type([0xf8, 0x08]), Ok(ColumnType::Set { bytes: 8 }));
        assert!(string_type([0xf8, 0x05]).is_err());
        assert!(string_type([0x01, 0x05]).is_err());
    }

    #[test]
    fn hostile_types_are_errors() {
        let decode = |code, metadata: &[u8]| column_type(code, &mut Reader::new(metadata));
        for (code, metadata) in [
            (252, &[0][..]),
            (252, &[5]),
            (19, &[7]),
            (246, &[0, 0]),
            (246, &[66, 1]),
            (246, &[4, 5]),
            (16, &[1, 8]),
            (16, &[0, 0]),
            (243, &[]),
            (0, &[]),
            (20, &[20, 20]),
        ] {
            assert!(decode(code, metadata).is_err(), "{code} {metadata:?}");
        }
        assert_eq!(decode(16, &[2, 1]), Ok(ColumnType::Bit { bits: 10 }));
    }
}
