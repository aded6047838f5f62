//! The Arrow PyCapsule interface: arrays, schemas and streams for other libraries.
//!
//! <https://arrow.apache.org/docs/format/CDataInterface/PyCapsuleInterface.html>

use crate::error::{Error, ErrorKind};
use arrow_array::ffi::{FFI_ArrowArray, FFI_ArrowSchema};
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{Array, RecordBatch, RecordBatchReader, StructArray};
use arrow_schema::{ArrowError, Schema};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyTuple};

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

/// Returns the result of `__arrow_c_stream__`.
pub(super) fn stream_capsule<'py>(
    py: Python<'py>,
    reader: Box<dyn RecordBatchReader + Send>,
) -> PyResult<Bound<'py, PyCapsule>> {
    PyCapsule::new_with_value(py, FFI_ArrowArrayStream::new(reader), c"arrow_array_stream")
}

fn internal(error: ArrowError) -> Error {
    Error::new(ErrorKind::Internal, error.to_string())
}
