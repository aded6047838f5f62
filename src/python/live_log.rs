//! `LiveLog`: the log of a server, as an input of `read_binlog`.

use super::connection_spec::{PyConnectionSpec, seconds};
use super::input::table_name;
use super::interrupts::abandonable;
use super::keywords::word;
use super::place::{live_start, outside_load};
use super::position::PyPosition;
use super::running::{LivePart, LiveSource};
use crate::cancel::CancelToken;
use crate::error::{Error, Result};
use crate::history::{HistoryView, SchemaSnapshot};
use crate::load::{CertificateFile, LoadOptions, Locks, RowsFrom, TableRange};
use crate::net::{DumpOptions, random_id};
use crate::position::{KeyValues, Place, Position};
use crate::source::{LiveOptions, LiveStart, LogOptions, Stop, TableHistory};
use pyo3::prelude::*;
use std::cmp::Ordering;
use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The log of a server, for :func:`read_binlog`; :meth:`binarrow.Server.stream` creates it.
#[pyclass(name = "LiveLog", module = "binarrow._native", frozen)]
pub(super) struct PyLiveLog {
    spec: PyConnectionSpec,
    start: LiveStart,
    dumping: Dumping,
    pub(super) max_latency: Duration,
    range: Option<LogRange>,
    /// The options of an initial load, and whether one begins. One that is part of the start position continues.
    load: Option<(LoadOptions, bool)>,
    /// The rows to read instead of the log.
    rows: Option<(LoadOptions, TableRange)>,
}

/// The end of a range, and the structures of tables at its start.
struct LogRange {
    stop: Position,
    history: Option<TableHistory>,
}

/// The request for a dump, and the time for which a lost connection is retried.
#[derive(Clone)]
pub(super) struct Dumping {
    pub(super) dump: DumpOptions,
    pub(super) reconnect: Option<Duration>,
}

impl Dumping {
    pub(super) fn try_new(
        ends: bool,
        server_id: Option<u32>,
        heartbeat: f64,
        reconnect: Option<f64>,
    ) -> Result<Self> {
        let server_id = match server_id {
            Some(0) => {
                let message = "server_id=0: the id must be above 0, because a server does not wait for more events for a replica \
                               with the id 0";
                return Err(Error::config(message));
            }
            Some(id) => id,
            None => random_id()?,
        };
        Ok(Self {
            dump: DumpOptions { server_id, heartbeat: seconds("heartbeat", heartbeat)?, ends },
            reconnect: reconnect.map(|limit| seconds("reconnect", limit)).transpose()?,
        })
    }
}

#[pymethods]
impl PyLiveLog {
    /// Returns the log of the servers from ``start``; see :meth:`binarrow.Server.stream`.
    #[staticmethod]
    #[pyo3(signature = (
        spec, start, *, ends, server_id, heartbeat, reconnect, max_latency, loads = false, locks = None, chunk_rows = 262_144,
        max_rows_per_second = None, certificate = None, rows_from = None,
    ))]
    #[allow(clippy::too_many_arguments)] // Python's keywords
    fn after(
        py: Python<'_>,
        spec: &PyConnectionSpec,
        start: Place,
        ends: bool,
        server_id: Option<u32>,
        heartbeat: f64,
        reconnect: Option<f64>,
        max_latency: f64,
        loads: bool,
        locks: Option<&str>,
        chunk_rows: u64,
        max_rows_per_second: Option<u32>,
        certificate: Option<PathBuf>,
        rows_from: Option<&PyConnectionSpec>,
    ) -> Result<Self> {
        let dumping = Dumping::try_new(ends, server_id, heartbeat, reconnect)?;
        let max_latency = seconds("max_latency", max_latency)?;
        let start = live_start(start);
        let load = LoadOptions {
            max_rows_per_second: rows_per_second(max_rows_per_second)?,
            certificate: certificate.map(certificate_file),
            rows_from: rows_from.map(|spec| RowsFrom(spec.connector(py))),
            ..load_options(locks, chunk_rows)?
        };
        Ok(Self {
            spec: spec.clone_ref(py),
            start,
            dumping,
            max_latency,
            range: None,
            load: Some((load, loads)),
            rows: None,
        })
    }

    /// Returns the log between two positions; see :meth:`binarrow.Server.range`.
    #[staticmethod]
    #[pyo3(signature = (
        spec, start, stop, *, schema_snapshot = None, server_id = None, heartbeat = 10.0, reconnect = 300.0, max_latency = 0.5,
    ))]
    #[allow(clippy::too_many_arguments)] // Python's keywords
    fn between(
        py: Python<'_>,
        spec: &PyConnectionSpec,
        start: &PyPosition,
        stop: &PyPosition,
        schema_snapshot: Option<&str>,
        server_id: Option<u32>,
        heartbeat: f64,
        reconnect: Option<f64>,
        max_latency: f64,
    ) -> Result<Self> {
        let dumping = Dumping::try_new(true, server_id, heartbeat, reconnect)?;
        let (start, stop) = (outside_load(start.0.clone())?, stop.0.clone());
        let is_same = start.server == stop.server && start.version_shift == stop.version_shift;
        if is_same && start.compare(&stop) == Some(Ordering::Greater) {
            return Err(Error::config(format!("the range goes backwards, from {start} to {stop}")));
        }
        let history = schema_snapshot.map(|text| {
            let view = HistoryView::of_snapshot(&SchemaSnapshot::from_text(text)?)?;
            Ok::<_, Error>(TableHistory::View(Box::new(view)))
        });
        Ok(Self {
            spec: spec.clone_ref(py),
            start: LiveStart::Position(Box::new(start)),
            dumping,
            max_latency: seconds("max_latency", max_latency)?,
            range: Some(LogRange { stop, history: history.transpose()? }),
            load: None,
            rows: None,
        })
    }

    /// Returns the rows of a range of a table, instead of the log.
    #[staticmethod]
    #[pyo3(signature = (
        spec, table, *, after = None, upto = None, number = 0, position = None, locks = None, chunk_rows = 262_144,
        max_rows_per_second = None, reconnect = 300.0,
    ))]
    #[allow(clippy::too_many_arguments)] // Python's keywords
    fn rows(
        py: Python<'_>,
        spec: &PyConnectionSpec,
        table: &str,
        after: Option<&str>,
        upto: Option<&str>,
        number: u32,
        position: Option<&PyPosition>,
        locks: Option<&str>,
        chunk_rows: u64,
        max_rows_per_second: Option<u32>,
        reconnect: Option<f64>,
    ) -> Result<Self> {
        let (database, table) = table_name(table)?;
        let range = TableRange {
            database: database.to_owned(),
            table: table.to_owned(),
            after: after.map(KeyValues::from_json).transpose()?,
            upto: upto.map(KeyValues::from_json).transpose()?,
            number,
            position: position.map(|position| outside_load(position.0.clone())).transpose()?,
        };
        let load = LoadOptions {
            max_rows_per_second: rows_per_second(max_rows_per_second)?,
            ..load_options(locks, chunk_rows)?
        };
        Ok(Self {
            spec: spec.clone_ref(py),
            start: LiveStart::Latest,
            dumping: Dumping::try_new(true, None, 10.0, reconnect)?,
            max_latency: Duration::ZERO,
            range: None,
            load: None,
            rows: Some((load, range)),
        })
    }
}

