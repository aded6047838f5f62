//! The structure of a table, as the server creates it from a CREATE TABLE, with everything that later statements need.

mod keys;

pub(super) use keys::max_prefix;

use self::keys::is_in_order;
use super::settings::{Result, Settings};
use crate::charset::Collation;
use crate::ddl::SqlServer;
use crate::ddl::create_table::CreateTable;
use crate::ddl::key::{Constraint, Key, KeyColumn};
use crate::error::Error;
use crate::schema::TableSchema;

/// The structure of a table, with everything that later statements need. It is complete: each column has its character set, and
/// each key its name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableDefinition {
    pub(super) create: CreateTable,
}

impl TableDefinition {
    /// The definition in its CREATE TABLE.
    pub(in crate::history) fn create(&self) -> &CreateTable {
        &self.create
    }

    /// The definition that a server creates from a CREATE TABLE.
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
        settings.settle_timestamps(&mut create.columns);
        let keys = std::mem::take(&mut create.keys);
        let mut definition = Self { create };
        // SHOW CREATE TABLE prints keys in the order of the server. It does not print everything that the order depends on.
        let is_sorted = !settings.is_script || !is_in_order(&keys);
        definition.settle_keys(keys, is_sorted, settings)?;
        Ok(definition)
    }

    /// The structure of the table on `server`. `default` returns the collation of the column with this index if the statements
    /// do not contain it.
    ///
    /// # Errors
    /// The server does not have the type of a column, or the collation of a column is not known.
    pub fn table_schema(
        &self,
        database: &str,
        server: SqlServer,
        default: &dyn Fn(usize) -> Option<Collation>,
    ) -> std::result::Result<TableSchema, Error> {
        self.create.table_schema(database, server, default)
    }

    /// Changes it as CREATE TABLE ... LIKE does: foreign keys are not copied, and keys are sorted again.
    pub(super) fn become_copy(&mut self, name: &str, server: SqlServer) {
        self.create.table = name.into();
        let mut keys = std::mem::take(&mut self.create.keys);
        keys.sort_by_cached_key(|key| self.rank(key, server));
        self.create.keys = keys;
        self.create.constraints.retain(|constraint| constraint.columns.is_empty());
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

    /// Renames the table, and the foreign keys whose names contain its name.
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
}

/// The text between the name of the table and a number, in the name that a server gives a foreign key.
const GENERATED: &str = "_ibfk_";
