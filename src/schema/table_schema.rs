//! The structure of a table at a position of the log.

use super::sql_text::quoted_name;
use super::{Column, Index, KeyPart, RowKey};
use std::sync::Arc;

/// A table's structure: names, columns in order, keys.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableSchema {
    /// The database.
    pub database: Arc<str>,
    /// The table.
    pub table: Arc<str>,
    /// The columns in table order.
    pub columns: Vec<Column>,
    /// The primary key in key order; empty if there is none, or if the log does not contain it.
    ///
    /// If a table has none, servers use its first unique key whose columns are all NOT NULL and
    /// without a prefix, and treat it as the primary key.
    pub primary_key: Vec<KeyPart>,
    /// All keys, in the server's order; empty if only the log describes the table.
    pub indexes: Vec<Index>,
    /// Its COMMENT; `None` if it has none, or if only the log describes the table.
    pub comment: Option<Arc<str>>,
}

impl TableSchema {
    /// See [`full_name`].
    pub fn full_name(&self) -> String {
        full_name(&self.database, &self.table)
    }

    /// The key that identifies a row: the primary key, otherwise the first unique key of columns that are NOT NULL,
    /// otherwise the complete row.
    pub fn row_key(&self) -> RowKey<'_> {
        if !self.primary_key.is_empty() {
            return RowKey::Columns(&self.primary_key);
        }
        match self.indexes.iter().find(|index| index.identifies_rows(&self.columns)) {
            Some(index) => RowKey::Columns(&index.parts),
            None => RowKey::FullRow,
        }
    }
}

/// The name of a table in messages and counts: `database.table`; in backticks if one of the names contains a dot or a
/// backtick, so that two tables never have the same text.
pub fn full_name(database: &str, table: &str) -> String {
    if [database, table].iter().any(|name| name.contains(['.', '`'])) {
        return format!("{}.{}", quoted_name(database), quoted_name(table));
    }
    format!("{database}.{table}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::{ColumnType, Generated, IndexKind};

    fn unique(column: usize) -> Index {
        let parts = vec![KeyPart { column, prefix: 4 }];
        Index { parts, ..Index::new(IndexKind::Unique, None) }
    }

    #[test]
    fn the_key_that_distinguishes_rows() {
        let mut columns = vec![Column::new(None, ColumnType::Long); 4];
        columns.iter_mut().skip(1).for_each(|column| column.nullable = false);
        columns[1].generated = Some(Generated::Virtual);
        let mut table = TableSchema {
            database: "shop".into(),
            table: "orders".into(),
            columns,
            primary_key: Vec::new(),
            indexes: Vec::new(),
            comment: None,
        };
        assert_eq!(table.row_key(), RowKey::FullRow);
        assert!(table.row_key().holds(7));
        // one may be NULL, one has a virtual column, one has an expression, one is not unique, one
        // has no columns
        table.indexes = vec![unique(0), unique(1), unique(2), unique(2), unique(2)];
        table.indexes[2].has_expression = true;
        table.indexes[3].kind = IndexKind::Other;
        table.indexes[4].parts.clear();
        assert_eq!(table.row_key(), RowKey::FullRow);
        table.indexes.extend([unique(2), unique(3)]);
        assert_eq!(table.row_key(), RowKey::Columns(&[KeyPart { column: 2, prefix: 4 }]));
        assert!(!table.row_key().holds(3));
        table.primary_key = vec![KeyPart { column: 3, prefix: 0 }];
        assert!(table.row_key().holds(3) && !table.row_key().holds(2));
    }
}
