//! The contents of a history for Python, one entry at a time.

use super::interrupts::abandonable;
use super::position::PyPosition;
use crate::error::Result;
use crate::error::advice::in_python;
use crate::history::{
    Catalog, Entry, EntryBody, EntryKey, Followed, LoggedDdl, SchemaHistory, Scope,
};
use crate::position::Position;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use std::cmp::Ordering;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

/// The fields of a `binarrow.HistoryChange`.
pub(super) struct Change {
    position: Position,
    kind: &'static str,
    timestamp: i64,
    database: String,
    statement: String,
    tables: Vec<String>,
    unknown: Vec<(String, String)>,
}

/// A statement, with its effect.
pub(super) fn with_tables(ddl: LoggedDdl, followed: Followed) -> Change {
    let named = match ddl.parse().ddl() {
        Ok(Some(parsed)) if parsed.tables.is_empty() => vec![format!("{}.*", parsed.database)],
        Ok(Some(parsed)) => parsed.tables.iter().map(ToString::to_string).collect(),
        _ => Vec::new(),
    };
    let lost = followed.lost.iter().map(|(table, _)| table.to_string());
    let done = followed.changed.iter().map(ToString::to_string).chain(lost);
    let mut tables: Vec<String> = Vec::new();
    for table in named.into_iter().chain(done) {
        if !tables.contains(&table) {
            tables.push(table);
        }
    }
    Change {
        position: ddl.position,
        kind: "statement",
        timestamp: ddl.timestamp,
        database: ddl.database,
        statement: ddl.statement,
        tables,
        unknown: followed
            .lost
            .iter()
            .map(|(table, why)| (table.to_string(), in_python(why.as_ref()).into_owned()))
            .collect(),
    }
}

impl Change {
    pub(super) fn into_dict(self, py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
        let fields = PyDict::new(py);
        fields.set_item("position", Py::new(py, PyPosition(self.position))?)?;
        fields.set_item("kind", self.kind)?;
        fields.set_item("timestamp", self.timestamp)?;
        fields.set_item("database", self.database)?;
        fields.set_item("statement", self.statement)?;
        fields.set_item("tables", PyTuple::new(py, self.tables)?)?;
        fields.set_item("unknown", PyTuple::new(py, self.unknown)?)?;
        Ok(fields)
    }
}

/// An iterator over the entries of a history, as the fields of a change.
#[pyclass(name = "HistoryChanges", module = "binarrow._native", frozen)]
pub(super) struct PyChanges(Arc<Mutex<Walk>>);

/// A walk over the entries of a history. Statements are applied again, because their effects are
/// not stored.
struct Walk {
    history: Arc<SchemaHistory>,
    start: Option<Position>,
    stop: Option<Position>,
    /// The last entry of the walk so far.
    after: Option<(u64, EntryKey)>,
    /// True if the walk has come to the range of the start.
    is_at_start: bool,
    page: VecDeque<Entry>,
    /// The tables at that entry.
    catalog: Arc<Catalog>,
}

#[pymethods]
impl PyChanges {
    fn __iter__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    fn __next__<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyDict>>> {
        let walk = Arc::clone(&self.0);
        let next =
            abandonable(py, move || walk.lock().unwrap_or_else(PoisonError::into_inner).next())?;
        next.map(|change| change.into_dict(py)).transpose()
    }
}

impl PyChanges {
    pub(super) fn new(
        history: Arc<SchemaHistory>,
        start: Option<Position>,
        stop: Option<Position>,
    ) -> Self {
        let (page, catalog) = (VecDeque::new(), Arc::default());
        let walk = Walk { history, start, stop, after: None, is_at_start: false, page, catalog };
        Self(Arc::new(Mutex::new(walk)))
    }
}

impl Walk {
    fn next(&mut self) -> Result<Option<Change>> {
        loop {
            let Some(entry) = self.next_entry()? else { return Ok(None) };
            let is_wanted = self.is_wanted(&entry.position);
            let change = self.take(entry)?;
            if is_wanted {
                return Ok(Some(change));
            }
        }
    }

    fn next_entry(&mut self) -> Result<Option<Entry>> {
        if self.page.is_empty() {
            self.page = self.history.changes(self.after)?.into();
        }
        let Some(entry) = self.page.pop_front() else { return Ok(None) };
        if self.after.is_none_or(|(timeline, _)| timeline != entry.timeline) {
            if let Some(start) = self.start.as_ref().filter(|_| !self.is_at_start)
                && let Some((timeline, key, catalog)) = self.history.place_of(start)?
                && timeline == entry.timeline
            {
                // The statements up to the start need not be applied again.
                (self.after, self.catalog, self.is_at_start) =
                    (Some((timeline, key)), catalog, true);
                self.page.clear();
                return self.next_entry();
            }
            // A timeline may begin with tables of another timeline.
            let timelines = self.history.covered()?;
            let timeline = timelines.into_iter().find(|timeline| timeline.id == entry.timeline);
            self.catalog = match timeline {
                Some(timeline) => self.history.catalog_at(&timeline.from)?,
                None => Arc::default(),
            };
        }
        self.after = Some((entry.timeline, entry.key));
        Ok(Some(entry))
    }

    fn is_wanted(&self, position: &Position) -> bool {
        let order = |other: &Position| position.compare(other);
        let is_after = |start: &Position| {
            order(start) != Some(Ordering::Less) && order(start) != Some(Ordering::Equal)
        };
        self.start.as_ref().is_none_or(is_after)
            && self.stop.as_ref().is_none_or(|stop| order(stop) != Some(Ordering::Greater))
    }

    fn take(&mut self, entry: Entry) -> Result<Change> {
        let Entry { position, timestamp, body, .. } = entry;
        match body {
            EntryBody::Ddl(ddl) => {
                let followed = Arc::make_mut(&mut self.catalog).apply(&ddl);
                Ok(with_tables(ddl, followed))
            }
            EntryBody::Baseline(baseline) => {
                self.catalog = self.history.catalog_at(&position)?;
                let tables = match baseline.scope {
                    Scope::AllTables => Vec::new(),
                    Scope::Tables(names) => names.iter().map(|(d, t)| format!("{d}.{t}")).collect(),
                };
                Ok(Change {
                    position,
                    kind: "baseline",
                    timestamp,
                    database: String::new(),
                    statement: baseline.script,
                    tables,
                    unknown: Vec::new(),
                })
            }
            EntryBody::Checkpoint(_) => Ok(Change {
                position,
                kind: "checkpoint",
                timestamp,
                database: String::new(),
                statement: String::new(),
                tables: Vec::new(),
                unknown: Vec::new(),
            }),
        }
    }
}
