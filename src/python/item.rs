//! The Python classes of items, which are not rows: `SchemaChange`, `Truncate`, `SkippedStatement`, `Transaction`, `Heartbeat`.

use super::change_batch::PyChangeBatch;
use super::item_place::At;
use super::position::PyPosition;
use super::summary::datetime;
use super::unlogged_change::PyUnloggedChange;
use crate::change::{
    Item, LoggedGtid, MarkKind, SchemaChange, SkippedStatement, TransactionMark, XaState,
};
use crate::ddl::TableName;
use crate::reader::Poll;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

/// Returns the Python object for `polled`; `None` if there is nothing.
pub(super) fn change(py: Python<'_>, polled: Poll) -> PyResult<Option<Py<PyAny>>> {
    Ok(Some(match polled {
        Poll::Batch(batch) => Py::new(py, PyChangeBatch(batch))?.into_any(),
        Poll::Item(item) => {
            let at = At::of(&item);
            match item.item {
                Item::SchemaChange(change) => {
                    Py::new(py, PySchemaChange { change, at })?.into_any()
                }
                Item::Truncate(name) => Py::new(py, PyTruncate { name, at })?.into_any(),
                Item::SkippedStatement(skipped) => {
                    Py::new(py, PySkippedStatement { skipped, at })?.into_any()
                }
                Item::Transaction(mark) => Py::new(py, PyTransaction { mark, at })?.into_any(),
                Item::UnloggedChange(change) => {
                    Py::new(py, PyUnloggedChange { change, at })?.into_any()
                }
                // Only table readers request these items.
                Item::Emptied(_) => return Ok(None),
                Item::Heartbeat => Py::new(py, PyHeartbeat { position: at.position })?.into_any(),
            }
        }
        Poll::Pending | Poll::End => return Ok(None),
    }))
}

#[doc = include_str!("docs/SchemaChange.txt")]
#[pyclass(name = "SchemaChange", module = "binarrow", frozen, eq)]
#[derive(PartialEq, Eq)]
pub(super) struct PySchemaChange {
    change: SchemaChange,
    at: At,
}

#[pymethods]
impl PySchemaChange {
    #[doc = include_str!("docs/SchemaChange.kind.txt")]
    #[getter]
    fn kind(&self) -> &'static str {
        self.change.kind.name()
    }

    /// The database that the statement creates, changes or drops. For tables, the database of the first table.
    #[getter]
    fn database(&self) -> &str {
        &self.change.database
    }

    /// The tables that the statement changes, as ``database.table``: for a rename the old and new names, for a database none.
    #[getter]
    fn tables<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, self.change.tables.iter().map(ToString::to_string))
    }

    /// The text in the log.
    #[getter]
    fn statement(&self) -> &str {
        &self.change.statement
    }

    /// The tool whose online schema change this statement completes.
    #[getter]
    fn tool(&self) -> Option<&'static str> {
        self.change.tool.map(|tool| tool.name())
    }

    #[doc = include_str!("docs/SchemaChange.changes_rows.txt")]
    #[getter]
    fn changes_rows(&self) -> bool {
        self.change.changes_rows
    }

    /// The old and the new name of each table that the statement renames, as ``database.table``, in its order.
    #[getter]
    fn renames(&self) -> Vec<(String, String)> {
        let renames = self.change.renames.iter();
        renames.map(|(from, to)| (from.to_string(), to.to_string())).collect()
    }

    /// The old and the new name of each column that an ALTER TABLE renames, in lower case.
    #[getter]
    fn renamed_columns(&self) -> Vec<(String, String)> {
        self.change.renamed_columns.clone()
    }

    /// The position at which to resume after the statement; for ``CREATE TABLE ... SELECT``, before the statement and its rows.
    #[getter]
    fn position(&self) -> PyPosition {
        self.at.position.clone()
    }

    /// The place of the statement in commit order, comparable with ``_commit_version`` of rows.
    #[getter]
    fn commit_version(&self) -> Option<i64> {
        self.at.commit_version
    }

    /// The time of the statement, in UTC.
    #[getter]
    fn commit_timestamp<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        self.at.time(py)
    }

    fn __hash__(&self) -> i64 {
        self.at.hash()
    }

    /// Does not contain the statement, because its defaults and comments may contain values.
    fn __repr__(&self) -> String {
        let names: Vec<_> = self.change.tables.iter().map(ToString::to_string).collect();
        let what = match names.is_empty() {
            true => format!("database {}", self.change.database),
            false => names.join(", "),
        };
        let tool = self.change.tool.map(|tool| format!(" by {}", tool.name())).unwrap_or_default();
        format!("<SchemaChange {} of {what}{tool}, position {}>", self.kind(), self.at.position.0)
    }
}

#[doc = include_str!("docs/Truncate.txt")]
#[pyclass(name = "Truncate", module = "binarrow", frozen, eq)]
#[derive(PartialEq, Eq)]
pub(super) struct PyTruncate {
    name: TableName,
    at: At,
}

#[pymethods]
impl PyTruncate {
    /// The database of the table.
    #[getter]
    fn database(&self) -> &str {
        &self.name.database
    }

    /// The name of the table, without the database.
    #[getter]
    fn table(&self) -> &str {
        &self.name.table
    }

    /// The position at which to resume after it.
    #[getter]
    fn position(&self) -> PyPosition {
        self.at.position.clone()
    }

    /// The place of the statement in commit order, comparable with ``_commit_version`` of rows.
    #[getter]
    fn commit_version(&self) -> Option<i64> {
        self.at.commit_version
    }

