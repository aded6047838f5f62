//! The dump of a live read, which is requested again if the connection is lost.

use super::LOG;
use super::connecting::Connecting;
use super::goal::Goal;
use super::options::LiveOptions;
use super::server_files::check_there;
use crate::binlog::{EventHeader, EventType, FIRST_EVENT_AT};
use crate::error::{Error, ErrorKind, Result};
use crate::net::{
    Dump, DumpOptions, DumpStart, Endpoint, Flavor, Identity, Server, complete_event, is_opening,
    is_own, resolve,
};
use crate::position::compare_files;
use crate::schema::NameCase;
use std::time::{Duration, Instant, SystemTime};

/// The next result of the server.
pub(super) enum Received {
    /// An event, with its header. [`Stream::event`] returns its bytes.
    Event(EventHeader),
    /// The end of the log.
    End,
    /// The log continues by GTID, in another file: on another server, or on this one.
    Left,
}

/// A stream of events.
pub(super) struct Stream {
    pub(super) options: LiveOptions,
    pub(super) connecting: Connecting,
    dump: Option<Dump>,
    /// The time at which the dump began.
    dump_since: Instant,
    /// The offset up to which events are skipped, and the offset of the next event.
    passing: Option<(u64, u64)>,
    /// The end of the log when a dump was requested that ends there.
    log_end: Option<(String, u64)>,
    /// The place at which such a dump ended too early.
    ended_at: Option<(String, u64)>,
    identity: Identity,
    /// True if a dump is requested by GTID on the same server too, after a lost connection.
    by_gtid: bool,
    /// A server whose log must be requested by GTID.
    elsewhere: Option<Server>,
    /// The error to return next.
    failed: Option<Error>,
    /// The error that ended the connection, until the next one.
    lost: Option<Error>,
    goal: Option<Goal>,
}

impl Stream {
    /// Creates a stream from one server, which has no dump yet.
    pub(super) fn new(identity: Identity, options: LiveOptions) -> Self {
        Self {
            connecting: Connecting::new(&options),
            goal: Goal::of(&options),
            options,
            dump: None,
            dump_since: Instant::now(),
            passing: None,
            log_end: None,
            ended_at: None,
            identity,
            by_gtid: false,
            elsewhere: None,
            failed: None,
            lost: None,
        }
    }

    /// Creates a stream from the server that answers first.
    pub(super) fn unconnected(options: LiveOptions) -> Self {
        let identity = Identity {
            flavor: Flavor::Mysql,
            version: Default::default(),
            server_id: 0,
            id: String::new(),
            name_case: NameCase::Unknown,
        };
        Self::new(identity, options)
    }

    /// A second stream from the same server, which ends at the current end of the log. It has another id, because with the same
    /// id the server would end this one.
    pub(super) fn second(&self) -> Self {
        let server_id = match self.options.dump.server_id ^ SECOND_ID {
            0 => SECOND_ID,
            id => id,
        };
        let dump = DumpOptions { ends: true, server_id, ..self.options.dump.clone() };
        let options = LiveOptions {
            dump,
            until: None,
            heartbeats: false,
            goal: None,
            foreign_keys: None,
            ..self.options.clone()
        };
        let mut second = Self::new(self.identity.clone(), options);
        second.connecting = self.connecting.to_same_server(&second.options);
        second
    }

    /// The server that is read.
    pub(super) fn identity(&self) -> &Identity {
        &self.identity
    }

    pub(super) fn is_mariadb(&self) -> bool {
        self.identity.flavor == Flavor::Mariadb
    }

    /// Sets the way of requesting a dump after a lost connection: see
    /// [`crate::position::Position::by_gtid`].
    pub(super) fn set_by_gtid(&mut self, by_gtid: bool) {
        // MySQL's sets contain the transactions that were read already, on every server.
        self.by_gtid = by_gtid && self.is_mariadb();
    }

    /// The server on which the log continues by GTID, after [`Received::Left`].
    pub(super) fn take_elsewhere(&mut self) -> Option<Server> {
        self.elsewhere.take()
    }

    /// Sets the server that is read from now on.
    pub(super) fn set_server(&mut self, server: &mut Server) {
        if self.identity.id != server.identity().id {
            (self.log_end, self.ended_at) = (None, None);
        }
        self.identity = server.identity().clone();
        self.connecting.endpoint = Some(server.connection().options().endpoint.clone());
    }

