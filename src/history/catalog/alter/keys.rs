//! The keys and constraints of a table after an ALTER TABLE.

use super::Alter;
use crate::ddl::column::ColumnDefinition;
use crate::ddl::create_table::CreateTable;
use crate::ddl::data_type::DataType;
use crate::ddl::key::{Key, KeyColumn, KeyKind, is_same_name};
use crate::history::catalog::definition::max_prefix;
use crate::history::catalog::settings::{Result, Settings};
use std::collections::HashMap;

impl Alter<'_> {
    pub(super) fn add_key(&mut self, key: Key) {
        let is_there = |key: &Key| {
            let first = match key.parts.first() {
                Some(KeyColumn::Column { name, .. }) => Some(name),
                _ => None,
            };
            let name = key.name.as_ref().or(key.constraint.as_ref()).or(first);
            match (key.kind, name) {
                (KeyKind::Primary, _) => {
                    self.old.keys.iter().any(|key| key.kind == KeyKind::Primary)
                }
                (KeyKind::Foreign, Some(name)) => self.old.constraints.iter().any(|constraint| {
                    constraint.name.as_ref().is_some_and(|own| own.eq_ignore_ascii_case(name))
                }),
                (_, Some(name)) => {
                    self.old.keys.iter().chain(&self.new_keys).any(|key| key.is_called(name))
                }
                (_, None) => false,
            }
        };
        if !key.if_not_exists || !is_there(&key) {
            self.new_foreign_keys.extend(key.foreign_key());
            self.new_keys.push(key);
        }
    }

    pub(super) fn drop_constraint(&mut self, name: &str, may_be_key: bool) {
        let is_called =
            |own: &Option<String>| own.as_deref().is_some_and(|own| is_same_name(own, name));
        let before = self.new.constraints.len();
        self.new.constraints.retain(|constraint| !is_called(&constraint.name));
        if !may_be_key || before != self.new.constraints.len() {
            return;
        }
        // The names that servers give CHECK constraints and foreign keys are not stored: an unknown name is one of those.
        self.new.keys.retain(|key| match key.kind {
            KeyKind::Primary => !name.eq_ignore_ascii_case("PRIMARY"),
            KeyKind::Unique => !key.is_called(name),
            _ => true,
        });
    }

    /// True if the key by which MariaDB distinguishes rows may now be NULL: then MariaDB sorts the keys. Otherwise it sorts them
    /// only if there are new ones.
    pub(super) fn loses_handle(&self, indexes: &HashMap<String, usize>) -> bool {
        let (Some(first), Some(new)) = (self.old.keys.first(), self.new.keys.first()) else {
            return false;
        };
        let is_dropped =
            first.name != new.name && self.old.keys.iter().any(|key| key.name == new.name);
        if first.kind != KeyKind::Unique || is_dropped {
            return false;
        }
        let (mut is_handle, mut is_null) = (true, false);
        for part in &first.parts {
            let KeyColumn::Column { name, prefix: 0, .. } = part else { return false };
            let lower = name.to_lowercase();
            let old = self.old.column_index(&lower).and_then(|at| self.old.columns.get(at));
            let stays = indexes.get(&lower).copied().or_else(|| self.new.column_index(&lower));
            let column = stays.and_then(|at| self.new.columns.get(at));
            is_handle &= old.is_some_and(|column| column.not_null);
            is_null |= column.is_some_and(|column| !column.not_null);
        }
        is_handle && is_null
    }

    /// Adapts the foreign keys that were there before to renamed and removed columns.
    pub(super) fn map_constraints(&mut self, indexes: &HashMap<String, usize>) {
        let CreateTable { constraints, columns, .. } = &mut self.new;
        constraints.retain_mut(|constraint| {
            constraint.columns.iter_mut().all(|name| {
                let column = indexes.get(&name.to_lowercase());
                let column = column.and_then(|index| columns.get(*index));
                column.map(|column| *name = column.name.to_string()).is_some()
            })
        });
    }

    /// Adapts keys to renamed, shorter and removed columns, and to new columns of the same name.
    pub(super) fn map_keys(&mut self, indexes: &HashMap<String, usize>) -> Result<()> {
        let (settings, old) = (self.settings, self.old);
        let new_index: HashMap<String, usize> = (self.new.columns.iter().enumerate())
            .map(|(index, column)| (column.name.to_lowercase(), index))
            .filter(|(name, _)| self.added.contains(name))
            .collect();
        let CreateTable { keys, columns, versioned, .. } = &mut self.new;
        let mut message = None;
        for key in keys {
            let has_prefixes =
                matches!(key.kind, KeyKind::Primary | KeyKind::Unique | KeyKind::Index);
            key.parts.retain_mut(|part| {
                let KeyColumn::Column { name, prefix, .. } = part else { return true };
                let lower = name.to_lowercase();
                let stays = indexes.get(&lower).and_then(|index| columns.get(*index));
                let new = || new_index.get(&lower).and_then(|index| columns.get(*index));
                let Some(column) = stays.or_else(new) else {
                    return *versioned && lower.starts_with("row_");
                };
                *name = column.name.to_string();
                let can_have_prefix = matches!(
                    column.data_type,
                    DataType::Char { .. } | DataType::Text { .. } | DataType::Geometry(_)
                );
                if stays.is_none() && can_have_prefix && has_prefixes && *prefix == 0 {
                    // The prefix has the length of the column before.
                    match old.column_index(&lower).and_then(|at| old.columns.get(at)) {
                        Some(ColumnDefinition {
                            data_type: DataType::Char { length, .. }, ..
                        }) => {
                            *prefix = *length;
                        }
                        _ => message = Some(format!("the key of `{name}` goes to another column")),
                    }
                }
                if can_have_prefix
                    && has_prefixes
                    && *prefix == 0
                    && !settings.is_mariadb()
                    && stays.is_some()
                    && let Some(old) = old.column_index(&lower).and_then(|at| old.columns.get(at))
                {
                    *prefix = member_prefix(old, settings);
                }
                if !can_have_prefix
                    || max_prefix(column, settings).is_some_and(|longest| *prefix > longest)
                {
                    *prefix = 0;
                }
                true
            });
        }
        self.new.keys.retain(|key| !key.parts.is_empty());
        message.map_or(Ok(()), Err)
    }
}

/// The prefix that MySQL gives an ENUM or SET in a key when the column becomes text: its size in the key, unless the text has
/// the same size.
fn member_prefix(old: &ColumnDefinition, settings: &Settings<'_>) -> u64 {
    let width = settings.collation_of(old).map_or(1, |own| own.charset().max_char_bytes()) as u64;
    let lengths = |members: &[String]| -> Vec<u64> {
        members.iter().map(|member| member.trim_end_matches(' ').chars().count() as u64).collect()
    };
    let (bytes, characters) = match &old.data_type {
        DataType::Enum(members) => {
            let longest = lengths(members).into_iter().max().unwrap_or(0);
            (if members.len() < 256 { 1 } else { 2 }, longest)
        }
        DataType::Set(members) => {
            let bytes = match members.len() {
                ..=8 => 1,
                9..=16 => 2,
                17..=24 => 3,
                25..=32 => 4,
                _ => 8,
            };
            let commas = (members.len() as u64).saturating_sub(1);
            (bytes, lengths(members).into_iter().sum::<u64>().saturating_add(commas))
        }
        _ => return 0,
    };
    match characters.saturating_mul(width) == bytes {
        true => 0,
        false => bytes / width.max(1),
    }
}
