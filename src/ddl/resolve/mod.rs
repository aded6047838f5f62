//! The structure that a server creates from a CREATE TABLE: types with their sizes, collations, keys.

mod declared;
mod keys;
mod logged;

#[cfg(test)]
mod tests;

use super::charset_clause::CharsetClause;
use super::column::{ColumnDefinition, RowPeriod};
use super::create_table::CreateTable;
use super::data_type::DataType;
use super::key::{Key, KeyColumn};
use super::server::SqlServer;
use crate::charset::{Charset, Collation};
use crate::error::Error;
use crate::schema::{Column, ColumnType, Generated, TableSchema};
use std::sync::Arc;

impl CreateTable {
    /// The structure of the table on `server`. `default` returns the collation of the column with this index if neither the
    /// column nor the table names one, for example that of the database.
    pub fn table_schema(
        &self,
        database: &str,
        server: SqlServer,
        default: &dyn Fn(usize) -> Option<Collation>,
    ) -> Result<TableSchema, Error> {
        let table = Resolver { create: self, server, default };
        table.schema(database).map_err(|message| {
            Error::schema(format!("CREATE TABLE {database}.{}: {message}", self.table))
        })
    }

    /// MariaDB's hidden columns with the hashes of long unique keys, if all such keys have one.
    pub(crate) fn hash_columns(&self, schema: &TableSchema) -> Vec<Column> {
        let is_long = |key: &&Key| self.is_long(key, &schema.columns);
        (1..=self.unique_keys().filter(is_long).count())
            .map(|number| Column {
                nullable: true,
                unsigned: Some(true),
                visible: Some(false),
                declared: Some(Arc::default()),
                ..Column::new(Some(format!("DB_ROW_HASH_{number}").into()), ColumnType::LongLong)
            })
            .collect()
    }

    /// True if MariaDB stores a key as a hash, in a hidden column.
    pub(crate) fn is_long(&self, key: &Key, columns: &[Column]) -> bool {
        key.is_hash && !self.has_hash_keys() || self.has_complete_blob(key, columns)
    }

    fn has_complete_blob(&self, key: &Key, columns: &[Column]) -> bool {
        key.parts.iter().any(|part| match part {
            KeyColumn::Column { name, prefix: 0, .. } => {
                let column = self.column_index(name).and_then(|index| columns.get(index));
                column.is_some_and(|column| matches!(column.column_type, ColumnType::Blob { .. }))
            }
            _ => false,
        })
    }
}

/// An error message without the table's name.
pub(crate) type Result<T, E = String> = std::result::Result<T, E>;

pub(crate) struct Resolver<'c> {
    pub(crate) create: &'c CreateTable,
    pub(crate) server: SqlServer,
    default: &'c dyn Fn(usize) -> Option<Collation>,
}

