//! `read_binlog` and `BinlogReader`.

use super::change_batch::PyChangeBatch;
use super::errors::{interruptible, warn};
use super::input::{inputs, paths, table_name};
use super::keywords::{Keywords, Patterns, Place, plan_options};
use super::live_log::PyLiveLog;
use super::position::PyPosition;
use super::schemas::SchemasKeyword;
use super::table_reader::PyTableReader;
use super::type_options::TypesKeyword;
use crate::change::TableFilter;
use crate::columnar::OnSchemaChange;
use crate::error::{Error, ErrorKind};
use crate::net::Server;
use crate::reader::{Poll, ReadOptions, Reader, Stats};
use crate::source::{InputFile, LiveControl, LiveOptions, LiveStart, Start, Stop};
use arrow_pyarrow::{FromPyArrow, ToPyArrow};
use arrow_schema::Schema;
use pyo3::exceptions::PyStopIteration;
use pyo3::prelude::*;
use pyo3::sync::MutexExt;
use pyo3::types::{PyDict, PyList, PyTuple};
use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Read binary log files, or what a server logs, into Arrow record batches.
#[pyfunction]
#[pyo3(signature = (
    source, *, tables=None, exclude_tables=None, start=None, stop=None, split_key_updates=true, envelope=None,
    envelope_prefix="_", types=None, column_names="log", schemas=None, batch_rows=None, batch_bytes=None,
    batch_end=None, segment_bytes=None, threads=None, uncommitted="skip", skip_events=None,
    gaps="error", verify_checksum=true,
))]
#[allow(clippy::too_many_arguments)] // they are the keywords of the Python function
pub(super) fn read_binlog(
    py: Python<'_>,
    source: &Bound<'_, PyAny>,
    tables: Option<Patterns>,
    exclude_tables: Option<Patterns>,
    start: Option<Place>,
    stop: Option<Place>,
    split_key_updates: bool,
    envelope: Option<Vec<String>>,
    envelope_prefix: &str,
    types: Option<TypesKeyword>,
    column_names: &str,
    schemas: Option<SchemasKeyword>,
    batch_rows: Option<usize>,
    batch_bytes: Option<usize>,
    batch_end: Option<String>,
    segment_bytes: Option<usize>,
    threads: Option<usize>,
    uncommitted: &str,
    skip_events: Option<Vec<u8>>,
    gaps: &str,
    verify_checksum: bool,
) -> PyResult<PyBinlogReader> {
    let keywords = Keywords {
        tables,
        exclude_tables,
        start,
        stop,
        split_key_updates,
        envelope,
        envelope_prefix: envelope_prefix.to_owned(),
        types,
        column_names: column_names.to_owned(),
        schemas,
        batch_rows,
        batch_bytes,
        batch_end,
        segment_bytes,
        threads,
        uncommitted: uncommitted.to_owned(),
        skip_events,
        gaps: gaps.to_owned(),
        verify_checksum,
    };
    let mut options = keywords.options(py)?;
    if let Ok(log) = source.cast::<PyLiveLog>() {
        options.cut.max_latency = Some(log.get().max_latency);
        return Ok(PyBinlogReader::live(log.get().connect(py, &options.cut.stop)?, options));
    }
    Ok(PyBinlogReader::new(inputs(source)?, options))
}

/// The schema of a table's batches, from its first Table_map event in the files.
#[pyfunction]
#[pyo3(signature = (source, table, *, types=None, envelope=None, envelope_prefix="_", column_names="log", schemas=None))]
#[allow(clippy::too_many_arguments)] // likewise
pub(super) fn infer_schema<'py>(
    py: Python<'py>,
    source: &Bound<'py, PyAny>,
    table: &str,
    types: Option<TypesKeyword>,
    envelope: Option<Vec<String>>,
    envelope_prefix: &str,
    column_names: &str,
    schemas: Option<SchemasKeyword>,
) -> PyResult<Bound<'py, PyAny>> {
    let options = plan_options(types, envelope, envelope_prefix.to_owned(), column_names, schemas)?;
    let files = inputs(source)?;
    let (database, name) = table_name(table)?;
    let schema = interruptible(py, |go_on| {
        crate::reader::infer_schema(files, database, name, &options, go_on)
    })?;
    schema.to_pyarrow(py)
}

