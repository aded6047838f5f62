//! `TableRows`: the rows of a server's table, as an Arrow stream.

use super::capsule::{schema_capsule, stream_capsule};
use super::connection_spec::PyConnectionSpec;
use super::errors::warn;
use super::hooks::html_of;
use super::input::table_name;
use super::interrupts::{SIGNAL_CHECK, waited};
use super::live_log::{locks_of, rows_per_second};
use super::position::PyPosition;
use super::read_keywords::ReadKeywords;
use super::running::zero_dates_warning;
use crate::cancel::CancelToken;
use crate::columnar::TablePlan;
use crate::error::{Error, ErrorKind, Result};
use crate::load::{Killer, Part, Snapshot, TableRequest, TableRows};
use crate::net::SocketHandle;
use arrow_array::RecordBatch;
use arrow_pyarrow::ToPyArrow;
use arrow_schema::SchemaRef;
use crossbeam_channel::{Receiver, RecvTimeoutError, bounded};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDict, PyList, PyTuple};
use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

#[doc = include_str!("docs/TableRows.txt")]
#[pyclass(name = "TableRows", module = "binarrow", frozen)]
pub(super) struct PyTableRows(Arc<Shared>);

/// The state of a read. A thread reads the rows, at most two batches ahead.
struct Shared {
    schema: SchemaRef,
    plan: Arc<TablePlan>,
    /// `None` if the envelope needs no position.
    snapshot: Option<Snapshot>,
    /// The server's estimate of the number of rows of the table.
    estimate: u64,
    /// `None` in the channel is the end of the rows.
    batches: Mutex<Option<Receiver<Result<Option<Read>>>>>,
    cancel: CancelToken,
    handle: SocketHandle,
    /// The batch of which a warning became an exception.
    kept: Mutex<Option<RecordBatch>>,
    rows: AtomicU64,
    /// The reader of the rows: 0 for none, [`ITERATION`], or the number of a stream.
    reader: AtomicU64,
    streams: AtomicU64,
    has_ended: AtomicBool,
    has_failed: AtomicBool,
    /// Ends the query on the server.
    killer: Mutex<Option<Killer>>,
    /// The process that reads. A forked child has no thread that reads.
    process: u32,
    /// The columns of which a warning about zero dates was issued.
    warned: Mutex<HashSet<String>>,
}

/// The next batch, and the zero dates that became NULL in it: the name of the column, and their number.
struct Read {
    batch: RecordBatch,
    zero_dates: Vec<(String, u64)>,
}

/// Returns the rows of a table; see :meth:`binarrow.Server.read_table`. ``ordered``: in the order of its key.
#[pyfunction]
#[pyo3(signature = (
    spec, table, *, r#where = None, locks = None, max_rows_per_second = None, ordered = false, **keywords,
))]
#[allow(clippy::too_many_arguments)] // Python's keywords
pub(super) fn read_table(
    py: Python<'_>,
    spec: &PyConnectionSpec,
    table: &str,
    r#where: Option<String>,
    locks: Option<&str>,
    max_rows_per_second: Option<u32>,
    ordered: bool,
    keywords: Option<&Bound<'_, PyDict>>,
) -> PyResult<PyTableRows> {
    let mut keywords = ReadKeywords::of_call("read_table", keywords)?;
    let (database, name) = table_name(table)?;
    let plan = keywords.plan_options()?;
    let limits = keywords.limits(&plan.types)?;
    let locks = locks_of(locks)?;
    // All rows, in the order of the key.
    let part = ordered.then_some(Part {
        after: None,
        upto: None,
        limit: u64::MAX,
        number: 0,
        rows_before: 0,
        snapshot: None,
        reached: None,
        position: None,
    });
    let request = TableRequest {
        log: None,
        database: database.to_owned(),
        table: name.to_owned(),
        condition: r#where,
        part,
        locks,
        max_rows_per_second: rows_per_second(max_rows_per_second)?,
        plan,
        limits,
    };
    start_read(py, spec, request)
}

