//! Completes the structure of a table in the log by that of the history.

use super::{Catalog, TableState, absent, unknown};
use crate::binlog::{FormatDescription, TableMap};
use crate::error::{Error, Result};
use crate::schema::TableSchema;

impl Catalog {
    /// The structure of a table in the log, compared with this catalog and completed by it.
    ///
    /// If the log names its columns and the catalog does not know the table, the result is the structure of the log.
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

    /// Like [`Self::complete`], with a warning if the result is the structure of the log and the catalog has another one.
    ///
    /// # Errors
    /// As of [`Self::complete`].
    pub fn complete_or_warn(
        &self,
        log: TableSchema,
        map: &TableMap<'_>,
        format: &FormatDescription,
    ) -> Result<(TableSchema, Option<String>)> {
        let has_names = log.columns.iter().all(|column| column.name.is_some());
        let definition = match self.find(&log.database, &log.table) {
            Some(TableState::Known(definition)) => definition,
            _ if has_names => return Ok((log, None)),
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
        let by_itself = has_names.then(|| log.clone());
        let completed = definition.create.completed(log, map, format, None);
        match (completed.and_then(|completed| completed.map_err(does_not_fit)), by_itself) {
            (Ok(completed), _) => Ok((completed, None)),
            (Err(error), Some(log)) => Ok((log, Some(error.marked()))),
            (Err(error), None) => Err(error),
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
}