/// The files that a path, a glob or a directory stands for, in log order.
#[pyfunction]
pub(super) fn expand_source(source: &Bound<'_, PyAny>) -> PyResult<Vec<String>> {
    Ok(paths(source)?.iter().map(|path| path.to_string_lossy().into_owned()).collect())
}

/// An iterator of changes in log order.
#[pyclass(name = "BinlogReader", module = "binarrow", frozen)]
pub(super) struct PyBinlogReader(Mutex<State>);

enum State {
    /// Nothing was read yet: `table()` may still narrow what is.
    Ready(Source, Box<ReadOptions>),
    Running(Box<Running>),
    Closed(Option<Box<Summary>>),
}

/// What is read.
pub(super) enum Source {
    Files(Vec<InputFile>),
    /// A server that is connected, whose dump has not begun.
    Live(Box<LiveSource>),
}

/// How a server's log is read.
pub(super) struct LiveSource {
    pub(super) server: Server,
    pub(super) start: LiveStart,
    pub(super) options: LiveOptions,
    pub(super) control: Arc<LiveControl>,
}

impl Source {
    fn take(&mut self) -> Self {
        std::mem::replace(self, Self::Files(Vec::new()))
    }

    fn open(self, options: ReadOptions) -> Result<Reader, Error> {
        match self {
            Self::Files(files) => Reader::try_new(files, options),
            Self::Live(live) => {
                let LiveSource { server, start, options: live, control } = *live;
                Reader::live(server, start, live, control, options)
            }
        }
    }
}

/// A reader at work, and what its caller has been told.
pub(super) struct Running {
    reader: Reader,
    tables: TableFilter,
    started: Instant,
    warned: HashSet<String>,
    /// What a step found and its caller could not use.
    kept: Option<Result<Poll, Error>>,
}

/// What a wait for a batch gave, and what the caller is to be told.
pub(super) struct Step {
    polled: Result<Poll, Error>,
    warnings: Vec<String>,
}

/// What stays when a reader ends.
#[derive(Clone, Default)]
pub(super) struct Summary {
    position: Option<PyPosition>,
    stats: Stats,
    live: Option<LiveStats>,
    total_bytes: Option<u64>,
    seconds: f64,
}

/// What is counted of a connection.
#[derive(Clone)]
struct LiveStats {
    events: u64,
    bytes: u64,
    reconnects: u64,
    received_at: Option<i64>,
    lag: Option<i64>,
}

impl Running {
    pub(super) fn start(
        py: Python<'_>,
        source: Source,
        options: ReadOptions,
    ) -> Result<Self, Error> {
        let tables = options.decode.tables.clone();
        Self::start_unchecked(py, source, options, tables)
    }

    /// A reader that does not warn where its one table has no change in the input.
    pub(super) fn start_table(
        py: Python<'_>,
        source: Source,
        options: ReadOptions,
    ) -> Result<Self, Error> {
        Self::start_unchecked(py, source, options, TableFilter::default())
    }

    fn start_unchecked(
        py: Python<'_>,
        source: Source,
        options: ReadOptions,
        tables: TableFilter,
    ) -> Result<Self, Error> {
        let reader = py.detach(|| source.open(options))?;
        Ok(Self { reader, tables, started: Instant::now(), warned: HashSet::new(), kept: None })
    }

    /// Waits a moment for the next batch, without the interpreter's lock. Runs no Python code, for the caller holds a lock
    /// that such code may want.
    pub(super) fn step(&mut self, py: Python<'_>, longest: Duration) -> Step {
        if let Some(polled) = self.kept.take() {
            return Step { polled, warnings: Vec::new() };
        }
        let polled = py.detach(|| self.reader.poll(longest.min(SIGNAL_CHECK)));
        let mut warnings = self.warnings();
        if matches!(polled, Ok(Poll::End)) {
            self.add_unmatched(&mut warnings);
        }
        Step { polled, warnings }
    }

