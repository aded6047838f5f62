//! Opens the chunks of an initial load, one after another.

use super::LOG;
use super::certificate::Counting;
use super::chunk::{Chunk, ChunkEnd, Reading};
use super::killer::Killer;
use super::load_options::{LoadOptions, RowsFrom};
use super::progress::Progress;
use super::query::Part;
use super::query_errors::{MAX_CHANGES, PAUSE, is_change, is_of_changed_table, with_table};
use super::rows::{TableRequest, TableRows};
use super::session::prepare_session;
use super::snapshot::Snapshot;
use super::source_log::SourceLog;
use super::tables::{added, check_key, check_named, selected, without_key, without_replaced};
use crate::binlog::RowsKind;
use crate::cancel::{CancelToken, OnCancel};
use crate::change::TableFilter;
use crate::columnar::PlanOptions;
use crate::ddl::TableName;
use crate::error::{Error, ErrorKind, Result};
use crate::net::{Endpoint, Server};
use crate::position::{ChunkCount, LoadProgress, Position, RowsRead, TableLoad};
use crate::reader::{BatchLimits, ReadOptions};
use crate::source::{Connecting, Connector, LiveOptions, OnReplaced};
use std::sync::Arc;

/// Opens the chunks of a load.
pub(super) struct Loader {
    options: LoadOptions,
    tables: TableFilter,
    plan: PlanOptions,
    limits: BatchLimits,
    connector: Connector,
    connecting: Connecting,
    live: LiveOptions,
    /// The progress of the current table.
    progress: Option<Progress>,
    /// The open snapshot in which tables without a key are read: the log is read from its position on.
    first: Option<Snapshot>,
    /// True if the tables of a load that continues were compared with the selected ones.
    is_checked: bool,
    /// The number of these tables, which come first.
    keyless: usize,
    /// The last line about a table in the certificate.
    certified: Option<serde_json::Value>,
    /// The connection, between two chunks.
    server: Option<Server>,
    /// Ends the query of the connection when the read is cancelled: it may wait for a lock.
    killing: Option<OnCancel>,
    /// The identity of the server of the log, of which the rows are too, unless they are those of its replica.
    id: String,
    /// The log, if the rows are those of a replica.
    log: Option<SourceLog>,
}

impl Loader {
    pub(super) fn new(
        mut server: Server,
        live: &LiveOptions,
        options: &ReadOptions,
        load: LoadOptions,
    ) -> Result<Self> {
        if !options.decode.operations.accepts(RowsKind::Write) {
            return Err(Error::config(
                "⟦operations⟧ without 'insert' leaves out the existing rows, which an initial load returns as inserts",
            ));
        }
        if options.decode.filter.is_some() {
            return Err(Error::config(
                "⟦where⟧ filters changes, and an initial load returns existing rows: leave it out, or start at another position",
            ));
        }
        let endpoint = server.connection().options().endpoint.clone();
        let connector = only(&live.connector, endpoint);
        let live = LiveOptions { connector: Arc::clone(&connector), ..live.clone() };
        let id = server.identity().id.clone();
        let (mut server, mut killing, mut log) = (Some(server), None, None);
        let mut connecting = Connecting::new(&live);
        if let Some(RowsFrom(rows)) = &load.rows_from {
            // Rows are read over a connection to the replica.
            server = None;
            log = Some(SourceLog::new(&live, options.cut.skip_events.clone()));
            let rows = LiveOptions { connector: Arc::clone(rows), ..live.clone() };
            connecting = Connecting::new(&rows);
        }
        if let Some(server) = &mut server {
            connecting.watch(server.connection().handle()?);
            killing = Some(killed_by(&live.cancel, server));
        }
        Ok(Self {
            options: load,
            tables: options.decode.tables.clone(),
            plan: options.decode.plan.clone(),
            limits: options.decode.limits,
            connector,
            connecting,
            progress: None,
            first: None,
            is_checked: false,
            keyless: 0,
            certified: None,
            live,
            id,
            server,
            killing,
            log,
        })
    }

    /// The connections to the server of the load.
    pub(super) fn connector(&self) -> Connector {
        Arc::clone(&self.connector)
    }

