//! Errors of the queries of a table: those after which the rows are requested again, because a statement such as ALTER TABLE
//! changed the table, and those that concern no other table.

use crate::ddl::TableName;
use crate::error::Error;
use crate::position::Position;
use std::time::Duration;

/// True if a statement such as ALTER TABLE may be the cause of an error. A condition may name a column that never existed.
pub(super) fn is_of_changed_table(error: &Error, position: &Position) -> bool {
    let table = position.load.as_ref().and_then(|load| load.next());
    let has_condition = table.is_some_and(|(_, table)| table.condition.is_some());
    is_change(error) && !(has_condition && error.server_code() == Some(UNKNOWN_COLUMN))
}

/// True if a query failed because a statement changed its table.
pub(super) fn is_change(error: &Error) -> bool {
    error.server_code().is_some_and(|code| CHANGED.contains(&code))
}

/// Errors of a query whose table a statement such as ALTER TABLE changed: an unknown column, another definition than that of the
/// snapshot, a deadlock or a wait because of the statement.
const CHANGED: [u16; 4] = [UNKNOWN_COLUMN, 1205, 1213, 1412];

const UNKNOWN_COLUMN: u16 = 1054;

/// The number of times that something is tried again because of such statements.
pub(super) const MAX_CHANGES: u32 = 100;

/// The time before the rows of a table that a statement changed are requested again.
pub(super) const PAUSE: Duration = Duration::from_millis(100);

/// Notes the table of a server's error if the error concerns no other table.
pub(super) fn with_table(error: Error, name: &TableName) -> Error {
    match error.server_code() {
        Some(code) if OF_A_TABLE.contains(&code) => error.of_table(&name.database, &name.table),
        _ => error,
    }
}

/// Errors of a SELECT that concern its table only: the privilege for it (1142, 1143), its files (1034, 1194, 1195, 1812, 1814,
/// 1877, MariaDB's 1932), the tables of a MERGE table (1168).
/// <https://dev.mysql.com/doc/mysql-errors/9.0/en/server-error-reference.html>
const OF_A_TABLE: [u16; 10] = [1034, 1142, 1143, 1168, 1194, 1195, 1812, 1814, 1877, 1932];
