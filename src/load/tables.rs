//! The tables of an initial load.

use crate::baseline::{TableNow, selects_database};
use crate::change::TableFilter;
use crate::ddl::TableName;
use crate::error::{Error, Result};
use crate::net::Server;
use crate::schema::RowKey;
use std::collections::HashSet;

/// Those of the tables whose rows no key identifies.
pub(super) fn without_key(server: &mut Server, tables: &[TableName]) -> Result<Vec<TableName>> {
    let sql = "SELECT TABLE_SCHEMA, TABLE_NAME FROM information_schema.STATISTICS WHERE INDEX_NAME = 'PRIMARY' AND SEQ_IN_INDEX = 1";
    let mut keyed = HashSet::new();
    for row in server.connection().query(sql)? {
        let [Some(database), Some(table)] = <[_; 2]>::try_from(row).unwrap_or_default() else {
            return Err(Error::malformed("the server's list of keys has no names"));
        };
        keyed.insert((database, table));
    }
    let mut found = Vec::new();
    for name in tables {
        let is_keyed = keyed.contains(&(name.database.clone(), name.table.clone()))
            || TableNow::ask(server, &name.database, &name.table)?.schema.row_key()
                != RowKey::FullRow;
        if !is_keyed {
            found.push(name.clone());
        }
    }
    Ok(found)
}

/// Checks that the server has the tables that patterns name without wildcards.
pub(super) fn check_named(filter: &TableFilter, tables: &[TableName]) -> Result<()> {
    match filter.names_without_wildcards().find(|name| !tables.contains(name)) {
        None => Ok(()),
        Some(name) => Err(Error::schema(format!(
            "the server has no table {name}, or the user has no SELECT on it, so its rows cannot be loaded"
        ))),
    }
}

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
