//! Completes the structure of a table in the log by that of the history.

use super::{Catalog, TableState, absent, unknown};
use crate::binlog::{FormatDescription, TableMap};
use crate::error::{Error, Result};
use crate::schema::TableSchema;

/// Returns the structure of a table in the log, compared with a catalog and completed by it.
///
/// If the log names its columns and the catalog does not know the table, the result is the structure of the log. The same if the
/// catalog has another structure; then the result contains a warning.
///
/// # Errors
/// The log does not name its columns, and the catalog does not know the table or has another structure: an
/// [`ErrorKind::Schema`](crate::ErrorKind::Schema).
pub fn complete_schema(
    catalog: &Catalog,
    log: TableSchema,
    map: &TableMap<'_>,
    format: &FormatDescription,
) -> Result<(TableSchema, Option<String>)> {
    let has_names = log.columns.iter().all(|column| column.name.is_some());
    let definition = match catalog.find(&log.database, &log.table) {
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
    let alone = has_names.then(|| log.clone());
    let completed = definition.create.completed(log, map, format, None);
    match (completed.and_then(|completed| completed.map_err(does_not_fit)), alone) {
        (Ok(completed), _) => Ok((completed, None)),
        (Err(error), Some(log)) => Ok((log, Some(error.marked()))),
        (Err(error), None) => Err(error),
    }
}
