//! The connections of a read: to the server that answered last before others, in growing intervals as long as the cause of a
//! failure may pass.

use super::LOG;
use super::options::{Connector, LiveOptions};
use crate::cancel::{CancelToken, OnCancel};
use crate::error::{Error, ErrorKind, Result};
use crate::net::{Endpoint, Server, SocketHandle};
use log::Level;
use ring::rand::{SecureRandom, SystemRandom};
use std::cell::Cell;
use std::time::{Duration, Instant};

/// Opens the connections of a read, one after another.
pub(crate) struct Connecting {
    connector: Connector,
    /// The time for which a connection is retried; `None` for no retries.
    reconnect: Option<Duration>,
    cancel: CancelToken,
    /// The server that answered last, which is tried first.
    pub(super) endpoint: Option<Endpoint>,
    /// True if no other server is tried.
    is_bound: bool,
    /// Connections that were lost or failed, without an event between them.
    trouble: Option<Trouble>,
    /// The current connection, which the token of the read ends.
    connected: Cell<Option<OnCancel>>,
}

/// A time without an event.
struct Trouble {
    since: Instant,
    /// The time before the next attempt.
    pause: Duration,
    /// The text of the last error.
    last: String,
}

impl Connecting {
    pub(crate) fn new(options: &LiveOptions) -> Self {
        Self {
            connector: options.connector.clone(),
            reconnect: options.reconnect,
            cancel: options.cancel.clone(),
            endpoint: None,
            is_bound: false,
            trouble: None,
            connected: Cell::default(),
        }
    }

    /// Other connections to the server that answered last, and to no other.
    pub(super) fn to_same_server(&self, options: &LiveOptions) -> Self {
        let endpoint = self.endpoint.clone();
        Self { is_bound: endpoint.is_some(), endpoint, ..Self::new(options) }
    }

    /// True if the cause of an error may pass, and the connection is to be tried again.
    pub(crate) fn may_retry(&self, error: &Error) -> bool {
        // A server that starts refuses connections for a while; a server that lags catches up.
        let passes = matches!(error.kind(), ErrorKind::ConnectionLost | ErrorKind::ServerLag)
            || error.server_code().is_some_and(|code| PASSING.contains(&code));
        passes && self.reconnect.is_some() && !self.cancel.is_cancelled()
    }

    /// Connects to the server that answered last, otherwise to the first that answers.
    pub(crate) fn open(&self) -> Result<Server> {
        let mut candidates = (self.connector)()?;
        if self.is_bound {
            candidates.retain(|options| Some(&options.endpoint) == self.endpoint.as_ref());
        }
        candidates.sort_by_key(|options| Some(&options.endpoint) != self.endpoint.as_ref());
        let mut failed: Option<Error> = None;
        for options in candidates {
            match Server::open_watched(options, |handle| self.watch(handle)) {
                Ok(server) => return Ok(server),
                // An error that may pass is reported rather than that of another server.
                Err(error) if failed.as_ref().is_none_or(|failed| !self.may_retry(failed)) => {
                    failed = Some(error);
                }
                Err(_) => {}
            }
        }
        Err(failed.unwrap_or_else(|| {
            Error::config("no host to connect to: pass a URL such as mysql://user@host/")
        }))
    }

    /// Makes the token of the read end a connection.
    pub(crate) fn watch(&self, handle: SocketHandle) {
        self.connected.set(Some(self.cancel.on_cancel(move || handle.shutdown())));
    }

    /// Stops watching the current connection.
    pub(super) fn unwatch(&self) {
        self.connected.set(None);
    }

    /// Called when a connection was lost. A connection that is lost immediately counts as one that
    /// cannot be established.
    pub(super) fn was_lost(&mut self, error: Error) -> Result<()> {
        if self.trouble.is_some() {
            return self.wait_out(error);
        }
        self.trouble = Some(Trouble::new());
        Ok(())
    }

    /// Called when the connection works.
    pub(crate) fn works(&mut self) {
        self.trouble = None;
    }

    /// True if no event has arrived since a connection was lost.
    pub(super) fn is_troubled(&self) -> bool {
        self.trouble.is_some()
    }

    /// Waits before the next attempt to connect, each time for longer. Returns the error if there
    /// must be no other attempt.
    pub(crate) fn wait_out(&mut self, error: Error) -> Result<()> {
        self.cancel.check()?;
        let trouble = self.trouble.get_or_insert_with(Trouble::new);
        let (since, pause) = (trouble.since, trouble.pause);
        trouble.pause = (pause * 2).min(LONGEST_PAUSE);
        let limit = self.reconnect.unwrap_or_default();
        if !self.may_retry(&error) || since.elapsed() >= limit {
            return Err(error);
        }
        let pause = jittered(pause);
        // The same error again has the same cause.
        let text = error.to_string();
        let last = self.trouble.as_mut().map(|trouble| &mut trouble.last);
        let is_same = last.is_some_and(|last| std::mem::replace(last, text.clone()) == text);
        let level = if is_same { Level::Debug } else { Level::Warn };
        log::log!(target: LOG, level, "cannot continue yet, trying again in {:.2} s: {text}", pause.as_secs_f32());
        self.sleep(pause)
    }

    /// Waits, unless the read is cancelled.
    pub(crate) fn sleep(&self, pause: Duration) -> Result<()> {
        let until = Instant::now() + pause;
        while Instant::now() < until {
            self.cancel.check()?;
            std::thread::sleep(STOP_CHECK.min(pause));
        }
        Ok(())
    }
}

impl Trouble {
    fn new() -> Self {
        Self { since: Instant::now(), pause: FIRST_PAUSE, last: String::new() }
    }
}

/// A random time between half of `pause` and `pause`, so that not all readers connect at the same time.
fn jittered(pause: Duration) -> Duration {
    let mut byte = [0];
    // Without random bytes it is half of `pause`.
    let _ = SystemRandom::new().fill(&mut byte);
    pause / 2 + pause / 2 * u32::from(byte[0]) / 255
}

const FIRST_PAUSE: Duration = Duration::from_millis(50);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);
const STOP_CHECK: Duration = Duration::from_millis(20);

/// Errors that a server reports for a while only: too many connections, of the server (1040) and of the user (1203, and 1226 within an hour), no thread for
/// a connection (1135), a shutdown (1053, 1077, 3168), a connection that was killed (1317, MariaDB's 1927).
const PASSING: [u16; 9] = [1040, 1053, 1077, 1135, 1203, 1226, 1317, 1927, 3168];
