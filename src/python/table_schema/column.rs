//! `Column`: a column of a table.

use super::{NewArguments, shown, word};
use crate::error::Result;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use std::hash::{Hash, Hasher};

#[doc = include_str!("../docs/Column.txt")]
#[pyclass(name = "Column", module = "binarrow", frozen, eq, hash)]
#[derive(PartialEq, Eq, Hash)]
pub(in crate::python) struct PyColumn {
    /// The name; ``@1``, ``@2``, ... by place if the log contains no names.
    #[pyo3(get)]
    pub(super) name: String,
    #[doc = include_str!("../docs/Column.type.txt")]
    #[pyo3(get, name = "type")]
    pub(super) sql_type: String,
    /// True if the column may be NULL.
    #[pyo3(get)]
    pub(super) nullable: bool,
    /// True for UNSIGNED numbers.
    #[pyo3(get)]
    pub(super) unsigned: Option<bool>,
    /// The character set; None if the column is not text.
    #[pyo3(get)]
    pub(super) charset: Option<String>,
    /// The collation; None if the column is not text.
    #[pyo3(get)]
    pub(super) collation: Option<String>,
    pub(super) members: Option<Vec<String>>,
    /// False for an INVISIBLE column, which ``SELECT *`` does not return.
    #[pyo3(get)]
    pub(super) visible: Option<bool>,
    /// The kind of a generated column; None for other columns.
    #[pyo3(get)]
    pub(super) generated: Option<&'static str>,
    pub(super) default: DefaultText,
    /// True for AUTO_INCREMENT.
    #[pyo3(get)]
    pub(super) auto_increment: Option<bool>,
    /// ``CURRENT_TIMESTAMP`` or ``CURRENT_TIMESTAMP(n)`` if an UPDATE sets the column to the time; otherwise None.
    #[pyo3(get)]
    pub(super) on_update: Option<String>,
    /// The comment; empty if there is none.
    #[pyo3(get)]
    pub(super) comment: Option<String>,
}

/// The text after DEFAULT. Only its presence is compared: servers write a value otherwise than the statement in the log.
pub(super) struct DefaultText(pub(super) Option<String>);

impl PartialEq for DefaultText {
    fn eq(&self, other: &Self) -> bool {
        self.0.is_some() == other.0.is_some()
    }
}

impl Eq for DefaultText {}

impl Hash for DefaultText {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.is_some().hash(state);
    }
}

#[pymethods]
impl PyColumn {
    #[new]
    #[pyo3(
        signature = (name, r#type, *, nullable, unsigned=Some(false), charset=None, collation=None, members=Some(Vec::new()),
            visible=Some(true), generated=None, default=None, auto_increment=Some(false), on_update=None,
            comment=Some(String::new())),
        text_signature = "(name, type, *, nullable, unsigned=False, charset=None, collation=None, members=(), visible=True, \
                          generated=None, default=None, auto_increment=False, on_update=None, comment='')"
    )]
    #[allow(clippy::too_many_arguments)] // keywords
    fn new(
        name: String,
        r#type: String,
        nullable: bool,
        unsigned: Option<bool>,
        charset: Option<String>,
        collation: Option<String>,
        members: Option<Vec<String>>,
        visible: Option<bool>,
        generated: Option<&str>,
        default: Option<String>,
        auto_increment: Option<bool>,
        on_update: Option<String>,
        comment: Option<String>,
    ) -> Result<Self> {
        Ok(Self {
            name,
            sql_type: r#type,
            nullable,
            unsigned,
            charset,
            collation,
            members,
            visible,
            generated: generated.map(|kind| word(&GENERATED, kind, "generated")).transpose()?,
            default: DefaultText(default),
            auto_increment,
            on_update,
            comment,
        })
    }

    /// The members of an ENUM or SET; empty for other columns.
    #[getter]
    fn members<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyTuple>>> {
        self.members.as_ref().map(|members| PyTuple::new(py, members)).transpose()
    }

    #[doc = include_str!("../docs/Column.default.txt")]
    #[getter]
    fn default(&self) -> Option<&str> {
        self.default.0.as_deref()
    }

    /// True if INSERT may omit the column (DEFAULT, AUTO_INCREMENT or generated).
    #[getter]
    fn has_default(&self) -> Option<bool> {
        let is_made = self.default.0.is_some() || self.generated.is_some();
        self.auto_increment.map(|auto_increment| auto_increment || is_made)
    }

    /// Returns the arguments of the constructor.
    pub(super) fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let fields = PyDict::new(py);
        fields.set_item("name", &self.name)?;
        fields.set_item("type", &self.sql_type)?;
        fields.set_item("nullable", self.nullable)?;
        fields.set_item("unsigned", self.unsigned)?;
        fields.set_item("charset", &self.charset)?;
        fields.set_item("collation", &self.collation)?;
        fields.set_item("members", self.members(py)?)?;
        fields.set_item("visible", self.visible)?;
        fields.set_item("generated", self.generated)?;
        fields.set_item("default", &self.default.0)?;
        fields.set_item("auto_increment", self.auto_increment)?;
        fields.set_item("on_update", &self.on_update)?;
        fields.set_item("comment", &self.comment)?;
        Ok(fields)
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        shown("Column", &self.to_dict(py)?)
    }

    fn __getnewargs_ex__<'py>(&self, py: Python<'py>) -> PyResult<NewArguments<'py>> {
        Ok((PyTuple::empty(py), self.to_dict(py)?))
    }
}

const GENERATED: [&str; 2] = ["virtual", "stored"];
