//! `LiveLog`: what a server logs, as an input of `read_binlog`.

use super::connection_spec::{PyConnectionSpec, seconds};
use super::errors::abandonable;
use super::keywords::Place;
use super::running::LiveSource;
use crate::error::{Error, ErrorKind, Result};
use crate::net::DumpOptions;
use crate::source::{LiveOptions, LiveStart, Stop};
use pyo3::prelude::*;
use ring::rand::{SecureRandom, SystemRandom};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// A server's log from a start on. Nothing is connected before it is read.
#[pyclass(name = "LiveLog", module = "binarrow._native", frozen)]
pub(super) struct PyLiveLog {
    spec: PyConnectionSpec,
    start: LiveStart,
    dump: DumpOptions,
    reconnect: Option<Duration>,
    pub(super) max_latency: Duration,
}

impl PyLiveLog {
    #[allow(clippy::too_many_arguments)] // Python's keywords
    pub(super) fn try_new(
        spec: PyConnectionSpec,
        start: &Bound<'_, PyAny>,
        ends: bool,
        server_id: Option<u32>,
        heartbeat: f64,
        reconnect: Option<f64>,
        max_latency: f64,
    ) -> PyResult<Self> {
        let server_id = match server_id {
            Some(0) => {
                let message = "server_id=0: a number above 0 is needed, for to a server 0 is no replica, and it would not \
                               wait for more";
                return Err(Error::config(message).into());
            }
            Some(id) => id,
            None => random_id()?,
        };
        Ok(Self {
            spec,
            start: live_start(start)?,
            dump: DumpOptions { server_id, heartbeat: seconds("heartbeat", heartbeat)?, ends },
            reconnect: reconnect.map(|limit| seconds("reconnect", limit)).transpose()?,
            max_latency: seconds("max_latency", max_latency)?,
        })
    }

    /// Connects, and looks where the log ends if it is to be read from there; the dump begins with the first batch asked for.
    pub(super) fn connect(&self, py: Python<'_>, stop: &Stop) -> PyResult<LiveSource> {
        let mut server = self.spec.connect(py)?;
        let mut start = self.start.clone();
        if start == LiveStart::Latest {
            (server, start) = abandonable(py, move || {
                let latest = server.position()?;
                Ok((server, LiveStart::Position(Box::new(latest))))
            })?;
        }
        // What was committed until a time that is over is in the log already.
        let until = match stop {
            Stop::Time(micros) => Some(UNIX_EPOCH + Duration::from_micros(*micros as u64)),
            _ => None,
        };
        let mut dump = self.dump.clone();
        dump.ends |= until.is_some_and(|until| until < SystemTime::now());
        let connector = self.spec.connector(py);
        let reconnect = self.reconnect;
        let options = LiveOptions { connector, dump, reconnect, until, heartbeats: false };
        Ok(LiveSource { server, start, options, control: Arc::default() })
    }
}

fn live_start(start: &Bound<'_, PyAny>) -> PyResult<LiveStart> {
    match start.extract::<String>().as_deref() {
        Ok("earliest") => return Ok(LiveStart::Earliest),
        Ok("latest") => return Ok(LiveStart::Latest),
        Ok(word) if !word.contains([':', '-']) => {
            let message = format!(
                "start={word:?}: 'latest', 'earliest', 'file:offset' or a GTID set is needed, a Position or a datetime"
            );
            return Err(Error::config(message).into());
        }
        _ => {}
    }
    Ok(match start.extract::<Place>()? {
        Place::Position(position) => LiveStart::Position(position),
        Place::Gtids(gtids) => LiveStart::Gtids(gtids),
        Place::Time(time) => LiveStart::Time(time),
    })
}

/// An id that no other replica is likely to have: not 0, and below 2³⁰, which leaves room for a second dump's.
pub(super) fn random_id() -> Result<u32> {
    let mut bytes = [0; 4];
    let failed = |_| Error::new(ErrorKind::Internal, "the system gives no random numbers");
    SystemRandom::new().fill(&mut bytes).map_err(failed)?;
    Ok(u32::from_le_bytes(bytes) >> 2 | 1 << 28)
}
