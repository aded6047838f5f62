//! `ChangeBatch`: changes of one table.

use super::capsule::{array_capsules, schema_capsule};
use super::events;
use super::hooks::html_of;
use super::position::PyPosition;
use super::table_schema::{PyTableSchema, Structure};
use crate::export::{EventOptions, write_events};
use crate::reader::ChangeBatch;
use arrow_pyarrow::ToPyArrow;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyCapsule, PyTuple};
use std::borrow::Cow;
use std::time::SystemTime;

#[doc = include_str!("docs/ChangeBatch.txt")]
#[pyclass(name = "ChangeBatch", module = "binarrow", frozen)]
pub(super) struct PyChangeBatch(pub(super) ChangeBatch);

#[pymethods]
impl PyChangeBatch {
    /// The database of the table.
    #[getter]
    fn database(&self) -> &str {
        &self.0.database
    }

    /// The name of the table, without the database.
    #[getter]
    fn table(&self) -> &str {
        &self.0.table
    }

    /// The number of rows. An update may be two rows.
    #[getter]
    fn num_rows(&self) -> usize {
        self.0.batch.num_rows()
    }

    #[doc = include_str!("docs/ChangeBatch.position.txt")]
    #[getter]
    fn position(&self) -> PyPosition {
        PyPosition(self.0.position())
    }

    #[doc = include_str!("docs/ChangeBatch.schema.txt")]
    #[getter]
    fn schema<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.0.batch.schema().to_pyarrow(py)
    }

    #[doc = include_str!("docs/ChangeBatch.table_schema.txt")]
    #[getter]
    fn table_schema(&self, py: Python<'_>) -> PyResult<PyTableSchema> {
        let plan = &self.0.plan;
        let read = Structure {
            table: Cow::Borrowed(&plan.table),
            is_mariadb: plan.is_mariadb(),
            create_statement: None,
        };
        read.into_python(py)
    }

    /// Returns the rows as a ``pyarrow.RecordBatch``, without a copy.
    fn to_pyarrow<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.0.batch.to_pyarrow(py)
    }

    #[doc = include_str!("docs/ChangeBatch.to_events.txt")]
    #[pyo3(signature = (event_format, *, source_name="binarrow", processed_ms=None))]
    fn to_events<'py>(
        &self,
        py: Python<'py>,
        event_format: &str,
        source_name: &str,
        processed_ms: Option<i64>,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let now = || SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default().as_millis() as i64;
        let options = EventOptions {
            format: events::parse(event_format)?,
            source_name,
            processed_ms: processed_ms.unwrap_or_else(now),
        };
        let lines = py.detach(|| -> crate::Result<Vec<u8>> {
            let mut out = Vec::new();
            write_events(&self.0, &options, &mut out)?;
            Ok(out)
        })?;
        Ok(PyBytes::new(py, &lines))
    }

    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_array__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyTuple>> {
        // Best effort by the interface's rules: the caller casts.
        let _ = requested_schema;
        array_capsules(py, &self.0.batch)
    }

    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        schema_capsule(py, self.0.batch.schema_ref())
    }

    fn __len__(&self) -> usize {
        self.num_rows()
    }

    fn __repr__(&self) -> String {
        let change = &self.0;
        format!(
            "<ChangeBatch {}.{}, {} rows, {} columns, position {}>",
            change.database,
            change.table,
            change.batch.num_rows(),
            change.batch.num_columns(),
            change.progress.base()
        )
    }

    fn _repr_html_<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        html_of(slf.as_any())
    }
}
