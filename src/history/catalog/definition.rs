//! One table, with all that later statements build on: what a CREATE TABLE says, as the server that ran it understands it.

use super::settings::{Result, Settings};
use crate::charset::Collation;
use crate::ddl::SqlServer;
use crate::ddl::column::ColumnDefinition;
use crate::ddl::create_table::CreateTable;
use crate::ddl::data_type::DataType;
use crate::ddl::key::{Constraint, Key, KeyColumn, KeyKind, is_same_name};
use crate::error::Error;
use crate::schema::{GeometryType, TableSchema};

/// The structure of a table, with all that later statements can build on. Nothing in it depends on what comes later: every
/// column has its own character set, every key its name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableDefinition {
    pub(super) create: CreateTable,
}

impl TableDefinition {
    /// The definition in its CREATE TABLE.
    pub(in crate::history) fn create(&self) -> &CreateTable {
        &self.create
    }

    /// What a server makes of a CREATE TABLE.
    pub(super) fn of(mut create: CreateTable, settings: &Settings<'_>) -> Result<Self> {
        create.database = None;
        let own = match create.charset.is_unknown || create.is_abridged {
            true => None,
            false => settings.clause(&create.charset, None)?.or(settings.database),
        };
        (create.is_abridged, create.is_settled) = (false, true);
        create.charset = settings.written_out(own)?;
        for column in &mut create.columns {
            settings.settle(column, own)?;
        }
        let keys = std::mem::take(&mut create.keys);
        let mut definition = Self { create };
        // What SHOW CREATE TABLE prints has the server's order, which what it prints does not always tell.
        let is_sorted = !settings.is_script || !is_in_order(&keys);
        definition.settle_keys(keys, is_sorted, settings)?;
        Ok(definition)
    }

    /// The structure of the table on `server`. `default` tells the collation of the column with this index where the
    /// statements that made it do not.
    ///
    /// # Errors
    /// A column is none that the server has, or no one tells its collation.
    pub fn table_schema(
        &self,
        database: &str,
        server: SqlServer,
        default: &dyn Fn(usize) -> Option<Collation>,
    ) -> std::result::Result<TableSchema, Error> {
        self.create.table_schema(database, server, default)
    }

    /// What CREATE TABLE ... LIKE makes of it: foreign keys are not taken over, and keys are sorted anew.
    pub(super) fn become_copy(&mut self, name: &str, server: SqlServer) {
        self.create.table = name.into();
        let mut keys = std::mem::take(&mut self.create.keys);
        keys.sort_by_cached_key(|key| self.rank(key, server));
        self.create.keys = keys;
        self.create.constraints.retain(|constraint| constraint.columns.is_empty());
    }