/// Connects, opens the snapshot and starts to read the rows.
fn start_read(
    py: Python<'_>,
    spec: &PyConnectionSpec,
    request: TableRequest,
) -> PyResult<PyTableRows> {
    let mut server = spec.connect(py)?;
    let handle = server.connection().handle()?;
    let killer = Killer::of(&mut server);
    // The server may have to search for the first rows before it answers.
    let rows = match waited(py, move || TableRows::open(server, &request)) {
        Ok(opened) => opened?,
        Err(raised) => {
            handle.shutdown();
            killer.kill_in_background();
            return Err(raised);
        }
    };
    let plan = Arc::clone(rows.plan());
    let (schema, snapshot) = (Arc::clone(&plan.schema), rows.snapshot().cloned());
    let estimate = rows.estimated_rows();
    let cancel = spec.passes().begin();
    let batches = start(rows, cancel.clone())?;
    Ok(PyTableRows(Arc::new(Shared {
        schema,
        plan,
        snapshot,
        estimate,
        batches: Mutex::new(Some(batches)),
        cancel,
        handle,
        kept: Mutex::default(),
        rows: AtomicU64::new(0),
        reader: AtomicU64::new(0),
        streams: AtomicU64::new(ITERATION),
        has_ended: AtomicBool::new(false),
        has_failed: AtomicBool::new(false),
        killer: Mutex::new(Some(killer)),
        process: std::process::id(),
        warned: Mutex::default(),
    })))
}

/// Reads batches in another thread, until the receiver is dropped.
fn start(mut rows: TableRows, cancel: CancelToken) -> Result<Receiver<Result<Option<Read>>>> {
    let (sender, receiver) = bounded(1);
    let read = move || {
        loop {
            let next = rows
                .next_batch(&cancel)
                .map(|batch| batch.map(|batch| Read { batch, zero_dates: rows.take_zero_dates() }));
            let is_last = !matches!(next, Ok(Some(_)));
            if sender.send(next).is_err() || is_last {
                return;
            }
        }
    };
    std::thread::Builder::new()
        .name("binarrow-load".into())
        .spawn(read)
        .map_err(|error| Error::io("cannot start a thread", error))?;
    Ok(receiver)
}

impl Shared {
    /// The next batch; `None` after the last one. Ctrl-C ends the wait.
    fn next(&self, py: Python<'_>, reader: u64) -> PyResult<Option<RecordBatch>> {
        if self.process != std::process::id() {
            let message = "the rows were opened before a fork and belong to the parent process: read the table again in this process";
            return Err(Error::config(message).into());
        }
        self.claim(reader)?;
        if let Some(batch) = locked(&self.kept).take() {
            return Ok(Some(self.counted(batch)));
        }
        if self.has_ended.load(Ordering::Relaxed) {
            return Ok(None);
        }
        if self.has_failed.load(Ordering::Relaxed) {
            return Err(Error::config("the read has failed: read the table again").into());
        }
        loop {
            let receiver = locked(&self.batches).clone();
            let Some(receiver) = receiver else {
                return Err(Error::config("the rows are closed: read the table again").into());
            };
            match py.detach(|| receiver.recv_timeout(SIGNAL_CHECK)) {
                Ok(Ok(Some(read))) => return self.deliver(py, read).map(Some),
                Ok(Ok(None)) => {
                    self.has_ended.store(true, Ordering::Relaxed);
                    return Ok(None);
                }
                Ok(Err(_)) if self.cancel.is_cancelled() => return Err(Error::cancelled().into()),
                Ok(Err(error)) => {
                    self.has_failed.store(true, Ordering::Relaxed);
                    return Err(error.into());
                }
                Err(RecvTimeoutError::Disconnected) if self.cancel.is_cancelled() => {
                    return Err(Error::cancelled().into());
                }
                Err(RecvTimeoutError::Disconnected) => {
                    let message = "the rows have ended without an end: a defect of binarrow; please report it";
                    return Err(Error::new(ErrorKind::Internal, message).into());
                }
                Err(RecvTimeoutError::Timeout) => {
                    if let Err(raised) = py.check_signals() {
                        self.close();
                        return Err(raised);
                    }
                }
            }
        }
    }

    fn deliver(&self, py: Python<'_>, read: Read) -> PyResult<RecordBatch> {
        for (column, _) in read.zero_dates {
            let is_first = locked(&self.warned).insert(column.clone());
            if is_first && let Err(raised) = warn(py, &zero_dates_warning(&column, "")) {
                *locked(&self.kept) = Some(read.batch);
                return Err(raised);
            }
        }
        Ok(self.counted(read.batch))
    }

    fn counted(&self, batch: RecordBatch) -> RecordBatch {
        self.rows.fetch_add(batch.num_rows() as u64, Ordering::Relaxed);
        batch
    }

