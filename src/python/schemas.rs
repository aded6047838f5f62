//! The keyword `schemas`: SQL text as table structures.

use super::baseline::PyBaseline;
use super::input::table_name;
use super::table_schema::PyTableSchema;
use crate::error::{Error, Result};
use crate::history::Schemas;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyByteArray, PyBytes, PyString};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

/// CREATE TABLE text: of a dump, of several, or one statement for each table.
pub(super) enum SchemasKeyword {
    ByTable(BTreeMap<String, Sql>),
    One(Sql),
    Several(Vec<Sql>),
}

/// SQL as text, as bytes (a dump contains the unchanged bytes of binary defaults), in a file, or of a `TableSchema`.
pub(super) enum Sql {
    Text(Vec<u8>),
    File(PathBuf),
}

impl<'py> FromPyObject<'_, 'py> for SchemasKeyword {
    type Error = PyErr;

    fn extract(value: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        if value.is_instance_of::<PyTableSchema>() {
            return value.extract().map(Self::One);
        }
        if let Ok(by_table) = value.extract() {
            return Ok(Self::ByTable(by_table));
        }
        if let Ok(one) = value.extract() {
            return Ok(Self::One(one));
        }
        value.extract().map(Self::Several).map_err(|_| {
            PyTypeError::new_err(
                "schemas is SQL (a str, bytes, or the path of a file as os.PathLike) or a TableSchema, a list of such, or a \
                 dict of 'database.table' to such",
            )
        })
    }
}

impl<'py> FromPyObject<'_, 'py> for Sql {
    type Error = PyErr;

    fn extract(value: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        if let Ok(text) = value.cast::<PyString>() {
            return Ok(Self::Text(text.to_str()?.into()));
        }
        if let Ok(bytes) = value.cast::<PyBytes>() {
            return Ok(Self::Text(bytes.as_bytes().into()));
        }
        if let Ok(bytes) = value.cast::<PyByteArray>() {
            return Ok(Self::Text(bytes.to_vec()));
        }
        if let Ok(table) = value.cast::<PyTableSchema>() {
            return Ok(Self::Text(table.get().script()?.into_bytes()));
        }
        if let Ok(tables) = value.cast::<PyBaseline>() {
            return Ok(Self::Text(tables.get().script().into()));
        }
        value.extract().map(Self::File).map_err(|_| {
            PyTypeError::new_err("SQL is a str, bytes, or the path of a file (os.PathLike)")
        })
    }
}

impl Sql {
    /// Reads the text; `keyword` is the keyword with this value.
    pub(super) fn read(self, keyword: &str) -> Result<Vec<u8>> {
        match self {
            Self::Text(text) => Ok(text),
            Self::File(path) => {
                let name = format!("{keyword}: {}", path.display());
                std::fs::read(&path).map_err(|error| Error::io(name, error))
            }
        }
    }
}

impl SchemasKeyword {
    /// The structures.
    pub(super) fn schemas(given: Option<Self>) -> Result<Arc<Schemas>> {
        let mut schemas = Schemas::default();
        match given {
            None => {}
            Some(Self::One(text)) => schemas.add_text(text.read("schemas")?)?,
            Some(Self::Several(texts)) => {
                texts.into_iter().try_for_each(|text| schemas.add_text(text.read("schemas")?))?;
            }
            Some(Self::ByTable(texts)) => {
                for (name, text) in texts {
                    let (database, table) = table_name(&name)?;
                    schemas.add_table(database, table, text.read("schemas")?)?;
                }
            }
        }
        Ok(Arc::new(schemas))
    }
}
