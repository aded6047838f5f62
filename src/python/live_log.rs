//! `LiveLog`: what a server logs, as an input of `read_binlog`.

use super::connection_spec::{PyConnectionSpec, seconds};
use super::interrupts::abandonable;
use super::place::live_start;
use super::running::LiveSource;
use crate::cancel::CancelToken;
use crate::error::{Error, Result};
use crate::history::{HistoryView, SchemaSnapshot};
use crate::net::{DumpOptions, random_id};
use crate::position::{Place, Position};
use crate::source::{LiveOptions, LiveStart, LogOptions, Stop, TableHistory};
use pyo3::prelude::*;
use std::cmp::Ordering;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// A server's log from a start on. Nothing is connected before it is read.
#[pyclass(name = "LiveLog", module = "binarrow._native", frozen)]
pub(super) struct PyLiveLog {
    spec: PyConnectionSpec,
    start: LiveStart,
    dumping: Dumping,
    pub(super) max_latency: Duration,
    range: Option<LogRange>,
}

/// Of a range: its end, and the structures of tables at its start.
struct LogRange {
    stop: Position,
    history: Option<TableHistory>,
}

/// How a dump is asked for, and for how long again.
#[derive(Clone)]
pub(super) struct Dumping {
    pub(super) dump: DumpOptions,
    pub(super) reconnect: Option<Duration>,
}

impl Dumping {
    pub(super) fn try_new(
        ends: bool,
        server_id: Option<u32>,
        heartbeat: f64,
        reconnect: Option<f64>,
    ) -> Result<Self> {
        let server_id = match server_id {
            Some(0) => {
                let message = "server_id=0: a number above 0 is needed, for to a server 0 is no replica, and it would not \
                               wait for more";
                return Err(Error::config(message));
            }
            Some(id) => id,
            None => random_id()?,
        };
        Ok(Self {
            dump: DumpOptions { server_id, heartbeat: seconds("heartbeat", heartbeat)?, ends },
            reconnect: reconnect.map(|limit| seconds("reconnect", limit)).transpose()?,
        })
    }
}

impl PyLiveLog {
    pub(super) fn try_new(
        spec: PyConnectionSpec,
        start: Place,
        dumping: Dumping,
        max_latency: f64,
    ) -> Result<Self> {
        let max_latency = seconds("max_latency", max_latency)?;
        Ok(Self { spec, start: live_start(start), dumping, max_latency, range: None })
    }

    /// All between two positions, neither less nor more.
    pub(super) fn range(
        spec: PyConnectionSpec,
        (start, stop): (Position, Position),
        history_part: Option<&str>,
        dumping: Dumping,
        max_latency: f64,
    ) -> Result<Self> {
        let is_same = start.server == stop.server && start.version_shift == stop.version_shift;
        if is_same && start.compare(&stop) == Some(Ordering::Greater) {
            return Err(Error::config(format!("the range goes backwards, from {start} to {stop}")));
        }
        let history = history_part.map(|text| {
            let view = HistoryView::of_snapshot(&SchemaSnapshot::from_text(text)?)?;
            Ok::<_, Error>(TableHistory::View(Box::new(view)))
        });
        Ok(Self {
            spec,
            start: LiveStart::Position(Box::new(start)),
            dumping,
            max_latency: seconds("max_latency", max_latency)?,
            range: Some(LogRange { stop, history: history.transpose()? }),
        })
    }

    /// What reading this log in particular asks for.
    pub(super) fn adapt(&self, cut: &mut LogOptions) -> Result<()> {
        cut.max_latency = Some(self.max_latency);
        let Some(range) = &self.range else { return Ok(()) };
        if cut.stop != Stop::End {
            return Err(Error::config("stop: a range has its own end"));
        }
        cut.goal = Some(Box::new(range.stop.clone()));
        if range.history.is_some() {
            cut.history.clone_from(&range.history);
        }
        Ok(())
    }

    /// Connects, and looks where the log ends if it is to be read from there; the dump begins with the first batch asked for.
    pub(super) fn connect(&self, py: Python<'_>, stop: &Stop) -> PyResult<LiveSource> {
        let mut start = self.start.clone();
        // A range is read by who can wait for its server.
        let mut server = match self.range {
            Some(_) => None,
            None => Some(self.spec.connect(py)?),
        };
        if let Some(mut connected) = server.take_if(|_| start == LiveStart::Latest) {
            (server, start) = abandonable(py, move || {
                let latest = connected.position()?;
                Ok((Some(connected), LiveStart::Position(Box::new(latest))))
            })?;
        }
        // What was committed until a time that is over is in the log already.
        let until = match stop {
            Stop::Time(micros) => Some(UNIX_EPOCH + Duration::from_micros(*micros as u64)),
            _ => None,
        };
        let Dumping { mut dump, reconnect } = self.dumping.clone();
        dump.ends |= until.is_some_and(|until| until < SystemTime::now());
        let connector = self.spec.connector(py);
        let options = LiveOptions {
            connector,
            dump,
            reconnect,
            until,
            heartbeats: false,
            goal: None,
            foreign_keys: None,
            cancel: CancelToken::default(),
            counters: Arc::default(),
        };
        Ok(LiveSource { server, start, options })
    }
}
