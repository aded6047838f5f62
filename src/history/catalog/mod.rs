//! All tables at one position of the log.
//!
//! In: statements of the log ([`LoggedDdl`](super::LoggedDdl)), or SQL text. Out: the structure of each table, if it is known.
//!
//! ```text
//! statement ─ apply ─ alter, sequence, renames ─ definition, settings ─ Catalog ─ complete ─ TableSchema
//!                                                                script, print ⇄ text
//! ```

mod alter;
mod altered_values;
mod apply;
mod complete;
mod copied;
mod definition;
mod print;
mod renames;
mod script;
mod sequence;
mod settings;
mod type_change;

#[cfg(test)]
mod random_tests;
#[cfg(test)]
mod tests;

pub use altered_values::{AlteredColumn, NewType, ValueChange, altered_columns};
pub use complete::complete_schema;
pub use definition::TableDefinition;

use crate::charset::Collation;
use crate::ddl::{SqlServer, TableName};
use crate::error::{Error, Result};
use crate::schema::{TableSchema, folded};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The databases and tables at one position of the log. A copy is cheap: copies share their equal parts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Catalog {
    /// The server that wrote the last statement.
    server: Option<SqlServer>,
    lower_case_table_names: u8,
    databases: BTreeMap<Arc<str>, Arc<Database>>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Database {
    collation: Option<Collation>,
    tables: BTreeMap<Arc<str>, TableState>,
}

/// The structure of a table, if it is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TableState {
    /// Its structure.
    Known(Arc<TableDefinition>),
    /// The reason why its structure is not known: a statement that could not be followed, with its position.
    Unknown(Arc<str>),
}

/// The changes of a statement to a catalog.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Followed {
    /// The tables that were changed or dropped.
    pub changed: Vec<TableName>,
    /// The tables whose structure is unknown from here on, with the reason.
    pub lost: Vec<(TableName, Arc<str>)>,
}

impl Catalog {
    /// An empty catalog of a server with this `lower_case_table_names`: 0 if names differ by letter case, otherwise 1 or 2.
    pub fn new(server: SqlServer, lower_case_table_names: u8) -> Self {
        Self { server: Some(server), lower_case_table_names, databases: BTreeMap::new() }
    }

    /// The server of its statements; `None` if there was none yet.
    pub fn server(&self) -> Option<SqlServer> {
        self.server
    }

    /// The setting of the server: 0 if names of tables differ by letter case, otherwise 1 or 2.
    pub fn lower_case_table_names(&self) -> u8 {
        self.lower_case_table_names
    }

    /// Replaces the structure of a table; `None` removes the table.
    pub(super) fn replace_table(&mut self, database: &str, table: &str, state: Option<TableState>) {
        let (database, table) = (self.folded(database), self.folded(table));
        match state {
            Some(state) => {
                let database = self.databases.entry(database.into()).or_default();
                Arc::make_mut(database).tables.insert(table.into(), state);
            }
            None => {
                if let Some(database) = self.databases.get_mut(database.as_str()) {
                    Arc::make_mut(database).tables.remove(table.as_str());
                }
            }
        }
    }

    /// A copy with all databases, and the tables that are wanted.
    pub(super) fn only(&self, wanted: &dyn Fn(&str, &str) -> bool) -> Self {
        let mut only = self.clone();
        for (name, database) in &mut only.databases {
            Arc::make_mut(database).tables.retain(|table, _| wanted(name, table));
        }
        only
    }

    /// The structure of a table; `None` if there is no such table.
    pub fn find(&self, database: &str, table: &str) -> Option<&TableState> {
        match self.lower_case_table_names {
            0 => self.databases.get(database)?.tables.get(table),
            _ => {
                let database = self.databases.get(self.folded(database).as_str())?;
                database.tables.get(self.folded(table).as_str())
            }
        }
    }

    /// True for a MERGE table; `None` if its structure is not known.
    pub fn is_merge(&self, database: &str, table: &str) -> Option<bool> {
        match self.find(database, table)? {
            TableState::Known(definition) => Some(definition.create().is_merge()),
            TableState::Unknown(_) => None,
        }
    }

    /// The structure of a table.
    ///
    /// # Errors
    /// There is no such table, or its structure is not known: an [`ErrorKind::Schema`](crate::ErrorKind::Schema).
    pub fn schema(&self, database: &str, table: &str) -> Result<TableSchema> {
        match self.find(database, table) {
            Some(TableState::Known(definition)) => {
                let server = self.server.ok_or_else(|| absent(database, table))?;
                definition.table_schema(database, server, &|_| None)
            }
            Some(TableState::Unknown(why)) => Err(unknown(database, table, why)),
            None => Err(absent(database, table)),
        }
    }

