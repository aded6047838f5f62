//! Histories in an SQLite database: the embedded store.
//!
//! One file, with a log of its own beside it while it is open (`-wal`, `-shm`), and a lock file for each source that is written.
//! A commit is on disk when it returns (`journal_mode=WAL`, `synchronous=FULL`). Nothing is made before something is written.
//!
//! <https://www.sqlite.org/wal.html>, <https://www.sqlite.org/pragma.html#pragma_synchronous>

use super::lock_file::{self, LockFile};
use crate::error::{Error, ErrorKind, Result};
use crate::history::{EntryKey, EntryKind, EntryRange, EntryRow, Store, StoreWrite, TimelineRow};
use rusqlite::{Connection, ErrorCode, OpenFlags, Row, Transaction, TransactionBehavior, params};
use std::fs::OpenOptions;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Histories in a file.
pub struct SqliteStore {
    path: PathBuf,
    /// `None` while there is no file.
    connection: Option<Connection>,
    locks: Vec<(String, LockFile)>,
}

impl SqliteStore {
    /// Opens the database at `path`. Where there is none it is made when something is written.
    ///
    /// # Errors
    /// The folder is not there, or the file is no history: an [`ErrorKind::Config`].
    pub fn open(path: impl Into<PathBuf>) -> Result<Self> {
        let path = path.into();
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        if path.file_name().is_none() || folder.is_some_and(|folder| !folder.is_dir()) {
            return Err(Error::config(format!(
                "{}: the folder of a table history must be there",
                path.display()
            )));
        }
        let mut store = Self { path, connection: None, locks: Vec::new() };
        store.connection()?;
        Ok(store)
    }

    /// The connection; `None` where there is no file yet.
    fn connection(&mut self) -> Result<Option<&mut Connection>> {
        if self.connection.is_none() {
            match std::fs::metadata(&self.path) {
                Ok(metadata) if metadata.is_file() => {}
                Ok(_) => return Err(self.config("is no file")),
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
                Err(error) => {
                    return Err(Error::io(format!("{}: cannot open", self.path.display()), error));
                }
            }
            self.connection = self.connect()?;
        }
        Ok(self.connection.as_mut())
    }

    /// Opens a file that is there; `None` if nothing stands in it.
    fn connect(&self) -> Result<Option<Connection>> {
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let opened = Connection::open_with_flags(&self.path, flags)
            .and_then(|connection| Ok((version(&connection)?, connection)));
        let opened = match opened {
            // Where nothing can be written beside it, the log of a database cannot be opened, and if it has none need not be.
            Err(error) if is_read_only(&error) && !self.has_log() => {
                let flags = OpenFlags::SQLITE_OPEN_READ_ONLY
                    | OpenFlags::SQLITE_OPEN_URI
                    | OpenFlags::SQLITE_OPEN_NO_MUTEX;
                Connection::open_with_flags(self.immutable_uri(), flags)
                    .and_then(|connection| Ok((version(&connection)?, connection)))
            }
            opened => opened,
        };
        let (version, connection) = opened.map_err(|error| self.explain(error))?;
        connection.busy_timeout(BUSY).map_err(|error| self.explain(error))?;
        match version {
            Version::Empty => Ok(None),
            Version::Foreign => Err(self.config("is an SQLite database of something else")),
            Version::Own(VERSION) => {
                connection
                    .pragma_update(None, "synchronous", "FULL")
                    .map_err(|error| self.explain(error))?;
                Ok(Some(connection))
            }
            Version::Own(version) => Err(self.config(&format!(
                "holds a table history in version {version}, and this program knows version {VERSION}: use a newer one"
            ))),
        }
    }

    /// The file's name as SQLite reads URIs, and that nobody writes it.
    fn immutable_uri(&self) -> String {
        let mut uri = "file:".to_owned();
        for byte in self.path.as_os_str().as_encoded_bytes() {
            match byte {
                b'/' | b'.' | b'-' | b'_' => uri.push(char::from(*byte)),
                byte if byte.is_ascii_alphanumeric() => uri.push(char::from(*byte)),
                byte => uri.push_str(&format!("%{byte:02x}")),
            }
        }
        uri + "?immutable=1"
    }

    fn has_log(&self) -> bool {
        let mut log = self.path.as_os_str().to_owned();
        log.push("-wal");
        std::fs::metadata(Path::new(&log)).is_ok_and(|metadata| metadata.len() > 0)
    }

    /// Makes the file and its tables, where they are not.
    fn create(&mut self) -> Result<()> {
        if self.connection()?.is_some() {
            return Ok(());
        }
        let made = make(&self.path);
        made.map_err(|error| self.explain(error))?;
        self.connection()?;
        Ok(())
    }

    /// Reads; nothing where there is nothing yet.
    fn read<T: Default>(
        &mut self,
        work: impl FnOnce(&mut Connection) -> rusqlite::Result<T>,
    ) -> Result<T> {
        let Some(connection) = self.connection()? else { return Ok(T::default()) };
        work(connection).map_err(|error| self.explain(error))
    }

