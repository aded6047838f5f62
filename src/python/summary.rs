//! The state of a reader: its position and `stats()`.

use super::position::PyPosition;
use crate::reader::{Reader, Stats};
use crate::schema::full_name;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use std::fmt;
use std::time::Duration;

/// The values that remain when a reader ends.
#[derive(Clone, Default)]
pub(super) struct Summary {
    position: Option<PyPosition>,
    stats: Stats,
    live: Option<LiveStats>,
    total_bytes: Option<u64>,
    seconds: f64,
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Stats { batches, rows, .. } = &self.stats;
        write!(f, "{batches} batches, {rows} rows")
    }
}

/// The counts of a connection.
#[derive(Clone)]
struct LiveStats {
    events: u64,
    bytes: u64,
    reconnects: u64,
    received_at: Option<i64>,
    lag: Option<i64>,
}

impl Summary {
    /// The state of `reader` until now, after `elapsed`.
    pub(super) fn of(reader: &Reader, position: Option<PyPosition>, elapsed: Duration) -> Self {
        Self {
            position,
            stats: reader.stats().clone(),
            live: reader.live_counters().map(|counters| LiveStats {
                events: counters.events(),
                bytes: counters.bytes(),
                reconnects: counters.reconnects(),
                received_at: counters.received_at(),
                lag: reader.lag(),
            }),
            total_bytes: reader.total_bytes(),
            seconds: elapsed.as_secs_f64(),
        }
    }

    pub(super) fn position(&self) -> Option<PyPosition> {
        self.position.clone()
    }

    /// The result of `stats()` in Python.
    pub(super) fn stats<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let stats = &self.stats;
        let dict = PyDict::new(py);
        dict.set_item("bytes_read", stats.bytes_read)?;
        dict.set_item("bytes_total", self.total_bytes)?;
        dict.set_item("transactions", stats.transactions)?;
        dict.set_item("rows_events", stats.rows_events)?;
        dict.set_item("changes", stats.changes())?;
        dict.set_item("rows", stats.rows)?;
        dict.set_item("loaded_rows", stats.loaded_rows)?;
        dict.set_item("batches", stats.batches)?;
        dict.set_item("dropped_rows_events", stats.dropped_rows_events)?;
        dict.set_item("statements_skipped", stats.statements_skipped)?;
        dict.set_item("zero_dates", stats.zero_dates.clone())?;
        let unlogged = PyDict::new(py);
        for (parent, count) in &stats.unlogged {
            unlogged.set_item(parent, count.events)?;
        }
        dict.set_item("unlogged_changes", unlogged)?;
        dict.set_item("seconds", self.seconds)?;
        let time = |micros: i64| datetime(py, micros);
        let (first, last) = stats.time_span.unzip();
        dict.set_item("first_commit", first.map(time).transpose()?)?;
        dict.set_item("last_commit", last.map(time).transpose()?)?;
        let largest = PyList::empty(py);
        for transaction in &stats.largest {
            let entry = PyDict::new(py);
            entry.set_item("file", &*transaction.file)?;
            entry.set_item("offset", transaction.offset)?;
            entry.set_item("bytes", transaction.bytes)?;
            entry.set_item("committed", time(transaction.commit_timestamp)?)?;
            largest.append(entry)?;
        }
        dict.set_item("largest_transactions", largest)?;
        let tables = PyDict::new(py);
        for ((database, table), counts) in &stats.tables {
            let entry = PyDict::new(py);
            entry.set_item("inserts", counts.inserts)?;
            entry.set_item("updates", counts.updates)?;
            entry.set_item("deletes", counts.deletes)?;
            entry.set_item("bytes", counts.bytes)?;
            if self.live.is_some() {
                entry.set_item("loaded", counts.loaded)?;
                entry.set_item("loaded_bytes", counts.loaded_bytes)?;
            }
            tables.set_item(full_name(database, table), entry)?;
        }
        dict.set_item("tables", tables)?;
        if let Some(live) = &self.live {
            dict.set_item("events", live.events)?;
            dict.set_item("bytes_received", live.bytes)?;
            dict.set_item("reconnects", live.reconnects)?;
            dict.set_item("last_received", live.received_at.map(time).transpose()?)?;
            dict.set_item("lag_seconds", live.lag.map(|micros| micros as f64 / 1e6))?;
        }
        Ok(dict)
    }
}

/// Microseconds since 1970 UTC as a `datetime`.
pub(super) fn datetime(py: Python<'_>, micros: i64) -> PyResult<Bound<'_, PyAny>> {
    let datetime = py.import("datetime")?;
    let utc = datetime.getattr("timezone")?.getattr("utc")?;
    let epoch = datetime.getattr("datetime")?.call1((1970, 1, 1, 0, 0, 0, 0, utc))?;
    let delta = datetime.getattr("timedelta")?.call1((0, 0, micros))?;
    epoch.add(delta)
}
