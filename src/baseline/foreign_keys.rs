//! The current foreign keys of a server, for readers of its log.
//!
//! <https://dev.mysql.com/doc/refman/9.7/en/information-schema-referential-constraints-table.html>

use super::structures::{odd, prepare, structure};
use crate::change::TableFilter;
use crate::ddl::TableName;
use crate::error::Result;
use crate::history::{ForeignKey, ForeignKeys, ReferentialAction};
use crate::net::{Flavor, Server};
use std::collections::BTreeSet;

/// Queries the foreign keys of the tables that are read, and of the tables that these refer to. Foreign keys of tables that
/// the account may not see are missing. `None` if the server logs all rows that foreign keys change.
///
/// # Errors
/// The connection is lost, or the server refuses the query.
pub fn foreign_keys(server: &mut Server, read: &TableFilter) -> Result<Option<ForeignKeys>> {
    if logs_all(server)? {
        return Ok(None);
    }
    let mut keys = ForeignKeys::default();
    let Some(mut left) = read.exact_tables() else {
        // Servers do not list foreign keys of tables that the account may only read, so the list of a table may be incomplete.
        add_keys(server, &mut keys)?;
        return Ok(Some(keys));
    };
    prepare(server)?;
    let mut seen = BTreeSet::new();
    while let Some(name) = left.pop().filter(|_| seen.len() < MAX_TABLES) {
        if seen.insert((name.database.clone(), name.table.clone()))
            && let Some(Ok(statement)) = structure(server, &name)?
        {
            left.extend(keys.add_statement(&name, &statement));
        }
    }
    Ok(Some(keys))
}

/// True if the server logs the rows that foreign keys change: MySQL 9.6 and later, unless InnoDB
/// performs the actions.
fn logs_all(server: &mut Server) -> Result<bool> {
    let identity = server.identity();
    if identity.flavor != Flavor::Mysql || identity.version < LOGS_ALL {
        return Ok(false);
    }
    let sql = "SELECT @@GLOBAL.innodb_native_foreign_keys";
    Ok(server.connection().query_value(sql)?.is_some_and(|value| value == "0"))
}

/// Adds all foreign keys that the account may see.
fn add_keys(server: &mut Server, keys: &mut ForeignKeys) -> Result<()> {
    let sql = "SELECT k.TABLE_SCHEMA, k.TABLE_NAME, k.CONSTRAINT_NAME, k.COLUMN_NAME, k.REFERENCED_TABLE_SCHEMA, \
         k.REFERENCED_TABLE_NAME, k.REFERENCED_COLUMN_NAME, r.DELETE_RULE, r.UPDATE_RULE \
         FROM information_schema.KEY_COLUMN_USAGE k JOIN information_schema.REFERENTIAL_CONSTRAINTS r \
         ON r.CONSTRAINT_SCHEMA = k.TABLE_SCHEMA AND r.TABLE_NAME = k.TABLE_NAME AND r.CONSTRAINT_NAME = k.CONSTRAINT_NAME \
         WHERE k.REFERENCED_TABLE_NAME IS NOT NULL ORDER BY 1, 2, 3, k.ORDINAL_POSITION";
    let mut open: Option<(String, ForeignKey)> = None;
    for row in server.connection().query(sql)? {
        let cells: Option<Vec<String>> = row.into_iter().collect();
        let Some(Ok([database, table, name, column, of, parent, parent_column, delete, update])) =
            cells.map(<[String; 9]>::try_from)
        else {
            return Err(odd());
        };
        let child = TableName { database, table };
        match &mut open {
            Some((open_name, key)) if *open_name == name && key.child == child => {
                key.columns.push(column);
                key.parent_columns.push(parent_column);
            }
            _ => {
                let parent = TableName { database: of, table: parent };
                let key = ForeignKey {
                    child,
                    columns: vec![column],
                    parent,
                    parent_columns: vec![parent_column],
                    on_delete: ReferentialAction::parse(&delete),
                    on_update: ReferentialAction::parse(&update),
                };
                if let Some((_, done)) = open.replace((name, key)) {
                    keys.add(done);
                }
            }
        }
    }
    if let Some((_, done)) = open {
        keys.add(done);
    }
    Ok(())
}

/// The first version of MySQL that can log the rows that foreign keys change.
const LOGS_ALL: (u16, u16, u16) = (9, 6, 0);

/// The maximum number of tables that are queried one by one, including those that they refer to.
const MAX_TABLES: usize = 1000;
