//! Passes over a server's log that return positions: no row is decoded. Ctrl-C ends a pass, and so does closing the server.

use super::connection_spec::PyConnectionSpec;
use super::errors::warn;
use super::history_keyword::HistoryKeyword;
use super::input::table_name;
use super::interrupts::cancellable;
use super::live_log::Dumping;
use super::place::outside_load;
use super::position::PyPosition;
use super::read_options::skip_events as known_codes;
use crate::error::{Error, Result};
use crate::position::{Place, Position};
use crate::source::{
    LiveOptions, RangeBounds, RangeEnd, ReplacedTables, file_start as start_of,
    range_end as log_range_end, replaced_tables as replaced_in,
};
use pyo3::prelude::*;
use std::collections::HashSet;
use std::sync::Arc;

/// Returns the end of a part of the log; see :meth:`binarrow.Server.range_end`.
#[pyfunction]
#[pyo3(signature = (
    spec, start, *, stop = None, max_bytes = None, history = None, server_id = None, heartbeat = 10.0, reconnect = 300.0,
    skip_events = None,
))]
#[allow(clippy::too_many_arguments)] // Python's keywords
pub(super) fn range_end(
    py: Python<'_>,
    spec: &PyConnectionSpec,
    start: Place,
    stop: Option<Place>,
    max_bytes: Option<u64>,
    history: Option<HistoryKeyword>,
    server_id: Option<u32>,
    heartbeat: f64,
    reconnect: Option<f64>,
    skip_events: Option<Vec<u8>>,
) -> PyResult<PyPosition> {
    let dumping = Dumping::try_new(true, server_id, heartbeat, reconnect)?;
    let what = RangeBounds {
        start: position(start, "start")?,
        stop: stop.map(|stop| position(stop, "stop")).transpose()?,
        max_bytes,
        history: history.map(|history| history.0),
        skip_events: known_codes(skip_events)?,
    };
    let RangeEnd { position, warnings } =
        pass(py, spec, dumping, move |live| log_range_end(what, live))?;
    let mut shown = HashSet::new();
    for message in warnings.iter().filter(|message| shown.insert(message.as_str())) {
        warn(py, message)?;
    }
    Ok(PyPosition(position))
}

/// Returns the position at the beginning of a file; see :meth:`binarrow.Server.file_start`.
#[pyfunction]
#[pyo3(signature = (
    spec, name, *, version_shift = 0, server_id = None, heartbeat = 10.0, reconnect = 300.0,
))]
#[allow(clippy::too_many_arguments)] // Python's keywords
pub(super) fn file_start(
    py: Python<'_>,
    spec: &PyConnectionSpec,
    name: String,
    version_shift: u32,
    server_id: Option<u32>,
    heartbeat: f64,
    reconnect: Option<f64>,
) -> PyResult<PyPosition> {
    let dumping = Dumping::try_new(true, server_id, heartbeat, reconnect)?;
    let start = pass(py, spec, dumping, move |live| start_of(&name, live))?;
    Ok(PyPosition(Position { version_shift, ..start }))
}

/// Returns those of the tables whose names statements between two positions may have given to other tables.
#[pyfunction]
#[pyo3(signature = (spec, tables, start, stop, *, heartbeat = 10.0, reconnect = 300.0, skip_events = None))]
#[allow(clippy::too_many_arguments)] // Python's keywords
pub(super) fn replaced_tables(
    py: Python<'_>,
    spec: &PyConnectionSpec,
    tables: Vec<String>,
    start: &PyPosition,
    stop: &PyPosition,
    heartbeat: f64,
    reconnect: Option<f64>,
    skip_events: Option<Vec<u8>>,
) -> PyResult<Vec<String>> {
    let dumping = Dumping::try_new(true, None, heartbeat, reconnect)?;
    let what = RangeBounds {
        start: outside_load(start.0.clone())?,
        stop: Some(stop.0.clone()),
        max_bytes: None,
        history: None,
        skip_events: known_codes(skip_events)?,
    };
    let replaced = pass(py, spec, dumping, move |live| replaced_in(what, live))?;
    let is_replaced = |table: &String| {
        let (database, name) = table_name(table)?;
        Ok(replaced.iter().any(|one: &ReplacedTables| one.contains(database, name)))
    };
    let mut found = Vec::new();
    for table in tables {
        if is_replaced(&table).map_err(|error: Error| PyErr::from(error))? {
            found.push(table);
        }
    }
    Ok(found)
}

fn pass<T: Send + 'static>(
    py: Python<'_>,
    spec: &PyConnectionSpec,
    dumping: Dumping,
    work: impl FnOnce(LiveOptions) -> Result<T> + Send + 'static,
) -> PyResult<T> {
    let cancel = spec.passes().begin();
    let live = LiveOptions {
        connector: spec.connector(py),
        dump: dumping.dump,
        reconnect: dumping.reconnect,
        until: None,
        heartbeats: false,
        goal: None,
        foreign_keys: None,
        cancel: cancel.clone(),
        counters: Arc::default(),
    };
    cancellable(py, &cancel, move || work(live))
}

fn position(place: Place, keyword: &str) -> Result<Position, Error> {
    match place {
        Place::Gtids(gtids) => Ok(Position::after_gtids(gtids)),
        Place::Position(position) => outside_load(*position),
        Place::Earliest | Place::Latest | Place::Time(_) => Err(Error::config(format!(
            "{keyword}: a Position, 'file:offset' or a GTID set is needed"
        ))),
    }
}
