//! Passes over a server's log that return positions: no row is decoded. Ctrl-C ends a pass, and so does closing the server.

use super::connection_spec::PyConnectionSpec;
use super::errors::warn;
use super::history_keyword::HistoryKeyword;
use super::interrupts::cancellable;
use super::live_log::Dumping;
use super::position::PyPosition;
use crate::cancel::CancelToken;
use crate::error::{Error, Result};
use crate::position::{Place, Position};
use crate::source::{
    LiveOptions, RangeBounds, RangeEnd, file_start as start_of, range_end as log_range_end,
};
use pyo3::prelude::*;
use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The token of the passes that run over a spec's connections.
#[derive(Clone, Default)]
pub(super) struct Passes(Arc<Mutex<CancelToken>>);

impl Passes {
    /// Cancels the passes that run now. Later ones are not affected.
    pub(super) fn cancel(&self) {
        let running = std::mem::take(&mut *self.token());
        running.cancel();
    }

    /// The token of another pass.
    fn begin(&self) -> CancelToken {
        self.token().child()
    }

    fn token(&self) -> MutexGuard<'_, CancelToken> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
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
        pass(py, spec, dumping, move |live| log_range_end(what, live))?;
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
    let start = pass(py, spec, dumping, move |live| start_of(&name, live))?;
    Ok(PyPosition(Position { version_shift, ..start }))
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
        Place::Position(position) => Ok(*position),
        Place::Earliest | Place::Latest | Place::Time(_) => Err(Error::config(format!(
            "{keyword}: a Position, 'file:offset' or a GTID set is needed"
        ))),
    }
}
