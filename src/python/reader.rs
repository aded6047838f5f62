//! `read_binlog` and `BinlogReader`.

use super::connection_spec::PyConnectionSpec;
use super::emptied_rows::Truncates;
use super::hooks::html_of;
use super::input::{inputs, table_name};
use super::interrupts::interruptible;
use super::item::change;
use super::live_log::PyLiveLog;
use super::position::{PyPosition, at};
use super::read_keywords::ReadKeywords;
use super::running::{LiveSource, Running, SIGNAL_CHECK, Source, drop_detached};
use super::server_schema::server_schema;
use super::summary::Summary;
use super::table_reader::PyTableReader;
use crate::columnar::{ColumnNames, OnSchemaChange};
use crate::error::Error;
use crate::export::NestedJson;
use crate::reader::{DecodeOptions, Poll, ReadOptions};
use crate::schema::NameCase;
use crate::source::InputFile;
use arrow_pyarrow::{FromPyArrow, ToPyArrow};
use arrow_schema::Schema;
use pyo3::exceptions::PyStopIteration;
use pyo3::prelude::*;
use pyo3::sync::MutexExt;
use pyo3::types::{PyDict, PyTuple, PyType};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

#[doc = include_str!("docs/read_binlog.txt")]
#[pyfunction]
#[pyo3(signature = (source, **keywords), text_signature = None)]
pub(super) fn read_binlog(
    py: Python<'_>,
    source: &Bound<'_, PyAny>,
    keywords: Option<&Bound<'_, PyDict>>,
) -> PyResult<PyBinlogReader> {
    let mut keywords = ReadKeywords::of_call("read_binlog", keywords)?;
    let storage = keywords.storage_options.take().unwrap_or_default();
    let mut options = keywords.options(py)?;
    if let Ok(log) = source.cast::<PyLiveLog>() {
        log.get().adapt(&mut options.cut)?;
        let live = log.get().connect(py, &options.cut.stop)?;
        if live.name_case() == NameCase::Folded {
            options.fold_names();
        }
        return Ok(PyBinlogReader::live(live, options));
    }
    Ok(PyBinlogReader::new(inputs(source, &storage)?, options))
}

#[doc = include_str!("docs/infer_schema.txt")]
#[pyfunction]
#[pyo3(signature = (source, table, **keywords), text_signature = None)]
pub(super) fn infer_schema<'py>(
    py: Python<'py>,
    source: &Bound<'py, PyAny>,
    table: &str,
    keywords: Option<&Bound<'py, PyDict>>,
) -> PyResult<Bound<'py, PyAny>> {
    let mut keywords = ReadKeywords::of_call("infer_schema", keywords)?;
    let options = keywords.plan_options()?;
    let (database, name) = table_name(table)?;
    if source.hasattr(CONNECTION)? {
        let connection = source.call_method0(CONNECTION)?;
        let spec = connection.cast::<PyConnectionSpec>()?;
        let follows = keywords.history.is_some();
        return server_schema(py, spec.get(), (database, name), options, follows)?.to_pyarrow(py);
    }
    let files = inputs(source, &keywords.storage_options.unwrap_or_default())?;
    let history = keywords.history.map(|history| history.0);
    let schema = interruptible(py, |cancel| match history {
        None => crate::reader::infer_schema(files, database, name, &options, cancel),
        Some(history) => {
            crate::reader::infer_schema_by(&history, files, (database, name), options, cancel)
        }
    })?;
    schema.to_pyarrow(py)
}

#[doc = include_str!("docs/nested_json_schema.txt")]
#[pyfunction]
#[pyo3(signature = (**keywords), text_signature = None)]
pub(super) fn nested_json_schema<'py>(
    py: Python<'py>,
    keywords: Option<&Bound<'py, PyDict>>,
) -> PyResult<Bound<'py, PyAny>> {
    let mut keywords = ReadKeywords::of_call("nested_json_schema", keywords)?;
    let mut options = DecodeOptions { plan: keywords.plan_options()?, ..DecodeOptions::default() };
    NestedJson::of(&mut options)?.schema().to_pyarrow(py)
}

/// The end of a wait of `timeout` seconds; `None` if it is too far away for the clock.
fn deadline(timeout: f64) -> Result<Option<Instant>, Error> {
    match Duration::try_from_secs_f64(timeout) {
        Ok(timeout) => Ok(Instant::now().checked_add(timeout)),
        Err(_) => Err(Error::config("timeout: a number of seconds is needed")),
    }
}

