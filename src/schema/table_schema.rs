//! A table's structure at one place of the log.

use super::{ColumnType, GeometryType};
use crate::charset::Collation;
use std::sync::Arc;

/// A column as the log (or a history) tells it. What is not told is `None`, never a guess.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Column {
    /// The name; `None` where the log holds no names (`binlog_row_metadata=MINIMAL`).
    pub name: Option<Arc<str>>,
    /// The type with what its metadata says.
    pub column_type: ColumnType,
    /// Whether the column may be NULL.
    pub nullable: bool,
    /// Whether a number is UNSIGNED; `None` where the log does not say.
    pub unsigned: Option<bool>,
    /// The collation of a text, ENUM or SET column; binary for BINARY, VARBINARY and BLOB.
    pub collation: Option<Collation>,
    /// The members of an ENUM or SET column, in order.
    pub members: Option<Arc<[Arc<str>]>>,
    /// The declared kind of a GEOMETRY column.
    pub geometry_type: Option<GeometryType>,
    /// The declared dimension of a VECTOR column.
    pub dimension: Option<u32>,
    /// Whether `SELECT *` shows the column; `None` where the log does not say.
    pub visible: Option<bool>,
}

impl Column {
    /// A column of which nothing more is told: it may be NULL, and all else is unknown.
    pub fn new(name: Option<Arc<str>>, column_type: ColumnType) -> Self {
        Self {
            name,
            column_type,
            nullable: true,
            unsigned: None,
            collation: None,
            members: None,
            geometry_type: None,
            dimension: None,
            visible: None,
        }
    }

    /// The type as SHOW CREATE TABLE writes it, as far as the log tells.
    pub fn sql_type(&self) -> String {
        self.column_type.sql(
            self.unsigned.unwrap_or(false),
            self.collation,
            self.members.as_deref(),
            self.geometry_type,
            self.dimension,
        )
    }
}

/// A column's part in a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeyPart {
    /// Index of the column in the table, from 0.
    pub column: usize,
    /// How many characters of the column the key holds; 0 for all.
    pub prefix: u32,
}

/// A table's structure: names, columns in order, primary key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableSchema {
    /// The database.
    pub database: Arc<str>,
    /// The table.
    pub table: Arc<str>,
    /// The columns in table order.
    pub columns: Vec<Column>,
    /// The primary key in key order; empty where there is none, or where the log does not say.
    pub primary_key: Vec<KeyPart>,
}

impl TableSchema {
    /// `database.table`, as patterns and messages write it.
    pub fn full_name(&self) -> String {
        format!("{}.{}", self.database, self.table)
    }

    /// What tells the table's rows apart: the primary key, else the whole row.
    pub fn handle_key(&self) -> HandleKey<'_> {
        match self.primary_key.as_slice() {
            [] => HandleKey::WholeRow,
            parts => HandleKey::Columns(parts),
        }
    }
}

/// What tells a table's rows apart, as far as is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HandleKey<'t> {
    /// The columns of a key that no two rows share. Of a column that the key holds a prefix of, the whole counts.
    Columns(&'t [KeyPart]),
    /// No such key is known: the row is its own.
    WholeRow,
}

impl HandleKey<'_> {
    /// Whether column `index` is part of it.
    pub fn holds(&self, index: usize) -> bool {
        match self {
            Self::Columns(parts) => parts.iter().any(|part| part.column == index),
            Self::WholeRow => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_without_a_key_has_the_whole_row_for_one() {
        let mut table = TableSchema {
            database: "shop".into(),
            table: "orders".into(),
            columns: Vec::new(),
            primary_key: Vec::new(),
        };
        assert_eq!(table.handle_key(), HandleKey::WholeRow);
        assert!(table.handle_key().holds(7));
        table.primary_key = vec![KeyPart { column: 2, prefix: 4 }];
        assert!(table.handle_key().holds(2));
        assert!(!table.handle_key().holds(0));
    }
}
