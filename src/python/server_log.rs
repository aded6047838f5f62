//! Passes over a server's log that give positions: no row is decoded. Each is a thread's work that Ctrl-C, or the closing of
//! the server, ends.

use super::connection_spec::PyConnectionSpec;
use super::errors::{abandonable, warn};
use super::history_keyword::HistoryKeyword;
use super::keywords::Place;
use super::live_log::{Dumping, place_of};
use super::position::PyPosition;
use crate::error::{Error, Result};
use crate::position::Position;
use crate::source::{
    LiveControl, LiveOptions, RangeBounds, RangeEnd, file_start as start_of,
    range_end as log_range_end,
};
use pyo3::prelude::*;
use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError, Weak};

/// The passes at work over a spec's connections.
#[derive(Clone, Default)]
pub(super) struct Passes(Arc<Mutex<Vec<Weak<LiveControl>>>>);

impl Passes {
    /// Ends all of them.
    pub(super) fn stop(&self) {
        let mut passes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        passes.drain(..).filter_map(|control| control.upgrade()).for_each(|control| control.stop());
    }

    fn begin(&self) -> Arc<LiveControl> {
        let control = Arc::default();
        let mut passes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        passes.retain(|control| control.strong_count() > 0);
        passes.push(Arc::downgrade(&control));
        control
    }
}

/// Goes through the log, up to a transaction's end.
pub(super) fn range_end(
    py: Python<'_>,
    spec: &PyConnectionSpec,
    (start, stop): (Place, Option<Place>),
    (max_bytes, skip_events): (Option<u64>, Vec<u8>),
    history: Option<HistoryKeyword>,
    dumping: Dumping,
) -> PyResult<PyPosition> {
    let what = RangeBounds {
        start: position(start, "start")?,
        stop: stop.map(|stop| position(stop, "stop")).transpose()?,
        max_bytes,
        history: history.map(|history| history.0),
        skip_events,
    };
    let RangeEnd { position, warnings } =
        pass(py, spec, dumping, move |live, control| log_range_end(what, live, control))?;
    let mut told = HashSet::new();
    for message in warnings.iter().filter(|message| told.insert(message.as_str())) {
        warn(py, message)?;
    }
    Ok(PyPosition(position))
}

/// The position of a file's first event.
pub(super) fn file_start(
    py: Python<'_>,
    spec: &PyConnectionSpec,
    name: String,
    version_shift: u32,
    dumping: Dumping,
) -> PyResult<PyPosition> {
    let begun = pass(py, spec, dumping, move |live, control| start_of(&name, live, control))?;
    Ok(PyPosition(Position { version_shift, ..begun }))
}

fn pass<T: Send + 'static>(
    py: Python<'_>,
    spec: &PyConnectionSpec,
    dumping: Dumping,
    work: impl FnOnce(LiveOptions, &Arc<LiveControl>) -> Result<T> + Send + 'static,
) -> PyResult<T> {
    let live = LiveOptions {
        connector: spec.connector(py),
        dump: dumping.dump,
        reconnect: dumping.reconnect,
        until: None,
        heartbeats: false,
        goal: None,
        foreign_keys: None,
    };
    let control = spec.passes().begin();
    let own = Arc::clone(&control);
    let done = abandonable(py, move || work(live, &own));
    if done.is_err() {
        // After Ctrl-C nobody waits for what it finds.
        control.stop();
    }
    done
}

fn position(place: Place, keyword: &str) -> Result<Position, Error> {
    match place {
        Place::Gtids(gtids) => Ok(Position { gtid_set: Some(gtids), ..Position::default() }),
        place => place_of(place).ok_or_else(|| {
            Error::config(format!("{keyword}: a Position, 'file:offset' or a GTID set is needed"))
        }),
    }
}
