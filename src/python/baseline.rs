//! Baselines from servers, taken over a separate connection.

use super::connection_spec::PyConnectionSpec;
use super::errors::warn;
use super::hooks::html_of;
use super::interrupts::cancellable;
use super::keywords::Patterns;
use super::position::PyPosition;
use super::table_schema::{PyTableSchema, Structure};
use crate::baseline::{Baseline, BaselineOptions};
use crate::cancel::CancelToken;
use crate::change::TableFilter;
use crate::error::Error;
use crate::net::random_id;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

#[doc = include_str!("docs/TableSchemas.txt")]
#[pyclass(name = "TableSchemas", module = "binarrow", frozen)]
pub(super) struct PyBaseline(Baseline);

#[pymethods]
impl PyBaseline {
    /// CREATE DATABASE, USE and CREATE TABLE statements, as SHOW CREATE TABLE prints them.
    #[getter]
    pub(super) fn script(&self) -> &str {
        &self.0.script
    }

    /// The position at which the tables have these structures.
    #[getter]
    fn position(&self) -> PyPosition {
        PyPosition(self.0.position.clone())
    }

    #[doc = include_str!("docs/TableSchemas.tables.txt")]
    #[getter]
    fn tables<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let catalog = self.0.given().catalog()?;
        let tables = catalog.tables().filter_map(|(database, table, _)| {
            let found = Structure::find(&catalog, database, table).map_err(PyErr::from);
            found.and_then(|found| found.map(|found| found.into_python(py)).transpose()).transpose()
        });
        PyTuple::new(py, tables.collect::<PyResult<Vec<_>>>()?)
    }

    #[doc = include_str!("docs/TableSchemas.find.txt")]
    fn find(&self, py: Python<'_>, database: &str, table: &str) -> PyResult<Option<PyTableSchema>> {
        let found = Structure::find(&self.0.given().catalog()?, database, table)?;
        found.map(|found| found.into_python(py)).transpose()
    }

    /// The server's variable of this name. 0 means that names are compared with letter case.
    #[getter]
    fn lower_case_table_names(&self) -> u8 {
        self.0.lower_case_table_names
    }

    fn __repr__(&self) -> PyResult<String> {
        let tables = self.0.given().catalog()?.tables().count();
        Ok(format!("<TableSchemas of {tables} tables at {}>", self.0.position))
    }

    fn _repr_html_<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        html_of(slf.as_any())
    }
}

/// Returns the schemas of the tables of the first server that answers.
#[pyfunction]
#[pyo3(signature = (spec, *, tables = None, exclude_tables = None))]
pub(super) fn read_schemas(
    py: Python<'_>,
    spec: &PyConnectionSpec,
    tables: Option<Patterns>,
    exclude_tables: Option<Patterns>,
) -> PyResult<PyBaseline> {
    take_baseline(py, spec, table_filter(tables, exclude_tables)?).map(PyBaseline)
}

/// Takes a baseline over a separate connection; warns about tables that it does not contain.
pub(super) fn take_baseline(
    py: Python<'_>,
    spec: &PyConnectionSpec,
    tables: TableFilter,
) -> PyResult<Baseline> {
    let mut server = spec.connect(py)?;
    let options = BaselineOptions { tables, server_id: random_id()? };
    let handle = server.connection().handle()?;
    let cancel = CancelToken::default();
    let _connected = cancel.on_cancel(move || handle.shutdown());
    let own = cancel.clone();
    let baseline = cancellable(py, &cancel, move || Baseline::take(&mut server, &options, &own))?;
    for message in baseline.lacks() {
        warn(py, &message)?;
    }
    Ok(baseline)
}

/// The tables of a baseline.
pub(super) fn table_filter(
    tables: Option<Patterns>,
    exclude_tables: Option<Patterns>,
) -> Result<TableFilter, Error> {
    let include = tables.map(Patterns::into_vec);
    if include.as_ref().is_some_and(Vec::is_empty) {
        return Err(Error::config("tables is empty: leave it out to read all tables"));
    }
    let exclude = exclude_tables.map(Patterns::into_vec).unwrap_or_default();
    TableFilter::try_new(&include.unwrap_or_default(), &exclude)
}
