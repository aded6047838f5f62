//! The dump behind a live read: connected, and connected anew when the connection is lost.

use crate::binlog::{EventHeader, EventType};
use crate::error::{Error, ErrorKind, Result};
use crate::net::{ConnectOptions, Dump, DumpOptions, DumpStart, Identity, Server, SocketHandle};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// What gives a connection's options, asked anew each time: passwords may be tokens that expire.
pub type Connector = Box<dyn FnMut() -> Result<Vec<ConnectOptions>> + Send>;

/// How a live read connects and stays connected.
pub struct LiveOptions {
    /// Gives the servers to try, in order.
    pub connector: Connector,
    /// How the dump is asked for.
    pub dump: DumpOptions,
    /// For how long a lost connection is tried to be made anew; `None` for not at all.
    pub reconnect: Option<Duration>,
}

/// What others see of a live read, and how they end it.
#[derive(Debug, Default)]
pub struct LiveControl {
    /// Set when nobody wants more.
    pub stopping: Arc<AtomicBool>,
    /// Connections that were lost and made anew.
    pub reconnects: AtomicU64,
    /// Bytes that came over the network.
    pub bytes: AtomicU64,
    handle: Mutex<Option<SocketHandle>>,
}

impl LiveControl {
    /// Ends the read, whatever it waits for.
    pub fn stop(&self) {
        self.stopping.store(true, Ordering::Relaxed);
        if let Some(handle) = &*self.handle.lock().unwrap_or_else(PoisonError::into_inner) {
            handle.shutdown();
        }
    }

    fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::Relaxed)
    }

    fn set_handle(&self, handle: Option<SocketHandle>) {
        *self.handle.lock().unwrap_or_else(PoisonError::into_inner) = handle;
        // It may have been told to stop while there was none.
        if self.is_stopping() {
            self.stop();
        }
    }
}

/// A stream of events with the name of their file.
pub(super) struct Stream {
    options: LiveOptions,
    control: Arc<LiveControl>,
    dump: Option<Dump>,
    identity: Identity,
    /// The event at hand.
    event: Vec<u8>,
}

impl Stream {
    /// A stream of one server, without a dump yet.
    pub(super) fn new(identity: Identity, options: LiveOptions, control: Arc<LiveControl>) -> Self {
        Self { options, control, dump: None, identity, event: Vec::new() }
    }

    pub(super) fn options(&mut self) -> &mut LiveOptions {
        &mut self.options
    }

    pub(super) fn start_dump(&mut self, server: Server, start: &DumpStart) -> Result<()> {
        let dump = Dump::start(server, start, &self.options.dump)?;
        self.control.set_handle(Some(dump.connection().handle()?));
        self.dump = Some(dump);
        Ok(())
    }

    /// Whether the next event, or a part of it, is here already.
    pub(super) fn is_ready(&mut self) -> bool {
        self.dump.as_mut().is_none_or(Dump::is_ready)
    }

    /// The next event, of file `file` and at `offset` if it is a file's own: where to go on after a lost connection.
    /// `None` where the log ends.
    pub(super) fn next_event(&mut self, file: &str, offset: u64) -> Result<Option<&[u8]>> {
        let mut passing = None;
        loop {
            let Some(dump) = &mut self.dump else {
                passing =
                    self.connect_again(|stream, server| stream.resume(server, file, offset))?;
                continue;
            };
            let error = match dump.next_event() {
                Ok(None) => return Ok(None),
                Ok(Some(event)) => {
                    self.control.bytes.fetch_add(event.len() as u64, Ordering::Relaxed);
                    if let Some(at) = &mut passing
                        && is_own(event)
                        && *at < offset
                    {
                        *at += event.len() as u64;
                        continue;
                    }
                    event.clone_into(&mut self.event);
                    return Ok(Some(&self.event));
                }
                Err(error) => error,
            };
            if self.control.is_stopping() {
                return Err(stopped());
            }
            // Before the first file is named there is no place to go on at.
            if !self.may_retry(&error) || file.is_empty() {
                return Err(error);
            }
            self.control.set_handle(None);
            self.dump = None;
        }
    }

    /// Whether an error may pass, and is to be waited out.
    pub(super) fn may_retry(&self, error: &Error) -> bool {
        // A server that starts refuses for a while.
        let passes = error.kind() == ErrorKind::ConnectionLost
            || error.server_code().is_some_and(|code| PASSING.contains(&code));
        passes && self.options.reconnect.is_some() && !self.control.is_stopping()
    }

