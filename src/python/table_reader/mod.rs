//! `TableReader`: changes as an Arrow stream of one schema, those of one table, or those of many as nested JSON.

mod input;
mod nested_json;
mod one_table;

use super::capsule::{schema_capsule, stream_capsule};
use super::emptied_rows::Truncates;
use super::hooks::html_of;
use super::position::{PyPosition, at};
use super::running::Source;
use crate::change::Include;
use crate::columnar::OnSchemaChange;
use crate::error::Error;
use crate::export::NestedJson;
use crate::reader::{KnownTables, Progress, ReadOptions};
use arrow_array::RecordBatch;
use arrow_pyarrow::ToPyArrow;
use arrow_schema::{Schema, SchemaRef};
use input::Input;
use nested_json::NestedJsonReader;
use one_table::OneTable;
use pyo3::prelude::*;
use pyo3::sync::MutexExt;
use pyo3::types::{PyCapsule, PyDict, PyList, PyTuple};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

#[doc = include_str!("../docs/TableReader.txt")]
#[pyclass(name = "TableReader", module = "binarrow", frozen)]
pub(super) struct PyTableReader {
    /// Shared with the streams made from the reader.
    changes: Arc<dyn Changes>,
    /// The table, or all tables.
    tables: String,
}

/// Changes with one schema.
trait Changes: Send + Sync {
    fn input(&self) -> &Input;

    /// The schema of all batches. It may be that of the first batch, which is then read.
    fn schema(&self, py: Python<'_>) -> PyResult<SchemaRef>;

    /// The next batch; `None` at the end.
    fn next(&self, py: Python<'_>) -> PyResult<Option<RecordBatch>>;

    /// True if there are rows that were read but not returned.
    fn waits(&self, py: Python<'_>) -> bool;

    /// The progress of the rows that were returned, if it differs from that of the input.
    fn progress(&self, py: Python<'_>) -> Option<Option<Progress>>;
}

/// Locks a mutex without holding the interpreter's lock while it waits.
fn locked<'m, T>(mutex: &'m Mutex<T>, py: Python<'_>) -> MutexGuard<'m, T> {
    // A thread that panicked with the lock has left nothing incomplete that matters here.
    mutex.lock_py_attached(py).unwrap_or_else(PoisonError::into_inner)
}

/// Returns an error if all changes were returned before: an empty table would look like one without
/// changes.
fn check_unread(changes: &dyn Changes, py: Python<'_>) -> PyResult<()> {
    match changes.input().is_consumed(py) && !changes.waits(py) {
        true => Err(Error::config("the table has been read already: create a new reader").into()),
        false => Ok(()),
    }
}

impl PyTableReader {
    /// The changes of all tables as nested JSON, which has changed the options.
    pub(super) fn start_nested_json(
        py: Python<'_>,
        source: Source,
        options: ReadOptions,
        nested_json: NestedJson,
        truncates: Truncates,
    ) -> PyResult<Self> {
        let is_live = matches!(source, Source::Live(_));
        let known = KnownTables::new(options.decode.plan.column_names);
        let rules = (truncates, options.decode.tables.clone());
        let input = start_input(py, source, options, truncates)?;
        let changes = NestedJsonReader::new(input, is_live, nested_json, rules, known);
        Ok(Self { changes: Arc::new(changes), tables: "all tables".to_owned() })
    }

    /// The changes of the table `name`.
    pub(super) fn start(
        py: Python<'_>,
        source: Source,
        options: ReadOptions,
        name: &str,
        schema: Option<SchemaRef>,
        (on_change, truncates): (OnSchemaChange, Truncates),
    ) -> PyResult<Self> {
        let layout = options.decode.plan.layout;
        let envelope = layout.envelope(&options.decode.plan.envelope);
        truncates.check(schema.as_deref(), layout, &envelope.prefix)?;
        let known = KnownTables::new(options.decode.plan.column_names);
        let input = start_input(py, source, options, truncates)?;
        let (rules, form) = ((on_change, truncates), (layout, &envelope));
        let changes = OneTable::new(input, name, schema, rules, form, known);
        Ok(Self { changes: Arc::new(changes), tables: name.to_owned() })
    }
}

/// Starts an input whose only items are statements that empty tables and, with `EmitAll`, statements that
/// alter tables.
fn start_input(
    py: Python<'_>,
    source: Source,
    mut options: ReadOptions,
    truncates: Truncates,
) -> PyResult<Input> {
    let tables = options.decode.tables.clone();
    let schema_changes = truncates == Truncates::EmitAll;
    options.cut.include = Include { emptied: true, schema_changes, tables, ..Include::default() };
    Input::start(py, source, options)
}

#[pymethods]
impl PyTableReader {
    /// The schema of all batches.
    #[getter]
    fn schema<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.changes.schema(py)?.to_pyarrow(py)
    }

    /// The position after the last batch that was returned; None before the first.
    #[getter]
    fn position(&self, py: Python<'_>) -> Option<PyPosition> {
        match self.changes.progress(py) {
            Some(progress) => progress.map(|progress| PyPosition(progress.position())),
            None => self.changes.input().summary(py).and_then(|summary| summary.position()),
        }
    }

    /// True after :meth:`close`.
    #[getter]
    fn closed(&self, py: Python<'_>) -> bool {
        self.changes.input().is_closed(py)
    }

    /// Returns the statistics of the read, as :meth:`BinlogReader.stats` does.
    fn stats<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        match self.changes.input().summary(py) {
            Some(summary) => summary.stats(py),
            None => Ok(PyDict::new(py)),
        }
    }

    #[doc = include_str!("../docs/TableReader.read_all.txt")]
    fn read_all<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        // Not by the stream: pyarrow would call it without the interpreter's lock, from a call that has the lock.
        check_unread(&*self.changes, py)?;
        let schema = self.changes.schema(py)?.to_pyarrow(py)?;
        let batches = PyList::empty(py);
        while let Some(batch) = self.changes.next(py)? {
            batches.append(batch.to_pyarrow(py)?)?;
        }
        py.import("pyarrow")?.getattr("Table")?.call_method1("from_batches", (batches, schema))
    }

    /// Ends the read and its threads.
    fn close(&self, py: Python<'_>) {
        self.changes.input().close(py);
    }

    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        // Best effort by the interface's rules: the caller casts.
        let _ = requested_schema;
        check_unread(&*self.changes, py)?;
        let (schema, changes) = (self.changes.schema(py)?, Arc::clone(&self.changes));
        stream_capsule(py, schema, move |py| changes.next(py))
    }

    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        let schema: Arc<Schema> = self.changes.schema(py)?;
        schema_capsule(py, &schema)
    }

    fn __repr__(&self, py: Python<'_>) -> String {
        let input = self.changes.input();
        let state = if input.is_closed(py) { "closed, " } else { "" };
        let summary = input.summary(py).unwrap_or_default();
        format!("<TableReader of {}, {state}{summary}{}>", self.tables, at(self.position(py)))
    }

    fn _repr_html_<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        html_of(slf.as_any())
    }

    fn __iter__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    fn __next__<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        self.changes.next(py)?.map(|batch| batch.to_pyarrow(py)).transpose()
    }

    fn __enter__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    #[pyo3(signature = (*_exception))]
    fn __exit__(&self, py: Python<'_>, _exception: &Bound<'_, PyTuple>) {
        self.close(py);
    }
}
