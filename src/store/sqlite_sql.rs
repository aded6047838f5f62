//! The statements of a store in SQLite.

use crate::history::{EntryKey, EntryKind, EntryRange, EntryRow, StoreWrite, TimelineRow};
use crate::platform;
use rusqlite::{Connection, ErrorCode, Row, Transaction, TransactionBehavior, params};
use std::fs::OpenOptions;
use std::path::Path;
use std::time::Duration;

pub(super) fn sources(connection: &mut Connection) -> rusqlite::Result<Vec<String>> {
    let sql = "SELECT DISTINCT source FROM binarrow_timelines ORDER BY source";
    connection.prepare(sql)?.query_map([], |row| row.get(0))?.collect()
}

pub(super) fn timelines(
    connection: &Connection,
    source: &str,
) -> rusqlite::Result<Vec<TimelineRow>> {
    let sql = "SELECT id, server, begins, reached, revision, begins_file_time, reached_file_time FROM binarrow_timelines
               WHERE source = ? ORDER BY id";
    let mut statement = connection.prepare(sql)?;
    let rows = statement.query_map([source], |row| {
        Ok(TimelineRow {
            id: number(row, 0)?,
            server: row.get(1)?,
            from: row.get(2)?,
            reached: row.get(3)?,
            revision: number(row, 4)?,
            from_file_time: row.get(5)?,
            reached_file_time: row.get(6)?,
        })
    })?;
    rows.collect()
}

/// The entries of [`Store::changes`](crate::history::Store::changes).
pub(super) fn changes(
    connection: &Connection,
    source: &str,
    range: EntryRange,
    limit: usize,
) -> rusqlite::Result<Vec<EntryRow>> {
    let EntryRange { timeline, after, until } = range;
    let sql = format!(
        "SELECT {COLUMNS} FROM binarrow_entries
         WHERE source = ? AND timeline = ? AND (file, file_offset, ordinal) > (?, ?, ?)
           AND (file, file_offset, ordinal) <= (?, ?, ?) AND kind <> 'checkpoint'
         ORDER BY file, file_offset, ordinal LIMIT ?"
    );
    let (after, until) = (after.map_or((-1, 0, 0), numbers), numbers(until));
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let mut statement = connection.prepare(&sql)?;
    let rows = statement.query_map(
        params![
            source,
            signed(timeline),
            after.0,
            after.1,
            after.2,
            until.0,
            until.1,
            until.2,
            limit
        ],
        entry,
    )?;
    rows.collect()
}

pub(super) fn last_entry(
    connection: &Connection,
    source: &str,
    timeline: u64,
    until: EntryKey,
    only_complete: bool,
) -> rusqlite::Result<Option<EntryRow>> {
    let kinds = if only_complete { "AND kind IN ('baseline', 'checkpoint')" } else { "" };
    let sql = format!(
        "SELECT {COLUMNS} FROM binarrow_entries
         WHERE source = ? AND timeline = ? AND (file, file_offset, ordinal) <= (?, ?, ?) {kinds}
         ORDER BY file DESC, file_offset DESC, ordinal DESC LIMIT 1"
    );
    let (file, offset, ordinal) = numbers(until);
    let values = params![source, signed(timeline), file, offset, ordinal];
    optional(connection.prepare(&sql)?.query_row(values, entry))
}

pub(super) fn last_by_time(
    connection: &Connection,
    source: &str,
    timestamp: i64,
) -> rusqlite::Result<Option<EntryRow>> {
    let sql = format!(
        "SELECT {COLUMNS} FROM binarrow_entries WHERE source = ? AND logged_at <= ?
         ORDER BY timeline DESC, file DESC, file_offset DESC, ordinal DESC LIMIT 1"
    );
    let values = params![source, timestamp];
    optional(connection.prepare(&sql)?.query_row(values, entry))
}

/// Writes all changes, or none of them.
pub(super) fn write(
    connection: &mut Connection,
    source: &str,
    writes: &[StoreWrite],
) -> rusqlite::Result<()> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    for write in writes {
        put(&transaction, source, write)?;
    }
    transaction.commit()
}

fn put(transaction: &Transaction<'_>, source: &str, write: &StoreWrite) -> rusqlite::Result<()> {
    match write {
        StoreWrite::Timeline(row) => {
            let sql = "INSERT OR REPLACE INTO binarrow_timelines VALUES (?, ?, ?, ?, ?, ?, ?, ?)";
            transaction.prepare(sql)?.execute(params![
                source,
                signed(row.id),
                row.server,
                row.from,
                row.reached,
                signed(row.revision),
                row.from_file_time,
                row.reached_file_time
            ])?;
        }
        StoreWrite::Entry(row) => {
            let sql = "INSERT OR REPLACE INTO binarrow_entries
                       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)";
            let (file, offset, ordinal) = numbers(row.key);
            transaction.prepare(sql)?.execute(params![
                source,
                signed(row.timeline),
                file,
                offset,
                ordinal,
                row.kind.name(),
                row.timestamp,
                row.position,
                row.database,
                row.details,
                row.body,
                row.checksum
            ])?;
        }
        StoreWrite::RemoveEntries(EntryRange { timeline, after, until }, kind) => {
            let sql = "DELETE FROM binarrow_entries
                       WHERE source = ? AND timeline = ? AND (file, file_offset, ordinal) > (?, ?, ?)
                         AND (file, file_offset, ordinal) <= (?, ?, ?) AND (kind = ?9 OR ?9 IS NULL)";
            let (after, until) = (after.map_or((-1, 0, 0), numbers), numbers(*until));
            transaction.prepare(sql)?.execute(params![
                source,
                signed(*timeline),
                after.0,
                after.1,
                after.2,
                until.0,
                until.1,
                until.2,
                kind.map(EntryKind::name)
            ])?;
        }
        StoreWrite::RemoveTimeline(id) => {
            for table in [
                "binarrow_entries WHERE source = ? AND timeline",
                "binarrow_timelines WHERE source = ? AND id",
            ] {
                let sql = format!("DELETE FROM {table} = ?");
                transaction.execute(&sql, params![source, signed(*id)])?;
            }
        }
    }
    Ok(())
}

