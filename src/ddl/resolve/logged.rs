//! Combines a CREATE TABLE with the structure of the same table in the log.

use super::super::create_table::CreateTable;
use super::SqlServer;
use crate::binlog::{FormatDescription, TableMap};
use crate::charset::Collation;
use crate::error::Error;
use crate::schema::{
    Column, ColumnType, DeclaredAttributes, Generated, Index, IndexKind, KeyPart, TableSchema,
};
use std::sync::Arc;

impl CreateTable {
    /// The structure of a table in the log, completed by this statement. Hidden columns that servers add are added.
    /// `database_default`: the collation of columns if neither contains it. The inner error is a difference between the two.
    pub(crate) fn completed(
        &self,
        log: TableSchema,
        map: &TableMap<'_>,
        format: &FormatDescription,
        database_default: Option<Collation>,
    ) -> Result<Result<TableSchema, String>, Error> {
        let hidden_key = map.flags & TableMap::GENERATED_INVISIBLE_PRIMARY_KEY != 0
            && self.columns.len() + 1 == log.columns.len();
        let first = usize::from(hidden_key);
        let default = |index: usize| {
            let logged = log.columns.get(index + first).and_then(|column| column.collation);
            logged.or(database_default)
        };
        let mut known = self.table_schema(&log.database, SqlServer::from(format), &default)?;
        if hidden_key {
            prepend_hidden_key(&mut known);
        }
        if format.is_mariadb && log.columns.len() > known.columns.len() {
            let hashes = self.hash_columns(&known);
            if known.columns.len() + hashes.len() == log.columns.len() {
                known.columns.extend(hashes);
            }
        }
        Ok(log.completed(&known))
    }
}

/// MySQL's `sql_generate_invisible_primary_key`: dumps may leave the column out.
fn prepend_hidden_key(known: &mut TableSchema) {
    let column = Column {
        nullable: false,
        unsigned: Some(true),
        visible: Some(false),
        generated: Some(Generated::No),
        declared: Some(Arc::new(DeclaredAttributes {
            auto_increment: true,
            ..DeclaredAttributes::default()
        })),
        ..Column::new(Some("my_row_id".into()), ColumnType::LongLong)
    };
    known.columns.insert(0, column);
    known.primary_key = vec![KeyPart { column: 0, prefix: 0 }];
    for part in known.indexes.iter_mut().flat_map(|index| &mut index.parts) {
        part.column += 1;
    }
    let parts = known.primary_key.clone();
    known.indexes.insert(0, Index { parts, ..Index::new(IndexKind::Primary, None) });
}
