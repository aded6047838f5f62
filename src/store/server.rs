//! Histories in a database of a MySQL or MariaDB server: the central store.
//!
//! The server may be the one whose log is read. After its tables are created, the store writes no
//! DDL. If the log that is read contains these writes, the store records less often how far the log
//! was read, because each record would be in the log again.

use super::lock_file::refused;
use super::server_lock;
use super::server_queries as queries;
use super::server_sql as sql;
use crate::ddl::TableName;
use crate::error::{Error, ErrorKind, Result};
use crate::history::{EntryKey, EntryRange, EntryRow, Store, StoreWrite, TimelineRow};
use crate::net::{Connection, Server};
use crate::schema::quoted_name;
use crate::source::Connector;
use std::time::Duration;

/// Histories in tables of a server.
pub struct ServerStore {
    connector: Connector,
    database: String,
    place: String,
    server: Option<Server>,
    /// The number of the last connection.
    connection_id: Option<u32>,
    /// The server's id.
    id: String,
    has_tables: bool,
    /// The largest number of bytes of a body in one statement.
    piece: usize,
    locks: Vec<Held>,
}

/// The lock of a source, and the contents of the store after the last write.
struct Held {
    source: String,
    timelines: Vec<TimelineRow>,
    /// The contents of the store if an interrupted write was completed.
    or: Option<Vec<TimelineRow>>,
}

impl ServerStore {
    /// Connects to the first server of `connector` that answers; the database must exist. The
    /// tables are created at the first write.
    ///
    /// # Errors
    /// Those of a connection; no such database; or a history of a later version: an
    /// [`ErrorKind::Config`].
    pub fn open(connector: Connector, database: &str) -> Result<Self> {
        let mut store = Self {
            connector,
            database: database.to_owned(),
            place: String::new(),
            server: None,
            connection_id: None,
            id: String::new(),
            has_tables: false,
            piece: 0,
            locks: Vec::new(),
        };
        store.connect()?;
        Ok(store)
    }

    fn connect(&mut self) -> Result<()> {
        let mut failed = None;
        for options in (self.connector)()? {
            let endpoint = options.endpoint.to_string();
            match Server::open(options) {
                Ok(server) => {
                    self.place = format!("{endpoint}/{}", self.database);
                    return self.begin(server);
                }
                Err(error) => drop(failed.get_or_insert(error)),
            }
        }
        Err(failed.unwrap_or_else(|| Error::config("a store on a server needs a host")))
    }

    /// Prepares a connection: takes the locks of the previous connection again.
    fn begin(&mut self, mut server: Server) -> Result<()> {
        self.id.clone_from(&server.identity().id);
        let before = self.connection_id.take();
        let connection = server.connection();
        // The defaults of a session are those of the server.
        for statement in [
            "SET SESSION sql_mode = 'STRICT_TRANS_TABLES', sql_safe_updates = 0, autocommit = 1",
            "SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ",
        ] {
            connection.query(statement)?;
        }
        connection.query(&format!("USE {}", quoted_name(&self.database))).map_err(|error| {
            match error.server_code() {
                Some(NO_DATABASE) => Error::config(format!(
                    "the store's server has no database {}: create it first (CREATE DATABASE)",
                    self.database
                )),
                _ => error,
            }
        })?;
        let id = connection.query_value("SELECT CONNECTION_ID()")?;
        self.connection_id = id.and_then(|id| id.parse().ok());
        let packet = connection.query_value("SELECT @@max_allowed_packet")?;
        let packet: usize = packet.and_then(|packet| packet.parse().ok()).unwrap_or(MAX_PIECE);
        // Two digits per byte, and the same again for the rest of the statement.
        self.piece = (packet / 4).clamp(256, MAX_PIECE);
        self.has_tables = queries::check_version(connection, &self.place)?;
        for held in &mut self.locks {
            let how = (before, server_lock::PATIENCE);
            if let Some(holder) = server_lock::take(connection, &self.database, &held.source, how)?
            {
                return Err(refused(&held.source, &holder));
            }
            let now = queries::timelines(connection, &held.source)?;
            let is_known = now == held.timelines || held.or.as_ref() == Some(&now);
            if !is_known {
                return Err(Error::config(
                    "while the connection to the table history's store was lost, another process changed the history: open it again",
                ));
            }
            held.timelines = now;
        }
        self.server = Some(server);
        Ok(())
    }

    /// Sends a query to the server. If the connection was lost, for example because it was idle, it
    /// is opened again, once.
    fn ask<T>(&mut self, work: impl Fn(&mut Connection) -> Result<T>) -> Result<T> {
        let was_open = self.server.is_some();
        match self.ask_once(&work) {
            Err(error) if was_open && is_lost(&error) => self.ask_once(&work),
            done => done,
        }
    }

    fn ask_once<T>(&mut self, work: impl Fn(&mut Connection) -> Result<T>) -> Result<T> {
        if self.server.is_none() {
            self.connect()?;
        }
        let lost = || Error::new(ErrorKind::Internal, "no connection to the store");
        let server = self.server.as_mut().ok_or_else(lost)?;
        let done = work(server.connection());
        if let Err(error) = &done
            && (is_lost(error)
                || error.server_code().is_none() && error.kind() != ErrorKind::Config)
        {
            // The next packet on this connection may belong to an incomplete answer.
            self.server = None;
        }
        done
    }

    fn have_tables(&mut self) -> Result<bool> {
        let place = self.place.clone();
        self.ask(|connection| queries::check_version(connection, &place))
    }

