//! `read_binlog` and `BinlogReader`.

use super::connection_spec::PyConnectionSpec;
use super::emptied_rows::Truncates;
use super::errors::interruptible;
use super::history_keyword::HistoryKeyword;
use super::input::{inputs, paths, table_name};
use super::item::change;
use super::keywords::{
    self, ColumnsKeyword, Keywords, MaskKeyword, Patterns, Place, SaltKeyword, masks, plan_options,
};
use super::live_log::PyLiveLog;
use super::position::PyPosition;
use super::running::{LiveSource, Running, SIGNAL_CHECK, Source, drop_detached};
use super::schemas::SchemasKeyword;
use super::server_schema::server_schema;
use super::storage::Storage;
use super::summary::Summary;
use super::table_reader::PyTableReader;
use super::type_options::TypesKeyword;
use crate::columnar::{ColumnNames, OnSchemaChange};
use crate::error::{Error, ErrorKind};
use crate::export::Documents;
use crate::reader::{DecodeOptions, Poll, ReadOptions};
use crate::schema::NameCase;
use crate::source::{InputFile, Start, Stop, TableHistory};
use arrow_pyarrow::{FromPyArrow, ToPyArrow};
use arrow_schema::Schema;
use pyo3::exceptions::PyStopIteration;
use pyo3::prelude::*;
use pyo3::sync::MutexExt;
use pyo3::types::{PyDict, PyTuple, PyType};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Read binary log files, or what a server logs, into Arrow record batches.
#[pyfunction]
#[pyo3(signature = (
    source, *, tables=None, exclude_tables=None, include=None, online_schema_change="evidence",
    lower_case_table_names=None, columns=None, operations=None, unlogged_changes=None, mask=None, mask_salt=None, start=None, stop=None, layout="flat", old_value=true, split_key_updates=true,
    partial_images="null", envelope=None,
    envelope_prefix="_", types=None, column_names="log", schemas=None, history=None, batch_rows=None, batch_bytes=None,
    batch_end=None, segment_bytes=None, threads=None, uncommitted="skip", statements="error", skip_events=None,
    gaps="error", verify_checksum=true, storage_options=None,
))]
#[allow(clippy::too_many_arguments)] // they are the keywords of the Python function
pub(super) fn read_binlog(
    py: Python<'_>,
    source: &Bound<'_, PyAny>,
    tables: Option<Patterns>,
    exclude_tables: Option<Patterns>,
    include: Option<Patterns>,
    online_schema_change: &str,
    lower_case_table_names: Option<u8>,
    columns: Option<ColumnsKeyword>,
    operations: Option<Patterns>,
    unlogged_changes: Option<String>,
    mask: Option<MaskKeyword>,
    mask_salt: Option<SaltKeyword>,
    start: Option<Place>,
    stop: Option<Place>,
    layout: &str,
    old_value: bool,
    split_key_updates: bool,
    partial_images: &str,
    envelope: Option<Patterns>,
    envelope_prefix: &str,
    types: Option<TypesKeyword>,
    column_names: &str,
    schemas: Option<SchemasKeyword>,
    history: Option<HistoryKeyword>,
    batch_rows: Option<usize>,
    batch_bytes: Option<usize>,
    batch_end: Option<String>,
    segment_bytes: Option<usize>,
    threads: Option<usize>,
    uncommitted: &str,
    statements: &str,
    skip_events: Option<Vec<u8>>,
    gaps: &str,
    verify_checksum: bool,
    storage_options: Option<Storage>,
) -> PyResult<PyBinlogReader> {
    let keywords = Keywords {
        tables,
        exclude_tables,
        include,
        online_schema_change: online_schema_change.to_owned(),
        lower_case_table_names,
        columns,
        operations,
        unlogged_changes,
        mask,
        mask_salt,
        start,
        stop,
        layout: layout.to_owned(),
        old_value,
        split_key_updates,
        partial_images: partial_images.to_owned(),
        envelope,
        envelope_prefix: envelope_prefix.to_owned(),
        types,
        column_names: column_names.to_owned(),
        schemas,
        history,
        batch_rows,
        batch_bytes,
        batch_end,
        segment_bytes,
        threads,
        uncommitted: uncommitted.to_owned(),
        statements: statements.to_owned(),
        skip_events,
        gaps: gaps.to_owned(),
        verify_checksum,
    };
    let mut options = keywords.options(py)?;
    if let Ok(log) = source.cast::<PyLiveLog>() {
        log.get().adapt(&mut options.cut)?;
        let live = log.get().connect(py, &options.cut.stop)?;
        if live.name_case() == NameCase::Folded {
            options.fold_names();
        }
        return Ok(PyBinlogReader::live(live, options));
    }
    Ok(PyBinlogReader::new(inputs(source, &storage_options.unwrap_or_default())?, options))
}