    fn config(&self, what: &str) -> Error {
        Error::config(format!("{} {what}", self.path.display()))
    }

    fn explain(&self, error: rusqlite::Error) -> Error {
        let (kind, advice) = match error.sqlite_error_code() {
            Some(ErrorCode::NotADatabase) => {
                return self.config("is no SQLite database").with_source(error);
            }
            Some(ErrorCode::DatabaseCorrupt) => (ErrorKind::Malformed, ""),
            Some(ErrorCode::ReadOnly) => (ErrorKind::Config, ""),
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
                (ErrorKind::Io, ": another process holds it for long")
            }
            Some(_) => (ErrorKind::Io, ""),
            // What stands in a column is not what should.
            None => (ErrorKind::Malformed, ": the history is damaged"),
        };
        let message = format!("{}: {error}{advice}", self.path.display());
        Error::new(kind, message).with_source(error)
    }
}

impl Store for SqliteStore {
    fn place(&self) -> String {
        self.path.display().to_string()
    }

    fn sources(&mut self) -> Result<Vec<String>> {
        self.read(|connection| {
            let sql = "SELECT DISTINCT source FROM binarrow_epochs ORDER BY source";
            connection.prepare(sql)?.query_map([], |row| row.get(0))?.collect()
        })
    }

    fn lock(&mut self, source: &str) -> Result<()> {
        match self.try_lock(source)? {
            None => Ok(()),
            Some(holder) => Err(lock_file::refused(source, &holder)),
        }
    }

    fn try_lock(&mut self, source: &str) -> Result<Option<String>> {
        if self.locks.iter().any(|(held, _)| held == source) {
            return Ok(None);
        }
        let lock = match LockFile::take(&self.path, source)? {
            Ok(lock) => lock,
            Err(holder) => return Ok(Some(holder)),
        };
        self.create()?;
        let is_read_only = self.read(|connection| connection.is_readonly("main"))?;
        if is_read_only {
            return Err(self.config("can only be read here"));
        }
        self.locks.push((source.to_owned(), lock));
        Ok(None)
    }

    fn timelines(&mut self, source: &str) -> Result<Vec<TimelineRow>> {
        self.read(|connection| {
            let sql = "SELECT id, server, begins, reached, revision, begins_file_time, reached_file_time FROM binarrow_epochs
                       WHERE source = ? ORDER BY id";
            let mut statement = connection.prepare(sql)?;
            let rows = statement.query_map([source], |row| {
                Ok(TimelineRow {
                    id: number(row, 0)?,
                    server: row.get(1)?,
                    from: row.get(2)?,
                    reached: row.get(3)?,
                    revision: number(row, 4)?,
                    from_begun: row.get(5)?,
                    reached_begun: row.get(6)?,
                })
            })?;
            rows.collect()
        })
    }

    fn changes(&mut self, source: &str, range: EntryRange, limit: usize) -> Result<Vec<EntryRow>> {
        let EntryRange { timeline, after, until } = range;
        self.read(|connection| {
            let sql = format!(
                "SELECT {COLUMNS} FROM binarrow_entries
                 WHERE source = ? AND epoch = ? AND (file, file_offset, ordinal) > (?, ?, ?)
                   AND (file, file_offset, ordinal) <= (?, ?, ?) AND kind <> 'checkpoint'
                 ORDER BY file, file_offset, ordinal LIMIT ?"
            );
            let after = after.map_or((-1, 0, 0), numbers);
            let until = numbers(until);
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
        })
    }

    fn last_entry(
        &mut self,
        source: &str,
        timeline: u64,
        until: EntryKey,
        only_whole: bool,
    ) -> Result<Option<EntryRow>> {
        let kinds = if only_whole { "AND kind IN ('baseline', 'checkpoint')" } else { "" };
        self.read(|connection| {
            let sql = format!(
                "SELECT {COLUMNS} FROM binarrow_entries
                 WHERE source = ? AND epoch = ? AND (file, file_offset, ordinal) <= (?, ?, ?) {kinds}
                 ORDER BY file DESC, file_offset DESC, ordinal DESC LIMIT 1"
            );
            let (file, offset, ordinal) = numbers(until);
            let values = params![source, signed(timeline), file, offset, ordinal];
            optional(connection.prepare(&sql)?.query_row(values, entry))
        })
    }

    fn last_by_time(&mut self, source: &str, timestamp: i64) -> Result<Option<EntryRow>> {
        self.read(|connection| {
            let sql = format!(
                "SELECT {COLUMNS} FROM binarrow_entries WHERE source = ? AND logged_at <= ?
                 ORDER BY epoch DESC, file DESC, file_offset DESC, ordinal DESC LIMIT 1"
            );
            let values = params![source, timestamp];
            optional(connection.prepare(&sql)?.query_row(values, entry))
        })
    }

