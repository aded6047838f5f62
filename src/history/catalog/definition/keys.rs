//! The keys of a table, as its server creates them from a statement: with names, in its order, with prefixes.

use super::TableDefinition;
use crate::ddl::SqlServer;
use crate::ddl::column::ColumnDefinition;
use crate::ddl::data_type::DataType;
use crate::ddl::key::{Key, KeyColumn, KeyKind, is_same_name};
use crate::history::catalog::settings::{Result, Settings};
use crate::schema::GeometryType;

impl TableDefinition {
    /// Adds `new` keys as the server does: with names, without a key for a foreign key if another key can replace it, and
    /// sorted if `is_sorted`.
    pub(in crate::history::catalog) fn settle_keys(
        &mut self,
        new: Vec<Key>,
        is_sorted: bool,
        settings: &Settings<'_>,
    ) -> Result<()> {
        self.settle_periods();
        let server = settings.session.server;
        for key in new.iter().filter(|key| key.kind == KeyKind::Primary && key.is_inline) {
            self.forbid_null(key);
        }
        let counts_inline = match server.is_mariadb {
            true => server.version >= (10, 5, 0),
            false => server.version >= (9, 0, 0),
        };
        let mut keys = Vec::new();
        // The rules apply to the existing keys, too.
        let old = std::mem::take(&mut self.create.keys).into_iter().map(|key| (key, false));
        for (mut key, is_new) in old.chain(new.into_iter().map(|key| (key, true))) {
            if key.kind == KeyKind::Foreign {
                if key.is_inline {
                    if !counts_inline {
                        continue;
                    }
                    self.create.constraints.extend(key.foreign_key());
                }
                if !settings.makes_keys {
                    continue;
                }
                key = Key {
                    kind: KeyKind::Index,
                    name: key.constraint.or(key.name),
                    constraint: None,
                    is_implicit: true,
                    references: String::new(),
                    ..key
                };
            }
            let constraint = key.constraint.take();
            key.name = match key.kind {
                KeyKind::Primary => None,
                _ => key.name.or(constraint),
            };
            (key.is_inline, key.if_not_exists) = (false, false);
            self.settle_parts(&mut key, settings)?;
            self.settle_length(&mut key, is_new, settings);
            self.put_key(&mut keys, key);
            if keys.len() > MAX_KEYS {
                return Err(format!("more than {MAX_KEYS} keys"));
            }
        }
        if self.create.constraints.len() > MAX_CONSTRAINTS {
            return Err(format!("more than {MAX_CONSTRAINTS} constraints"));
        }
        self.name_keys(&mut keys);
        // For servers, a column of the primary key is NOT NULL only in the keys after that one.
        let mut ranked = Vec::with_capacity(keys.len());
        for key in keys {
            if key.kind == KeyKind::Primary {
                self.forbid_null(&key);
            }
            ranked.push((self.rank(&key, server), key));
        }
        if is_sorted {
            ranked.sort_by_key(|(rank, _)| *rank);
        }
        let keys: Vec<Key> = ranked.into_iter().map(|(_, key)| key).collect();
        if keys.iter().filter(|key| key.kind == KeyKind::Primary).count() > 1 {
            return Err("two primary keys".into());
        }
        self.name_foreign_keys(server);
        self.create.keys = keys;
        Ok(())
    }

    /// Names the keys without a name.
    fn name_keys(&self, keys: &mut [Key]) {
        for at in 0..keys.len() {
            let (before, rest) = keys.split_at_mut(at);
            let (Some(key), after) = (rest.first(), rest.get(1..).unwrap_or_default()) else {
                continue;
            };
            if key.name.is_none() && key.kind != KeyKind::Primary {
                let name = match key.parts.first() {
                    _ if key.has_expression() => {
                        let is_taken =
                            |name: &str| before.iter().chain(after).any(|key| key.is_called(name));
                        free_name("functional_index", &is_taken)
                    }
                    Some(KeyColumn::Column { name, .. } | KeyColumn::Period(name)) => {
                        // With the letter case of the column.
                        let column = self.create.column_index(name);
                        let column = column.and_then(|index| self.create.columns.get(index));
                        let name = column.map_or(name.as_str(), |column| &*column.name);
                        free_name(name, &|name| {
                            name.eq_ignore_ascii_case("PRIMARY")
                                || before.iter().any(|key| key.is_called(name))
                        })
                    }
                    _ => continue,
                };
                if let Some(key) = rest.first_mut() {
                    key.name = Some(name);
                }
            }
        }
    }