    /// The time of the statement, in UTC.
    #[getter]
    fn commit_timestamp<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        self.at.time(py)
    }

    fn __hash__(&self) -> i64 {
        self.at.hash()
    }

    fn __repr__(&self) -> String {
        format!("<Truncate {}, position {}>", self.name, self.at.position.0)
    }
}

#[doc = include_str!("docs/SkippedStatement.txt")]
#[pyclass(name = "SkippedStatement", module = "binarrow", frozen, eq)]
#[derive(PartialEq, Eq)]
pub(super) struct PySkippedStatement {
    skipped: SkippedStatement,
    at: At,
}

#[pymethods]
impl PySkippedStatement {
    /// The default database of its session; empty if there was none.
    #[getter]
    fn database(&self) -> &str {
        &self.skipped.database
    }

    /// The text in the log. It contains values.
    #[getter]
    fn statement(&self) -> &str {
        &self.skipped.statement
    }

    /// The position at which to resume after it; inside a transaction, before the transaction.
    #[getter]
    fn position(&self) -> PyPosition {
        self.at.position.clone()
    }

    /// The place of the statement in commit order, comparable with ``_commit_version`` of rows.
    #[getter]
    fn commit_version(&self) -> Option<i64> {
        self.at.commit_version
    }

    /// The time of the statement, in UTC.
    #[getter]
    fn commit_timestamp<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        self.at.time(py)
    }

    fn __hash__(&self) -> i64 {
        self.at.hash()
    }

    /// Omits the statement, because it contains values.
    fn __repr__(&self) -> String {
        format!("<SkippedStatement, position {}>", self.at.position.0)
    }
}

#[doc = include_str!("docs/Transaction.txt")]
#[pyclass(name = "Transaction", module = "binarrow", frozen, eq)]
#[derive(PartialEq, Eq)]
pub(super) struct PyTransaction {
    mark: TransactionMark,
    at: At,
}

#[pymethods]
impl PyTransaction {
    #[doc = include_str!("docs/Transaction.kind.txt")]
    #[getter]
    fn kind(&self) -> &'static str {
        match self.mark.kind {
            MarkKind::Begin => "begin",
            MarkKind::End => "end",
            MarkKind::Prepare => "prepare",
            MarkKind::Rollback => "rollback",
        }
    }

    /// Its GTID, if the log has GTIDs.
    #[getter]
    fn gtid(&self) -> Option<String> {
        self.mark.gtid.as_ref().map(|gtid| match gtid {
            LoggedGtid::Mysql(gtid) => gtid.to_string(),
            LoggedGtid::Mariadb(gtid) => gtid.to_string(),
        })
    }

    /// After its rows: the number of rows that were returned, where an update may be two rows. None before its rows.
    #[getter]
    fn rows(&self) -> Option<u64> {
        self.mark.rows
    }

    /// The state of an XA transaction; None for other transactions.
    #[getter]
    fn xa_state(&self) -> Option<&'static str> {
        self.mark.xa.as_ref().map(|(state, _)| match state {
            XaState::Prepared => "prepared",
            XaState::Committed => "committed",
            XaState::RolledBack => "rolled_back",
        })
    }

    /// The id of an XA transaction, as servers write it: ``X'67',X'62',1``.
    #[getter]
    fn xid(&self) -> Option<String> {
        self.mark.xa.as_ref().map(|(_, xid)| xid.to_string())
    }

    /// The position at which to resume after it. For ``begin`` it is before the transaction, otherwise after it.
    #[getter]
    fn position(&self) -> PyPosition {
        self.at.position.clone()
    }

    /// The place of the transaction in commit order: ``_commit_version`` of its rows.
    #[getter]
    fn commit_version(&self) -> Option<i64> {
        self.at.commit_version
    }

    /// The time of the commit, in UTC: ``_commit_timestamp`` of its rows.
    #[getter]
    fn commit_timestamp<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        self.at.time(py)
    }

    /// The time of the commit on the server that made the transaction, if the log contains it.
    #[getter]
    fn original_commit_timestamp<'py>(
        &self,
        py: Python<'py>,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        self.mark.original_commit_timestamp.map(|micros| datetime(py, micros)).transpose()
    }

    fn __hash__(&self) -> i64 {
        self.at.hash()
    }

    fn __repr__(&self) -> String {
        let gtid = self.gtid().map(|gtid| format!(" {gtid}")).unwrap_or_default();
        let rows = self.mark.rows.map(|rows| format!(", {rows} rows")).unwrap_or_default();
        let xa = match (self.xa_state(), self.xid()) {
            (Some(state), Some(xid)) => format!(", XA {xid} {state}"),
            _ => String::new(),
        };
        let (kind, position) = (self.kind(), &self.at.position.0);
        format!("<Transaction {kind}{gtid}{rows}{xa}, position {position}>")
    }
}

#[doc = include_str!("docs/Heartbeat.txt")]
#[pyclass(name = "Heartbeat", module = "binarrow", frozen, eq)]
#[derive(PartialEq, Eq)]
pub(super) struct PyHeartbeat {
    position: PyPosition,
}

#[pymethods]
impl PyHeartbeat {
    /// The current position of the stream.
    #[getter]
    fn position(&self) -> PyPosition {
        self.position.clone()
    }

    fn __hash__(&self) -> u64 {
        self.position.0.offset
    }

    fn __repr__(&self) -> String {
        format!("<Heartbeat, position {}>", self.position.0)
    }
}
