//! The tables of an initial load.

use crate::baseline::selects_database;
use crate::change::TableFilter;
use crate::ddl::TableName;
use crate::error::{Error, Result};
use crate::net::Server;

/// The tables of the server that a filter selects, in the order of their names. Views are not tables.
pub(super) fn selected(server: &mut Server, filter: &TableFilter) -> Result<Vec<TableName>> {
    let sql = "SELECT TABLE_SCHEMA, TABLE_NAME FROM information_schema.TABLES WHERE TABLE_TYPE IN ('BASE TABLE', 'SYSTEM VERSIONED') \
               ORDER BY TABLE_SCHEMA, TABLE_NAME";
    let mut tables = Vec::new();
    for row in server.connection().query(sql)? {
        let [Some(database), Some(table)] = <[_; 2]>::try_from(row).unwrap_or_default() else {
            return Err(Error::malformed("the server's list of tables has no names"));
        };
        if selects_database(filter, &database) && filter.accepts(&database, &table) {
            tables.push(TableName { database, table });
        }
    }
    Ok(tables)
}
