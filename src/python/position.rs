//! `Position`: where to read next.

use crate::error::Error;
use crate::position::{GtidState, Position, PositionFields, file_number};
use pyo3::class::basic::CompareOp;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyNotImplemented, PyTuple, PyType};
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
    fn file_number(&self) -> Option<u64> {
        file_number(&self.0.file)
    }

    #[getter]
    fn file_created(&self) -> Option<u32> {
        self.0.file_created
    }

    #[getter]
    fn by_gtid(&self) -> bool {
        self.0.by_gtid
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

    #[pyo3(signature = (**fields), text_signature = None)]
    fn replace(&self, fields: Option<&Bound<'_, PyDict>>) -> PyResult<Self> {
        let mut new = PositionFields::default();
        for (name, value) in fields.into_iter().flatten() {
            match name.extract::<String>()?.as_str() {
                "server" => new.server = Some(value.extract()?),
                "file" => new.file = Some(value.extract()?),
                "offset" => new.offset = Some(value.extract()?),
                "file_created" => new.file_created = Some(value.extract()?),
                "gtid_set" => new.gtid_set = Some(gtid_set(&value)?),
                "by_gtid" => new.by_gtid = Some(value.extract()?),
                "version_shift" => new.version_shift = Some(value.extract()?),
                other => {
                    let message = format!("replace() got an unexpected keyword argument '{other}'");
                    return Err(PyTypeError::new_err(message));
                }
            }
        }
        Ok(Self(self.0.replace(new)?))
    }

    #[staticmethod]
    fn after_gtids(gtid_set: &str) -> Result<Self, Error> {
        Ok(Self(Position::after_gtids(gtid_set.parse()?)))
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

    fn __richcmp__<'py>(
        &self,
        py: Python<'py>,
        other: &Bound<'py, PyAny>,
        operator: CompareOp,
    ) -> PyResult<Bound<'py, PyAny>> {
        let Ok(other) = other.cast::<Self>() else {
            return Ok(PyNotImplemented::get(py).to_owned().into_any());
        };
        let other = &other.get().0;
        let result = match operator {
            CompareOp::Eq => self.0 == *other,
            CompareOp::Ne => self.0 != *other,
            operator => operator.matches(self.0.order(other)?),
        };
        Ok(PyBool::new(py, result).to_owned().into_any())
    }

    fn __hash__(&self) -> Result<u64, Error> {
        let mut hasher = DefaultHasher::new();
        // It is not compared.
        Position { file_created: None, ..self.0.clone() }.to_json()?.hash(&mut hasher);
        Ok(hasher.finish())
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let class: Bound<'py, PyType> = py.get_type::<Self>();
        let arguments = PyTuple::new(py, [self.0.to_json()?])?;
        (class.getattr("from_json")?, arguments).into_pyobject(py)
    }
}

fn gtid_set(value: &Bound<'_, PyAny>) -> PyResult<Option<GtidState>> {
    let text: Option<String> = value.extract()?;
    Ok(text.map(|text| text.parse()).transpose()?)
}