impl PyLiveLog {
    /// Sets the options of a read that depend on this log.
    pub(super) fn adapt(&self, cut: &mut LogOptions) -> Result<()> {
        if self.rows.is_some() && (cut.stop != Stop::End || cut.history.is_some()) {
            return Err(Error::config("stop and history: existing rows have neither"));
        }
        cut.max_latency = Some(self.max_latency);
        let Some(range) = &self.range else { return Ok(()) };
        if cut.stop != Stop::End {
            return Err(Error::config("stop: a range has its own end"));
        }
        cut.goal = Some(Box::new(range.stop.clone()));
        if range.history.is_some() {
            cut.history.clone_from(&range.history);
        }
        Ok(())
    }

    /// Connects, and finds the end of the log if that is the start. The dump begins with the first request for a batch.
    pub(super) fn connect(&self, py: Python<'_>, stop: &Stop) -> PyResult<LiveSource> {
        let mut start = self.start.clone();
        let loads = self.load.as_ref().is_some_and(|(_, begins)| *begins);
        // The reader of a range waits for its server.
        let mut server = match (&self.range, &self.rows) {
            (None, None) => Some(self.spec.connect(py)?),
            _ => None,
        };
        if let Some(mut connected) = server.take_if(|_| start == LiveStart::Latest && !loads) {
            (server, start) = abandonable(py, move || {
                let latest = connected.position()?;
                Ok((Some(connected), LiveStart::Position(Box::new(latest))))
            })?;
        }
        // All transactions committed before a time in the past are in the log already.
        let until = match stop {
            Stop::Time(micros) => Some(UNIX_EPOCH + Duration::from_micros(*micros as u64)),
            _ => None,
        };
        let Dumping { mut dump, reconnect } = self.dumping.clone();
        dump.ends |= until.is_some_and(|until| until < SystemTime::now());
        let connector = self.spec.connector(py);
        let options = LiveOptions {
            connector,
            dump,
            reconnect,
            until,
            heartbeats: false,
            goal: None,
            foreign_keys: None,
            cancel: CancelToken::default(),
            counters: Arc::default(),
        };
        let part = match (&self.rows, self.load.clone(), &start) {
            (Some((load, range)), _, _) => LivePart::Rows(load.clone(), Box::new(range.clone())),
            (None, Some((load, true)), _) => LivePart::Load(load, None),
            (None, Some((load, false)), LiveStart::Position(start)) if start.load.is_some() => {
                LivePart::Load(load, Some(start.clone()))
            }
            _ => LivePart::Log,
        };
        Ok(LiveSource { server, start, options, part })
    }
}

/// The options of an initial load, without a limit and a certificate.
fn load_options(locks: Option<&str>, chunk_rows: u64) -> Result<LoadOptions> {
    match chunk_rows {
        0 => Err(Error::config("⟦chunk_rows⟧ must be above 0")),
        _ => Ok(LoadOptions {
            locks: locks_of(locks)?,
            chunk_rows,
            max_rows_per_second: None,
            certificate: None,
            rows_from: None,
        }),
    }
}

/// The locks of the keyword `locks`.
pub(super) fn locks_of(locks: Option<&str>) -> Result<Locks> {
    Ok(match locks.map(|locks| word("locks", locks, &["brief"])).transpose()? {
        Some(_) => Locks::Brief,
        None => Locks::None,
    })
}

/// The limit of the keyword `max_rows_per_second`.
pub(super) fn rows_per_second(limit: Option<u32>) -> Result<Option<u32>> {
    match limit {
        Some(0) => Err(Error::config("⟦max_rows_per_second⟧ must be above 0")),
        limit => Ok(limit),
    }
}

/// Appends each line to a file, so that it is on the disk before a position after it is returned.
fn certificate_file(path: PathBuf) -> CertificateFile {
    CertificateFile::new(move |line| {
        let opened = OpenOptions::new().append(true).create(true).open(&path);
        let written = opened.and_then(|mut file| {
            file.write_all(line.as_bytes())?;
            file.sync_data()
        });
        written.map_err(|error| Error::io(format!("cannot write {}", path.display()), error))
    })
}