    /// Gives back what a step found and its caller could not use.
    pub(super) fn keep(&mut self, polled: Result<Poll, Error>) {
        self.kept = Some(polled);
    }

    fn position(&self) -> Option<PyPosition> {
        self.reader.position().map(|position| PyPosition((**position).clone()))
    }

    pub(super) fn summary(&self) -> Summary {
        Summary {
            position: self.position(),
            stats: self.reader.stats().clone(),
            live: self.reader.live_control().map(|control| LiveStats {
                events: control.events(),
                bytes: control.bytes(),
                reconnects: control.reconnects(),
                received_at: control.received_at(),
                lag: self.reader.lag(),
            }),
            total_bytes: self.reader.total_bytes(),
            seconds: self.started.elapsed().as_secs_f64(),
        }
    }

    fn warnings(&mut self) -> Vec<String> {
        let mut warnings = self.reader.take_warnings();
        for column in self.reader.stats().zero_dates.keys() {
            if self.warned.insert(column.clone()) {
                warnings.push(format!(
                    "{column} holds zero or partial dates, which become NULL (counted in stats()); \
                     zero_dates='error' or 'text' of TypeOptions treats them otherwise"
                ));
            }
        }
        warnings
    }

    fn add_unmatched(&mut self, warnings: &mut Vec<String>) {
        let seen = self.reader.stats().tables.keys();
        let seen = seen.map(|(database, table)| (&**database, &**table));
        for pattern in self.tables.unmatched(seen) {
            if self.warned.insert(pattern.to_owned()) {
                warnings
                    .push(format!("no change of a table that matches {pattern:?} in the input"));
            }
        }
    }
}

impl Step {
    /// Whether an error came.
    pub(super) fn is_failure(&self) -> bool {
        self.polled.is_err()
    }

    /// What came. Runs Python code (warnings, signal handlers), so the caller holds no lock of ours; where that code raises,
    /// `keep` gets what came, for the next call.
    pub(super) fn settle(
        self,
        py: Python<'_>,
        keep: impl FnOnce(Result<Poll, Error>),
    ) -> PyResult<Poll> {
        let warned = self.warnings.iter().try_for_each(|message| warn(py, message));
        if let Err(raised) = warned {
            keep(self.polled);
            return Err(raised);
        }
        let polled = self.polled?;
        if matches!(polled, Poll::Pending) {
            py.check_signals()?;
        }
        Ok(polled)
    }
}

impl Summary {
    pub(super) fn position(&self) -> Option<PyPosition> {
        self.position.clone()
    }

    /// `stats()` as Python gives it.
    pub(super) fn stats<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let stats = &self.stats;
        let dict = PyDict::new(py);
        dict.set_item("bytes_read", stats.bytes_read)?;
        dict.set_item("bytes_total", self.total_bytes)?;
        dict.set_item("transactions", stats.transactions)?;
        dict.set_item("rows_events", stats.rows_events)?;
        dict.set_item("rows", stats.rows)?;
        dict.set_item("batches", stats.batches)?;
        dict.set_item("dropped_rows_events", stats.dropped_rows_events)?;
        dict.set_item("zero_dates", stats.zero_dates.clone())?;
        dict.set_item("seconds", self.seconds)?;
        let time = |micros: i64| -> PyResult<Bound<'py, PyAny>> {
            let datetime = py.import("datetime")?;
            let utc = datetime.getattr("timezone")?.getattr("utc")?;
            let epoch = datetime.getattr("datetime")?.call1((1970, 1, 1, 0, 0, 0, 0, utc))?;
            let delta = datetime.getattr("timedelta")?.call1((0, 0, micros))?;
            epoch.add(delta)
        };
        let (first, last) = stats.time_span.unzip();
        dict.set_item("first_commit", first.map(time).transpose()?)?;
        dict.set_item("last_commit", last.map(time).transpose()?)?;
        let largest = PyList::empty(py);
        for transaction in &stats.largest {
            let entry = PyDict::new(py);
            entry.set_item("file", &*transaction.file)?;
            entry.set_item("offset", transaction.offset)?;
            entry.set_item("bytes", transaction.bytes)?;
            entry.set_item("committed", time(transaction.commit_timestamp)?)?;
            largest.append(entry)?;
        }
        dict.set_item("largest_transactions", largest)?;
        let tables = PyDict::new(py);
        for ((database, table), counts) in &stats.tables {
            let entry = PyDict::new(py);
            entry.set_item("inserts", counts.inserts)?;
            entry.set_item("updates", counts.updates)?;
            entry.set_item("deletes", counts.deletes)?;
            entry.set_item("bytes", counts.bytes)?;
            tables.set_item(format!("{database}.{table}"), entry)?;
        }
        dict.set_item("tables", tables)?;
        if let Some(live) = &self.live {
            dict.set_item("events", live.events)?;
            dict.set_item("bytes_received", live.bytes)?;
            dict.set_item("reconnects", live.reconnects)?;
            dict.set_item("last_received", live.received_at.map(time).transpose()?)?;
            dict.set_item("lag_seconds", live.lag.map(|micros| micros as f64 / 1e6))?;
        }
        Ok(dict)
    }
}

