//! `TableReader`: one table's changes as an Arrow stream of one schema.

use super::capsule::{schema_capsule, stream_capsule};
use super::errors::warn;
use super::position::PyPosition;
use super::reader::{Running, Summary, drop_detached};
use crate::columnar::{Conform, OnSchemaChange};
use crate::error::Error;
use crate::reader::ReadOptions;
use crate::source::InputFile;
use arrow_array::{RecordBatch, RecordBatchReader};
use arrow_pyarrow::ToPyArrow;
use arrow_schema::{ArrowError, Schema, SchemaRef};
use pyo3::prelude::*;
use pyo3::sync::MutexExt;
use pyo3::types::{PyCapsule, PyDict, PyList, PyTuple};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// One table's changes as an Arrow stream of one schema.
#[pyclass(name = "TableReader", module = "binarrow", frozen)]
pub(super) struct PyTableReader {
    shared: Arc<Shared>,
}

/// What the reader and the streams made from it have in common.
struct Shared(Mutex<State>);

struct State {
    running: Option<Box<Running>>,
    summary: Option<Summary>,
    name: String,
    on_change: OnSchemaChange,
    conform: Option<Conform>,
    /// The batch that the schema was taken from.
    first: Option<RecordBatch>,
    started: bool,
}

impl PyTableReader {
    pub(super) fn start(
        files: Vec<InputFile>,
        options: ReadOptions,
        name: &str,
        schema: Option<SchemaRef>,
        on_change: OnSchemaChange,
    ) -> PyResult<Self> {
        let running = Running::start_table(files, options)?;
        let state = State {
            running: Some(Box::new(running)),
            summary: None,
            name: name.to_owned(),
            on_change,
            conform: schema.map(|schema| Conform::new(schema, on_change)),
            first: None,
            started: false,
        };
        Ok(Self { shared: Arc::new(Shared(Mutex::new(state))) })
    }
}

impl Shared {
    fn state(&self, py: Python<'_>) -> MutexGuard<'_, State> {
        // A thread that panicked with it has left nothing half done that matters here.
        self.0.lock_py_attached(py).unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// The schema of all batches: the caller's, else the first batch's.
    fn schema(&mut self, py: Python<'_>) -> PyResult<SchemaRef> {
        if let Some(conform) = &self.conform {
            return Ok(Arc::clone(conform.schema()));
        }
        let Some(batch) = self.pull(py)? else {
            let message = format!(
                "no change of table {} in the input, so its schema is not known: give one with schema=",
                self.name
            );
            return Err(Error::schema(message).into());
        };
        let schema = batch.schema();
        self.conform = Some(Conform::new(Arc::clone(&schema), self.on_change));
        self.first = Some(batch);
        Ok(schema)
    }

    fn next(&mut self, py: Python<'_>) -> PyResult<Option<RecordBatch>> {
        if self.conform.is_none() && !self.started {
            self.schema(py)?;
        }
        let batch = match self.first.take() {
            Some(batch) => Some(batch),
            None => self.pull(py)?,
        };
        let Some(batch) = batch else { return Ok(None) };
        let Some(conform) = &mut self.conform else { return Ok(Some(batch)) };
        let name = &self.name;
        let conformed =
            conform.apply(&batch).map_err(|error| error.context(format_args!("table {name}")))?;
        for column in conform.take_dropped() {
            let message = format!(
                "table {name}: the column {column} is not in the wanted schema and is dropped"
            );
            warn(py, &message)?;
        }
        Ok(Some(conformed))
    }

    fn pull(&mut self, py: Python<'_>) -> PyResult<Option<RecordBatch>> {
        self.started = true;
        match &mut self.running {
            Some(running) => Ok(running.next(py)?.map(|change| change.batch)),
            None => Err(Error::config("the reader is closed").into()),
        }
    }

    fn summary(&self) -> Option<Summary> {
        self.running.as_ref().map(|running| running.summary()).or_else(|| self.summary.clone())
    }
}

#[pymethods]
impl PyTableReader {
    #[getter]
    fn schema<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let schema = self.shared.state(py).schema(py)?;
        schema.to_pyarrow(py)
    }

    #[getter]
    fn position(&self, py: Python<'_>) -> Option<PyPosition> {
        self.shared.state(py).summary().and_then(|summary| summary.position())
    }

    #[getter]
    fn closed(&self, py: Python<'_>) -> bool {
        self.shared.state(py).running.is_none()
    }

    fn stats<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        match self.shared.state(py).summary() {
            Some(summary) => summary.stats(py),
            None => Ok(PyDict::new(py)),
        }
    }

    /// Not by way of the stream: pyarrow would call it without the interpreter's lock from a call that has it.
    fn read_all<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let mut state = self.shared.state(py);
        let schema = state.schema(py)?.to_pyarrow(py)?;
        let batches = PyList::empty(py);
        while let Some(batch) = state.next(py)? {
            batches.append(batch.to_pyarrow(py)?)?;
        }
        py.import("pyarrow")?.getattr("Table")?.call_method1("from_batches", (batches, schema))
    }

    fn close(&self, py: Python<'_>) {
        let mut state = self.shared.state(py);
        state.summary = state.summary();
        let running = state.running.take();
        // Its threads may wait for the interpreter's lock.
        py.detach(|| drop(running));
    }

    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        // Best effort by the interface's rules: the caller casts.
        let _ = requested_schema;
        let schema = self.shared.state(py).schema(py)?;
        stream_capsule(py, Box::new(Stream { shared: Arc::clone(&self.shared), schema }))
    }

    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        let schema: Arc<Schema> = self.shared.state(py).schema(py)?;
        schema_capsule(py, &schema)
    }

    fn __iter__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    fn __next__<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let mut state = self.shared.state(py);
        // A table without changes is an empty iteration; only its schema cannot be told.
        if state.conform.is_none() && !state.started {
            let Some(batch) = state.pull(py)? else { return Ok(None) };
            state.conform = Some(Conform::new(batch.schema(), state.on_change));
            state.first = Some(batch);
        }
        state.next(py)?.map(|batch| batch.to_pyarrow(py)).transpose()
    }

    fn __enter__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    #[pyo3(signature = (*_exception))]
    fn __exit__(&self, py: Python<'_>, _exception: &Bound<'_, PyTuple>) {
        self.close(py);
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        let state = self.0.get_mut().unwrap_or_else(PoisonError::into_inner);
        if let Some(running) = state.running.take() {
            drop_detached(running);
        }
    }
}

/// The C stream's side of the reader. Its caller may hold the interpreter's lock or not.
struct Stream {
    shared: Arc<Shared>,
    schema: SchemaRef,
}

impl Iterator for Stream {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        let next = Python::try_attach(|py| self.shared.state(py).next(py));
        match next {
            Some(Ok(batch)) => batch.map(Ok),
            Some(Err(error)) => Some(Err(ArrowError::ExternalError(Box::new(error)))),
            None => None,
        }
    }
}

impl RecordBatchReader for Stream {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }
}
