//! The session in which rows are read: no setting of the server cuts or changes them, and no statement changes their table.

use super::query::explain;
use crate::error::Result;
use crate::net::Server;
use crate::schema::quoted_name;

/// Sets the session so that no limit of the server cuts the rows, and TIMESTAMP values are in UTC.
pub(super) fn prepare_session(server: &mut Server) -> Result<()> {
    let connection = server.connection();
    // A read before this one may have set another.
    connection.query("SET NAMES utf8mb4")?;
    connection.query(
        "SET SESSION sql_mode = '', time_zone = '+00:00', net_write_timeout = 86400, \
         sql_select_limit = 18446744073709551615, sql_big_selects = 1, autocommit = 1, completion_type = 0, \
         lock_wait_timeout = 30, wait_timeout = 86400",
    )?;
    // The limits of MySQL and of MariaDB for the time of a query, and of MariaDB for a transaction.
    for sql in [
        "SET SESSION max_execution_time = 0",
        "SET SESSION max_statement_time = 0",
        "SET SESSION idle_transaction_timeout = 0, idle_readonly_transaction_timeout = 0",
    ] {
        match connection.query(sql) {
            Err(error) if error.server_code() == Some(UNKNOWN_VARIABLE) => {}
            answer => drop(answer?),
        }
    }
    Ok(())
}

/// Reads no row of the table in the open transaction: until it ends, statements that change the structure of the table wait.
///
/// <https://dev.mysql.com/doc/refman/en/metadata-locking.html>
pub(super) fn hold(server: &mut Server, database: &str, table: &str) -> Result<()> {
    let name = format!("{}.{}", quoted_name(database), quoted_name(table));
    match server.connection().query(&format!("SELECT 1 FROM {name} LIMIT 0")) {
        // The query for its structure fails for the same reason, with an error that names the remedy.
        Err(error) if error.server_code().is_some_and(|code| NOT_READABLE.contains(&code)) => {
            Ok(())
        }
        answer => answer.map(drop).map_err(explain),
    }
}

/// The database or the table does not exist, or the account may not read it.
const NOT_READABLE: [u16; 3] = [1049, 1142, 1146];

const UNKNOWN_VARIABLE: u16 = 1193;
