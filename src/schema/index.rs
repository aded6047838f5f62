//! Keys of a table.

use super::{Column, Generated};
use std::sync::Arc;

/// A column's part in a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeyPart {
    /// Index of the column in the table, from 0.
    pub column: usize,
    /// How many characters of the column the key holds; 0 for all.
    pub prefix: u32,
}

/// A key as a CREATE TABLE statement tells it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Index {
    /// What it is.
    pub kind: IndexKind,
    /// Its name. `None` where neither the statement gives one nor the server's rules were applied to it.
    pub name: Option<Arc<str>>,
    /// Its columns in key order.
    pub parts: Vec<KeyPart>,
    /// Whether it holds expressions beside them, or instead.
    pub has_expression: bool,
    /// Whether queries may use it: not INVISIBLE (MySQL) or IGNORED (MariaDB).
    pub visible: bool,
}

/// What a key is.
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
    /// A key without columns yet.
    pub fn new(kind: IndexKind, name: Option<Arc<str>>) -> Self {
        Self { kind, name, parts: Vec::new(), has_expression: false, visible: true }
    }

    /// Whether no two rows of a table of `columns` share its values: it is unique, and no part can be NULL. A key of a
    /// virtual column is none: images may go without.
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

/// What tells a table's rows apart, as far as is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RowKey<'t> {
    /// The columns of a key that no two rows share. Of a column that the key holds a prefix of, the whole counts.
    Columns(&'t [KeyPart]),
    /// No such key is known: the row is its own.
    WholeRow,
}

impl RowKey<'_> {
    /// Whether column `index` is part of it.
    pub fn holds(&self, index: usize) -> bool {
        match self {
            Self::Columns(parts) => parts.iter().any(|part| part.column == index),
            Self::WholeRow => true,
        }
    }
}
