//! The dump behind a live read: connected, and connected anew when the connection is lost.

use super::connecting::{Trouble, stopped};
use super::control::LiveControl;
use super::file::resolve;
use super::goal::Short;
use crate::baseline::foreign_keys;
use crate::binlog::{EventHeader, EventType, FIRST_EVENT_AT};
use crate::change::TableFilter;
use crate::error::{Error, ErrorKind, Result};
use crate::history::ForeignKeys;
use crate::net::{
    ConnectOptions, Dump, DumpOptions, DumpStart, Endpoint, Flavor, Identity, Server,
};
use crate::position::{Position, compare_files};
use crate::schema::NameCase;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant, SystemTime};

/// What gives a connection's options, asked anew each time: passwords may be tokens that expire.
pub type Connector = Arc<dyn Fn() -> Result<Vec<ConnectOptions>> + Send + Sync>;

/// How a live read connects and stays connected.
#[derive(Clone)]
pub struct LiveOptions {
    /// Gives the servers to try, in order.
    pub connector: Connector,
    /// How the dump is asked for.
    pub dump: DumpOptions,
    /// For how long a lost connection is tried to be made anew; `None` for not at all.
    pub reconnect: Option<Duration>,
    /// When the read ends, if nothing more comes then.
    pub until: Option<SystemTime>,
    /// Whether the reader is told of heartbeats.
    pub heartbeats: bool,
    /// What must be reached: a log that ends before it is asked again for as long as a lost connection is tried to be made anew.
    pub goal: Option<Box<Position>>,
    /// The query for the foreign keys, which precedes the request for the log.
    pub foreign_keys: Option<ForeignKeyQuestion>,
}

/// A query for the foreign keys of the tables that are read, and its result.
#[derive(Debug, Clone)]
pub struct ForeignKeyQuestion {
    /// The tables.
    pub tables: TableFilter,
    /// The first answer of the server; empty if it refuses, or if it logs all rows that foreign keys change.
    pub answer: Arc<OnceLock<Arc<ForeignKeys>>>,
}

impl ForeignKeyQuestion {
    /// Queries the foreign keys, unless this was done before.
    pub(super) fn ask(&self, server: &mut Server) -> Result<()> {
        if self.answer.get().is_some() {
            return Ok(());
        }
        match foreign_keys(server, &self.tables) {
            Ok(Some(keys)) => {
                let _ = self.answer.set(Arc::new(keys));
                Ok(())
            }
            Ok(None) => Ok(()),
            Err(error) if error.server_code().is_some() => {
                log::info!(target: LOG, "the server does not list its foreign keys: {}", error.message());
                Ok(())
            }
            Err(error) => Err(error),
        }
    }
}

/// What comes next.
pub(super) enum Received {
    /// An event: [`Stream::event`].
    Event,
    /// Nothing: the log ends.
    End,
    /// The log goes on by GTID, in another file: at another server, or at this one.
    Left,
}

/// A stream of events.
pub(super) struct Stream {
    pub(super) options: LiveOptions,
    pub(super) control: Arc<LiveControl>,
    /// Which of the read's connections it is: [`LiveControl`] ends all of them.
    pub(super) slot: usize,
    dump: Option<Dump>,
    /// When the dump began.
    dump_since: Instant,
    /// Up to where own events are passed over, and where the next one stands.
    passing: Option<(u64, u64)>,
    /// Where the log ended before a dump that is to end there.
    log_end: Option<(String, u64)>,
    /// Where such a dump ended too early.
    ended_at: Option<(String, u64)>,
    pub(super) identity: Identity,
    /// The server that answered last, and is asked first.
    pub(super) endpoint: Option<Endpoint>,
    /// Whether no other is asked.
    pub(super) is_bound: bool,
    /// Connections that were lost or could not be made, with nothing that came between.
    pub(super) trouble: Option<Trouble>,
    /// Whether a lost connection is made anew by GTID on the same server too.
    pub(super) by_gtid: bool,
    /// A server that has to be asked by GTID.
    pub(super) elsewhere: Option<Server>,
    /// What is to be told next.
    failed: Option<Error>,
    /// The error that ended the connection, before another one is made.
    lost: Option<Error>,
    /// Where the log ended before the goal.
    pub(super) short: Option<Short>,
}

impl Stream {
    /// A stream of one server, without a dump yet.
    pub(super) fn new(
        identity: Identity,
        options: LiveOptions,
        control: Arc<LiveControl>,
        slot: usize,
    ) -> Self {
        Self {
            options,
            control,
            slot,
            dump: None,
            dump_since: Instant::now(),
            passing: None,
            log_end: None,
            ended_at: None,
            identity,
            endpoint: None,
            is_bound: false,
            trouble: None,
            by_gtid: false,
            elsewhere: None,
            failed: None,
            lost: None,
            short: None,
        }
    }