    /// The structure of a table with MariaDB's hidden columns for hashes of keys, which its rows contain.
    ///
    /// # Errors
    /// As of [`Self::schema`].
    pub fn row_schema(&self, database: &str, table: &str) -> Result<TableSchema> {
        let mut schema = self.schema(database, table)?;
        if let Some(TableState::Known(definition)) = self.find(database, table)
            && self.server().is_some_and(|server| server.is_mariadb)
        {
            let hashes = definition.create.hash_columns(&schema);
            schema.columns.extend(hashes);
        }
        Ok(schema)
    }

    /// The CREATE TABLE of a table, in the words of its server; `None` if its structure is not known.
    pub fn table_sql(&self, database: &str, table: &str) -> Option<String> {
        match self.find(database, table)? {
            TableState::Known(definition) => {
                Some(definition.to_sql(self.server.is_some_and(|server| server.is_mariadb)))
            }
            TableState::Unknown(_) => None,
        }
    }

    /// The databases, in order.
    pub fn databases(&self) -> impl Iterator<Item = &str> {
        self.databases.keys().map(|name| &**name)
    }

    /// All tables in order: database, table, structure.
    pub fn tables(&self) -> impl Iterator<Item = (&str, &str, &TableState)> {
        self.databases.iter().flat_map(|(database, held)| {
            held.tables.iter().map(move |(table, state)| (&**database, &**table, state))
        })
    }

    /// Adds a table whose structure is not known, with the reason.
    pub fn set_unknown(&mut self, database: &str, table: &str, why: Arc<str>) {
        let name = TableName { database: self.folded(database), table: self.folded(table) };
        self.put(&name, TableState::Unknown(why));
    }

    /// Forgets the default character set of a database.
    pub fn forget_default(&mut self, database: &str) {
        let name = self.folded(database);
        if let Some(database) = self.databases.get_mut(name.as_str()) {
            Arc::make_mut(database).collation = None;
        }
    }

    /// Removes all tables for which `keep` returns false.
    pub fn retain(&mut self, keep: &dyn Fn(&str, &str) -> bool) {
        for (name, database) in &mut self.databases {
            if database.tables.keys().any(|table| !keep(name, table)) {
                Arc::make_mut(database).tables.retain(|table, _| keep(name, table));
            }
        }
    }

    /// Adds all databases and tables of `other`, and replaces those of the same names.
    pub fn merge(&mut self, other: &Self) {
        self.server = other.server.or(self.server);
        self.lower_case_table_names = other.lower_case_table_names;
        for (name, database) in &other.databases {
            let own = Arc::make_mut(self.databases.entry(Arc::clone(name)).or_default());
            own.collation = database.collation.or(own.collation);
            for (table, state) in &database.tables {
                own.tables.insert(Arc::clone(table), state.clone());
            }
        }
    }

    /// A name with the letter case of the catalog.
    fn folded(&self, name: &str) -> String {
        match self.lower_case_table_names {
            0 => name.to_owned(),
            _ => folded(name),
        }
    }

    fn database(&self, name: &str) -> Option<&Database> {
        self.databases.get(name).map(|database| &**database)
    }

    fn database_mut(&mut self, name: &str) -> &mut Database {
        Arc::make_mut(self.databases.entry(name.into()).or_default())
    }

    fn state(&self, name: &TableName) -> Option<&TableState> {
        self.databases.get(name.database.as_str())?.tables.get(name.table.as_str())
    }

    fn put(&mut self, name: &TableName, state: TableState) {
        self.database_mut(&name.database).tables.insert(name.table.as_str().into(), state);
    }

    fn take(&mut self, name: &TableName) -> Option<TableState> {
        let database = self.databases.get_mut(name.database.as_str())?;
        Arc::make_mut(database).tables.remove(name.table.as_str())
    }
}

fn absent(database: &str, table: &str) -> Error {
    Error::schema(format!(
        "the history has no table {database}.{table} here: take a baseline that has it (⟦history.baseline⟧)"
    ))
}

fn unknown(database: &str, table: &str, why: &str) -> Error {
    Error::schema(format!(
        "the structure of {database}.{table} is not known here: {why}; take a new baseline after that position \
         (⟦history.baseline⟧)"
    ))
}
