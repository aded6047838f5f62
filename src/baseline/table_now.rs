//! The current structure of one table on its server, and the metadata that the server's log will
//! contain.

use super::shown_table::ShownTable;
use super::structures::{prepare, structure};
use crate::ddl::TableName;
use crate::error::{Error, ErrorKind, Result};
use crate::net::Server;
use crate::schema::{RowMetadata, TableSchema};

/// A table as its server describes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableNow {
    /// Its columns as in rows, including hidden columns.
    pub schema: TableSchema,
    /// The metadata of the table that the log will contain.
    pub row_metadata: RowMetadata,
    /// True if the server is MariaDB.
    pub is_mariadb: bool,
}

impl TableNow {
    /// Queries the structure of a table from the server.
    ///
    /// # Errors
    /// There is no such table, the user may not see it, or its CREATE TABLE cannot be parsed.
    pub fn ask(server: &mut Server, database: &str, table: &str) -> Result<Self> {
        prepare(server)?;
        let name = TableName { database: database.to_owned(), table: table.to_owned() };
        let statement = match structure(server, &name)? {
            Some(Ok(statement)) => statement,
            Some(Err(why)) => {
                return Err(Error::new(
                    ErrorKind::Server,
                    format!(
                        "the server does not return the structure of {database}.{table}: {why}; to read its structure, the user needs GRANT SELECT ON \
                         `{database}`.`{table}`"
                    ),
                ));
            }
            None => {
                return Err(Error::schema(format!("the server has no table {database}.{table}")));
            }
        };
        let shown = ShownTable::new(server, name, statement);
        Ok(Self {
            schema: shown.row_schema()?,
            row_metadata: row_metadata(server)?,
            is_mariadb: shown.server.is_mariadb,
        })
    }
}

fn row_metadata(server: &mut Server) -> Result<RowMetadata> {
    match server.connection().query_value("SELECT @@global.binlog_row_metadata") {
        Ok(value) => Ok(match value.unwrap_or_default().to_ascii_uppercase().as_str() {
            "FULL" => RowMetadata::Full,
            "MINIMAL" => RowMetadata::Minimal,
            _ => RowMetadata::NoLog,
        }),
        Err(error) if error.server_code() == Some(UNKNOWN_VARIABLE) => Ok(RowMetadata::NoLog),
        Err(error) => Err(error),
    }
}

const UNKNOWN_VARIABLE: u16 = 1193;
