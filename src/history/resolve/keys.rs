//! The keys of a table, as one server makes them of what a CREATE TABLE statement says.

use super::super::sql::create_table::{Key, KeyColumn};
use super::{Resolver, Result};
use crate::schema::{Column, ColumnType, Index, IndexKind, KeyPart};
use std::sync::Arc;

impl Resolver<'_> {
    /// The primary key. Where there is none, servers take the first unique key of whole columns that are NOT NULL, and the
    /// log calls that one primary too.
    pub(super) fn primary_key(
        &self,
        columns: &mut [Column],
        row_end: Option<usize>,
    ) -> Result<Vec<KeyPart>> {
        let create = self.create;
        let inline = create.columns.iter().position(|column| column.primary);
        let mut parts = match (&create.primary_key, inline) {
            (Some(key), _) => self.key_parts(key, columns)?,
            (None, Some(column)) => vec![KeyPart { column, prefix: 0 }],
            (None, None) => {
                let mut found = Vec::new();
                for key in &create.unique_keys {
                    let parts = match key.parts.contains(&KeyColumn::Expression) {
                        true => continue,
                        false => self.key_parts(key, columns)?,
                    };
                    let is_handle = parts.iter().all(|part| {
                        let column = columns.get(part.column);
                        let is_virtual =
                            create.columns.get(part.column).is_some_and(|c| c.is_virtual);
                        part.prefix == 0
                            && !is_virtual
                            && column.is_some_and(|column| !column.nullable)
                    });
                    let is_long = self.server.is_mariadb && create.is_long(key, columns);
                    if is_handle && !is_long {
                        found = parts;
                        break;
                    }
                }
                found
            }
        };
        for part in &parts {
            if let Some(column) = columns.get_mut(part.column) {
                column.nullable = false;
            }
        }
        end_parts(&mut parts, row_end);
        Ok(parts)
    }

    /// All keys: the primary one, the unique ones in the server's order, the others.
    pub(super) fn indexes(&self, columns: &[Column], row_end: Option<usize>) -> Vec<Index> {
        let create = self.create;
        let mut indexes = Vec::new();
        let inline = create.columns.iter().position(|column| column.primary);
        if let Some(key) = &create.primary_key {
            indexes.push(self.index(IndexKind::Primary, key, columns, row_end));
        } else if let Some(column) = inline {
            let mut index = Index::new(IndexKind::Primary, None);
            index.parts.push(KeyPart { column, prefix: 0 });
            end_parts(&mut index.parts, row_end);
            indexes.push(index);
        }
        let unique = create
            .unique_keys
            .iter()
            .map(|key| self.index(IndexKind::Unique, key, columns, row_end));
        indexes.extend(unique);
        // Servers sort those that identify no row behind the others, then those with a prefix, and else keep the
        // statement's order.
        indexes.sort_by_key(|index| {
            let has_prefix = index.parts.iter().any(|part| part.prefix > 0);
            (index.kind == IndexKind::Unique, !index.identifies_rows(columns), has_prefix)
        });
        let others = create.other_keys.iter();
        indexes.extend(others.map(|key| self.index(IndexKind::Other, key, columns, None)));
        indexes
    }

    /// Parts that are no columns of the statement (an expression, a column that the server adds) count as expressions.
    fn index(
        &self,
        kind: IndexKind,
        key: &Key,
        columns: &[Column],
        row_end: Option<usize>,
    ) -> Index {
        let mut index = Index::new(kind, key.name.as_deref().map(Arc::from));
        for part in &key.parts {
            match self.part(part, columns) {
                Ok(parts) => index.parts.extend(parts),
                Err(_) => index.has_expression = true,
            }
        }
        end_parts(&mut index.parts, row_end);
        index
    }

    fn key_parts(&self, key: &Key, columns: &[Column]) -> Result<Vec<KeyPart>> {
        let mut parts = Vec::with_capacity(key.parts.len());
        for part in &key.parts {
            parts.extend(self.part(part, columns)?);
        }
        Ok(parts)
    }

    fn part(&self, part: &KeyColumn, columns: &[Column]) -> Result<impl Iterator<Item = KeyPart>> {
        let create = self.create;
        let index = |name: &str| {
            create.column_index(name).ok_or_else(|| format!("a key names `{name}`, no column"))
        };
        let (first, second) = match part {
            KeyColumn::Column { name, prefix } => {
                let column = index(name)?;
                let whole = columns.get(column).and_then(char_length) == Some(*prefix);
                let prefix = if whole { 0 } else { u32::try_from(*prefix).unwrap_or(0) };
                (KeyPart { column, prefix }, None)
            }
            KeyColumn::Expression => return Err("an expression in the primary key".into()),
            KeyColumn::Period(name) => {
                let period = create.periods.iter().find(|p| p.name.eq_ignore_ascii_case(name));
                let period = period.ok_or_else(|| format!("a key names `{name}`, no period"))?;
                let part =
                    |name: &str| Ok::<_, String>(KeyPart { column: index(name)?, prefix: 0 });
                (part(&period.end)?, Some(part(&period.start)?))
            }
        };
        Ok(std::iter::once(first).chain(second))
    }
}

/// MariaDB keeps old rows of a table WITH SYSTEM VERSIONING in the same key.
fn end_parts(parts: &mut Vec<KeyPart>, row_end: Option<usize>) {
    if let Some(column) = row_end.filter(|column| !parts.iter().any(|p| p.column == *column))
        && !parts.is_empty()
    {
        parts.push(KeyPart { column, prefix: 0 });
    }
}

/// How many characters a CHAR or VARCHAR holds at most; bytes where it is binary.
fn char_length(column: &Column) -> Option<u64> {
    let (ColumnType::Char { max_bytes } | ColumnType::VarChar { max_bytes }) = column.column_type
    else {
        return None;
    };
    let width = column.collation.map_or(1, |collation| collation.charset().max_char_bytes());
    Some(u64::from(max_bytes) / width.max(1) as u64)
}
