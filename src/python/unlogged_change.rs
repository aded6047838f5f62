//! The Python classes `UnloggedChange`, an item, and `ForeignKey`, which is the cause of most of them.

use super::item_place::At;
use super::position::PyPosition;
use crate::binlog::RowsKind;
use crate::change::UnloggedChange;
use crate::history::{ForeignKey, ReferentialAction};
use pyo3::prelude::*;
use pyo3::types::PyTuple;

#[doc = include_str!("docs/UnloggedChange.txt")]
#[pyclass(name = "UnloggedChange", module = "binarrow", frozen, eq)]
#[derive(PartialEq, Eq)]
pub(super) struct PyUnloggedChange {
    pub(super) change: UnloggedChange,
    pub(super) at: At,
}

#[pymethods]
impl PyUnloggedChange {
    /// The database of the table whose changed rows are in the log.
    #[getter]
    fn database(&self) -> &str {
        &self.change.table.database
    }

    /// The name of the table whose changed rows are in the log, without the database.
    #[getter]
    fn table(&self) -> &str {
        &self.change.table.table
    }

    /// The change that the log contains; None if the table is a MERGE table.
    #[getter]
    fn operation(&self) -> Option<&'static str> {
        match self.change.kind? {
            RowsKind::Delete => Some("delete"),
            RowsKind::Update | RowsKind::Write => Some("update"),
        }
    }

    #[doc = include_str!("docs/UnloggedChange.changed_tables.txt")]
    #[getter]
    fn changed_tables<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, self.change.changed.iter().map(ToString::to_string))
    }

    /// The foreign keys whose actions may have changed these rows, also through other tables; empty if they are not known.
    #[getter]
    fn foreign_keys<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, self.change.foreign_keys.iter().cloned().map(PyForeignKey))
    }

    #[doc = include_str!("docs/UnloggedChange.change_ordinals.txt")]
    #[getter]
    fn change_ordinals(&self) -> Option<(i64, i64)> {
        let (first, last) = self.change.rows_events?;
        Some((i64::from(first) << 32, i64::from(last) << 32 | i64::from(u32::MAX)))
    }

    /// The position of the last batch or item before this one, at which to resume: before the end of the transaction.
    #[getter]
    fn position(&self) -> PyPosition {
        self.at.position.clone()
    }

    /// The place of the transaction in commit order: ``_commit_version`` of its rows.
    #[getter]
    fn commit_version(&self) -> Option<i64> {
        self.at.commit_version
    }

    /// The time of the commit, in UTC.
    #[getter]
    fn commit_timestamp<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        self.at.time(py)
    }

    fn __hash__(&self) -> i64 {
        self.at.hash()
    }

    fn __repr__(&self) -> String {
        let changed: Vec<_> = self.change.changed.iter().map(ToString::to_string).collect();
        let changed = match changed.is_empty() {
            true => "tables that are not known".to_owned(),
            false => changed.join(", "),
        };
        let cause = match self.operation() {
            Some("delete") => "a delete",
            Some(_) => "an update",
            None => "a change",
        };
        let (table, position) = (&self.change.table, &self.at.position.0);
        format!("<UnloggedChange of {changed} by {cause} of {table}, position {position}>")
    }
}

#[doc = include_str!("docs/ForeignKey.txt")]
#[pyclass(name = "ForeignKey", module = "binarrow", frozen, eq)]
#[derive(PartialEq, Eq)]
pub(super) struct PyForeignKey(ForeignKey);

#[pymethods]
impl PyForeignKey {
    /// The table that has the foreign key, as ``database.table``.
    #[getter]
    fn table(&self) -> String {
        self.0.child.to_string()
    }

    /// The columns of the foreign key, in its order.
    #[getter]
    fn columns<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, &self.0.columns)
    }

    /// The table that it refers to, as ``database.table``.
    #[getter]
    fn parent(&self) -> String {
        self.0.parent.to_string()
    }

    /// The columns that it refers to, in the order of ``columns``.
    #[getter]
    fn parent_columns<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, &self.0.parent_columns)
    }

    /// The action if a row that it refers to is deleted; ``restrict`` is also that of NO ACTION.
    #[getter]
    fn on_delete(&self) -> &'static str {
        word(self.0.on_delete)
    }

    /// The action if the key of a row that it refers to changes: the words of ``on_delete``.
    #[getter]
    fn on_update(&self) -> &'static str {
        word(self.0.on_update)
    }

    fn __hash__(&self) -> u64 {
        use std::hash::{DefaultHasher, Hash, Hasher};
        let mut hasher = DefaultHasher::new();
        (self.table(), self.parent(), &self.0.columns, &self.0.parent_columns).hash(&mut hasher);
        hasher.finish()
    }

    fn __repr__(&self) -> String {
        let Self(key) = self;
        let (columns, parents) = (key.columns.join(", "), key.parent_columns.join(", "));
        format!("<ForeignKey of {} ({columns}) to {} ({parents})>", key.child, key.parent)
    }
}

const fn word(action: ReferentialAction) -> &'static str {
    match action {
        ReferentialAction::Restrict => "restrict",
        ReferentialAction::Cascade => "cascade",
        ReferentialAction::SetNull => "set_null",
        ReferentialAction::SetDefault => "set_default",
    }
}