    /// A stream of whichever server answers first.
    pub(super) fn unconnected(options: LiveOptions, control: Arc<LiveControl>) -> Self {
        let identity = Identity {
            flavor: Flavor::Mysql,
            version: Default::default(),
            server_id: 0,
            id: String::new(),
            name_case: NameCase::Unknown,
        };
        Self::new(identity, options, control, MAIN)
    }

    /// A stream beside this one, of the same server, that ends where the log does now. It has another id, for the server would
    /// cut this one off.
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
        let mut second =
            Self::new(self.identity.clone(), options, Arc::clone(&self.control), SECOND);
        second.endpoint.clone_from(&self.endpoint);
        second.is_bound = second.endpoint.is_some();
        second
    }

    /// Which server is read.
    pub(super) fn identity(&self) -> &Identity {
        &self.identity
    }

    pub(super) fn is_mariadb(&self) -> bool {
        self.identity.flavor == Flavor::Mariadb
    }

    /// Says how a lost connection is made anew: see [`crate::position::Position::by_gtid`].
    pub(super) fn set_by_gtid(&mut self, by_gtid: bool) {
        // MySQL's sets tell what was read already wherever the read goes on.
        self.by_gtid = by_gtid && self.is_mariadb();
    }

    /// The server to go on at by GTID, after [`Received::Left`].
    pub(super) fn take_elsewhere(&mut self) -> Option<Server> {
        self.elsewhere.take()
    }

    /// Says which server is read from now on.
    pub(super) fn set_server(&mut self, server: &mut Server) {
        if self.identity.id != server.identity().id {
            (self.log_end, self.ended_at) = (None, None);
        }
        self.identity = server.identity().clone();
        self.endpoint = Some(server.connection().options().endpoint.clone());
    }

    pub(super) fn start_dump(&mut self, mut server: Server, start: &DumpStart) -> Result<()> {
        self.set_server(&mut server);
        let mut passing = None;
        let start = match start {
            // What cannot be asked for is passed over: the file from its start.
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
                // Who may not ask has the dump made twice.
                Err(error) if error.server_code().is_some() => None,
                Err(error) => return Err(error),
            };
        }
        let dump = Dump::start(server, &start, &self.options.dump)?;
        self.control.set_handle(self.slot, Some(dump.connection().handle()?));
        let endpoint = self.endpoint.as_ref().map(Endpoint::to_string).unwrap_or_default();
        log::info!(target: LOG, "reading the log of {endpoint} ({}) from {start}", self.identity.id);
        (self.dump, self.passing) = (Some(dump), passing);
        self.dump_since = Instant::now();
        Ok(())
    }

    /// The bytes of the event that came last.
    pub(super) fn event(&self) -> &[u8] {
        self.dump.as_ref().map_or(&[], Dump::event)
    }

    /// Waits for the next event, of file `file` and at `offset` if it is a file's own: where to go on after a lost connection.
    pub(super) fn next_event(&mut self, file: &str, offset: u64) -> Result<Received> {
        loop {
            if let Some(received) = self.next_here(file, offset, true)? {
                return Ok(received);
            }
            if let Some(error) = self.lost.take() {
                // A connection that is lost immediately counts as one that cannot be made.
                match self.trouble {
                    Some(_) => self.wait_out(error)?,
                    None => self.trouble = Some(Trouble::begin()),
                }
            }
            self.wait_for_goal()?;
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

    /// Tells an error the next time.
    pub(super) fn fail(&mut self, error: Error) {
        self.failed = Some(error);
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
                self.control.heard();
            }
            let error = match advanced {
                Ok(true) if self.is_over() => return Ok(Some(Received::End)),
                Ok(true) if self.passes() => continue,
                Ok(true) => return Ok(Some(Received::Event)),
                // Before the first file is named there is no place to go on at.
                Ok(false) if self.options.goal.is_some() && !file.is_empty() => {
                    self.ends_short(file, offset)?;
                    self.drop_dump();
                    return Ok(None);
                }
                Ok(false) if self.is_at_end(file, offset) => return Ok(Some(Received::End)),
                Ok(false) if !self.has_ended_at(file, offset) => {
                    self.ended_at = Some((file.to_owned(), offset));
                    log::info!(target: LOG, "the server ended the dump at {file}:{offset}: asking whether it is all");
                    self.drop_dump();
                    return Ok(None);
                }
                Ok(false) => Error::new(
                    ErrorKind::ConnectionLost,
                    "the server ended the dump before the end of its log",
                ),
                Err(error) => error,
            };
            if self.control.is_stopping() {
                return Err(stopped());
            }
            // Before the first file is named there is no place to go on at.
            if !self.may_retry(&error) || file.is_empty() {
                return Err(error);
            }
            log::warn!(target: LOG, "the connection was lost at {file}:{offset}: {error}");
            self.drop_dump();
            if self.dump_since.elapsed() >= STEADY {
                self.trouble = None;
            }
            self.lost = Some(error);
            return Ok(None);
        }
    }

    /// Whether a dump that ended did so at the end of the log. Servers end one in the same way when its thread is killed: by
    /// hand, in a shutdown, or by a dump of the same id that began later. One that ends before where the log ended when it was
    /// asked for is asked for again. What a second one does not send either was passed over by GTID, of MariaDB; or who may not
    /// ask where the log ends has no better answer.
    fn is_at_end(&self, file: &str, offset: u64) -> bool {
        let is_behind = self.log_end.as_ref().is_some_and(|(end, at)| {
            compare_files(file, end).is_some_and(|order| order.then(offset.cmp(at)).is_ge())
        });
        // Before the first file is named there is no place to go on at, and nothing that may be missed.
        let is_again = || self.has_ended_at(file, offset);
        file.is_empty() || is_behind || ((self.by_gtid || self.log_end.is_none()) && is_again())
    }

    fn has_ended_at(&self, file: &str, offset: u64) -> bool {
        self.ended_at.as_ref().is_some_and(|(end, at)| end == file && *at == offset)
    }

    pub(super) fn drop_dump(&mut self) {
        self.control.set_handle(self.slot, None);
        self.dump = None;
    }

    /// Counts the event at hand; whether it is one to pass over.
    fn passes(&mut self) -> bool {
        let len = self.event().len();
        self.control.received(len);
        if self.trouble.is_some() && !is_opening(self.event()) {
            self.trouble = None;
        }
        let Some((until, at)) = self.passing.filter(|(until, at)| at < until) else { return false };
        let Ok(header) = EventHeader::decode(self.event()) else { return false };
        if !is_own(self.event()) {
            // A heartbeat tells of a place before the start.
            return header.event_type.is_heartbeat();
        }
        // Not all of a file need be sent: an event says itself where it stands.
        let begin = match header.log_pos {
            0 => at,
            log_pos => resolve(at, log_pos.wrapping_sub(header.event_size)).unwrap_or(at),
        };
        let is_before = begin < until;
        self.passing = Some((until, if is_before { begin + len as u64 } else { begin }));
        is_before && header.event_type != EventType::FORMAT_DESCRIPTION
    }

    /// Whether it is past the time to end at, and nothing more came until then.
    fn is_over(&self) -> bool {
        let Some(until) = self.options.until else { return false };
        let is_heartbeat =
            EventHeader::decode(self.event()).is_ok_and(|header| header.event_type.is_heartbeat());
        is_heartbeat && SystemTime::now() > until
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        self.control.set_handle(self.slot, None);
        if let Some(dump) = self.dump.take() {
            dump.leave();
        }
    }
}

