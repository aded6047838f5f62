//! The tables of an initial load.

use super::LOG;
use super::rows::TableRows;
use crate::baseline::{TableNow, selects_database};
use crate::change::TableFilter;
use crate::ddl::TableName;
use crate::error::{Error, Result};
use crate::net::Server;
use crate::position::{LoadProgress, RowsRead, TableLoad};
use crate::schema::{RowKey, full_name};
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

/// Checks that rows without a key are returned once, and that no change is returned in addition to them.
pub(super) fn check_key(rows: &TableRows, read: &RowsRead, is_first: bool) -> Result<()> {
    let table = &rows.plan().table;
    if table.row_key() != RowKey::FullRow {
        return Ok(());
    }
    let name = full_name(&table.database, &table.table);
    if *read == RowsRead::Some || !is_first {
        return Err(Error::config(format!(
            "{name} has no key, and the load was interrupted before all its rows were read, or the table is new since then: it \
             cannot continue. Delete the rows from the target, and start the load again"
        )));
    }
    match rows.snapshot().is_some_and(|snapshot| snapshot.is_exact) {
        true => Ok(()),
        false => Err(Error::config(format!(
            "{name} has no key, and the position of its rows in the log is not exact, so changes would be returned twice: use \
             ⟦locks=brief⟧, or exclude the table"
        ))),
    }
}

/// Checks that the server has the tables that patterns name without wildcards.
pub(super) fn check_named(filter: &TableFilter, tables: &[TableName]) -> Result<()> {
    match filter.names_without_wildcards().find(|name| !tables.contains(name)) {
        None => Ok(()),
        Some(name) => Err(not_there(&name.database, &name.table)),
    }
}

fn not_there(database: &str, table: &str) -> Error {
    let name = full_name(database, table);
    Error::schema(format!(
        "the server has no table {name}, or the user has no SELECT on it, so its rows cannot be loaded"
    ))
    .of_table(database, table)
}

