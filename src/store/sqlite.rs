//! Histories in an SQLite database: the embedded store.
//!
//! One file, with a log next to it while it is open (`-wal`, `-shm`), and a lock file for each source that is written.
//! A commit is on disk when it returns (`journal_mode=WAL`, `synchronous=FULL`). No file is created before something is written.
//!
//! <https://www.sqlite.org/wal.html>, <https://www.sqlite.org/pragma.html#pragma_synchronous>

use super::lock_file::{self, LockFile};
use super::sqlite_sql::{self as sql, BUSY, FILE_VERSION, Version, version};
use crate::error::{Error, ErrorKind, Result, check_stored_version};
use crate::history::{EntryKey, EntryRange, EntryRow, Store, StoreWrite, TimelineRow};
use rusqlite::{Connection, ErrorCode, OpenFlags};
use std::path::{Path, PathBuf};

/// Histories in a file.
pub struct SqliteStore {
    path: PathBuf,
    /// `None` if there is no file.
    connection: Option<Connection>,
    locks: Vec<(String, LockFile)>,
}

impl SqliteStore {
    /// Opens the database at `path`. If there is none, it is created when something is written.
    ///
    /// # Errors
    /// The folder does not exist, or the file is not a history: an [`ErrorKind::Config`].
    pub fn open(path: impl Into<PathBuf>) -> Result<Self> {
        let path = path.into();
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        if path.file_name().is_none() || folder.is_some_and(|folder| !folder.is_dir()) {
            return Err(Error::config(format!(
                "{}: the folder of a table history must exist",
                path.display()
            )));
        }
        let mut store = Self { path, connection: None, locks: Vec::new() };
        store.connection()?;
        Ok(store)
    }

    /// The connection; `None` if there is no file yet.
    fn connection(&mut self) -> Result<Option<&mut Connection>> {
        if self.connection.is_none() {
            match std::fs::metadata(&self.path) {
                Ok(metadata) if metadata.is_file() => {}
                Ok(_) => return Err(self.config("is not a file")),
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
                Err(error) => {
                    return Err(Error::io(format!("{}: cannot open", self.path.display()), error));
                }
            }
            self.connection = self.connect()?;
        }
        Ok(self.connection.as_mut())
    }

    /// Opens an existing file; `None` if it is empty.
    fn connect(&self) -> Result<Option<Connection>> {
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let opened = Connection::open_with_flags(&self.path, flags)
            .and_then(|connection| Ok((version(&connection)?, connection)));
        let opened = match opened {
            // If its folder is read-only, the log of a database cannot be opened. A database without a log does not need it.
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
            Version::Foreign => Err(self.config("is an SQLite database of another application")),
            Version::Own(version) => {
                let history = format!("the table history {}", self.path.display());
                check_stored_version(history, version, FILE_VERSION.into())?;
                connection
                    .pragma_update(None, "synchronous", "FULL")
                    .map_err(|error| self.explain(error))?;
                Ok(Some(connection))
            }
        }
    }

    /// The file's name as an SQLite URI, which says that no process writes it.
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

    /// Creates the file and its tables, if they do not exist.
    fn create(&mut self) -> Result<()> {
        if self.connection()?.is_some() {
            return Ok(());
        }
        sql::create(&self.path).map_err(|error| self.explain(error))?;
        self.connection()?;
        Ok(())
    }

    /// Uses the connection; returns the default value if there is no file.
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
                return self.config("is not an SQLite database").with_source(error);
            }
            Some(ErrorCode::DatabaseCorrupt) => (ErrorKind::Malformed, ""),
            Some(ErrorCode::ReadOnly) => (ErrorKind::Config, ""),
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
                (ErrorKind::Io, ": another process has locked it for a long time")
            }
            Some(_) => (ErrorKind::Io, ""),
            // A column has an unexpected value.
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
        self.read(sql::sources)
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
            return Err(self.config("is read-only here"));
        }
        self.locks.push((source.to_owned(), lock));
        Ok(None)
    }

    fn timelines(&mut self, source: &str) -> Result<Vec<TimelineRow>> {
        self.read(|connection| sql::timelines(connection, source))
    }

    fn changes(&mut self, source: &str, range: EntryRange, limit: usize) -> Result<Vec<EntryRow>> {
        self.read(|connection| sql::changes(connection, source, range, limit))
    }

    fn last_entry(
        &mut self,
        source: &str,
        timeline: u64,
        until: EntryKey,
        only_complete: bool,
    ) -> Result<Option<EntryRow>> {
        self.read(|connection| sql::last_entry(connection, source, timeline, until, only_complete))
    }

    fn last_by_time(&mut self, source: &str, timestamp: i64) -> Result<Option<EntryRow>> {
        self.read(|connection| sql::last_by_time(connection, source, timestamp))
    }

    fn write(&mut self, source: &str, writes: &[StoreWrite]) -> Result<()> {
        if !self.locks.iter().any(|(held, _)| held == source) {
            return Err(Error::new(ErrorKind::Internal, "a history is written without its lock"));
        }
        self.create()?;
        self.read(|connection| sql::write(connection, source, writes))
    }

    /// The connection itself makes the copy. If another SQLite library of this process, such as that of Python, closed the same
    /// file, the locks of this connection would be lost, and its log would be deleted.
    ///
    /// <https://www.sqlite.org/howtocorrupt.html#posix_advisory_locks_canceled_by_a_separate_thread_doing_close_>
    fn copy_to(&mut self, path: &Path) -> Result<()> {
        let Some(path) = path.to_str() else {
            return Err(self.config("cannot be copied to a path that is not UTF-8"));
        };
        self.read(|connection| connection.execute("VACUUM INTO ?1", [path]).map(drop))
    }
}

fn is_read_only(error: &rusqlite::Error) -> bool {
    matches!(error.sqlite_error_code(), Some(ErrorCode::CannotOpen | ErrorCode::ReadOnly))
}
