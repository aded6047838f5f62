//! What the log says of a table, made whole by what the history knows.

use super::{Catalog, TableState, absent, unknown};
use crate::binlog::{FormatDescription, TableMap};
use crate::error::{Error, Result};
use crate::schema::TableSchema;

impl Catalog {
    /// The structure of a table as the log tells it, checked against this catalog and made whole by it.
    ///
    /// A log that names its own columns stands by itself where the catalog knows no better.
    ///
    /// # Errors
    /// The catalog does not know the table, or knows another structure: an [`ErrorKind::Schema`](crate::ErrorKind::Schema).
    pub fn complete(
        &self,
        log: TableSchema,
        map: &TableMap<'_>,
        format: &FormatDescription,
    ) -> Result<TableSchema> {
        self.complete_or_warn(log, map, format).map(|(schema, _)| schema)
    }

    /// The same, with what there is to say where the log stands by itself and the catalog knows another structure.
    ///
    /// # Errors
    /// As of [`Self::complete`].
    pub fn complete_or_warn(
        &self,
        log: TableSchema,
        map: &TableMap<'_>,
        format: &FormatDescription,
    ) -> Result<(TableSchema, Option<String>)> {
        let stands_alone = log.columns.iter().all(|column| column.name.is_some());
        let definition = match self.find(&log.database, &log.table) {
            Some(TableState::Known(definition)) => definition,
            _ if stands_alone => return Ok((log, None)),
            Some(TableState::Unknown(why)) => {
                return Err(unknown(&log.database, &log.table, why));
            }
            None => return Err(absent(&log.database, &log.table)),
        };
        let name = log.full_name();
        let does_not_fit = |what: String| {
            Error::schema(format!(
                "the structure of {name} in the history does not fit the log: {what}; the history may be of another \
                 server, or lack a statement: take a new baseline (⟦history.baseline⟧)"
            ))
        };
        let by_itself = stands_alone.then(|| log.clone());
        let whole = definition.create.completed(log, map, format, None);
        match (whole.and_then(|whole| whole.map_err(does_not_fit)), by_itself) {
            (Ok(whole), _) => Ok((whole, None)),
            (Err(error), Some(log)) => Ok((log, Some(error.marked()))),
            (Err(error), None) => Err(error),
        }
    }

    /// The structure of a table as its rows have it: with the hidden columns that MariaDB has for hashes of keys.
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
}