    fn write(&mut self, source: &str, writes: &[StoreWrite]) -> Result<()> {
        if !self.locks.iter().any(|(held, _)| held == source) {
            return Err(Error::new(ErrorKind::Internal, "a history is written without its lock"));
        }
        self.create()?;
        self.read(|connection| {
            let transaction =
                connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            for write in writes {
                put(&transaction, source, write)?;
            }
            transaction.commit()
        })
    }
}

fn put(transaction: &Transaction<'_>, source: &str, write: &StoreWrite) -> rusqlite::Result<()> {
    match write {
        StoreWrite::Timeline(row) => {
            let sql = "INSERT OR REPLACE INTO binarrow_epochs VALUES (?, ?, ?, ?, ?, ?, ?, ?)";
            transaction.prepare(sql)?.execute(params![
                source,
                signed(row.id),
                row.server,
                row.from,
                row.reached,
                signed(row.revision),
                row.from_begun,
                row.reached_begun
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
                       WHERE source = ? AND epoch = ? AND (file, file_offset, ordinal) > (?, ?, ?)
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
                "binarrow_entries WHERE source = ? AND epoch",
                "binarrow_epochs WHERE source = ? AND id",
            ] {
                let sql = format!("DELETE FROM {table} = ?");
                transaction.execute(&sql, params![source, signed(*id)])?;
            }
        }
    }
    Ok(())
}

/// What a database says that it is.
#[derive(Debug, PartialEq, Eq)]
enum Version {
    /// Nothing stands in it.
    Empty,
    /// It is not ours.
    Foreign,
    /// A history.
    Own(i64),
}

fn version(connection: &Connection) -> rusqlite::Result<Version> {
    connection.busy_timeout(BUSY)?;
    let application: i64 = connection.query_row("PRAGMA application_id", [], |row| row.get(0))?;
    let tables: i64 =
        connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
    match application {
        APPLICATION => {
            let sql = "SELECT version FROM binarrow_history_version";
            Ok(optional(connection.query_row(sql, [], |row| row.get(0)))?
                .map_or(Version::Foreign, Version::Own))
        }
        0 if tables == 0 => Ok(Version::Empty),
        _ => Ok(Version::Foreign),
    }
}

/// Makes a database and its tables; another process may be at it too.
fn make(path: &Path) -> rusqlite::Result<()> {
    // Only its owner may read it, like a checkpoint. SQLite gives its other files the same mode; a failure here fails there too.
    let _ = OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(path);
    let mut connection = Connection::open(path)?;
    connection.busy_timeout(BUSY)?;
    let wal = || connection.pragma_update_and_check(None, "journal_mode", "WAL", |_| Ok(()));
    // It does not wait by itself for another that does the same.
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
        transaction.execute("INSERT INTO binarrow_history_version VALUES (?)", [VERSION])?;
        transaction.pragma_update(None, "application_id", APPLICATION)?;
    }
    transaction.commit()
}

fn is_read_only(error: &rusqlite::Error) -> bool {
    matches!(error.sqlite_error_code(), Some(ErrorCode::CannotOpen | ErrorCode::ReadOnly))
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

/// SQLite's numbers have a sign; no file is so long, and no number of a file so large.
fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

fn numbers(EntryKey { file, offset, ordinal }: EntryKey) -> (i64, i64, i64) {
    (signed(file), signed(offset), ordinal.into())
}

const COLUMNS: &str = "epoch, file, file_offset, ordinal, kind, logged_at, position, database_name, details, body, checksum";

const TABLES: &str = "
    CREATE TABLE binarrow_history_version (version INTEGER NOT NULL) STRICT;
    CREATE TABLE binarrow_epochs (
      source TEXT NOT NULL, id INTEGER NOT NULL, server TEXT, begins TEXT NOT NULL, reached TEXT NOT NULL,
      revision INTEGER NOT NULL, begins_file_time INTEGER NOT NULL, reached_file_time INTEGER NOT NULL,
      PRIMARY KEY (source, id)
    ) STRICT;
    CREATE TABLE binarrow_entries (
      source TEXT NOT NULL, epoch INTEGER NOT NULL, file INTEGER NOT NULL, file_offset INTEGER NOT NULL,
      ordinal INTEGER NOT NULL, kind TEXT NOT NULL, logged_at INTEGER NOT NULL, position TEXT NOT NULL,
      database_name TEXT NOT NULL, details TEXT NOT NULL, body BLOB NOT NULL, checksum INTEGER NOT NULL,
      PRIMARY KEY (source, epoch, file, file_offset, ordinal)
    ) STRICT;
";

/// Of these tables.
const VERSION: i64 = 1;
/// `barw`, in the header of the file.
const APPLICATION: i64 = 0x6261_7277;
/// How long to wait for a transaction of another process, each of which takes milliseconds.
const BUSY: Duration = Duration::from_secs(5);