    /// Takes in `new` keys, as the server does: names those without a name, leaves out what was made for a foreign key where
    /// another does as well, and sorts them if told to.
    pub(super) fn settle_keys(
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
        // Those that are there are looked at as the new ones are.
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
                        // As the column is written, not as the key writes it.
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
        // Of a column of the primary key, servers know that it is NOT NULL only for keys that stand behind that one.
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

    /// Columns of a primary key are NOT NULL.
    fn forbid_null(&mut self, key: &Key) {
        for part in &key.parts {
            if let KeyColumn::Column { name, .. } = part
                && let Some(index) = self.create.column_index(name)
                && let Some(column) = self.create.columns.get_mut(index)
            {
                (column.not_null, column.null) = (true, false);
            }
        }
    }

    /// The ends of an application-time period are NOT NULL.
    fn settle_periods(&mut self) {
        let CreateTable { periods, columns, .. } = &mut self.create;
        for period in periods {
            for column in columns.iter_mut() {
                let name = column.name.to_lowercase();
                if name == period.start.to_lowercase() || name == period.end.to_lowercase() {
                    (column.not_null, column.null) = (true, false);
                }
            }
        }
    }

    /// Gives foreign keys the names that the server gives them.
    fn name_foreign_keys(&mut self, server: SqlServer) {
        let prefix = format!("{}{GENERATED}", self.create.table);
        let constraints = &mut self.create.constraints;
        let number = |constraint: &Constraint| {
            constraint.name.as_ref()?.strip_prefix(&prefix)?.parse::<u32>().ok()
        };
        let mut last = constraints.iter().filter_map(number).max().unwrap_or(0);
        for constraint in constraints.iter_mut().filter(|each| !each.columns.is_empty()) {
            let index_name = constraint.index_name.take().filter(|_| server.is_mariadb);
            if constraint.name.is_none() {
                constraint.name = index_name.or_else(|| {
                    last = last.saturating_add(1);
                    Some(format!("{prefix}{last}"))
                });
            }
        }
    }

    /// Gives the table another name; the names of foreign keys that were made of it follow.
    pub(super) fn rename(&mut self, name: &str) {
        let old = format!("{}{GENERATED}", self.create.table);
        for constraint in &mut self.create.constraints {
            let number = constraint.name.as_ref().and_then(|own| own.strip_prefix(&old));
            if let Some(number) = number {
                constraint.name = Some(format!("{name}{GENERATED}{number}"));
            }
        }
        self.create.table = name.into();
    }

    /// Puts a key behind the others, unless one of the two was made for a foreign key and the other does as well.
    fn put_key(&self, keys: &mut Vec<Key>, key: Key) {
        if !key.is_implicit && !keys.iter().any(|other| other.is_implicit) {
            return keys.push(key);
        }
        let stands_for = |longer: &Key, shorter: &Key| {
            !matches!(longer.kind, KeyKind::Fulltext | KeyKind::Spatial | KeyKind::Vector)
                && longer.parts.len() >= shorter.parts.len()
                && longer.parts.iter().zip(&shorter.parts).all(|(a, b)| a.is_same_column(b))
        };
        let other = keys.iter().position(|other| match (other.is_implicit, key.is_implicit) {
            (false, false) => false,
            (false, true) => stands_for(other, &key),
            (true, false) => stands_for(&key, other),
            (true, true) => stands_for(other, &key) || stands_for(&key, other),
        });
        let Some(at) = other else { return keys.push(key) };
        let Some(found) = keys.get(at) else { return };
        if !found.is_implicit || key.is_implicit && key.parts.len() < found.parts.len() {
            return;
        }
        keys.remove(at);
        keys.push(key);
    }

    /// A prefix as long as its column is none; and columns must be there.
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

    /// Whether MariaDB holds a key as a hash: it is USING HASH, or has a whole BLOB or TEXT.
    fn is_long(&self, key: &Key) -> bool {
        let holds_whole_blob = key.parts.iter().any(|part| {
            let KeyColumn::Column { name, prefix: 0, .. } = part else { return false };
            let column = self.create.column_index(name).and_then(|at| self.create.columns.get(at));
            column.is_some_and(|column| matches!(column.data_type, DataType::Text { .. }))
        });
        key.is_hash && !self.create.has_hash_keys() || holds_whole_blob
    }

    /// What servers make of a key that is too long for the engine: MariaDB a hash of a unique one, a prefix of one that is not.
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
                // MariaDB's: MySQL refuses a key of a whole one.
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

    /// The order that servers keep keys in.
    fn rank(&self, key: &Key, server: SqlServer) -> (u8, bool, bool, bool) {
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
            // Those that are held as hashes stand behind.
            KeyKind::Unique if server.is_mariadb && self.is_long(key) => (2, false, false, false),
            KeyKind::Unique => (1, may_be_null, has_prefix, is_virtual),
            KeyKind::Fulltext => (4, false, false, false),
            KeyKind::Vector => (5, false, false, false),
            _ => (3, false, is_virtual, false),
        }
    }
}

/// Whether keys stand as SHOW CREATE TABLE prints them, the primary one first and full-text ones last.
fn is_in_order(keys: &[Key]) -> bool {
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

/// The length of a column from which on a key's prefix is the whole; `None` where no prefix is one.
pub(super) fn max_prefix(column: &ColumnDefinition, settings: &Settings<'_>) -> Option<u64> {
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

/// What a TEXT or BLOB holds at most.
fn max_bytes(length_bytes: u8) -> u64 {
    (1_u64 << (8 * u32::from(length_bytes.min(4)))) - 1
}

/// `name`, or `name_2` and so on where it is taken.
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

/// Of a POINT in a key of MariaDB, whatever prefix a statement names.
const POINT_BYTES: u64 = 25;

/// What MariaDB says of other geometries that are whole in a unique key, which it holds as a hash.
const HASHED_GEOMETRY: u64 = 8;

/// What stands between a table's name and a number in the name that a foreign key gets where a statement gives it none.
const GENERATED: &str = "_ibfk_";

/// Of a name in the servers: 64 characters of 3 bytes.
const MAX_NAME_BYTES: usize = 192;

/// What no server goes beyond (MariaDB 128, MySQL 64): the time that a statement takes is bounded by it.
const MAX_KEYS: usize = 512;

/// Likewise: beyond what tables have.
const MAX_CONSTRAINTS: usize = 4096;
