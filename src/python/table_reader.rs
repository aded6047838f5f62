//! `TableReader`: one table's changes as an Arrow stream of one schema.

use super::capsule::{schema_capsule, stream_capsule};
use super::errors::warn;
use super::position::PyPosition;
use super::running::{Running, SIGNAL_CHECK, Source, drop_detached};
use super::summary::Summary;
use crate::columnar::{Conform, OnSchemaChange};
use crate::error::Error;
use crate::reader::{Poll, ReadOptions};
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
    /// A batch whose warning raised.
    ready: Option<RecordBatch>,
    /// Whether the end, or an error, has been met.
    consumed: bool,
}

impl PyTableReader {
    pub(super) fn start(
        py: Python<'_>,
        source: Source,
        options: ReadOptions,
        name: &str,
        schema: Option<SchemaRef>,
        on_change: OnSchemaChange,
    ) -> PyResult<Self> {
        let running = Running::start_table(py, source, options)?;
        let state = State {
            running: Some(Box::new(running)),
            summary: None,
            name: name.to_owned(),
            on_change,
            conform: schema.map(|schema| Conform::new(schema, on_change)),
            first: None,
            ready: None,
            consumed: false,
        };
        Ok(Self { shared: Arc::new(Shared(Mutex::new(state))) })
    }
}

impl Shared {
    fn state(&self, py: Python<'_>) -> MutexGuard<'_, State> {
        // A thread that panicked with it has left nothing half done that matters here.
        self.0.lock_py_attached(py).unwrap_or_else(PoisonError::into_inner)
    }

    /// The schema of all batches: the caller's, else the first batch's. `None` where nothing tells.
    fn known_schema(&self, py: Python<'_>) -> PyResult<Option<SchemaRef>> {
        if let Some(conform) = &self.state(py).conform {
            return Ok(Some(Arc::clone(conform.schema())));
        }
        let Some(batch) = self.pull(py)? else { return Ok(None) };
        let mut state = self.state(py);
        let schema = batch.schema();
        state.conform = Some(Conform::new(Arc::clone(&schema), state.on_change));
        state.first = Some(batch);
        Ok(Some(schema))
    }

    fn schema(&self, py: Python<'_>) -> PyResult<SchemaRef> {
        self.known_schema(py)?.ok_or_else(|| {
            let name = &self.state(py).name;
            let message = format!(
                "no change of table {name} in the input, so its schema is not known: give one with schema="
            );
            Error::schema(message).into()
        })
    }

    /// An error where all was read before: an empty table would look like one without changes.
    fn check_unread(&self, py: Python<'_>) -> PyResult<()> {
        let state = self.state(py);
        match state.consumed && state.first.is_none() && state.ready.is_none() {
            true => Err(Error::config("the table has been read already: make a new reader").into()),
            false => Ok(()),
        }
    }

    fn next(&self, py: Python<'_>) -> PyResult<Option<RecordBatch>> {
        if self.known_schema(py)?.is_none() {
            return Ok(None);
        }
        let (ready, first) = {
            let mut state = self.state(py);
            (state.ready.take(), state.first.take())
        };
        if ready.is_some() {
            return Ok(ready);
        }
        let batch = match first {
            Some(batch) => Some(batch),
            None => self.pull(py)?,
        };
        let Some(batch) = batch else { return Ok(None) };
        let (conformed, warning) = self.state(py).conformed(batch)?;
        if let Some(message) = warning
            && let Err(raised) = warn(py, &message)
        {
            self.state(py).ready = Some(conformed);
            return Err(raised);
        }
        Ok(Some(conformed))
    }

    fn pull(&self, py: Python<'_>) -> PyResult<Option<RecordBatch>> {
        loop {
            let step = match &mut self.state(py).running {
                Some(running) => running.step(py, SIGNAL_CHECK),
                None => return Err(Error::config("the reader is closed").into()),
            };
            let keep = |polled| {
                if let Some(running) = &mut self.state(py).running {
                    running.keep(polled);
                }
            };
            let is_failure = step.is_failure();
            let settled = step.settle(py, keep);
            if is_failure || matches!(settled, Ok(Poll::End)) {
                self.state(py).consumed = true;
            }
            match settled? {
                Poll::Batch(change) => return Ok(Some(change.batch)),
                Poll::End => return Ok(None),
                // Nothing else is included: the reader has seen to it.
                Poll::Pending | Poll::Item(_) => {}
            }
        }
    }
}

impl State {
    /// The batch under the wanted schema, and what the caller is to be told.
    fn conformed(&mut self, batch: RecordBatch) -> PyResult<(RecordBatch, Option<String>)> {
        let name = &self.name;
        let Some(conform) = &mut self.conform else { return Ok((batch, None)) };
        let conformed =
            conform.apply(&batch).map_err(|error| error.context(format_args!("table {name}")))?;
        let dropped = conform.take_dropped();
        let warning = match dropped.as_slice() {
            [] => None,
            [column] => {
                Some(format!("the column {column} is not in the wanted schema and is dropped"))
            }
            columns => {
                let names = columns.join(", ");
                Some(format!("the columns {names} are not in the wanted schema and are dropped"))
            }
        };
        Ok((conformed, warning.map(|what| format!("table {name}: {what}"))))
    }

    fn summary(&self) -> Option<Summary> {
        self.running.as_ref().map(|running| running.summary()).or_else(|| self.summary.clone())
    }
}

#[pymethods]
impl PyTableReader {
    #[getter]
    fn schema<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.shared.schema(py)?.to_pyarrow(py)
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
        self.shared.check_unread(py)?;
        let schema = self.shared.schema(py)?.to_pyarrow(py)?;
        let batches = PyList::empty(py);
        while let Some(batch) = self.shared.next(py)? {
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
        self.shared.check_unread(py)?;
        let schema = self.shared.schema(py)?;
        stream_capsule(py, Box::new(Stream { shared: Arc::clone(&self.shared), schema }))
    }

    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        let schema: Arc<Schema> = self.shared.schema(py)?;
        schema_capsule(py, &schema)
    }

    fn __iter__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    fn __next__<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        self.shared.next(py)?.map(|batch| batch.to_pyarrow(py)).transpose()
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
        let next = Python::try_attach(|py| self.shared.next(py));
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