impl Resolver<'_> {
    fn schema(&self, database: &str) -> Result<TableSchema> {
        let create = self.create;
        let table_default = self.clause(&create.charset, None)?;
        let mut columns = Vec::with_capacity(create.columns.len() + 2);
        for (index, definition) in create.columns.iter().enumerate() {
            let default = table_default.or_else(|| (self.default)(index));
            let column = self.column(definition, default).map_err(|message| {
                let line = match definition.line {
                    0 => String::new(),
                    line => format!(" (line {line})"),
                };
                format!("column `{}`{line}: {message}", definition.name)
            })?;
            columns.push(column);
        }
        let row_end = self.add_row_period(&mut columns);
        let primary_key = self.primary_key(&mut columns, row_end)?;
        let indexes = self.indexes(&columns, row_end);
        Ok(TableSchema {
            database: database.into(),
            table: Arc::clone(&create.table),
            columns,
            primary_key,
            indexes,
            comment: create.comment.clone(),
        })
    }

    fn column(&self, definition: &ColumnDefinition, default: Option<Collation>) -> Result<Column> {
        let own = self.clause(&definition.charset, default)?;
        let collation = own.or(default);
        let mut column = Column {
            nullable: !definition.not_null,
            visible: (!definition.visible || !self.create.is_abridged)
                .then_some(definition.visible),
            generated: Some(match (definition.is_generated, definition.is_virtual) {
                (_, true) => Generated::Virtual,
                (true, false) => Generated::Stored,
                (false, false) => Generated::No,
            }),
            comment: definition.comment.clone(),
            ..Column::new(Some(Arc::clone(&definition.name)), ColumnType::Tiny)
        };
        column.column_type = self.column_type(definition, collation, &mut column)?;
        column.declared = Some(Arc::new(definition.declared(&column, self.server)));
        Ok(column)
    }

    /// Returns the type of a column, and sets the properties of the column that follow from it.
    fn column_type(
        &self,
        definition: &ColumnDefinition,
        collation: Option<Collation>,
        column: &mut Column,
    ) -> Result<ColumnType> {
        let ColumnDefinition { data_type, compressed, .. } = definition;
        let needed = || {
            collation.ok_or(
                "neither the column nor the table has a character set, and the log does not contain it: \
                 add DEFAULT CHARSET=... after the table's columns (sql_mode=ANSI and --compatible=ansi leave it out)",
            )
        };
        Ok(match data_type {
            DataType::Plain(column_type) | DataType::Integer { column_type, .. } => {
                if column_type.is_numeric() {
                    let unsigned = definition.unsigned && *column_type != ColumnType::Year;
                    column.unsigned = Some(unsigned);
                }
                column_type.clone()
            }
            DataType::Real => {
                column.unsigned = Some(definition.unsigned);
                ColumnType::Double
            }
            DataType::Char { length, varying } => {
                let collation = needed()?;
                column.collation = Some(collation);
                let bytes = length.saturating_mul(collation.charset().max_char_bytes() as u64);
                let limit = if *varying { u64::from(u16::MAX) } else { MAX_CHAR_BYTES };
                if bytes > limit {
                    return Err(format!("{bytes} bytes are more than {limit}"));
                }
                let max_bytes = bytes as u16;
                match (varying, compressed) {
                    (false, _) => ColumnType::Char { max_bytes },
                    (true, false) => ColumnType::VarChar { max_bytes },
                    // The first byte contains the method of compression.
                    (true, true) => {
                        ColumnType::VarCharCompressed { max_bytes: max_bytes.saturating_add(1) }
                    }
                }
            }
            DataType::Text { length_bytes, length } => {
                let collation = needed()?;
                column.collation = Some(collation);
                let bytes = length.saturating_mul(collation.charset().max_char_bytes() as u64);
                let length_bytes = match length_bytes {
                    0 => self::length_bytes(bytes),
                    _ => *length_bytes,
                };
                match compressed {
                    false => ColumnType::Blob { length_bytes },
                    true => ColumnType::BlobCompressed { length_bytes },
                }
            }
            DataType::Enum(members) => {
                column.collation = collation;
                column.members = Some(stored_members(members, collation));
                ColumnType::Enum { bytes: if members.len() < 256 { 1 } else { 2 } }
            }
            DataType::Set(members) => {
                column.collation = collation;
                column.members = Some(stored_members(members, collation));
                ColumnType::Set { bytes: set_bytes(members.len())? }
            }
            DataType::Json if self.server.is_mariadb => {
                column.collation = Charset::Utf8mb4.binary_collation();
                ColumnType::Blob { length_bytes: 4 }
            }
            DataType::Json => ColumnType::Json { length_bytes: 4 },
            DataType::Geometry(kind) => {
                column.geometry_type = Some(*kind);
                // Servers differ in the columns that have a collation.
                column.collation = self.server.is_mariadb.then_some(Collation::BINARY);
                ColumnType::Geometry { length_bytes: 4 }
            }
            DataType::Vector { dimension } => {
                let dimension = u16::try_from(*dimension).ok().filter(|d| *d <= MAX_DIMENSION);
                let dimension =
                    dimension.ok_or("a VECTOR of more elements than a server allows")?;
                column.dimension = Some(u32::from(dimension));
                column.collation = Some(Collation::BINARY);
                match self.server.is_mariadb {
                    true => ColumnType::VectorVarBinary { max_bytes: 4 * dimension },
                    false => ColumnType::Vector { length_bytes: 4 },
                }
            }
            DataType::Uuid | DataType::Inet4 | DataType::Inet6 if !self.server.is_mariadb => {
                return Err("a type of MariaDB, and the log is MySQL's".into());
            }
            DataType::Uuid => ColumnType::Uuid,
            DataType::Inet4 => ColumnType::Inet4,
            DataType::Inet6 => ColumnType::Inet6,
        })
    }

    fn clause(
        &self,
        clause: &CharsetClause,
        default: Option<Collation>,
    ) -> Result<Option<Collation>> {
        let SqlServer { is_mariadb, version } = self.server;
        clause
            .resolve(default, is_mariadb, &|charset| charset.default_collation(is_mariadb, version))
    }

    /// Adds MariaDB's columns of a table WITH SYSTEM VERSIONING, if the statement does not name them. Returns the index of the
    /// column with the end of the row.
    fn add_row_period(&self, columns: &mut Vec<Column>) -> Option<usize> {
        let definitions = &self.create.columns;
        let is_end = |column: &ColumnDefinition| column.row_period == Some(RowPeriod::End);
        if let Some(index) = definitions.iter().position(is_end) {
            return Some(index);
        }
        if !self.create.versioned && !definitions.iter().any(|column| column.versioned) {
            return None;
        }
        for name in ["row_start", "row_end"] {
            columns.push(Column {
                nullable: false,
                visible: Some(false),
                generated: Some(Generated::Stored),
                declared: Some(Arc::default()),
                ..Column::new(Some(name.into()), ColumnType::Timestamp2 { fsp: 6 })
            });
        }
        columns.len().checked_sub(1)
    }
}

