//! The tables of an initial load.

use super::LOG;
use crate::baseline::{TableNow, selects_database};
use crate::change::TableFilter;
use crate::ddl::TableName;
use crate::error::{Error, Result};
use crate::net::Server;
use crate::position::{LoadProgress, RowsRead, TableLoad};
use crate::schema::RowKey;
use crate::source::ReplacedTables;
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

/// Checks that a load that continues is one of the tables that a filter selects.
pub(super) fn check_same(
    server: &mut Server,
    filter: &TableFilter,
    load: &LoadProgress,
) -> Result<()> {
    let is_selected = |table: &&TableLoad| filter.accepts(&table.database, &table.table);
    let name = match load.tables.iter().find(|table| !is_selected(table)) {
        Some(table) => table.name(),
        None => {
            let now = selected(server, filter)?;
            let is_known = |name: &TableName| {
                load.tables
                    .iter()
                    .any(|known| known.database == name.database && known.table == name.table)
            };
            let mut named = filter.names_without_wildcards();
            match named.find(|name| now.contains(name) && !is_known(name)) {
                Some(name) => name.to_string(),
                None => return Ok(()),
            }
        }
    };
    Err(Error::config(format!(
        "the initial load began with other tables: {name} differs. Continue with the same ⟦tables⟧, and load others in a stream of \
             their own"
    )))
}

/// The progress without the rows of replaced tables, which are read again, and with their new names; `None` if no rows of them
/// were read. With `completed`, rows of tables that were read completely are read again too.
pub(super) fn without_replaced(
    filter: &TableFilter,
    load: &LoadProgress,
    replaced: &ReplacedTables,
    completed: bool,
) -> Option<LoadProgress> {
    let mut again = load.clone();
    let mut names = Vec::new();
    for table in &mut again.tables {
        let has_rows = match table.read {
            RowsRead::Nothing => false,
            RowsRead::UpTo(_) | RowsRead::Some => true,
            RowsRead::All => completed,
        };
        if has_rows && replaced.contains(&table.database, &table.table) {
            table.read = RowsRead::Nothing;
            names.push(table.name());
        }
    }
    if names.is_empty() {
        return None;
    }
    log::warn!(
        target: LOG,
        "{}: renamed, dropped or created during the load, which begins again with their first rows",
        names.join(", ")
    );
    for name in replaced.new_names().filter(|name| filter.accepts(&name.database, &name.table)) {
        let is_it =
            |table: &TableLoad| table.database == name.database && table.table == name.table;
        if !again.tables.iter().any(is_it) {
            again.tables.push(TableLoad::new(name.database.clone(), name.table.clone()));
        }
    }
    Some(again)
}