impl PyBinlogReader {
    pub(super) fn new(files: Vec<InputFile>, options: ReadOptions) -> Self {
        Self(Mutex::new(State::Ready(Source::Files(files), Box::new(options))))
    }

    pub(super) fn live(source: LiveSource, options: ReadOptions) -> Self {
        Self(Mutex::new(State::Ready(Source::Live(Box::new(source)), Box::new(options))))
    }

    /// This reader's options for another input.
    pub(super) fn over(
        &self,
        py: Python<'_>,
        files: Vec<InputFile>,
        start: Start,
        stop: Stop,
    ) -> PyResult<Self> {
        let state = self.state(py);
        let State::Ready(_, options) = &*state else {
            return Err(Error::new(ErrorKind::Internal, "a reader that is at work already").into());
        };
        let mut options = (**options).clone();
        (options.cut.start, options.cut.stop) = (start, stop);
        // The files before the split's own are there for what they prepared.
        options.cut.allow_gaps = true;
        Ok(Self::new(files, options))
    }

    /// The state, waited for without the interpreter's lock.
    fn state(&self, py: Python<'_>) -> MutexGuard<'_, State> {
        // A thread that panicked with it has left nothing half done that matters here.
        self.0.lock_py_attached(py).unwrap_or_else(PoisonError::into_inner)
    }

    /// The state, of a reader that is at work or closed.
    fn started(&self, py: Python<'_>) -> PyResult<MutexGuard<'_, State>> {
        let mut state = self.state(py);
        if let State::Ready(source, options) = &mut *state {
            let running = Running::start(py, source.take(), (**options).clone())?;
            *state = State::Running(Box::new(running));
        }
        Ok(state)
    }

    /// Waits for a batch, at most until `deadline`.
    fn wait(&self, py: Python<'_>, deadline: Option<Instant>) -> PyResult<Poll> {
        loop {
            // Taken anew each time, so that stats() and close() of other threads, and of signal handlers, have their turn.
            let step = {
                let State::Running(running) = &mut *self.started(py)? else {
                    return Err(Error::config("the reader is closed").into());
                };
                let left =
                    deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
                running.step(py, left.unwrap_or(SIGNAL_CHECK))
            };
            let keep = |polled| {
                if let State::Running(running) = &mut *self.state(py) {
                    running.keep(polled);
                }
            };
            match step.settle(py, keep)? {
                Poll::Pending if deadline.is_none_or(|deadline| Instant::now() < deadline) => {}
                polled => return Ok(polled),
            }
        }
    }

    fn summary(&self, py: Python<'_>) -> PyResult<Option<Summary>> {
        Ok(match &*self.state(py) {
            State::Ready(..) => None,
            State::Running(running) => Some(running.summary()),
            State::Closed(summary) => summary.as_deref().cloned(),
        })
    }
}

#[pymethods]
impl PyBinlogReader {
    #[getter]
    fn position(&self, py: Python<'_>) -> Option<PyPosition> {
        match &*self.state(py) {
            State::Ready(..) | State::Closed(None) => None,
            State::Running(running) => running.position(),
            State::Closed(Some(summary)) => summary.position(),
        }
    }

    #[getter]
    fn closed(&self, py: Python<'_>) -> PyResult<bool> {
        Ok(matches!(&*self.state(py), State::Closed(_)))
    }

    fn stats<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        self.summary(py)?.unwrap_or_default().stats(py)
    }

    #[pyo3(signature = (name, *, schema=None, on_schema_change="error"))]
    fn table(
        &self,
        py: Python<'_>,
        name: &str,
        schema: Option<&Bound<'_, PyAny>>,
        on_schema_change: &str,
    ) -> PyResult<PyTableReader> {
        let (database, table) = table_name(name)?;
        let on_change = match on_schema_change {
            "error" => OnSchemaChange::Error,
            "conform" => OnSchemaChange::Conform,
            other => {
                let message =
                    format!("on_schema_change must be 'error' or 'conform', not {other:?}");
                return Err(Error::config(message).into());
            }
        };
        let schema = schema.map(Schema::from_pyarrow_bound).transpose()?.map(Arc::new);
        let mut state = self.state(py);
        let State::Ready(source, options) = &mut *state else {
            return Err(
                Error::config("table() must be called before the first batch is read").into()
            );
        };
        let source = source.take();
        let mut options = (**options).clone();
        options.decode.tables = TableFilter::exactly(database, table);
        *state = State::Closed(None);
        PyTableReader::start(py, source, options, name, schema, on_change)
    }

    fn close(&self, py: Python<'_>) -> PyResult<()> {
        let mut state = self.state(py);
        let summary = match &*state {
            State::Running(running) => Some(Box::new(running.summary())),
            State::Closed(summary) => summary.clone(),
            State::Ready(..) => None,
        };
        let before = std::mem::replace(&mut *state, State::Closed(summary));
        // Its threads may wait for the interpreter's lock.
        py.detach(|| drop(before));
        Ok(())
    }

    fn __iter__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    fn __next__(&self, py: Python<'_>) -> PyResult<Option<PyChangeBatch>> {
        Ok(match self.wait(py, None)? {
            Poll::Batch(batch) => Some(PyChangeBatch(batch)),
            Poll::Pending | Poll::End => None,
        })
    }

    fn start(&self, py: Python<'_>) -> PyResult<()> {
        self.started(py).map(drop)
    }

    fn poll(&self, py: Python<'_>, timeout: f64) -> PyResult<Option<PyChangeBatch>> {
        let Ok(timeout) = Duration::try_from_secs_f64(timeout) else {
            return Err(Error::config("timeout: a number of seconds is needed").into());
        };
        match self.wait(py, Instant::now().checked_add(timeout))? {
            Poll::Batch(batch) => Ok(Some(PyChangeBatch(batch))),
            Poll::Pending => Ok(None),
            Poll::End => Err(PyStopIteration::new_err(())),
        }
    }

    fn __enter__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    #[pyo3(signature = (*_exception))]
    fn __exit__(&self, py: Python<'_>, _exception: &Bound<'_, PyTuple>) -> PyResult<()> {
        self.close(py)
    }
}

impl Drop for PyBinlogReader {
    fn drop(&mut self) {
        let before = std::mem::replace(
            self.0.get_mut().unwrap_or_else(PoisonError::into_inner),
            State::Closed(None),
        );
        if matches!(before, State::Running(_)) {
            drop_detached(before);
        }
    }
}

/// Drops what owns threads that may wait for the interpreter's lock.
pub(super) fn drop_detached<T: Send>(value: T) {
    let mut value = Some(value);
    let detached = Python::try_attach(|py| py.detach(|| drop(value.take())));
    if detached.is_none() {
        drop(value);
    }
}

/// How long a wait goes on before Ctrl-C is looked for.
pub(super) const SIGNAL_CHECK: Duration = Duration::from_millis(50);