/// Whether an event is one of those that open any dump, and tells nothing of how it goes on.
fn is_opening(event: &[u8]) -> bool {
    let opening = [EventType::ROTATE.0, EventType::FORMAT_DESCRIPTION.0];
    event.get(4).is_some_and(|event_type| opening.contains(event_type))
}

/// Whether an event stands in the file, and is not made for us.
pub(super) fn is_own(event: &[u8]) -> bool {
    EventHeader::decode(event).is_ok_and(|header| {
        let is_made_for_us = match header.event_type {
            event_type if event_type.is_heartbeat() => true,
            // What opens a file is sent again where a dump begins within it.
            EventType::FORMAT_DESCRIPTION | EventType::MARIADB_START_ENCRYPTION => {
                header.log_pos == 0
            }
            EventType::ROTATE => header.timestamp == 0,
            _ => false,
        };
        !is_made_for_us && !header.has(EventHeader::ARTIFICIAL)
    })
}

/// What it logs is logged as.
pub(in crate::source) const LOG: &str = "binarrow::live";

/// A read's connections.
pub(super) const MAIN: usize = 0;
const SECOND: usize = 1;

/// What makes another id of an id.
const SECOND_ID: u32 = 0x4000_0000;

/// A dump that stood for so long was none that is lost as soon as it is made.
const STEADY: Duration = Duration::from_secs(5);