/// The method by which a server provides its `ConnectionSpec`.
const CONNECTION: &str = "__binarrow_connection__";

#[doc = include_str!("docs/BinlogReader.txt")]
#[pyclass(name = "BinlogReader", module = "binarrow", frozen)]
pub(super) struct PyBinlogReader(Mutex<State>);

enum State {
    /// Nothing was read yet: `table()` can still restrict the tables.
    Ready(Source, Box<ReadOptions>),
    Running(Box<Running>),
    Closed(Option<Box<Summary>>),
}

impl PyBinlogReader {
    pub(super) fn new(files: Vec<InputFile>, options: ReadOptions) -> Self {
        Self(Mutex::new(State::Ready(Source::Files(files), Box::new(options))))
    }

    pub(super) fn live(source: LiveSource, options: ReadOptions) -> Self {
        Self(Mutex::new(State::Ready(Source::Live(Box::new(source)), Box::new(options))))
    }

    /// Locks the state, without the interpreter's lock while it waits.
    fn state(&self, py: Python<'_>) -> MutexGuard<'_, State> {
        // A thread that panicked with the lock has left nothing incomplete that matters here.
        self.0.lock_py_attached(py).unwrap_or_else(PoisonError::into_inner)
    }

    /// Locks the state of a reader that is running or closed.
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
            // The state is not locked during the wait: stats() and close() of other threads and of signal handlers need it, and a
            // lock that is released for a moment only may never be theirs.
            let step = match &mut *self.started(py)? {
                State::Running(running) => running.step(py),
                State::Ready(..) | State::Closed(_) => {
                    return Err(Error::config("the reader is closed").into());
                }
            };
            let keep = |polled| {
                if let State::Running(running) = &mut *self.state(py) {
                    running.keep(polled);
                }
            };
            let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
            match step.settle(py, left.unwrap_or(SIGNAL_CHECK), keep)? {
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
    /// The position after the last batch or item. None before the first one, unless ``start`` names a place.
    #[getter]
    fn position(&self, py: Python<'_>) -> Option<PyPosition> {
        match &*self.state(py) {
            State::Ready(..) | State::Closed(None) => None,
            State::Running(running) => running.position(),
            State::Closed(Some(summary)) => summary.position(),
        }
    }

    /// True after :meth:`close`.
    #[getter]
    fn closed(&self, py: Python<'_>) -> PyResult<bool> {
        Ok(matches!(&*self.state(py), State::Closed(_)))
    }

    #[doc = include_str!("docs/BinlogReader.stats.txt")]
    fn stats<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        self.summary(py)?.unwrap_or_default().stats(py)
    }

    #[doc = include_str!("docs/BinlogReader.table.txt")]
    #[pyo3(signature = (name, *, schema=None, on_schema_change="error", truncates="skip"))]
    fn table(
        &self,
        py: Python<'_>,
        name: &str,
        schema: Option<&Bound<'_, PyAny>>,
        on_schema_change: &str,
        truncates: &str,
    ) -> PyResult<PyTableReader> {
        let (database, table) = table_name(name)?;
        let truncates = Truncates::parse(truncates)?;
        let on_change = match on_schema_change {
            "error" => OnSchemaChange::Error,
            "conform" => OnSchemaChange::Conform,
            "evolve" => OnSchemaChange::Evolve,
            other => {
                let message = format!(
                    "on_schema_change must be 'error', 'conform' or 'evolve', not {other:?}"
                );
                return Err(Error::config(message).into());
            }
        };
        let schema = schema.map(Schema::from_pyarrow_bound).transpose()?.map(Arc::new);
        if schema.as_ref().is_some_and(|schema| schema.fields().is_empty()) {
            return Err(Error::config("⟦schema⟧ has no columns: add the columns to read").into());
        }
        let mut state = self.state(py);
        if matches!(&*state, State::Ready(_, options) if options.cut.include.any()) {
            let message = "table() returns rows of one table and nothing else: leave out ⟦include⟧, or iterate over the reader";
            return Err(Error::config(message).into());
        }
        let State::Ready(source, options) = &mut *state else {
            return Err(
                Error::config("table() must be called before the first batch is read").into()
            );
        };
        if let Some(schema) = &schema {
            let plan = &options.decode.plan;
            if plan.column_names == ColumnNames::None {
                let message =
                    "⟦column_names=none⟧ returns no columns of the table: leave out it or ⟦schema⟧";
                return Err(Error::config(message).into());
            }
            plan.layout.check_wanted(schema, &plan.envelope.prefix)?;
        }
        let source = source.take();
        let mut options = (**options).clone();
        options.decode.tables = options.decode.tables.of_table(database, table);
        options.decode.unlogged.is_mirror = truncates != Truncates::Skip;
        if on_change != OnSchemaChange::Error {
            options.decode.plan.columns.allow_missing();
        }
        *state = State::Closed(None);
        PyTableReader::start(py, source, options, name, schema, (on_change, truncates))
    }

    #[doc = include_str!("docs/BinlogReader.nested_json.txt")]
    #[pyo3(signature = (*, truncates="skip"))]
    fn nested_json(&self, py: Python<'_>, truncates: &str) -> PyResult<PyTableReader> {
        let truncates = Truncates::parse_of_tables(truncates)?;
        let mut state = self.state(py);
        let State::Ready(source, options) = &mut *state else {
            return Err(Error::config(
                "nested_json() must be called before the first batch is read",
            )
            .into());
        };
        if options.cut.include.any() {
            let message = "nested_json() returns rows and nothing else: leave out ⟦include⟧, or iterate over the reader";
            return Err(Error::config(message).into());
        }
        if options.decode.plan.column_names == ColumnNames::None {
            let message = "⟦column_names=none⟧ returns no values for nested_json(): leave it out";
            return Err(Error::config(message).into());
        }
        let mut options = (**options).clone();
        options.decode.unlogged.is_mirror = truncates != Truncates::Skip;
        let nested_json = NestedJson::of(&mut options.decode)?;
        if truncates == Truncates::EmitAll && nested_json.is_variant() {
            let message =
                "⟦truncates=emit_all⟧ returns documents as JSON text: leave out ⟦json=variant⟧";
            return Err(Error::config(message).into());
        }
        let source = source.take();
        *state = State::Closed(None);
        PyTableReader::start_nested_json(py, source, options, nested_json, truncates)
    }

    /// Ends the read and its threads.
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

    fn __next__(&self, py: Python<'_>) -> PyResult<Option<Py<PyAny>>> {
        change(py, self.wait(py, None)?)
    }

    fn __repr__(&self, py: Python<'_>) -> String {
        let (state, summary) = match &*self.state(py) {
            State::Ready(source, _) => {
                return format!("<BinlogReader of {source}, not started>");
            }
            State::Running(running) => ("", running.summary()),
            State::Closed(Some(summary)) => ("closed, ", (**summary).clone()),
            State::Closed(None) => return "<BinlogReader, closed>".to_owned(),
        };
        format!("<BinlogReader, {state}{summary}{}>", at(summary.position()))
    }

    fn _repr_html_<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        html_of(slf.as_any())
    }

