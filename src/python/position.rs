//! `Position`: where to read next.

use crate::error::Error;
use crate::position::Position;
use pyo3::prelude::*;
use pyo3::types::{PyTuple, PyType};
use std::collections::BTreeSet;
use std::hash::{DefaultHasher, Hash, Hasher};

/// Where to read next: a file and a byte offset at a transaction's end.
#[pyclass(name = "Position", module = "binarrow", frozen, from_py_object)]
#[derive(Clone, PartialEq, Eq)]
pub(super) struct PyPosition(pub(super) Position);

#[pymethods]
impl PyPosition {
    #[new]
    fn new(file: &str, offset: u64) -> Result<Self, Error> {
        Position::parse(&format!("{file}:{offset}")).map(Self)
    }

    #[getter]
    fn file(&self) -> &str {
        &self.0.file
    }

    #[getter]
    fn offset(&self) -> u64 {
        self.0.offset
    }

    #[getter]
    fn server(&self) -> Option<&str> {
        self.0.server.as_deref()
    }

    #[getter]
    fn gtid_set(&self) -> Option<String> {
        self.0.gtid_set.as_ref().map(ToString::to_string)
    }

    #[getter]
    fn begun(&self) -> Option<u32> {
        self.0.begun
    }

    #[getter]
    fn version_shift(&self) -> u32 {
        self.0.version_shift
    }

    #[getter]
    fn visible_to_select(&self) -> Option<bool> {
        self.0.visible
    }

    /// The position without `ahead`.
    #[getter]
    fn base(&self) -> Self {
        Self(self.0.base())
    }

    /// The tables that were delivered beyond the base.
    #[getter]
    fn ahead<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let tables = self.0.ahead.iter().flat_map(|ahead| &ahead.tables);
        let names: BTreeSet<_> =
            tables.map(|(database, table)| format!("{database}.{table}")).collect();
        PyTuple::new(py, names)
    }

    fn to_json(&self) -> Result<String, Error> {
        self.0.to_json()
    }

    #[staticmethod]
    fn from_json(text: &str) -> Result<Self, Error> {
        Position::from_json(text).map(Self)
    }

    fn __str__(&self) -> String {
        self.0.to_string()
    }

    fn __repr__(&self) -> String {
        match self.0.gtids_alone() {
            Some(gtid_set) => format!("<Position after GTID set {gtid_set}>"),
            None => format!("Position({:?}, {})", self.0.file, self.0.offset),
        }
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        other.cast::<Self>().is_ok_and(|other| other.get().0 == self.0)
    }

    fn __hash__(&self) -> Result<u64, Error> {
        let mut hasher = DefaultHasher::new();
        // Of equal positions one may know when its file was begun.
        Position { begun: None, ..self.0.clone() }.to_json()?.hash(&mut hasher);
        Ok(hasher.finish())
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let class: Bound<'py, PyType> = py.get_type::<Self>();
        let arguments = PyTuple::new(py, [self.0.to_json()?])?;
        (class.getattr("from_json")?, arguments).into_pyobject(py)
    }
}