    /// Connects until `attempt` succeeds, in growing intervals.
    pub(super) fn connect_again<T>(
        &mut self,
        mut attempt: impl FnMut(&mut Self, Server) -> Result<T>,
    ) -> Result<T> {
        let limit = self.options.reconnect.unwrap_or_default();
        let begin = Instant::now();
        let mut pause = FIRST_PAUSE;
        loop {
            let tried = self.open().and_then(|server| attempt(self, server));
            match tried {
                Ok(done) => {
                    self.control.reconnects.fetch_add(1, Ordering::Relaxed);
                    return Ok(done);
                }
                Err(error) if !self.may_retry(&error) || begin.elapsed() >= limit => {
                    return Err(error);
                }
                Err(_) => {}
            }
            self.sleep(jittered(pause))?;
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }

    fn open(&mut self) -> Result<Server> {
        let mut last = None;
        for options in (self.options.connector)()? {
            match Server::open(options) {
                Ok(server) => return Ok(server),
                Err(error) => last = Some(error),
            }
        }
        Err(last.unwrap_or_else(|| Error::config("no host to connect to")))
    }

    fn resume(&mut self, mut server: Server, file: &str, offset: u64) -> Result<Option<u64>> {
        let identity = server.identity();
        if identity.id != self.identity.id {
            return Err(Error::new(
                ErrorKind::ServerIdentity,
                format!(
                    "the server that answers now is {}, the log was read from {}",
                    identity.id, self.identity.id
                ),
            ));
        }
        let size = server.binlogs()?.into_iter().find(|one| one.name == file).map(|one| one.size);
        match size {
            None => {
                return Err(Error::new(
                    ErrorKind::PositionPurged,
                    format!("the server no longer has {file}, which was not read to its end"),
                ));
            }
            Some(size) if size < offset => {
                return Err(Error::new(
                    ErrorKind::ServerIdentity,
                    format!(
                        "the server's {file} has {size} bytes now, and was read to {offset}: the log was reset, or a crash took \
                         changes back that had been sent (sync_binlog=1 keeps a server from that)"
                    ),
                ));
            }
            Some(_) => {}
        }
        // What cannot be asked for is passed over: the file from its start.
        let at = if offset < 1 << 32 { offset } else { FIRST };
        self.start_dump(server, &DumpStart::File { file: file.to_owned(), offset: at })?;
        Ok((at < offset).then_some(at))
    }

    fn sleep(&self, pause: Duration) -> Result<()> {
        let until = Instant::now() + pause;
        while Instant::now() < until {
            if self.control.is_stopping() {
                return Err(stopped());
            }
            std::thread::sleep(STOP_CHECK.min(pause));
        }
        Ok(())
    }
}

/// Whether an event stands in the file, and is not made for us.
pub(super) fn is_own(event: &[u8]) -> bool {
    EventHeader::decode(event).is_ok_and(|header| {
        let is_made_for_us = match header.event_type {
            EventType::HEARTBEAT | EventType::HEARTBEAT_V2 => true,
            EventType::FORMAT_DESCRIPTION => header.log_pos == 0,
            EventType::ROTATE => header.timestamp == 0,
            _ => false,
        };
        !is_made_for_us && !header.has(EventHeader::ARTIFICIAL)
    })
}

fn stopped() -> Error {
    Error::new(ErrorKind::ConnectionLost, "the reader is closed")
}

/// Between half of it and all, so that many readers do not come at once.
fn jittered(pause: Duration) -> Duration {
    let nanos = u64::from(Instant::now().elapsed().subsec_nanos())
        ^ std::time::UNIX_EPOCH.elapsed().map_or(0, |now| u64::from(now.subsec_nanos()));
    pause / 2 + pause / 2 * (nanos % 1000) as u32 / 1000
}

/// Offset of a file's first event.
const FIRST: u64 = crate::binlog::FIRST_EVENT_AT;

const FIRST_PAUSE: Duration = Duration::from_millis(50);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);
const STOP_CHECK: Duration = Duration::from_millis(20);

/// Too many connections, server shutdown, starting: refusals that pass.
const PASSING: [u16; 4] = [1040, 1053, 1077, 3168];
