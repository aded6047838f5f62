//! `TableSchema`: the structure of a table.

use super::column::PyColumn;
use super::key::PyKey;
use super::{NewArguments, shown};
use crate::error::{Error, Result};
use crate::python::hooks::html_of;
use crate::schema::quoted_name;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use std::hash::{Hash, Hasher};

#[doc = include_str!("../docs/TableSchema.txt")]
#[pyclass(name = "TableSchema", module = "binarrow", frozen, eq, hash)]
pub(in crate::python) struct PyTableSchema {
    /// The database of the table.
    #[pyo3(get)]
    pub(super) database: String,
    /// The name of the table, without the database.
    #[pyo3(get)]
    pub(super) table: String,
    pub(super) columns: Vec<Py<PyColumn>>,
    pub(super) keys: Vec<Py<PyKey>>,
    /// The comment; empty if there is none.
    #[pyo3(get)]
    pub(super) comment: Option<String>,
    #[doc = include_str!("../docs/TableSchema.create_statement.txt")]
    #[pyo3(get)]
    pub(super) create_statement: Option<String>,
}

impl PartialEq for PyTableSchema {
    /// Does not compare the statements: servers write one otherwise than a history.
    fn eq(&self, other: &Self) -> bool {
        self.database == other.database
            && self.table == other.table
            && self.columns.iter().map(Py::get).eq(other.columns.iter().map(Py::get))
            && self.keys.iter().map(Py::get).eq(other.keys.iter().map(Py::get))
            && self.comment == other.comment
    }
}

impl Hash for PyTableSchema {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (&self.database, &self.table, &self.comment).hash(state);
        self.columns.iter().for_each(|column| column.get().hash(state));
        self.keys.iter().for_each(|key| key.get().hash(state));
    }
}

#[pymethods]
impl PyTableSchema {
    #[new]
    #[pyo3(
        signature = (database, table, columns, keys=Vec::new(), *, comment=Some(String::new()), create_statement=None),
        text_signature = "(database, table, columns, keys=(), *, comment='', create_statement=None)"
    )]
    fn new(
        database: String,
        table: String,
        columns: Vec<Py<PyColumn>>,
        keys: Vec<Py<PyKey>>,
        comment: Option<String>,
        create_statement: Option<String>,
    ) -> Self {
        Self { database, table, columns, keys, comment, create_statement }
    }

    /// The columns in table order.
    #[getter]
    fn columns<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, &self.columns)
    }

    /// The primary key, then the unique keys, then the others, in the server's order.
    #[getter]
    fn keys<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, &self.keys)
    }

    /// The columns of the primary key, in key order; empty if there is none.
    #[getter]
    fn primary_key<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        self.columns_of(py, |key| key.kind == "primary")
    }

    /// The primary key and the unique keys, in the server's order.
    #[getter]
    fn unique_keys<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let unique = self.keys.iter().filter(|key| key.get().kind != "index");
        PyTuple::new(py, unique.collect::<Vec<_>>())
    }

    #[doc = include_str!("../docs/TableSchema.row_key.txt")]
    #[getter]
    fn row_key<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        self.columns_of(py, |key| key.identifies_rows)
    }

    /// Returns the arguments of the constructor; columns and keys are dicts too.
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let columns = self.columns.iter().map(|column| column.get().to_dict(py));
        let keys = self.keys.iter().map(|key| key.get().to_dict(py));
        let (columns, keys) =
            (columns.collect::<PyResult<Vec<_>>>()?, keys.collect::<PyResult<Vec<_>>>()?);
        let fields = self.fields(py)?;
        fields.set_item("columns", columns)?;
        fields.set_item("keys", keys)?;
        Ok(fields)
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let fields = self.fields(py)?;
        fields.del_item("create_statement")?;
        shown("TableSchema", &fields)
    }

    fn _repr_html_<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        html_of(slf.as_any())
    }

    fn __getnewargs_ex__<'py>(&self, py: Python<'py>) -> PyResult<NewArguments<'py>> {
        Ok((PyTuple::empty(py), self.fields(py)?))
    }
}

impl PyTableSchema {
    /// The statement, as SQL text that contains the database too.
    pub(in crate::python) fn script(&self) -> Result<String> {
        let statement = self.create_statement.as_deref().ok_or_else(|| {
            Error::config(format!(
                "the schema of {}.{} was read from the log, and has no CREATE TABLE statement: take it from \
                 server.describe(), server.schemas() or a history",
                self.database, self.table
            ))
        })?;
        Ok(format!("USE {};\n{statement};\n", quoted_name(&self.database)))
    }

    fn fields<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let fields = PyDict::new(py);
        fields.set_item("database", &self.database)?;
        fields.set_item("table", &self.table)?;
        fields.set_item("columns", self.columns(py)?)?;
        fields.set_item("keys", self.keys(py)?)?;
        fields.set_item("comment", &self.comment)?;
        fields.set_item("create_statement", &self.create_statement)?;
        Ok(fields)
    }

    /// The columns of the first key that `is_wanted`.
    fn columns_of<'py>(
        &self,
        py: Python<'py>,
        is_wanted: impl Fn(&PyKey) -> bool,
    ) -> PyResult<Bound<'py, PyTuple>> {
        match self.keys.iter().map(Py::get).find(|key| is_wanted(key)) {
            Some(key) => key.columns(py),
            None => Ok(PyTuple::empty(py)),
        }
    }
}