    /// Appends a key, unless one of two keys was created for a foreign key and the other can replace it.
    fn put_key(&self, keys: &mut Vec<Key>, key: Key) {
        if !key.is_implicit && !keys.iter().any(|other| other.is_implicit) {
            return keys.push(key);
        }
        let replaces = |longer: &Key, shorter: &Key| {
            !matches!(longer.kind, KeyKind::Fulltext | KeyKind::Spatial | KeyKind::Vector)
                && longer.parts.len() >= shorter.parts.len()
                && longer.parts.iter().zip(&shorter.parts).all(|(a, b)| a.is_same_column(b))
        };
        let other = keys.iter().position(|other| match (other.is_implicit, key.is_implicit) {
            (false, false) => false,
            (false, true) => replaces(other, &key),
            (true, false) => replaces(&key, other),
            (true, true) => replaces(other, &key) || replaces(&key, other),
        });
        let Some(at) = other else { return keys.push(key) };
        let Some(found) = keys.get(at) else { return };
        if !found.is_implicit || key.is_implicit && key.parts.len() < found.parts.len() {
            return;
        }
        keys.remove(at);
        keys.push(key);
    }

    /// Checks that the columns exist. Removes a prefix that is as long as its column.
    fn settle_parts(&self, key: &mut Key, settings: &Settings<'_>) -> Result<()> {
        for part in &mut key.parts {
            let KeyColumn::Column { name, prefix, .. } = part else { continue };
            let column = self.create.column_index(name).and_then(|at| self.create.columns.get(at));
            let Some(column) = column else {
                if self.create.versioned && name.to_lowercase().starts_with("row_") {
                    continue;
                }
                return Err(format!("a key names `{name}`, no column"));
            };
            *name = column.name.to_string();
            if max_prefix(column, settings).is_some_and(|longest| *prefix >= longest) {
                *prefix = 0;
            }
            let is_point = matches!(column.data_type, DataType::Geometry(GeometryType::Point));
            let is_plain = matches!(key.kind, KeyKind::Primary | KeyKind::Unique | KeyKind::Index);
            if is_point && is_plain && settings.is_mariadb() {
                *prefix = POINT_BYTES;
            }
        }
        Ok(())
    }

    /// True if MariaDB stores a key as a hash: it is USING HASH, or has a complete BLOB or TEXT.
    fn is_long(&self, key: &Key) -> bool {
        let has_complete_blob = key.parts.iter().any(|part| {
            let KeyColumn::Column { name, prefix: 0, .. } = part else { return false };
            let column = self.create.column_index(name).and_then(|at| self.create.columns.get(at));
            column.is_some_and(|column| matches!(column.data_type, DataType::Text { .. }))
        });
        key.is_hash && !self.create.has_hash_keys() || has_complete_blob
    }

    /// Adapts a key that is too long for the engine: MariaDB makes a hash of a unique key, and shortens others to a prefix.
    fn settle_length(&self, key: &mut Key, is_new: bool, settings: &Settings<'_>) {
        let engine = self.create.engine.as_deref().unwrap_or("InnoDB");
        let longest = match engine.to_ascii_lowercase().as_str() {
            "innodb" => 3072,
            "myisam" => 1000,
            _ => return,
        };
        let (mut sum, mut has_geometry) = (0_u64, false);
        for part in &mut key.parts {
            let KeyColumn::Column { name, prefix, .. } = part else { continue };
            let column = self.create.column_index(name).and_then(|at| self.create.columns.get(at));
            let Some(column) = column else { continue };
            let collation = settings.collation_of(column);
            let width =
                collation.map_or(1, |collation| collation.charset().max_char_bytes()) as u64;
            let is_index = key.kind == KeyKind::Index;
            let characters = match (&column.data_type, *prefix) {
                (DataType::Char { length, .. }, 0) => *length,
                // In MariaDB; MySQL rejects a key of a complete TEXT.
                (DataType::Text { length_bytes, .. }, 0) if is_index && settings.is_mariadb() => {
                    *prefix = max_bytes(*length_bytes);
                    *prefix
                }
                (DataType::Geometry(_), 0) if is_index && settings.is_mariadb() => u64::MAX,
                (DataType::Geometry(_), 0 | HASHED_GEOMETRY)
                    if key.kind == KeyKind::Unique
                        && settings.is_mariadb()
                        && (*prefix == 0 || key.is_hash) =>
                {
                    (*prefix, has_geometry) = (HASHED_GEOMETRY, true);
                    *prefix
                }
                (_, prefix) => prefix,
            };
            let bytes = characters.saturating_mul(width);
            if is_index && bytes > longest {
                *prefix = longest / width.max(1);
            }
            sum = sum.saturating_add(bytes);
        }
        if settings.is_mariadb() && key.kind == KeyKind::Unique && settings.makes_keys {
            key.is_hash = sum > longest || key.is_hash && is_new || has_geometry;
        }
    }

