//! `Key`: a key of a table.

use super::{NewArguments, shown, word};
use crate::error::{Error, Result};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

#[doc = include_str!("../docs/Key.txt")]
#[pyclass(name = "Key", module = "binarrow", frozen, eq, hash)]
#[derive(PartialEq, Eq, Hash)]
pub(in crate::python) struct PyKey {
    /// The name, ``PRIMARY`` for the primary key; None if the statement in ``schemas`` contains none.
    #[pyo3(get)]
    pub(super) name: Option<String>,
    /// ``primary``, ``unique``, or ``index`` for any other key.
    #[pyo3(get)]
    pub(super) kind: &'static str,
    pub(super) columns: Vec<String>,
    pub(super) prefixes: Vec<u32>,
    #[doc = include_str!("../docs/Key.identifies_rows.txt")]
    #[pyo3(get)]
    pub(super) identifies_rows: bool,
    /// False for an INVISIBLE (MariaDB: IGNORED) key, which queries do not use.
    #[pyo3(get)]
    pub(super) visible: bool,
}

#[pymethods]
impl PyKey {
    #[new]
    #[pyo3(
        signature = (name, kind, columns, *, prefixes=None, identifies_rows=false, visible=true),
        text_signature = "(name, kind, columns, *, prefixes=None, identifies_rows=False, visible=True)"
    )]
    fn new(
        name: Option<String>,
        kind: &str,
        columns: Vec<String>,
        prefixes: Option<Vec<u32>>,
        identifies_rows: bool,
        visible: bool,
    ) -> Result<Self> {
        let prefixes = prefixes.unwrap_or_else(|| vec![0; columns.len()]);
        if prefixes.len() != columns.len() {
            return Err(Error::config("prefixes must have one number for each column of the key"));
        }
        let kind = word(&KINDS, kind, "kind")?;
        Ok(Self { name, kind, columns, prefixes, identifies_rows, visible })
    }

    /// The columns in key order, without expressions.
    #[getter]
    pub(super) fn columns<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, &self.columns)
    }

    /// For each column, the length in characters of the prefix in the key; 0 if the key contains the complete value.
    #[getter]
    fn prefixes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, &self.prefixes)
    }

    /// Returns the arguments of the constructor.
    pub(super) fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let fields = PyDict::new(py);
        fields.set_item("name", &self.name)?;
        fields.set_item("kind", self.kind)?;
        fields.set_item("columns", self.columns(py)?)?;
        fields.set_item("prefixes", self.prefixes(py)?)?;
        fields.set_item("identifies_rows", self.identifies_rows)?;
        fields.set_item("visible", self.visible)?;
        Ok(fields)
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        shown("Key", &self.to_dict(py)?)
    }

    fn __getnewargs_ex__<'py>(&self, py: Python<'py>) -> PyResult<NewArguments<'py>> {
        Ok((PyTuple::empty(py), self.to_dict(py)?))
    }
}

const KINDS: [&str; 3] = ["primary", "unique", "index"];
