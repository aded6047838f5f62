//! The objects of Python for a structure of the crate.

use super::column::{DefaultText, PyColumn};
use super::key::PyKey;
use super::table::PyTableSchema;
use crate::charset::Collation;
use crate::error::Result;
use crate::history::Catalog;
use crate::schema::{Column, ColumnType, Generated, Index, IndexKind, TableSchema};
use pyo3::prelude::*;
use std::borrow::Cow;

/// A structure, with what its Python object needs besides.
pub(in crate::python) struct Structure<'t> {
    pub(in crate::python) table: Cow<'t, TableSchema>,
    /// Collations have other names on MariaDB.
    pub(in crate::python) is_mariadb: bool,
    pub(in crate::python) create_statement: Option<String>,
}

impl Structure<'static> {
    /// A table of a catalog; `None` if there is no such table.
    ///
    /// # Errors
    /// The structure of the table is not known.
    pub(in crate::python) fn find(
        catalog: &Catalog,
        database: &str,
        table: &str,
    ) -> Result<Option<Self>> {
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
    pub(in crate::python) fn into_python(self, py: Python<'_>) -> PyResult<PyTableSchema> {
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