/// The tables of the server that a filter selects, in the order of their names. Views are not tables.
///
/// # Errors
/// The connection is lost.
pub fn selected(server: &mut Server, filter: &TableFilter) -> Result<Vec<TableName>> {
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

/// Compares the tables of a load that continues with those that a filter selects. Returns the tables that the filter names and the
/// load lacks: they are loaded too.
pub(super) fn added(
    server: &mut Server,
    filter: &TableFilter,
    load: &LoadProgress,
) -> Result<Vec<TableName>> {
    let is_selected = |table: &&TableLoad| filter.accepts(&table.database, &table.table);
    if let Some(table) = load.tables.iter().find(|table| !is_selected(table)) {
        return Err(Error::config(format!(
            "the initial load began with other tables: ⟦tables⟧ does not select {}. Continue with the tables of its beginning, or \
             with more",
            table.name()
        )));
    }
    let mut now = selected(server, filter)?;
    if load.is_partial {
        let is_missing = |table: &&TableLoad| !now.iter().any(|name| is_it(table, name));
        return match load.tables.iter().find(is_missing) {
            Some(table) if load.chunks == 0 => Err(not_there(&table.database, &table.table)),
            _ => Ok(Vec::new()),
        };
    }
    let named: Vec<_> = filter.names_without_wildcards().collect();
    now.retain(|name| named.contains(name) && !load.tables.iter().any(|known| is_it(known, name)));
    Ok(now)
}

/// The progress without the rows of replaced tables, which are read again, and with the new names of tables of which rows are
/// missing; `None` if it is the same. With `completed`, rows of tables that were read completely are read again too.
pub(super) fn without_replaced(
    filter: &TableFilter,
    load: &LoadProgress,
    replaced: &ReplacedTables,
    completed: bool,
) -> Option<LoadProgress> {
    let mut again = load.clone();
    let mut names = Vec::new();
    for table in &mut again.tables {
        if has_missing_rows(table, completed)
            && table.read != RowsRead::Nothing
            && replaced.contains(&table.database, &table.table)
        {
            table.read = RowsRead::Nothing;
            names.push(table.name());
        }
    }
    for (to, from) in renamed(load, replaced) {
        let missing = from.filter(|table| has_missing_rows(table, completed));
        if !filter.accepts(&to.database, &to.table) || (from.is_some() && missing.is_none()) {
            continue;
        }
        match (again.tables.iter_mut().find(|table| is_it(table, to)), missing) {
            // The rows that were read are those of another table.
            (Some(table), _) if table.read == RowsRead::All => table.read = RowsRead::Nothing,
            (None, Some(missing)) => {
                let condition = missing.condition.clone();
                let renamed = TableLoad::new(to.database.clone(), to.table.clone());
                again.tables.push(TableLoad { condition, ..renamed });
            }
            _ => continue,
        }
        names.push(to.to_string());
    }
    if names.is_empty() {
        return None;
    }
    log::warn!(
        target: LOG,
        "a statement renamed, dropped or created tables during the load; these are read from their first row: {}",
        names.join(", ")
    );
    Some(again)
}

/// The new names after all renames of a statement, each with the table of the load that has it then; `None` if that is another table.
fn renamed<'r, 'l>(
    load: &'l LoadProgress,
    replaced: &'r ReplacedTables,
) -> Vec<(&'r TableName, Option<&'l TableLoad>)> {
    let mut renamed: Vec<(&TableName, Option<&TableLoad>)> = Vec::new();
    for (from, to) in replaced.renames() {
        let is_from = |name: &TableName| {
            name.database.eq_ignore_ascii_case(&from.database)
                && name.table.eq_ignore_ascii_case(&from.table)
        };
        // An earlier rename of the statement may have given it this name.
        let table = match renamed.iter().position(|(name, _)| is_from(name)) {
            Some(index) => renamed.remove(index).1,
            None => load.tables.iter().find(|table| is_it(table, from)),
        };
        renamed.push((to, table));
    }
    renamed
}

/// True if rows of the table are to be read. With `completed`, they are to be read again if another table gets its name.
fn has_missing_rows(table: &TableLoad, completed: bool) -> bool {
    completed || table.read != RowsRead::All
}

/// True if the progress is that of a table. Letter case is ignored.
fn is_it(table: &TableLoad, name: &TableName) -> bool {
    table.database.eq_ignore_ascii_case(&name.database)
        && table.table.eq_ignore_ascii_case(&name.table)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::position::KeyValues;

    /// The tables and how they were read, after a statement.
    fn after(statement: &str, completed: bool) -> Option<String> {
        let key = KeyValues { columns: vec!["id int".into()], values: vec![b"7".to_vec()] };
        let read = [RowsRead::All, RowsRead::UpTo(key), RowsRead::Nothing];
        let tables = ["all", "part", "none"].into_iter().zip(read);
        let tables = tables.map(|(table, read)| TableLoad { read, ..TableLoad::new("d", table) });
        let load = LoadProgress { tables: tables.collect(), ..LoadProgress::default() };
        let filter = TableFilter::try_new(&["d.*"], &["d.secret"]).unwrap();
        let replaced = ReplacedTables::of_text(statement, "d");
        let load = without_replaced(&filter, &load, &replaced, completed)?;
        let shown = load.tables.iter().map(|table| {
            let read = match table.read {
                RowsRead::Nothing => "nothing",
                RowsRead::UpTo(_) => "part",
                RowsRead::Some => "some",
                RowsRead::All => "all",
            };
            format!("{} {read}", table.table)
        });
        Some(shown.collect::<Vec<_>>().join(", "))
    }

    #[test]
    fn statements_that_replace_tables() {
        for (statement, wanted) in [
            ("DROP TABLE part", "all all, part nothing, none nothing"),
            ("RENAME TABLE part TO old", "all all, part nothing, none nothing, old nothing"),
            ("RENAME TABLE none TO z", "all all, part part, none nothing, z nothing"),
            (
                "RENAME TABLE none TO z, part TO none",
                "all all, part nothing, none nothing, z nothing",
            ),
            ("RENAME TABLE part TO secret", "all all, part nothing, none nothing"),
            (
                "RENAME TABLE `all` TO tmp, part TO `all`, tmp TO part",
                "all nothing, part nothing, none nothing",
            ),
            (
                "RENAME TABLE none TO tmp, `all` TO none, tmp TO `all`",
                "all nothing, part part, none nothing",
            ),
            ("RENAME TABLE other TO `all`", "all nothing, part part, none nothing"),
        ] {
            assert_eq!(after(statement, false).as_deref(), Some(wanted), "{statement}");
        }
        for same in
            ["DROP TABLE `all`", "RENAME TABLE `all` TO z", "TRUNCATE part", "DROP TABLE none"]
        {
            assert_eq!(after(same, false), None, "{same}");
        }
        let again = after("RENAME TABLE `all` TO z", true);
        assert_eq!(again.as_deref(), Some("all nothing, part part, none nothing, z nothing"));
    }
}