/// The kind of a database.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Version {
    /// It has no tables.
    Empty,
    /// A database of another application.
    Foreign,
    /// A history, in this version of its tables.
    Own(u64),
}

pub(super) fn version(connection: &Connection) -> rusqlite::Result<Version> {
    connection.busy_timeout(BUSY)?;
    // The tables are counted first: another process that creates the history commits both at once.
    let tables: i64 =
        connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
    let application: i64 = connection.query_row("PRAGMA application_id", [], |row| row.get(0))?;
    match application {
        APPLICATION => {
            let sql = "SELECT version FROM binarrow_history_version";
            Ok(optional(connection.query_row(sql, [], |row| number(row, 0)))?
                .map_or(Version::Foreign, Version::Own))
        }
        0 if tables == 0 => Ok(Version::Empty),
        _ => Ok(Version::Foreign),
    }
}

/// Creates a database and its tables; another process may do the same.
pub(super) fn create(path: &Path) -> rusqlite::Result<()> {
    // Only its owner may read it. SQLite gives its other files the same mode. If this fails, opening it fails too.
    let _ = platform::for_owner_alone(OpenOptions::new().write(true))
        .create(true)
        .truncate(false)
        .open(path);
    let mut connection = Connection::open(path)?;
    connection.busy_timeout(BUSY)?;
    let wal = || connection.pragma_update_and_check(None, "journal_mode", "WAL", |_| Ok(()));
    // SQLite does not wait by itself for another process that does the same.
    let mut tries = 0;
    while let Err(error) = wal() {
        tries += 1;
        if tries == 50 || error.sqlite_error_code() != Some(ErrorCode::DatabaseBusy) {
            return Err(error);
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    connection.pragma_update(None, "synchronous", "FULL")?;
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    if version(&transaction)? == Version::Empty {
        transaction.execute_batch(TABLES)?;
        transaction.execute("INSERT INTO binarrow_history_version VALUES (?)", [FILE_VERSION])?;
        transaction.pragma_update(None, "application_id", APPLICATION)?;
    }
    transaction.commit()
}

fn optional<T>(result: rusqlite::Result<T>) -> rusqlite::Result<Option<T>> {
    match result {
        Err(rusqlite::Error::QueryReturnedNoRows) => Ok(None),
        result => result.map(Some),
    }
}

fn entry(row: &Row<'_>) -> rusqlite::Result<EntryRow> {
    let kind: String = row.get(4)?;
    let kind = EntryKind::by_name(&kind).map_err(|error| conversion(4, error))?;
    Ok(EntryRow {
        timeline: number(row, 0)?,
        key: EntryKey { file: number(row, 1)?, offset: number(row, 2)?, ordinal: row.get(3)? },
        kind,
        timestamp: row.get(5)?,
        position: row.get(6)?,
        database: row.get(7)?,
        details: row.get(8)?,
        body: row.get(9)?,
        checksum: row.get(10)?,
    })
}

fn number(row: &Row<'_>, index: usize) -> rusqlite::Result<u64> {
    let number: i64 = row.get(index)?;
    u64::try_from(number).map_err(|error| conversion(index, error))
}

fn conversion(
    index: usize,
    error: impl std::error::Error + Send + Sync + 'static,
) -> rusqlite::Error {
    let value_type = rusqlite::types::Type::Null;
    rusqlite::Error::FromSqlConversionFailure(index, value_type, Box::new(error))
}

/// SQLite's numbers have a sign. No file is longer than they allow, and no file has a larger number.
fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

fn numbers(EntryKey { file, offset, ordinal }: EntryKey) -> (i64, i64, i64) {
    (signed(file), signed(offset), ordinal.into())
}

const COLUMNS: &str = "timeline, file, file_offset, ordinal, kind, logged_at, position, database_name, details, body, checksum";

const TABLES: &str = "
    CREATE TABLE binarrow_history_version (version INTEGER NOT NULL) STRICT;
    CREATE TABLE binarrow_timelines (
      source TEXT NOT NULL, id INTEGER NOT NULL, server TEXT, begins TEXT NOT NULL, reached TEXT NOT NULL,
      revision INTEGER NOT NULL, begins_file_time INTEGER NOT NULL, reached_file_time INTEGER NOT NULL,
      PRIMARY KEY (source, id)
    ) STRICT;
    CREATE TABLE binarrow_entries (
      source TEXT NOT NULL, timeline INTEGER NOT NULL, file INTEGER NOT NULL, file_offset INTEGER NOT NULL,
      ordinal INTEGER NOT NULL, kind TEXT NOT NULL, logged_at INTEGER NOT NULL, position TEXT NOT NULL,
      database_name TEXT NOT NULL, details TEXT NOT NULL, body BLOB NOT NULL, checksum INTEGER NOT NULL,
      PRIMARY KEY (source, timeline, file, file_offset, ordinal)
    ) STRICT;
";

/// The version of these tables.
pub const FILE_VERSION: u32 = 1;
/// `barw`, in the header of the file.
const APPLICATION: i64 = 0x6261_7277;
/// The maximum wait for a transaction of another process; each takes milliseconds only.
pub(super) const BUSY: Duration = Duration::from_secs(5);
