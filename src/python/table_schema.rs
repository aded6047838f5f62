//! `TableSchema`, `Column` and `Key`: the structure of a table, from a server, a history or a read.

use crate::charset::Collation;
use crate::error::{Error, Result};
use crate::history::Catalog;
use crate::schema::{Column, ColumnType, Generated, Index, IndexKind, TableSchema, quoted_name};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use std::borrow::Cow;
use std::hash::{Hash, Hasher};

/// A column of a table.
#[pyclass(name = "Column", module = "binarrow", frozen, eq, hash)]
#[derive(PartialEq, Eq, Hash)]
pub(super) struct PyColumn {
    name: String,
    sql_type: String,
    nullable: bool,
    unsigned: Option<bool>,
    charset: Option<String>,
    collation: Option<String>,
    members: Option<Vec<String>>,
    visible: Option<bool>,
    generated: Option<&'static str>,
    default: DefaultText,
    auto_increment: Option<bool>,
    on_update: Option<String>,
    comment: Option<String>,
}

/// The text after DEFAULT. Only its presence is compared: servers write a value otherwise than the statement in the log.
struct DefaultText(Option<String>);

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

    #[getter]
    fn name(&self) -> &str {
        &self.name
    }

    #[getter]
    fn r#type(&self) -> &str {
        &self.sql_type
    }

    #[getter]
    fn nullable(&self) -> bool {
        self.nullable
    }

    #[getter]
    fn unsigned(&self) -> Option<bool> {
        self.unsigned
    }

    #[getter]
    fn charset(&self) -> Option<&str> {
        self.charset.as_deref()
    }

    #[getter]
    fn collation(&self) -> Option<&str> {
        self.collation.as_deref()
    }

    #[getter]
    fn members<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyTuple>>> {
        self.members.as_ref().map(|members| PyTuple::new(py, members)).transpose()
    }

    #[getter]
    fn visible(&self) -> Option<bool> {
        self.visible
    }

    #[getter]
    fn generated(&self) -> Option<&'static str> {
        self.generated
    }

    #[getter]
    fn default(&self) -> Option<&str> {
        self.default.0.as_deref()
    }

    #[getter]
    fn auto_increment(&self) -> Option<bool> {
        self.auto_increment
    }

    #[getter]
    fn on_update(&self) -> Option<&str> {
        self.on_update.as_deref()
    }

    #[getter]
    fn comment(&self) -> Option<&str> {
        self.comment.as_deref()
    }

    /// True if INSERT may omit the column (DEFAULT, AUTO_INCREMENT or generated); None if only the log describes it.
    #[getter]
    fn has_default(&self) -> Option<bool> {
        let is_made = self.default.0.is_some() || self.generated.is_some();
        self.auto_increment.map(|auto_increment| auto_increment || is_made)
    }

    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
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

/// A key of a table.
#[pyclass(name = "Key", module = "binarrow", frozen, eq, hash)]
#[derive(PartialEq, Eq, Hash)]
pub(super) struct PyKey {
    name: Option<String>,
    kind: &'static str,
    columns: Vec<String>,
    prefixes: Vec<u32>,
    identifies_rows: bool,
    visible: bool,
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

    #[getter]
    fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    #[getter]
    fn kind(&self) -> &'static str {
        self.kind
    }

    #[getter]
    fn columns<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, &self.columns)
    }

    #[getter]
    fn prefixes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, &self.prefixes)
    }

    #[getter]
    fn identifies_rows(&self) -> bool {
        self.identifies_rows
    }

    #[getter]
    fn visible(&self) -> bool {
        self.visible
    }

    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
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

/// The structure of a table: its columns and keys.
#[pyclass(name = "TableSchema", module = "binarrow", frozen, eq, hash)]
pub(super) struct PyTableSchema {
    database: String,
    table: String,
    columns: Vec<Py<PyColumn>>,
    keys: Vec<Py<PyKey>>,
    comment: Option<String>,
    /// Not compared: servers write a statement otherwise than a history.
    create_statement: Option<String>,
}

impl PartialEq for PyTableSchema {
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

    #[getter]
    fn database(&self) -> &str {
        &self.database
    }

    #[getter]
    fn table(&self) -> &str {
        &self.table
    }

    #[getter]
    fn columns<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, &self.columns)
    }

    #[getter]
    fn keys<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, &self.keys)
    }

    #[getter]
    fn comment(&self) -> Option<&str> {
        self.comment.as_deref()
    }

    #[getter]
    fn create_statement(&self) -> Option<&str> {
        self.create_statement.as_deref()
    }

    #[getter]
    fn primary_key<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        self.columns_of(py, |key| key.kind == "primary")
    }

    #[getter]
    fn unique_keys<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let unique = self.keys.iter().filter(|key| key.get().kind != "index");
        PyTuple::new(py, unique.collect::<Vec<_>>())
    }

    #[getter]
    fn row_key<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        self.columns_of(py, |key| key.identifies_rows)
    }

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

    fn __getnewargs_ex__<'py>(&self, py: Python<'py>) -> PyResult<NewArguments<'py>> {
        Ok((PyTuple::empty(py), self.fields(py)?))
    }
}