    /// Checks that the log is that of the server of the rows.
    pub(super) fn check_server(&self, id: Option<&str>) -> Result<()> {
        match id {
            Some(id) if id != self.id => Err(Error::new(
                ErrorKind::ServerIdentity,
                format!(
                    "the initial load reads the server {}, and the server {id} answers: a load continues only on its server",
                    self.id
                ),
            )),
            _ => Ok(()),
        }
    }

    /// Opens the next chunk; `None` after the last one. Moves `position` where this changes the load.
    pub(super) fn next_chunk(&mut self, position: &mut Arc<Position>) -> Result<Option<Chunk>> {
        let mut changes = 0;
        loop {
            let error = match self.try_chunk(position) {
                Ok(chunk) => return Ok(chunk),
                Err(error) => error,
            };
            if self.server.is_none() {
                self.killing = None;
            }
            if is_of_changed_table(&error, position) && changes < MAX_CHANGES {
                changes += 1;
                log::info!(target: LOG, "a statement changed a table while its rows were requested: requesting them again");
                self.connecting.sleep(PAUSE)?;
            } else if self.connecting.may_retry(&error) {
                self.connecting.wait_out(error)?;
            } else {
                return Err(error);
            }
        }
    }

    fn try_chunk(&mut self, position: &mut Arc<Position>) -> Result<Option<Chunk>> {
        let mut server = self.connect()?;
        let load = match &position.load {
            Some(load) => {
                let mut load = Arc::clone(load);
                if !self.is_checked {
                    let added = added(&mut server, &self.tables, &load)?;
                    self.is_checked = true;
                    if !added.is_empty() {
                        let added = added.into_iter();
                        let added = added.map(|name| TableLoad::new(name.database, name.table));
                        Arc::make_mut(&mut load).tables.extend(added);
                        let same = Position::clone(position);
                        *position = Arc::new(Position { load: Some(Arc::clone(&load)), ..same });
                    }
                }
                load
            }
            None => {
                *position = Arc::new(self.begin(&mut server)?);
                self.is_checked = true;
                position.load.clone().unwrap_or_default()
            }
        };
        let Some((index, table)) = load.next() else {
            // The connection ends here, and with it the snapshot of tables without a key.
            (self.first, self.killing) = (None, None);
            return Ok(None);
        };
        self.check_server(position.server.as_deref())?;
        let is_keyless = index < self.keyless;
        if !is_keyless && self.first.take().is_some() {
            server.connection().query("ROLLBACK")?;
        }
        let name = TableName { database: table.database.clone(), table: table.table.clone() };
        let after = match &table.read {
            RowsRead::UpTo(key) => Some(key.clone()),
            RowsRead::Nothing | RowsRead::Some | RowsRead::All => None,
        };
        let request = TableRequest {
            database: name.database.clone(),
            table: name.table.clone(),
            condition: table.condition.clone(),
            part: Some(Part {
                after,
                upto: None,
                limit: self.options.rows_of_snapshot(),
                number: load.chunks,
                rows_before: 0,
                snapshot: self.first.clone(),
                reached: Some(Position::clone(position)),
                position: None,
            }),
            locks: self.options.locks,
            max_rows_per_second: self.options.max_rows_per_second,
            log: self.log.clone(),
            plan: self.plan.clone(),
            limits: self.limits,
        };
        let rows = match TableRows::open(server, &request) {
            Ok(rows) => rows,
            Err(error) if self.is_dropped(&name, &error)? => {
                *position = Arc::new(self.without(&name, index, position)?);
                return self.try_chunk(position);
            }
            Err(error) => return Err(with_table(error, &name)),
        };
        if rows.has_restarted() {
            log::warn!(target: LOG, "the key of {name} was changed during its load: its rows are loaded again from the first");
        }
        check_key(&rows, &table.read, self.first.is_some())?;
        if !self.progress.as_ref().is_some_and(|progress| progress.is_of(&name)) {
            log::info!(target: LOG, "loading {name}");
            self.progress = Some(Progress::new(name, rows.estimated_rows()));
        }
        let counting = self.counting(&rows, &load, table)?;
        let snapshot = rows.snapshot().map(|snapshot| snapshot.position.clone());
        let snapshot = Position { load: None, ..snapshot.unwrap_or_default() };
        let load = LoadProgress::clone(&load);
        let reading = Reading::new(rows, load, index, self.live.cancel.clone()).counted(counting);
        Chunk::start(reading, snapshot).map(Some)
    }