    pub(super) fn start_dump(&mut self, mut server: Server, start: &DumpStart) -> Result<()> {
        self.set_server(&mut server);
        let mut passing = None;
        let start = match start {
            // An offset that cannot be requested: the file is read from its start, and events are skipped.
            DumpStart::File { file, offset }
                if *offset > u64::from(u32::MAX) && !server.takes_large_offsets()? =>
            {
                passing = Some((*offset, FIRST_EVENT_AT));
                DumpStart::File { file: file.clone(), offset: FIRST_EVENT_AT }
            }
            start => start.clone(),
        };
        if self.options.dump.ends && self.log_end.is_none() {
            self.log_end = match server.end_of_log() {
                Ok(end) => Some(end),
                // Without the privilege for this query, the dump is requested twice.
                Err(error) if error.server_code().is_some() => None,
                Err(error) => return Err(error),
            };
        }
        let dump = Dump::start(server, &start, &self.options.dump)?;
        self.connecting.watch(dump.connection().handle()?);
        let endpoint =
            self.connecting.endpoint.as_ref().map(Endpoint::to_string).unwrap_or_default();
        log::info!(target: LOG, "reading the log of {endpoint} ({}) from {start}", self.identity.id);
        (self.dump, self.passing) = (Some(dump), passing);
        self.dump_since = Instant::now();
        Ok(())
    }

    /// Connects until `attempt` succeeds, in growing intervals.
    pub(super) fn connect<T>(
        &mut self,
        mut attempt: impl FnMut(&mut Self, Server) -> Result<T>,
    ) -> Result<T> {
        loop {
            match self.connecting.open().and_then(|server| attempt(self, server)) {
                Ok(done) => return Ok(done),
                Err(error) => self.connecting.wait_out(error)?,
            }
        }
    }

    /// Connects again, until `attempt` succeeds.
    pub(super) fn connect_again<T>(
        &mut self,
        attempt: impl FnMut(&mut Self, Server) -> Result<T>,
    ) -> Result<T> {
        let done = self.connect(attempt)?;
        self.options.counters.reconnected();
        Ok(done)
    }

    /// Continues in the middle of a file; false if the log must be requested by GTID.
    fn resume(&mut self, mut server: Server, file: &str, offset: u64) -> Result<bool> {
        if server.identity().id != self.identity.id || self.by_gtid {
            self.elsewhere = Some(server);
            return Ok(false);
        }
        check_there(&mut server, file, offset)?;
        self.start_dump(server, &DumpStart::File { file: file.to_owned(), offset })?;
        Ok(true)
    }

    /// The bytes of the last event.
    pub(super) fn event(&self) -> &[u8] {
        self.dump.as_ref().map_or(&[], Dump::event)
    }

    /// Waits for the next event. After a lost connection, the dump continues at `offset` of `file`.
    pub(super) fn next_event(&mut self, file: &str, offset: u64) -> Result<Received> {
        loop {
            if let Some(received) = self.next_here(file, offset, true)? {
                return Ok(received);
            }
            if let Some(error) = self.lost.take() {
                self.connecting.was_lost(error)?;
            }
            if let Some(pause) = self.goal.as_mut().and_then(Goal::pause) {
                self.connecting.sleep(pause)?;
            }
            if !self.connect_again(|stream, server| stream.resume(server, file, offset))? {
                return Ok(Received::Left);
            }
        }
    }

    /// The next event if it has arrived: `None` if that would need a wait, or if the connection is lost. Other errors are
    /// reported by [`Self::next_event`], so that the caller can return earlier events first.
    pub(super) fn next_ready(&mut self, file: &str, offset: u64) -> Option<Received> {
        if self.failed.is_some() {
            return None;
        }
        match self.next_here(file, offset, false) {
            Ok(received) => received,
            Err(error) => {
                self.failed = Some(error);
                None
            }
        }
    }