    /// The type parameter of a reader has no effect at run time.
    #[classmethod]
    fn __class_getitem__<'py>(
        class: &Bound<'py, PyType>,
        item: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        class.py().import("types")?.getattr("GenericAlias")?.call1((class, item))
    }

    /// Starts to read, unless the reader has been started, and does not wait for a batch.
    fn start(&self, py: Python<'_>) -> PyResult<()> {
        self.started(py).map(drop)
    }

    #[doc = include_str!("docs/BinlogReader.poll.txt")]
    fn poll(&self, py: Python<'_>, timeout: f64) -> PyResult<Option<Py<PyAny>>> {
        match self.wait(py, deadline(timeout)?)? {
            Poll::End => Err(PyStopIteration::new_err(())),
            polled => change(py, polled),
        }
    }

    #[doc = include_str!("docs/BinlogReader.wait.txt")]
    #[pyo3(name = "wait")]
    fn wait_for_result(&self, py: Python<'_>, timeout: f64) -> PyResult<bool> {
        let deadline = deadline(timeout)?;
        loop {
            let waiter = match &mut *self.started(py)? {
                State::Running(running) => running.waiter(),
                // poll() raises the error.
                State::Ready(..) | State::Closed(_) => None,
            };
            let Some(waiter) = waiter else { return Ok(true) };
            let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
            if left.is_some_and(|left| left.is_zero()) {
                return Ok(false);
            }
            // Without the lock, so that other threads can ask for the position and the counts.
            py.detach(|| waiter.wait(left.unwrap_or(SIGNAL_CHECK).min(SIGNAL_CHECK)));
            py.check_signals()?;
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