    /// The count of a chunk's rows, if there is a certificate. Its lines about the table precede all batches of the chunk.
    fn counting(
        &mut self,
        rows: &TableRows,
        load: &LoadProgress,
        table: &TableLoad,
    ) -> Result<Option<Counting>> {
        let (Some(file), Some(snapshot)) = (&self.options.certificate, rows.snapshot()) else {
            return Ok(None);
        };
        let is_first = rows.has_restarted() || !matches!(table.read, RowsRead::UpTo(_));
        let count = ChunkCount {
            number: load.chunks,
            database: table.database.clone(),
            table: table.table.clone(),
            is_first,
            is_last: false,
            file: snapshot.position.file.clone(),
            offset: snapshot.position.offset,
            is_exact: snapshot.is_exact,
            until: None,
            rows: 0,
            hash: 0,
        };
        let counting = Counting::new(rows, count)?;
        let line = counting.table(rows, self.plan.types, table.condition.is_some());
        let is_same = |last: &serde_json::Value| {
            // All of it except the number of the chunk.
            ["columns", "database", "key", "table"]
                .iter()
                .all(|name| last.get(name) == line.get(name))
        };
        if is_first || !self.certified.as_ref().is_some_and(is_same) {
            file.table(&line)?;
            self.certified = Some(line);
        }
        Ok(Some(counting))
    }

    /// The position at which the load begins, and its tables. A table that is created later is completely in the log.
    fn begin(&mut self, server: &mut Server) -> Result<Position> {
        prepare_session(server)?;
        let mut tables = selected(server, &self.tables)?;
        for _ in 0..MAX_CHANGES {
            check_named(&self.tables, &tables)?;
            let keyless = without_key(server, &tables)?;
            let mut snapshot = Snapshot::open(server, self.options.locks)?;
            if let Some(log) = &self.log {
                log.place(server, &mut snapshot, None)?;
            }
            let now = selected(server, &self.tables)?;
            if now != tables {
                server.connection().query("ROLLBACK")?;
                tables = now;
                continue;
            }
            // They are read first, in this snapshot.
            tables.sort_by_key(|table| !keyless.contains(table));
            self.keyless = keyless.len();
            match keyless.is_empty() {
                true => drop(server.connection().query("ROLLBACK")?),
                false => self.first = Some(snapshot.clone()),
            }
            if tables.is_empty() {
                return Err(Error::config(
                    "no table of the server is selected for the initial load: check ⟦tables⟧, and that the user has SELECT on them",
                ));
            }
            let tables = tables.into_iter().map(|name| TableLoad::new(name.database, name.table));
            let load = LoadProgress { tables: tables.collect(), ..LoadProgress::default() };
            log::info!(target: LOG, "the load of {} tables begins at {}", load.tables.len(), snapshot.position);
            if let Some(file) = &self.options.certificate {
                file.begin(&snapshot.position)?;
            }
            return Ok(Position { load: Some(Arc::new(load)), ..snapshot.position });
        }
        Err(Error::new(
            ErrorKind::Server,
            "tables are created or dropped all the time: try again at a quieter time",
        ))
    }

    /// True if the error is that the table does not exist any more.
    fn is_dropped(&mut self, name: &TableName, error: &Error) -> Result<bool> {
        if !matches!(error.kind(), ErrorKind::Schema | ErrorKind::Server) {
            return Ok(false);
        }
        let mut server = self.connect()?;
        let is_there = selected(&mut server, &self.tables)?.contains(name);
        self.server = Some(server);
        Ok(!is_there)
    }