    /// Reads; returns the default value if the tables do not exist yet.
    fn read<T: Default>(&mut self, work: impl Fn(&mut Connection) -> Result<T>) -> Result<T> {
        if !self.has_tables {
            self.has_tables = self.have_tables()?;
        }
        if self.has_tables { self.ask(work) } else { Ok(T::default()) }
    }

    /// Takes the lock of a source within a number of seconds, or returns the text about its holder.
    fn take_lock(&mut self, source: &str, patience: u32) -> Result<Option<String>> {
        if self.locks.iter().any(|held| held.source == source) {
            return Ok(None);
        }
        self.create()?;
        let database = self.database.clone();
        let taken = self.ask(|connection| {
            let holder = server_lock::take(connection, &database, source, (None, patience))
                .map_err(queries::cannot_write)?;
            match holder {
                Some(holder) => Ok(Err(holder)),
                None => Ok(Ok(queries::timelines(connection, source)?)),
            }
        })?;
        Ok(match taken {
            Ok(timelines) => {
                self.locks.push(Held { source: source.to_owned(), timelines, or: None });
                None
            }
            Err(holder) => Some(holder),
        })
    }

    fn create(&mut self) -> Result<()> {
        if self.has_tables {
            return Ok(());
        }
        self.ask(queries::create_tables)?;
        self.has_tables = self.have_tables()?;
        Ok(())
    }
}

impl Store for ServerStore {
    fn place(&self) -> String {
        self.place.clone()
    }

    fn own_tables(&self) -> Vec<TableName> {
        let own =
            |table: &str| TableName { database: self.database.clone(), table: table.to_owned() };
        sql::TABLE_NAMES.map(own).into()
    }

    fn sources(&mut self) -> Result<Vec<String>> {
        self.read(queries::sources)
    }

    fn lock(&mut self, source: &str) -> Result<()> {
        match self.take_lock(source, server_lock::PATIENCE)? {
            None => Ok(()),
            Some(holder) => Err(refused(source, &holder)),
        }
    }

    fn try_lock(&mut self, source: &str) -> Result<Option<String>> {
        self.take_lock(source, 0)
    }

    fn timelines(&mut self, source: &str) -> Result<Vec<TimelineRow>> {
        self.read(|connection| queries::timelines(connection, source))
    }

    fn changes(&mut self, source: &str, range: EntryRange, limit: usize) -> Result<Vec<EntryRow>> {
        let select = sql::select_changes(source, range, limit);
        self.read(|connection| queries::entries(connection, source, &select))
    }

    fn last_entry(
        &mut self,
        source: &str,
        timeline: u64,
        until: EntryKey,
        only_complete: bool,
    ) -> Result<Option<EntryRow>> {
        let select = sql::select_last(source, timeline, until, only_complete);
        Ok(self.read(|connection| queries::entries(connection, source, &select))?.pop())
    }

    fn last_by_time(&mut self, source: &str, timestamp: i64) -> Result<Option<EntryRow>> {
        let select = sql::select_by_time(source, timestamp);
        Ok(self.read(|connection| queries::entries(connection, source, &select))?.pop())
    }

    fn write(&mut self, source: &str, writes: &[StoreWrite]) -> Result<()> {
        let Some(held) = self.locks.iter_mut().find(|held| held.source == source) else {
            return Err(Error::new(ErrorKind::Internal, "a history is written without its lock"));
        };
        let after = written(&held.timelines, writes);
        held.or = Some(after.clone());
        let statements = queries::statements(source, writes, self.piece);
        // Doing this twice has the same result as doing it once.
        self.ask(|connection| queries::run(connection, &statements))?;
        if let Some(held) = self.locks.iter_mut().find(|held| held.source == source) {
            held.timelines = after;
            held.or = None;
        }
        Ok(())
    }

    fn flush_interval(&self, server: Option<&str>) -> Duration {
        // The log that is read contains these writes, which are then read again: the log would
        // never be quiet.
        if server == Some(self.id.as_str()) { OWN_LOG } else { Duration::from_secs(1) }
    }
}

/// The timelines after a write.
fn written(timelines: &[TimelineRow], writes: &[StoreWrite]) -> Vec<TimelineRow> {
    let mut after = timelines.to_vec();
    for write in writes {
        match write {
            StoreWrite::Timeline(row) => {
                after.retain(|other| other.id != row.id);
                after.push(row.clone());
            }
            StoreWrite::RemoveTimeline(id) => after.retain(|other| other.id != *id),
            StoreWrite::Entry(_) | StoreWrite::RemoveEntries(..) => {}
        }
    }
    after.sort_by_key(|row| row.id);
    after
}

/// True if the connection is lost, so that another one may work.
fn is_lost(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::ConnectionLost | ErrorKind::Io)
        || matches!(error.server_code(), Some(SHUTDOWN | KILLED | MARIADB_KILLED | IDLE_TOO_LONG))
}

/// The maximum number of bytes of a body in one statement.
const MAX_PIECE: usize = 1 << 20;
/// The interval between two records of how far the log was read, if this log contains the records.
const OWN_LOG: Duration = Duration::from_secs(60);

const NO_DATABASE: u16 = 1049;
const SHUTDOWN: u16 = 1053;
const KILLED: u16 = 3169;
const MARIADB_KILLED: u16 = 1927;
const IDLE_TOO_LONG: u16 = 4031;
