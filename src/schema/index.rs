//! Keys of a table.

use super::{Column, Generated};
use std::sync::Arc;

/// A column's part in a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeyPart {
    /// Index of the column in the table, from 0.
    pub column: usize,
    /// The number of characters of the column that the key contains; 0 for the complete value.
    pub prefix: u32,
}

/// A key as a CREATE TABLE statement defines it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Index {
    /// The kind of the key.
    pub kind: IndexKind,
    /// Its name. `None` if the statement contains none and the server's rules were not applied.
    pub name: Option<Arc<str>>,
    /// Its columns in key order.
    pub parts: Vec<KeyPart>,
    /// True if it contains expressions, in addition to columns or without columns.
    pub has_expression: bool,
    /// True if queries may use it: it is not INVISIBLE (MySQL) or IGNORED (MariaDB).
    pub visible: bool,
}

/// The kind of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IndexKind {
    /// PRIMARY KEY
    Primary,
    /// UNIQUE
    Unique,
    /// KEY, FULLTEXT, SPATIAL, VECTOR
    Other,
}

impl Index {
    /// Creates a key without columns.
    pub fn new(kind: IndexKind, name: Option<Arc<str>>) -> Self {
        Self { kind, name, parts: Vec::new(), has_expression: false, visible: true }
    }

    /// True if each row of a table of `columns` has different values in this key: it is unique, and
    /// no part can be NULL. Keys of virtual columns do not count, because row images may lack these
    /// columns.
    pub fn identifies_rows(&self, columns: &[Column]) -> bool {
        let is_sound = |part: &KeyPart| {
            columns.get(part.column).is_some_and(|column| {
                !column.nullable && column.generated != Some(Generated::Virtual)
            })
        };
        self.kind != IndexKind::Other
            && !self.has_expression
            && !self.parts.is_empty()
            && self.parts.iter().all(is_sound)
    }
}

/// The columns that identify the rows of a table, as far as is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RowKey<'t> {
    /// The columns of a key that is different for each row. If the key contains a prefix of a
    /// column, the complete value counts.
    Columns(&'t [KeyPart]),
    /// No such key is known: a row is identified by all its columns.
    FullRow,
}

impl RowKey<'_> {
    /// True if column `index` is part of it.
    pub fn holds(&self, index: usize) -> bool {
        match self {
            Self::Columns(parts) => parts.iter().any(|part| part.column == index),
            Self::FullRow => true,
        }
    }
}
