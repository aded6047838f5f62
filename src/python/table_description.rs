//! A table's structure as Python values.

use crate::schema::{Generated, Index, IndexKind, TableSchema};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyTuple};

/// The fields of a `binarrow.TableSchema`.
pub(super) fn described<'py>(
    py: Python<'py>,
    table: &TableSchema,
    sql: &str,
    is_mariadb: bool,
) -> PyResult<Bound<'py, PyDict>> {
    let columns = PyList::empty(py);
    for column in &table.columns {
        let fields = PyDict::new(py);
        fields.set_item("name", column.name.as_deref().unwrap_or_default())?;
        fields.set_item("type", column.sql_type())?;
        fields.set_item("nullable", column.nullable)?;
        fields.set_item("unsigned", column.unsigned.unwrap_or(false))?;
        if let Some(collation) = column.collation {
            fields.set_item("charset", collation.charset().name())?;
            fields.set_item("collation", collation.name(is_mariadb))?;
        }
        if let Some(members) = &column.members {
            fields
                .set_item("members", PyTuple::new(py, members.iter().map(|member| &**member))?)?;
        }
        fields.set_item("visible", column.visible.unwrap_or(true))?;
        match column.generated {
            Some(Generated::Virtual) => fields.set_item("generated", "virtual")?,
            Some(Generated::Stored) => fields.set_item("generated", "stored")?,
            Some(Generated::No) | None => {}
        }
        fields.set_item("comment", column.comment.as_deref().unwrap_or_default())?;
        columns.append(fields)?;
    }
    let indexes = PyList::empty(py);
    for index in &table.indexes {
        indexes.append(key(py, table, index)?)?;
    }
    let fields = PyDict::new(py);
    fields.set_item("database", &*table.database)?;
    fields.set_item("table", &*table.table)?;
    fields.set_item("columns", columns)?;
    fields.set_item("indexes", indexes)?;
    fields.set_item("comment", table.comment.as_deref().unwrap_or_default())?;
    fields.set_item("create_statement", sql)?;
    Ok(fields)
}

fn key<'py>(py: Python<'py>, table: &TableSchema, index: &Index) -> PyResult<Bound<'py, PyDict>> {
    let (kind, name) = match index.kind {
        IndexKind::Primary => ("primary", Some("PRIMARY")),
        IndexKind::Unique => ("unique", index.name.as_deref()),
        IndexKind::Other => ("index", index.name.as_deref()),
    };
    let name_of =
        |column: usize| table.columns.get(column).and_then(|column| column.name.as_deref());
    let columns = index.parts.iter().map(|part| name_of(part.column).unwrap_or_default());
    let fields = PyDict::new(py);
    fields.set_item("name", name)?;
    fields.set_item("kind", kind)?;
    fields.set_item("columns", PyTuple::new(py, columns.collect::<Vec<_>>())?)?;
    fields.set_item(
        "prefixes",
        PyTuple::new(py, index.parts.iter().map(|part| part.prefix).collect::<Vec<_>>())?,
    )?;
    fields.set_item("identifies_rows", index.identifies_rows(&table.columns))?;
    fields.set_item("visible", index.visible)?;
    Ok(fields)
}
