//! `hash_rows`: the hashes of rows, as in the certificate of an initial load.

use crate::error::Result;
use crate::load::hash_rows as hash;
use arrow_array::{Array, RecordBatch};
use arrow_pyarrow::FromPyArrow;
use pyo3::prelude::*;

/// Returns the hash of each row of a batch, as in the certificate of an initial load.
#[pyfunction]
pub(super) fn hash_rows(py: Python<'_>, batch: &Bound<'_, PyAny>) -> PyResult<Vec<u128>> {
    let batch = RecordBatch::from_pyarrow_bound(batch)?;
    let hashes: Result<_> = py.detach(|| {
        let mut hashes = Vec::with_capacity(batch.num_rows());
        let columns = batch.columns().iter().map(|column| column.as_ref() as &dyn Array);
        hash(columns, |hash| hashes.push(hash))?;
        Ok(hashes)
    });
    Ok(hashes?)
}
