//! The queries of a store on a server, each on one connection: reads and writes of the rows of histories.

use super::server_sql as sql;
use crate::error::{Error, ErrorKind, Result, check_stored_version};
use crate::history::{EntryRow, StoreWrite, TimelineRow};
use crate::net::Connection;

/// True if the tables exist. `place` is the server and the database, for messages.
pub(super) fn check_version(connection: &mut Connection, place: &str) -> Result<bool> {
    let sql = "SELECT version FROM binarrow_history_version";
    let version = match connection.query_value(sql) {
        Ok(version) => version,
        Err(error) if error.server_code() == Some(NO_TABLE) => return Ok(false),
        Err(error) => return Err(error),
    };
    let Some(version) = version else { return Ok(false) };
    let version = version.parse().map_err(|_| sql::damaged())?;
    check_stored_version(format!("the table history {place}"), version, SERVER_VERSION.into())?;
    Ok(true)
}

/// Creates the tables of the store.
pub(super) fn create_tables(connection: &mut Connection) -> Result<()> {
    let version =
        format!("INSERT IGNORE INTO binarrow_history_version VALUES (1, {SERVER_VERSION})");
    let mut statements = sql::TABLES.into_iter().chain([version.as_str()]);
    let created = statements.try_for_each(|statement| connection.query(statement).map(drop));
    created.map_err(cannot_write)
}

/// The sources that have a history.
pub(super) fn sources(connection: &mut Connection) -> Result<Vec<String>> {
    let rows =
        connection.query("SELECT DISTINCT source FROM binarrow_timelines ORDER BY source")?;
    rows.iter().map(|row| Ok(sql::cell(row, 0)?.to_owned())).collect()
}

/// The timelines of a source.
pub(super) fn timelines(connection: &mut Connection, source: &str) -> Result<Vec<TimelineRow>> {
    connection.query(&sql::select_timelines(source))?.iter().map(sql::timeline).collect()
}

/// The entries that a SELECT finds, with all pieces of their bodies.
pub(super) fn entries(
    connection: &mut Connection,
    source: &str,
    select: &str,
) -> Result<Vec<EntryRow>> {
    let rows = connection.query(select)?;
    let mut entries = Vec::with_capacity(rows.len());
    for row in &rows {
        let (mut entry, pieces) = sql::entry(row)?;
        let mut next = 0;
        while next < pieces {
            let select = sql::select_pieces(source, entry.timeline, entry.key, next);
            let found = connection.query(&select)?;
            if found.is_empty() {
                return Err(sql::damaged());
            }
            for row in &found {
                let (number, bytes) = sql::piece(row)?;
                if number != next {
                    return Err(sql::damaged());
                }
                entry.body.extend_from_slice(&bytes);
                next += 1;
            }
        }
        entries.push(entry);
    }
    Ok(entries)
}

/// The statements of writes. `piece`: the maximum number of bytes of a body in one statement.
pub(super) fn statements(source: &str, writes: &[StoreWrite], piece: usize) -> Vec<String> {
    let of = |write: &StoreWrite| match write {
        StoreWrite::Timeline(row) => vec![sql::replace_timeline(source, row)],
        StoreWrite::Entry(row) => sql::replace_entry(source, row, piece),
        StoreWrite::RemoveEntries(range, kind) => sql::remove_entries(source, *range, *kind),
        StoreWrite::RemoveTimeline(id) => sql::remove_timeline(source, *id),
    };
    writes.iter().flat_map(of).collect()
}

/// Runs statements in a transaction.
pub(super) fn run(connection: &mut Connection, statements: &[String]) -> Result<()> {
    connection.query("START TRANSACTION")?;
    let done = statements
        .iter()
        .try_for_each(|statement| connection.query(statement).map(drop))
        .and_then(|()| connection.query("COMMIT").map(drop));
    if done.as_ref().is_err_and(|error| error.server_code().is_some()) {
        // If this fails, the connection is lost, and the transaction with it.
        let _ = connection.query("ROLLBACK");
    }
    done.map_err(cannot_write)
}

/// Explains an error of an account that can read but not write.
pub(super) fn cannot_write(error: Error) -> Error {
    match error.server_code() {
        Some(READ_ONLY | READ_ONLY_TRANSACTION | NO_TABLE_PRIVILEGE | NO_DATABASE_PRIVILEGE) => {
            error.of_kind(ErrorKind::Config).context("the history is read-only here")
        }
        _ => error,
    }
}

/// The version of the tables.
pub const SERVER_VERSION: u32 = 1;

const NO_TABLE: u16 = 1146;
const READ_ONLY: u16 = 1290;
const READ_ONLY_TRANSACTION: u16 = 1792;
const NO_TABLE_PRIVILEGE: u16 = 1142;
const NO_DATABASE_PRIVILEGE: u16 = 1044;
