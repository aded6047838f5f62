//! `PastRows`: changes and the rows of a table in, the rows that it had before the changes out.

use super::change_batch::PyChangeBatch;
use super::table_rows::PyTableRows;
use crate::error::{Error, ErrorKind, Result};
use crate::filter::Filter;
use crate::past::{KnownRows, PastRows, envelope};
use arrow_array::RecordBatch;
use arrow_pyarrow::{FromPyArrow, ToPyArrow};
use pyo3::prelude::*;
use std::sync::{Mutex, MutexGuard};

/// Finds the rows that a table had before changes; :func:`binarrow.rows_at` uses it.
#[pyclass(name = "PastRows", module = "binarrow._native", frozen)]
pub(super) struct PyPastRows(Mutex<PastRows>);

#[pymethods]
impl PyPastRows {
    #[new]
    #[pyo3(signature = (rows, *, r#where, columns))]
    fn new(
        rows: &Bound<'_, PyTableRows>,
        r#where: Option<&str>,
        columns: Option<Vec<String>>,
    ) -> PyResult<Self> {
        let filter = r#where.map(Filter::parse).transpose()?;
        let (plan, columns) = (rows.get().plan(), columns.as_deref());
        let past = PastRows::try_new(plan, KnownRows::Now, filter.as_ref(), columns)?;
        Ok(Self(Mutex::new(past)))
    }

    #[doc = include_str!("docs/PastRows.after.txt")]
    #[staticmethod]
    fn after(change: &Bound<'_, PyChangeBatch>) -> PyResult<Self> {
        let past = PastRows::try_new(&change.get().0.plan, KnownRows::Earlier, None, None)?;
        Ok(Self(Mutex::new(past)))
    }

    /// The schema of the rows that are returned.
    #[getter]
    fn schema<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.past()?.schema().to_pyarrow(py)
    }

    /// A condition in SQL of the rows that the table has now and that are needed; None for all.
    #[getter]
    fn condition(&self) -> PyResult<Option<String>> {
        Ok(self.past()?.condition().map(str::to_owned))
    }

    /// True if rows are identified by a key.
    #[getter]
    fn has_key(&self) -> PyResult<bool> {
        Ok(self.past()?.has_key())
    }

    /// The columns that are not returned because the log does not contain their values.
    #[getter]
    fn not_logged(&self) -> PyResult<Vec<String>> {
        Ok(self.past()?.not_logged().to_vec())
    }

    /// Adds changes: in the order of the log or, for an object from ``after``, in reverse order.
    fn add(&self, py: Python<'_>, batch: &Bound<'_, PyChangeBatch>) -> PyResult<()> {
        let change = &batch.get().0;
        Ok(py.detach(|| self.past()?.add(change))?)
    }

    /// Returns the rows that the table had, of a batch of its rows now. ``is_exact``: they contain the added changes and no others.
    #[pyo3(signature = (batch, *, is_exact))]
    fn unchanged<'py>(
        &self,
        py: Python<'py>,
        batch: &Bound<'py, PyAny>,
        is_exact: bool,
    ) -> PyResult<Bound<'py, PyAny>> {
        let batch = RecordBatch::from_pyarrow_bound(batch)?;
        let rows = py.detach(|| self.past()?.unchanged(&batch, is_exact))?;
        rows.to_pyarrow(py)
    }

    /// Returns the rows that the table had and has no more, after all rows that it has now.
    #[pyo3(signature = (*, is_exact))]
    fn changed<'py>(&self, py: Python<'py>, is_exact: bool) -> PyResult<Vec<Bound<'py, PyAny>>> {
        let batches = py.detach(|| self.past()?.changed(is_exact))?;
        batches.iter().map(|batch| batch.to_pyarrow(py)).collect()
    }

    /// Returns the columns of the envelope that the changes must have.
    #[staticmethod]
    fn envelope() -> Vec<&'static str> {
        envelope().iter().map(|column| column.name()).collect()
    }
}

impl PyPastRows {
    fn past(&self) -> Result<MutexGuard<'_, PastRows>> {
        self.0.lock().map_err(|_| Error::new(ErrorKind::Internal, "the rows have failed"))
    }
}