    /// The position without a table that was dropped or renamed. It may have another name now, so tables that the load does not
    /// contain are loaded too.
    fn without(&mut self, name: &TableName, index: usize, position: &Position) -> Result<Position> {
        let mut load = position.load.as_deref().cloned().unwrap_or_default();
        if let Some(table) = load.tables.get_mut(index) {
            table.read = RowsRead::All;
        }
        let mut server = self.connect()?;
        let mut new = selected(&mut server, &self.tables)?;
        self.server = Some(server);
        new.retain(|now| {
            // The other tables of a stream need no load.
            !load.is_partial
                && !load
                    .tables
                    .iter()
                    .any(|known| known.database == now.database && known.table == now.table)
        });
        let names: Vec<_> = new.iter().map(ToString::to_string).collect();
        log::warn!(
            target: LOG,
            "{name} was dropped or renamed during the load{}",
            match names.is_empty() {
                true => String::new(),
                false => format!("; loading tables that are new since the load began: {}", names.join(", ")),
            }
        );
        load.tables.extend(new.into_iter().map(|name| TableLoad::new(name.database, name.table)));
        Ok(Position { load: Some(Arc::new(load)), ..position.clone() })
    }

    /// The progress after statements that replace tables, in a part of the log that begins at a position.
    pub(super) fn on_replaced(&self, from: &Position) -> OnReplaced {
        let filter = self.tables.clone();
        let consistent = from.load.as_ref().and_then(|load| load.consistent_from.as_ref());
        // Rows that were read completely are changed by the log alone, unless they may be later than its beginning.
        let completed = consistent.is_some_and(|(file, offset)| from.is_before(file, *offset));
        Box::new(move |load, replaced| without_replaced(&filter, load, replaced, completed))
    }

    /// Takes the connection of a chunk back, or decides about its error.
    pub(super) fn take_back(&mut self, end: ChunkEnd<TableRows>) -> Result<()> {
        if let (Some(file), Some(count)) = (&self.options.certificate, &end.load.counted) {
            file.chunk(count)?;
        }
        self.server = end.open.map(TableRows::into_server);
        if self.server.is_none() {
            (self.first, self.killing) = (None, None);
        }
        if let Some(progress) = &mut self.progress {
            progress.add(end.rows);
        }
        // A connection that is lost before the first rows, each time, is not tried always.
        if end.failure.is_none() || end.rows > 0 {
            self.connecting.works();
        }
        match end.failure {
            None => Ok(()),
            Some(error) if is_change(&error) => {
                log::info!(target: LOG, "a statement changed a table while its rows were read: reading the rest again");
                self.connecting.sleep(PAUSE)
            }
            Some(error) => {
                let table = self.progress.as_ref().map(Progress::table);
                self.connecting.wait_out(match table {
                    Some(name) => with_table(error, name),
                    None => error,
                })
            }
        }
    }

    /// Reports the end of the load.
    pub(super) fn complete(&self, position: &Position) -> Result<()> {
        if let Some(load) = &position.load {
            log::info!(target: LOG, "all rows of {} tables are loaded, in {} chunks", load.tables.len(), load.chunks);
        }
        match &self.options.certificate {
            Some(file) => file.complete(position),
            None => Ok(()),
        }
    }

    /// The connection of the chunk before, or a new one.
    fn connect(&mut self) -> Result<Server> {
        match self.server.take() {
            Some(server) => Ok(server),
            None => {
                // The snapshot ended with its connection.
                self.first = None;
                let mut server = self.connecting.open()?;
                if self.log.is_none() {
                    self.check_server(Some(&server.identity().id))?;
                }
                self.killing = Some(killed_by(&self.live.cancel, &mut server));
                Ok(server)
            }
        }
    }
}

/// Ends the query of a connection when a token is cancelled.
fn killed_by(cancel: &CancelToken, server: &mut Server) -> OnCancel {
    let killer = Killer::of(server);
    cancel.on_cancel(move || killer.kill_in_background())
}

/// The connections to one server.
fn only(connector: &Connector, endpoint: Endpoint) -> Connector {
    let connector = Arc::clone(connector);
    Arc::new(move || {
        let mut candidates = connector()?;
        candidates.retain(|options| options.endpoint == endpoint);
        Ok(candidates)
    })
}