    /// The rank of a key in the order of the server.
    pub(super) fn rank(&self, key: &Key, server: SqlServer) -> (u8, bool, bool, bool) {
        let columns = key.parts.iter().map(|part| match part {
            KeyColumn::Column { name, prefix, .. } => {
                let at = self.create.column_index(name);
                (at.and_then(|at| self.create.columns.get(at)), *prefix > 0)
            }
            _ => (None, false),
        });
        let (mut may_be_null, mut is_virtual, mut has_prefix) =
            (key.has_expression(), false, false);
        for (column, is_prefix) in columns {
            may_be_null |= column.is_some_and(|column| !column.not_null);
            is_virtual |= !server.is_mariadb && column.is_some_and(|column| column.is_virtual);
            has_prefix |= is_prefix;
        }
        // The column of an expression is a virtual one.
        is_virtual |= key.has_expression();
        match key.kind {
            KeyKind::Primary => (0, false, false, false),
            // Keys that are stored as hashes are after the others.
            KeyKind::Unique if server.is_mariadb && self.is_long(key) => (2, false, false, false),
            KeyKind::Unique => (1, may_be_null, has_prefix, is_virtual),
            KeyKind::Fulltext => (4, false, false, false),
            KeyKind::Vector => (5, false, false, false),
            _ => (3, false, is_virtual, false),
        }
    }
}

/// True if keys are in the order of SHOW CREATE TABLE: the primary key first, and full-text keys last.
pub(super) fn is_in_order(keys: &[Key]) -> bool {
    let place = |key: &Key| match key.kind {
        KeyKind::Primary => 0,
        KeyKind::Unique => 1,
        KeyKind::Index | KeyKind::Spatial => 2,
        KeyKind::Fulltext => 3,
        KeyKind::Vector => 4,
        KeyKind::Foreign => 5,
    };
    keys.is_sorted_by_key(place) && !keys.iter().any(|key| key.is_inline)
}

impl KeyColumn {
    fn is_same_column(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Column { name, prefix, .. }, Self::Column { name: n, prefix: p, .. }) => {
                prefix == p && is_same_name(name, n)
            }
            _ => false,
        }
    }
}

/// The length from which a prefix is the complete column; `None` if no prefix is.
pub(in crate::history::catalog) fn max_prefix(
    column: &ColumnDefinition,
    settings: &Settings<'_>,
) -> Option<u64> {
    match &column.data_type {
        DataType::Char { length, .. } => Some(*length),
        DataType::Text { length_bytes: 0, .. } => None,
        DataType::Text { length_bytes, .. } => {
            let bytes = max_bytes(*length_bytes);
            let width = settings.collation_of(column)?.charset().max_char_bytes() as u64;
            Some(bytes / width.max(1) + 1)
        }
        DataType::Geometry(_) => None,
        _ => Some(0),
    }
}

/// The maximum size of a TEXT or BLOB.
fn max_bytes(length_bytes: u8) -> u64 {
    (1_u64 << (8 * u32::from(length_bytes.min(4)))) - 1
}

/// Returns `name`, or `name_2` and so on if it is taken.
fn free_name(name: &str, is_taken: &dyn Fn(&str) -> bool) -> String {
    let numbered = (2..100).map(|number| {
        let mut end = name.len().min(MAX_NAME_BYTES - 4);
        while !name.is_char_boundary(end) {
            end -= 1;
        }
        format!("{}_{number}", name.get(..end).unwrap_or(name))
    });
    std::iter::once(name.to_owned())
        .chain(numbered)
        .find(|name| !is_taken(name))
        .unwrap_or_else(|| "not_specified".into())
}

/// The prefix of a POINT in a key of MariaDB. The one in the statement is ignored.
const POINT_BYTES: u64 = 25;

/// The prefix that MariaDB shows for complete other geometries in a unique key, which it stores as a hash.
const HASHED_GEOMETRY: u64 = 8;

/// The maximum size of a name in servers: 64 characters of 3 bytes.
const MAX_NAME_BYTES: usize = 192;

/// More than any server allows (MariaDB 128, MySQL 64). This limits the time for a statement.
const MAX_KEYS: usize = 512;

/// More than tables have. This limits the time for a statement.
const MAX_CONSTRAINTS: usize = 4096;
