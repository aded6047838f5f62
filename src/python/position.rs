//! `Position`: the place at which to continue reading.

use super::hooks::html_of;
use super::input::table_name;
use super::keywords::Patterns;
use crate::error::Error;
use crate::position::{GtidState, Position, PositionFields, TableLoad, file_number};
use pyo3::class::basic::CompareOp;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyNotImplemented, PyTuple, PyType};
use std::collections::BTreeSet;
use std::hash::{DefaultHasher, Hash, Hasher};

#[doc = include_str!("docs/Position.txt")]
#[pyclass(name = "Position", module = "binarrow", frozen, from_py_object)]
#[derive(Clone, PartialEq, Eq)]
pub(super) struct PyPosition(pub(super) Position);

#[pymethods]
impl PyPosition {
    #[new]
    fn new(file: &str, offset: u64) -> Result<Self, Error> {
        Position::parse(&format!("{file}:{offset}")).map(Self)
    }

    /// The server's name of the file, such as ``binlog.000042``.
    #[getter]
    fn file(&self) -> &str {
        &self.0.file
    }

    /// The byte offset of the next event in the file.
    #[getter]
    fn offset(&self) -> u64 {
        self.0.offset
    }

    /// The identity of the server: its ``server_uuid``, MariaDB's ``server_uid``, or else its ``server_id``. None for positions in files.
    #[getter]
    fn server(&self) -> Option<&str> {
        self.0.server.as_deref()
    }

    /// The GTIDs of all transactions before the base, as the server prints them; None if they are not known.
    #[getter]
    fn gtid_set(&self) -> Option<String> {
        self.0.gtid_set.as_ref().map(ToString::to_string)
    }

    /// The number at the end of the file's name: 42 for ``binlog.000042``. None if the name has no number.
    #[getter]
    fn file_number(&self) -> Option<u64> {
        file_number(&self.0.file)
    }

    #[doc = include_str!("docs/Position.file_created.txt")]
    #[getter]
    fn file_created(&self) -> Option<u32> {
        self.0.file_created
    }

    /// True if a reader must resume by GTID on the same server too, instead of at the file and offset.
    #[getter]
    fn by_gtid(&self) -> bool {
        self.0.by_gtid
    }

    #[doc = include_str!("docs/Position.version_shift.txt")]
    #[getter]
    fn version_shift(&self) -> u32 {
        self.0.version_shift
    }

    #[doc = include_str!("docs/Position.visible_to_select.txt")]
    #[getter]
    fn visible_to_select(&self) -> Option<bool> {
        self.0.visible
    }

    /// The position without ``ahead``. A reader that starts there returns the rows after it again.
    #[getter]
    fn base(&self) -> Self {
        Self(self.0.base())
    }

    /// The tables (``database.table``) that have changes delivered after the base, sorted.
    #[getter]
    fn ahead<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, tables_ahead(&self.0))
    }

    #[doc = include_str!("docs/Position.loading.txt")]
    #[getter]
    fn loading<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyTuple>>> {
        let tables = self.0.load.as_ref().map(|load| load.missing());
        tables.map(|tables| PyTuple::new(py, tables)).transpose()
    }

    #[doc = include_str!("docs/Position.with_load.txt")]
    #[pyo3(signature = (tables, *, r#where = None))]
    fn with_load(&self, tables: Patterns, r#where: Option<String>) -> Result<Self, Error> {
        let tables = tables.into_vec().into_iter().map(|name| {
            let (database, table) = table_name(&name)?;
            Ok(TableLoad { condition: r#where.clone(), ..TableLoad::new(database, table) })
        });
        self.0.with_load(tables.collect::<Result<_, Error>>()?).map(Self)
    }

    #[doc = include_str!("docs/Position.without_load.txt")]
    fn without_load(&self) -> Self {
        Self(self.0.without_load())
    }

    #[doc = include_str!("docs/Position.replace.txt")]
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

    #[doc = include_str!("docs/Position.after_gtids.txt")]
    #[staticmethod]
    fn after_gtids(gtid_set: &str) -> Result<Self, Error> {
        Ok(Self(Position::after_gtids(gtid_set.parse()?)))
    }

    /// Returns the position as canonical JSON, to be stored. Equal positions have equal texts.
    fn to_json(&self) -> Result<String, Error> {
        self.0.to_json()
    }

    #[doc = include_str!("docs/Position.from_json.txt")]
    #[staticmethod]
    fn from_json(text: &str) -> Result<Self, Error> {
        Position::from_json(text).map(Self)
    }

    fn __str__(&self) -> String {
        self.0.to_string()
    }

    fn __repr__(&self) -> String {
        let position = &self.0;
        if let Some(gtid_set) = position.gtids_alone() {
            return format!("<Position after GTID set {}>", shortened(gtid_set.to_string()));
        }
        let server = position.server.iter().map(|server| format!(", server {server}"));
        let gtids = position.gtid_set.iter().map(ToString::to_string).filter(|set| !set.is_empty());
        let gtids = gtids.map(|set| format!(", GTID set {}", shortened(set)));
        let names: Vec<_> = tables_ahead(position).into_iter().collect();
        let ahead = (!names.is_empty()).then(|| format!(", ahead: {}", names.join(", ")));
        let load = position.load.as_ref().map(|load| {
            format!(
                ", initial load: {} of {} tables missing",
                load.missing().len(),
                load.tables.len()
            )
        });
        let more: String = server.chain(gtids).chain(ahead.map(shortened)).chain(load).collect();
        match more.is_empty() {
            true => format!("Position({:?}, {})", position.file, position.offset),
            false => format!("<Position {}:{}{more}>", position.file, position.offset),
        }
    }

    fn _repr_html_<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        html_of(slf.as_any())
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

/// A position as the end of the representation of a reader; empty if it is not known.
pub(super) fn at(position: Option<PyPosition>) -> String {
    let position = position.map(|position| shortened(position.0.to_string()));
    position.map(|position| format!(", position {position}")).unwrap_or_default()
}

/// The tables that were delivered beyond the base.
fn tables_ahead(position: &Position) -> BTreeSet<String> {
    let tables = position.ahead.iter().flat_map(|ahead| &ahead.tables);
    tables.map(|(database, table)| format!("{database}.{table}")).collect()
}

/// The start of a text that may be long.
fn shortened(text: String) -> String {
    match text.char_indices().nth(MAX_SHOWN) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text,
    }
}

/// The maximum number of characters of a GTID set in the representation of a position.
const MAX_SHOWN: usize = 200;

fn gtid_set(value: &Bound<'_, PyAny>) -> PyResult<Option<GtidState>> {
    let text: Option<String> = value.extract()?;
    Ok(text.map(|text| text.parse()).transpose()?)
}