impl PyTableSchema {
    /// The statement, as SQL text that contains the database too.
    pub(super) fn script(&self) -> Result<String> {
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

/// A structure, with what its Python object needs besides.
pub(super) struct Structure<'t> {
    pub(super) table: Cow<'t, TableSchema>,
    /// Collations have other names on MariaDB.
    pub(super) is_mariadb: bool,
    pub(super) create_statement: Option<String>,
}

impl Structure<'static> {
    /// A table of a catalog; `None` if there is no such table.
    ///
    /// # Errors
    /// The structure of the table is not known.
    pub(super) fn find(catalog: &Catalog, database: &str, table: &str) -> Result<Option<Self>> {
        if catalog.find(database, table).is_none() {
            return Ok(None);
        }
        Ok(Some(Self {
            table: Cow::Owned(catalog.schema(database, table)?),
            is_mariadb: catalog.server().is_some_and(|server| server.is_mariadb),
            create_statement: catalog.table_sql(database, table),
        }))
    }
}

impl Structure<'_> {
    pub(super) fn into_python(self, py: Python<'_>) -> PyResult<PyTableSchema> {
        let table = &*self.table;
        let is_known = table.columns.iter().all(|column| column.declared.is_some());
        let columns = table.columns.iter().enumerate();
        let columns = columns
            .map(|(index, column)| Py::new(py, self.column(index, column)))
            .collect::<PyResult<_>>()?;
        let keys: Vec<_> = match is_known {
            true => table.indexes.iter().map(|index| self.key(index)).collect(),
            // The log contains no other keys.
            false if table.primary_key.is_empty() => Vec::new(),
            false => {
                let parts = table.primary_key.clone();
                let index = Index { parts, ..Index::new(IndexKind::Primary, None) };
                vec![PyKey { identifies_rows: true, ..self.key(&index) }]
            }
        };
        Ok(PyTableSchema {
            database: table.database.to_string(),
            table: table.table.to_string(),
            columns,
            keys: keys.into_iter().map(|key| Py::new(py, key)).collect::<PyResult<_>>()?,
            comment: known_text(table.comment.as_deref(), is_known),
            create_statement: self.create_statement,
        })
    }

    fn column(&self, index: usize, column: &Column) -> PyColumn {
        let declared = column.declared.as_deref();
        let is_known = declared.is_some();
        let has_members =
            matches!(column.column_type, ColumnType::Enum { .. } | ColumnType::Set { .. });
        // To the log, bytes are text of the collation `binary`.
        let collation = column.collation.filter(|own| *own != Collation::BINARY || has_members);
        let is_number = column.column_type.is_numeric();
        PyColumn {
            name: self.name(index),
            sql_type: column.declared_type(),
            nullable: column.nullable,
            unsigned: column.unsigned.or_else(|| (is_known || !is_number).then_some(false)),
            charset: collation.map(|collation| collation.charset().name().to_owned()),
            collation: collation.and_then(|collation| collation.name(self.is_mariadb)),
            members: match &column.members {
                Some(members) => Some(members.iter().map(ToString::to_string).collect()),
                None => (!has_members).then(Vec::new),
            },
            visible: column.visible.or_else(|| is_known.then_some(true)),
            generated: match column.generated {
                Some(Generated::Virtual) => Some("virtual"),
                Some(Generated::Stored) => Some("stored"),
                Some(Generated::No) | None => None,
            },
            default: DefaultText(declared.and_then(|own| own.default.as_deref().map(Into::into))),
            auto_increment: declared.map(|own| own.auto_increment),
            on_update: declared.and_then(|own| own.on_update.as_deref().map(Into::into)),
            comment: known_text(column.comment.as_deref(), is_known),
        }
    }

    fn key(&self, index: &Index) -> PyKey {
        let (kind, name) = match index.kind {
            IndexKind::Primary => ("primary", Some("PRIMARY")),
            IndexKind::Unique => ("unique", index.name.as_deref()),
            IndexKind::Other => ("index", index.name.as_deref()),
        };
        PyKey {
            name: name.map(Into::into),
            kind,
            columns: index.parts.iter().map(|part| self.name(part.column)).collect(),
            prefixes: index.parts.iter().map(|part| part.prefix).collect(),
            identifies_rows: index.identifies_rows(&self.table.columns),
            visible: index.visible,
        }
    }

    /// The name of a column, or its number if the log contains no names.
    fn name(&self, index: usize) -> String {
        let name = self.table.columns.get(index).and_then(|column| column.name.as_deref());
        name.map_or_else(|| format!("@{}", index + 1), Into::into)
    }
}

/// A comment: empty if there is none, `None` if the log alone describes its owner.
fn known_text(text: Option<&str>, is_known: bool) -> Option<String> {
    text.or_else(|| is_known.then_some("")).map(Into::into)
}

/// One of `words`.
fn word(words: &[&'static str], text: &str, keyword: &str) -> Result<&'static str> {
    words.iter().copied().find(|word| *word == text).ok_or_else(|| {
        Error::config(format!("{keyword} must be one of {}, not {text:?}", words.join(", ")))
    })
}

/// An object as the call that makes it.
fn shown(class: &str, fields: &Bound<'_, PyDict>) -> PyResult<String> {
    let mut arguments = Vec::with_capacity(fields.len());
    for (name, value) in fields {
        arguments.push(format!("{name}={}", value.repr()?));
    }
    Ok(format!("{class}({})", arguments.join(", ")))
}

/// The arguments that pickle passes to `__new__`.
type NewArguments<'py> = (Bound<'py, PyTuple>, Bound<'py, PyDict>);

const GENERATED: [&str; 2] = ["virtual", "stored"];

const KINDS: [&str; 3] = ["primary", "unique", "index"];
