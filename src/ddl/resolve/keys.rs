//! The keys of a table, as a server creates them from a CREATE TABLE.

use super::super::key::{Key, KeyColumn, KeyKind};
use super::{Resolver, Result};
use crate::schema::{Column, ColumnType, Index, IndexKind, KeyPart};

impl Resolver<'_> {
    /// The primary key. If there is none, servers use the first unique key of complete columns that are NOT NULL, and the log
    /// shows it as the primary key.
    pub(super) fn primary_key(
        &self,
        columns: &mut [Column],
        row_end: Option<usize>,
    ) -> Result<Vec<KeyPart>> {
        let create = self.create;
        let primary = create.keys.iter().find(|key| key.kind == KeyKind::Primary);
        let parts = match primary {
            Some(key) => {
                let mut parts = self.key_parts(key, columns)?;
                end_parts(key, &mut parts, row_end);
                parts
            }
            None => {
                let mut found = Vec::new();
                for key in create.unique_keys() {
                    let parts = match key.has_expression() {
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
                        end_parts(key, &mut found, row_end);
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
        Ok(parts)
    }

    /// All keys: the primary key, the unique keys in the order of the server, the others.
    pub(super) fn indexes(&self, columns: &[Column], row_end: Option<usize>) -> Vec<Index> {
        let create = self.create;
        let keys = |kinds: &'static [KeyKind]| {
            let of_kind = create.keys.iter().filter(move |key| kinds.contains(&key.kind));
            of_kind.map(|key| self.index(key, columns, row_end))
        };
        let mut indexes: Vec<_> = keys(&[KeyKind::Primary]).take(1).collect();
        indexes.extend(keys(&[KeyKind::Unique]));
        // Servers put keys that identify no row after the others, then keys with a prefix. Otherwise they keep the order of
        // the statement.
        if !create.is_settled {
            indexes.sort_by_key(|index| {
                let has_prefix = index.parts.iter().any(|part| part.prefix > 0);
                (index.kind == IndexKind::Unique, !index.identifies_rows(columns), has_prefix)
            });
        }
        indexes.extend(keys(&[KeyKind::Index, KeyKind::Spatial]));
        indexes.extend(keys(&[KeyKind::Fulltext]));
        indexes.extend(keys(&[KeyKind::Vector]));
        indexes
    }

    /// Parts that are not columns of the statement (an expression, a column that the server adds) count as expressions.
    fn index(&self, key: &Key, columns: &[Column], row_end: Option<usize>) -> Index {
        let (kind, row_end) = match key.kind {
            KeyKind::Primary => (IndexKind::Primary, row_end),
            KeyKind::Unique => (IndexKind::Unique, row_end),
            _ => (IndexKind::Other, None),
        };
        let name = if kind == IndexKind::Primary {
            None
        } else {
            key.name.as_ref().or(key.constraint.as_ref())
        };
        let mut index = Index::new(kind, name.map(|name| name.as_str().into()));
        index.visible = key.visible;
        for part in &key.parts {
            match self.part(part, columns) {
                Ok(parts) => index.parts.extend(parts),
                Err(_) => index.has_expression = true,
            }
        }
        end_parts(key, &mut index.parts, row_end);
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
            KeyColumn::Column { name, prefix, .. } => {
                let column = index(name)?;
                let is_full_column = columns.get(column).and_then(char_length) == Some(*prefix);
                let prefix = if is_full_column { 0 } else { u32::try_from(*prefix).unwrap_or(0) };
                (KeyPart { column, prefix }, None)
            }
            KeyColumn::Expression(_) => return Err("an expression in the primary key".into()),
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

/// MariaDB stores old rows of a table WITH SYSTEM VERSIONING in the same key: `row_end` is after its columns, before those of a
/// period.
fn end_parts(key: &Key, parts: &mut Vec<KeyPart>, row_end: Option<usize>) {
    let is_period = |part: &&KeyColumn| matches!(part, KeyColumn::Period(_));
    let periods = key.parts.iter().filter(is_period).count();
    if let Some(column) = row_end.filter(|column| !parts.iter().any(|p| p.column == *column))
        && !parts.is_empty()
    {
        let at = parts.len().saturating_sub(2 * periods);
        parts.insert(at, KeyPart { column, prefix: 0 });
    }
}

/// The maximum length of a CHAR or VARCHAR in characters; in bytes if it is binary.
fn char_length(column: &Column) -> Option<u64> {
    let (ColumnType::Char { max_bytes } | ColumnType::VarChar { max_bytes }) = column.column_type
    else {
        return None;
    };
    let width = column.collation.map_or(1, |collation| collation.charset().max_char_bytes());
    Some(u64::from(max_bytes) / width.max(1) as u64)
}