/// The schema of a table's batches, from its first Table_map event in the files.
#[pyfunction]
#[pyo3(signature = (
    source, table, *, columns=None, mask=None, mask_salt=None, types=None, layout="flat", envelope=None, envelope_prefix="_",
    column_names="log", schemas=None, history=None, storage_options=None,
))]
#[allow(clippy::too_many_arguments)] // likewise
pub(super) fn infer_schema<'py>(
    py: Python<'py>,
    source: &Bound<'py, PyAny>,
    table: &str,
    columns: Option<ColumnsKeyword>,
    mask: Option<MaskKeyword>,
    mask_salt: Option<SaltKeyword>,
    types: Option<TypesKeyword>,
    layout: &str,
    envelope: Option<Patterns>,
    envelope_prefix: &str,
    column_names: &str,
    schemas: Option<SchemasKeyword>,
    history: Option<HistoryKeyword>,
    storage_options: Option<Storage>,
) -> PyResult<Bound<'py, PyAny>> {
    keywords::one_of_both(&schemas, &history)?;
    let mut options = plan_options(
        types,
        columns,
        masks(mask, mask_salt)?,
        envelope,
        envelope_prefix.to_owned(),
        column_names,
        schemas,
    )?;
    options.layout = keywords::layout(layout)?;
    let (database, name) = table_name(table)?;
    if let Ok(own) = source.getattr("_spec")
        && let Ok(spec) = own.cast::<PyConnectionSpec>()
    {
        let follows = history.is_some();
        return server_schema(py, spec.get(), (database, name), options, follows)?.to_pyarrow(py);
    }
    let files = inputs(source, &storage_options.unwrap_or_default())?;
    let history = history.map(|history| history.0);
    let schema = interruptible(py, |go_on| match history {
        None => crate::reader::infer_schema(files, database, name, &options, go_on),
        Some(history) => {
            crate::reader::infer_schema_by(&history, files, (database, name), options, go_on)
        }
    })?;
    schema.to_pyarrow(py)
}

/// The schema of what `nested_json` gives.
#[pyfunction]
#[pyo3(signature = (*, types=None, envelope=None, envelope_prefix="_"))]
pub(super) fn nested_json_schema<'py>(
    py: Python<'py>,
    types: Option<TypesKeyword>,
    envelope: Option<Patterns>,
    envelope_prefix: &str,
) -> PyResult<Bound<'py, PyAny>> {
    let (masks, prefix) = (masks(None, None)?, envelope_prefix.to_owned());
    let plan = plan_options(types, None, masks, envelope, prefix, "log", None)?;
    let mut options = DecodeOptions { plan, ..DecodeOptions::default() };
    Documents::of(&mut options)?.schema().to_pyarrow(py)
}

/// The files that a path, a URI, a glob or a directory stands for, in log order.
#[pyfunction]
#[pyo3(signature = (source, *, storage_options=None))]
pub(super) fn expand_source(
    source: &Bound<'_, PyAny>,
    storage_options: Option<Storage>,
) -> PyResult<Vec<String>> {
    paths(source, &storage_options.unwrap_or_default())
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
        (start, stop): (Start, Stop),
        history: Option<TableHistory>,
    ) -> PyResult<Self> {
        let state = self.state(py);
        let State::Ready(_, options) = &*state else {
            return Err(Error::new(ErrorKind::Internal, "a reader that is at work already").into());
        };
        let mut options = (**options).clone();
        (options.cut.start, options.cut.stop) = (start, stop);
        options.cut.history = history.or(options.cut.history);
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
            return Err(Error::config("schema= has no columns: name those that you want").into());
        }
        let mut state = self.state(py);
        if matches!(&*state, State::Ready(_, options) if options.cut.include.any()) {
            let message = "table() gives rows of one table and nothing else: leave out include=, or iterate over the reader";
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
                    "column_names='none' returns no columns of the table: leave out it or schema=";
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

    #[pyo3(signature = (*, truncates="skip"))]
    fn nested_json(&self, py: Python<'_>, truncates: &str) -> PyResult<PyTableReader> {
        let truncates = Truncates::parse(truncates)?;
        let mut state = self.state(py);
        let State::Ready(source, options) = &mut *state else {
            return Err(Error::config(
                "nested_json() must be called before the first batch is read",
            )
            .into());
        };
        if options.cut.include.any() {
            let message = "nested_json() gives rows and nothing else: leave out include=, or iterate over the reader";
            return Err(Error::config(message).into());
        }
        if options.decode.plan.column_names == ColumnNames::None {
            let message = "column_names='none' returns no values for nested_json(): leave it out";
            return Err(Error::config(message).into());
        }
        let mut options = (**options).clone();
        options.decode.unlogged.is_mirror = truncates != Truncates::Skip;
        let documents = Documents::of(&mut options.decode)?;
        let source = source.take();
        *state = State::Closed(None);
        PyTableReader::start_documents(py, source, options, documents, truncates)
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

    fn __next__(&self, py: Python<'_>) -> PyResult<Option<Py<PyAny>>> {
        change(py, self.wait(py, None)?)
    }

    /// What a reader is of says nothing at run time.
    #[classmethod]
    fn __class_getitem__<'py>(
        class: &Bound<'py, PyType>,
        item: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        class.py().import("types")?.getattr("GenericAlias")?.call1((class, item))
    }

    fn start(&self, py: Python<'_>) -> PyResult<()> {
        self.started(py).map(drop)
    }

    fn poll(&self, py: Python<'_>, timeout: f64) -> PyResult<Option<Py<PyAny>>> {
        let Ok(timeout) = Duration::try_from_secs_f64(timeout) else {
            return Err(Error::config("timeout: a number of seconds is needed").into());
        };
        match self.wait(py, Instant::now().checked_add(timeout))? {
            Poll::End => Err(PyStopIteration::new_err(())),
            polled => change(py, polled),
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