    fn close(&self) {
        self.cancel.cancel();
        self.handle.shutdown();
        let was_open = locked(&self.batches).take().is_some();
        // After a failure the server may have restarted, and the number may be that of another connection.
        let has_finished =
            [&self.has_ended, &self.has_failed].iter().any(|flag| flag.load(Ordering::Relaxed));
        let killer = locked(&self.killer).take();
        if was_open
            && !has_finished
            && self.process == std::process::id()
            && let Some(killer) = killer
        {
            killer.kill_in_background();
        }
    }

    /// An error if another reader has the rows: each would return a part of the table.
    fn claim(&self, reader: u64) -> Result<()> {
        let claimed = self.reader.compare_exchange(0, reader, Ordering::Relaxed, Ordering::Relaxed);
        match claimed {
            Ok(_) => Ok(()),
            Err(owner) if owner == reader => Ok(()),
            Err(_) => Err(already_read()),
        }
    }

    /// An error if rows were returned before: the rest of a table would look like a complete one.
    fn check_unread(&self) -> Result<()> {
        match self.reader.load(Ordering::Relaxed) {
            0 => Ok(()),
            _ => Err(already_read()),
        }
    }
}

fn already_read() -> Error {
    Error::config("rows of the table have been read already: read it again")
}

/// The number of the reader that iterates over the rows.
const ITERATION: u64 = 1;

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[pymethods]
impl PyTableRows {
    /// The schema of all batches.
    #[getter]
    fn schema<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.0.schema.to_pyarrow(py)
    }

    #[doc = include_str!("docs/TableRows.position.txt")]
    #[getter]
    fn position(&self) -> Option<PyPosition> {
        self.0.snapshot.as_ref().map(|snapshot| PyPosition(snapshot.position.clone()))
    }

    /// True if the snapshot contains no transaction after ``position``.
    #[getter]
    fn is_exact(&self) -> bool {
        self.0.snapshot.as_ref().is_some_and(|snapshot| snapshot.is_exact)
    }

    /// The number of rows that were returned so far.
    #[getter]
    fn rows(&self) -> u64 {
        self.0.rows.load(Ordering::Relaxed)
    }

    /// The server's estimate of the number of rows of the table, without ``where``. It may be wrong by half.
    #[getter]
    fn estimated_rows(&self) -> u64 {
        self.0.estimate
    }

    #[doc = include_str!("docs/TableRows.read_all.txt")]
    fn read_all<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.0.check_unread()?;
        let batches = PyList::empty(py);
        while let Some(batch) = self.0.next(py, ITERATION)? {
            batches.append(batch.to_pyarrow(py)?)?;
        }
        let schema = self.0.schema.to_pyarrow(py)?;
        py.import("pyarrow")?.getattr("Table")?.call_method1("from_batches", (batches, schema))
    }

    /// Ends the snapshot and closes the connection.
    fn close(&self) {
        self.0.close();
    }

    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        // Best effort by the interface's rules: the caller casts.
        let _ = requested_schema;
        self.0.check_unread()?;
        let number = self.0.streams.fetch_add(1, Ordering::Relaxed) + 1;
        let (schema, rows) = (Arc::clone(&self.0.schema), Arc::clone(&self.0));
        stream_capsule(py, schema, move |py| rows.next(py, number))
    }

    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        schema_capsule(py, &self.0.schema)
    }

    fn __iter__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    fn __next__<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        self.0.next(py, ITERATION)?.map(|batch| batch.to_pyarrow(py)).transpose()
    }

    fn __enter__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    #[pyo3(signature = (*_exception))]
    fn __exit__(&self, _exception: &Bound<'_, PyTuple>) {
        self.0.close();
    }

    fn __repr__(&self) -> String {
        let place = self.0.snapshot.as_ref().map_or_else(String::new, |snapshot| {
            let precision = if snapshot.is_exact { "at" } else { "at or after" };
            format!(", {precision} {}:{}", snapshot.position.file, snapshot.position.offset)
        });
        let columns = self.0.schema.fields().len();
        format!("<TableRows: {} rows read, {columns} columns{place}>", self.rows())
    }

    fn _repr_html_<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        html_of(slf.as_any())
    }
}

impl PyTableRows {
    /// The plan of the rows.
    pub(super) fn plan(&self) -> &Arc<TablePlan> {
        &self.0.plan
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        self.close();
    }
}
