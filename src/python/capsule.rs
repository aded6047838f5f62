//! The Arrow PyCapsule interface: arrays, schemas and streams for other libraries.
//!
//! <https://arrow.apache.org/docs/format/CDataInterface/PyCapsuleInterface.html>

use crate::error::{Error, ErrorKind};
use arrow_array::ffi::{FFI_ArrowArray, FFI_ArrowSchema};
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{Array, RecordBatch, RecordBatchReader, StructArray};
use arrow_schema::{ArrowError, Schema, SchemaRef};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyTuple};
use std::sync::Arc;

/// Returns the result of `__arrow_c_schema__`.
pub(super) fn schema_capsule<'py>(
    py: Python<'py>,
    schema: &Schema,
) -> PyResult<Bound<'py, PyCapsule>> {
    let schema = FFI_ArrowSchema::try_from(schema).map_err(internal)?;
    PyCapsule::new_with_value(py, schema, c"arrow_schema")
}

/// Returns the result of `__arrow_c_array__`: schema and array.
pub(super) fn array_capsules<'py>(
    py: Python<'py>,
    batch: &RecordBatch,
) -> PyResult<Bound<'py, PyTuple>> {
    let schema = schema_capsule(py, batch.schema_ref())?;
    let array = FFI_ArrowArray::new(&StructArray::from(batch.clone()).to_data());
    let array = PyCapsule::new_with_value(py, array, c"arrow_array")?;
    PyTuple::new(py, [schema, array])
}

/// Returns the result of `__arrow_c_stream__`. `next` returns the next batch, and `None` at the end.
pub(super) fn stream_capsule<'py>(
    py: Python<'py>,
    schema: SchemaRef,
    next: impl FnMut(Python<'_>) -> PyResult<Option<RecordBatch>> + Send + 'static,
) -> PyResult<Bound<'py, PyCapsule>> {
    let stream = FFI_ArrowArrayStream::new(Box::new(Stream { schema, next: Box::new(next) }));
    PyCapsule::new_with_value(py, stream, c"arrow_array_stream")
}

/// Returns the next batch.
type NextBatch = dyn FnMut(Python<'_>) -> PyResult<Option<RecordBatch>> + Send;

/// Batches as a C stream. Its caller may hold the interpreter's lock or not.
struct Stream {
    schema: SchemaRef,
    next: Box<NextBatch>,
}

impl Iterator for Stream {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        match Python::try_attach(|py| (self.next)(py)) {
            Some(Ok(batch)) => batch.map(Ok),
            Some(Err(error)) => Some(Err(ArrowError::ExternalError(Box::new(error)))),
            None => {
                let ends = Error::new(ErrorKind::Cancelled, "the interpreter ends");
                Some(Err(ArrowError::ExternalError(Box::new(ends))))
            }
        }
    }
}

impl RecordBatchReader for Stream {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }
}

fn internal(error: ArrowError) -> Error {
    Error::new(ErrorKind::Internal, error.to_string())
}
