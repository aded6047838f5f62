//! One table as SHOW CREATE TABLE shows it.

use super::structures::{prepare, show_create_table};
use crate::ddl::{DdlSession, SqlServer, TableName};
use crate::error::{Error, Result};
use crate::history::{Baseline as HistoryBaseline, Catalog};
use crate::net::{Flavor, Server};
use crate::schema::{TableSchema, quoted_name};

/// The CREATE TABLE statement of a server's table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShownTable {
    name: TableName,
    /// The statement.
    pub statement: String,
    /// The server.
    pub server: SqlServer,
}

impl ShownTable {
    /// Asks the server.
    ///
    /// # Errors
    /// There is no such table, the user may not see it, or it is a view.
    pub fn ask(server: &mut Server, database: &str, table: &str) -> Result<Self> {
        prepare(server)?;
        let name = TableName { database: database.to_owned(), table: table.to_owned() };
        let statement = show_create_table(server, &name)?.ok_or_else(|| {
            Error::config(format!("{name} is a view, which has no rows in the log"))
        })?;
        Ok(Self::new(server, name, statement))
    }

    pub(super) fn new(server: &Server, name: TableName, statement: String) -> Self {
        let identity = server.identity();
        let is_mariadb = identity.flavor == Flavor::Mariadb;
        Self { name, statement, server: SqlServer { is_mariadb, version: identity.version } }
    }

    /// Its columns and keys.
    ///
    /// # Errors
    /// The statement cannot be read.
    pub fn schema(&self) -> Result<TableSchema> {
        self.read(Catalog::schema)
    }

    /// Its columns and keys, with the hidden columns that rows have.
    ///
    /// # Errors
    /// The statement cannot be read.
    pub fn row_schema(&self) -> Result<TableSchema> {
        self.read(Catalog::row_schema)
    }

    fn read(
        &self,
        schema: impl Fn(&Catalog, &str, &str) -> Result<TableSchema>,
    ) -> Result<TableSchema> {
        let Self { name, statement, server } = self;
        let header = Catalog::script_header(*server, 0);
        let quoted = quoted_name(&name.database);
        let script = format!("{header}CREATE DATABASE {quoted};\nUSE {quoted};\n{statement};\n");
        let catalog = HistoryBaseline::of_all_tables(script, DdlSession::new(*server)).catalog()?;
        // The server may write its name in other letter case.
        let (database, table) = catalog
            .tables()
            .next()
            .map_or((&*name.database, &*name.table), |(database, table, _)| (database, table));
        schema(&catalog, database, table)
    }
}