    /// The next event of this connection; `None` if it is lost, or if the event has not arrived yet and it may not wait.
    fn next_here(&mut self, file: &str, offset: u64, may_wait: bool) -> Result<Option<Received>> {
        if let Some(error) = self.failed.take() {
            return Err(error);
        }
        loop {
            let Some(dump) = &mut self.dump else { return Ok(None) };
            let waits = !dump.is_ready();
            if waits && !may_wait {
                return Ok(None);
            }
            let advanced = dump.advance();
            if waits {
                self.options.counters.heard();
            }
            let error = match advanced {
                Ok(true) => {
                    let header = complete_event(self.event())?;
                    if self.is_over(&header) {
                        return Ok(Some(Received::End));
                    }
                    if self.passes(&header) {
                        continue;
                    }
                    return Ok(Some(Received::Event(header)));
                }
                // Before the first file is named, there is no place to continue at.
                Ok(false) if self.goal.is_some() && !file.is_empty() => {
                    let server = &self.identity.id;
                    let goal = self.goal.as_mut();
                    goal.map_or(Ok(()), |goal| goal.was_missed(server, file, offset))?;
                    self.drop_dump();
                    return Ok(None);
                }
                Ok(false) if self.is_at_end(file, offset) => return Ok(Some(Received::End)),
                Ok(false) if !self.has_ended_at(file, offset) => {
                    self.ended_at = Some((file.to_owned(), offset));
                    log::info!(target: LOG, "the server ended the dump at {file}:{offset}: requesting the rest, if there is any");
                    self.drop_dump();
                    return Ok(None);
                }
                Ok(false) => Error::new(
                    ErrorKind::ConnectionLost,
                    "the server ended the dump before the end of its log",
                ),
                Err(error) => error,
            };
            self.options.cancel.check()?;
            // Before the first file is named, there is no place to continue at.
            if !self.connecting.may_retry(&error) || file.is_empty() {
                return Err(error);
            }
            log::warn!(target: LOG, "the connection was lost at {file}:{offset}: {error}");
            self.drop_dump();
            if self.dump_since.elapsed() >= STEADY {
                self.connecting.works();
            }
            self.lost = Some(error);
            return Ok(None);
        }
    }

    /// True if a dump ended at the end of the log. Servers end a dump in the same way if its thread is killed: by a user, in a
    /// shutdown, or by a later dump with the same id. A dump that ends before the end of the log at the time of its request is
    /// requested again. If the second dump ends there too, MariaDB skipped the rest by GTID; or the account may not ask for the
    /// end of the log, and there is no better answer.
    fn is_at_end(&self, file: &str, offset: u64) -> bool {
        let is_after = self.log_end.as_ref().is_some_and(|(end, at)| {
            compare_files(file, end).is_some_and(|order| order.then(offset.cmp(at)).is_ge())
        });
        // Before the first file is named, there is no place to continue at, and nothing that may be missing.
        let is_again = || self.has_ended_at(file, offset);
        file.is_empty() || is_after || ((self.by_gtid || self.log_end.is_none()) && is_again())
    }

    fn has_ended_at(&self, file: &str, offset: u64) -> bool {
        self.ended_at.as_ref().is_some_and(|(end, at)| end == file && *at == offset)
    }

    pub(super) fn drop_dump(&mut self) {
        self.connecting.unwatch();
        self.dump = None;
    }

    /// Counts the event. Returns true if it is before the start.
    fn passes(&mut self, header: &EventHeader) -> bool {
        let len = self.event().len();
        self.options.counters.received(len);
        if self.connecting.is_troubled() && !is_opening(header) {
            self.connecting.works();
        }
        let Some((until, at)) = self.passing.filter(|(until, at)| at < until) else { return false };
        if !is_own(header) {
            // A heartbeat contains an offset before the start.
            return header.event_type.is_heartbeat();
        }
        // The server need not send the complete file: the event contains its offset.
        let begin = match header.log_pos {
            0 => at,
            log_pos => resolve(at, log_pos.wrapping_sub(header.event_size)).unwrap_or(at),
        };
        let is_before = begin < until;
        self.passing = Some((until, if is_before { begin + len as u64 } else { begin }));
        is_before && header.event_type != EventType::FORMAT_DESCRIPTION
    }

    /// True if the time to end has passed, and the server sent nothing else until then.
    fn is_over(&self, header: &EventHeader) -> bool {
        let Some(until) = self.options.until else { return false };
        header.event_type.is_heartbeat() && SystemTime::now() > until
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        self.connecting.unwatch();
        if let Some(dump) = self.dump.take() {
            dump.leave();
        }
    }
}

/// The difference between the ids of the two connections.
const SECOND_ID: u32 = 0x4000_0000;

/// A dump that lasted for this time was not lost immediately.
const STEADY: Duration = Duration::from_secs(5);