impl CharsetClause {
    /// The collation that it names; `None` if it names none. `default_of`: the default collation of a character set.
    pub(crate) fn resolve(
        &self,
        inherited: Option<Collation>,
        is_mariadb: bool,
        default_of: &dyn Fn(Charset) -> Option<Collation>,
    ) -> Result<Option<Collation>> {
        let inherited = inherited.map(Collation::charset);
        if let Some(name) = &self.collation {
            let charset = self.charset.or(inherited);
            let collation = Collation::from_name(name, charset, is_mariadb)
                .ok_or_else(|| format!("the collation {name} is not known"))?;
            return match self.charset {
                Some(charset) if charset != collation.charset() => {
                    Err(format!("the collation {name} is not one of {}", charset.name()))
                }
                _ => Ok(Some(collation)),
            };
        }
        Ok(match (self.charset, self.binary) {
            (Some(charset), false) => default_of(charset),
            (Some(charset), true) => charset.binary_collation(),
            (None, true) => inherited.and_then(Charset::binary_collation),
            (None, false) => None,
        })
    }
}

/// The number of bytes of the length field in a TEXT or BLOB of `bytes` bytes.
pub(crate) fn length_bytes(bytes: u64) -> u8 {
    match bytes {
        0..0x100 => 1,
        0x100..0x1_0000 => 2,
        0x1_0000..0x100_0000 => 3,
        _ => 4,
    }
}

/// The number of bytes of a SET with this number of members.
fn set_bytes(members: usize) -> Result<u8> {
    match members {
        ..=8 => Ok(1),
        9..=16 => Ok(2),
        17..=24 => Ok(3),
        25..=32 => Ok(4),
        33..=64 => Ok(8),
        _ => Err("a SET of more than 64 members".into()),
    }
}

/// The members as servers store them: without spaces at the end, if they are text.
fn stored_members(members: &[String], collation: Option<Collation>) -> Arc<[Arc<str>]> {
    let keeps_spaces = collation == Some(Collation::BINARY);
    let stored = |member: &String| match keeps_spaces {
        true => Arc::from(member.as_str()),
        false => Arc::from(member.trim_end_matches(' ')),
    };
    members.iter().map(stored).collect()
}

/// The maximum size of a CHAR: 255 characters of four bytes.
const MAX_CHAR_BYTES: u64 = 1020;

/// The maximum of both servers.
const MAX_DIMENSION: u16 = 16_383;
