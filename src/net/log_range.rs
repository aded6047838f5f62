//! The events of a server's log between two positions.

use super::dump::{Dump, DumpOptions, DumpStart};
use super::dump_event::complete_event;
use super::dump_place::{DumpPlace, LogEvent};
use super::server::Server;
use crate::binlog::FIRST_EVENT_AT;
use crate::error::{Error, ErrorKind, Result};
use crate::position::Position;
use std::time::Duration;

/// The events of a server's log between two positions, which are read over a second connection.
pub(crate) struct LogRange<'p> {
    dump: Dump,
    place: DumpPlace,
    from: &'p Position,
    to: &'p Position,
    has_ended: bool,
}

impl<'p> LogRange<'p> {
    /// True if there is nothing between two positions of a log.
    pub(crate) fn is_empty(from: &Position, to: &Position) -> bool {
        DumpPlace::new(from.file.clone(), from.offset).order(to).is_ge()
    }

    /// Requests the events of `server` between two positions of its log.
    ///
    /// # Errors
    /// Another server answers on the second connection, or the account may not read the log.
    pub(crate) fn open(
        server: &mut Server,
        from: &'p Position,
        to: &'p Position,
        server_id: u32,
    ) -> Result<Self> {
        let mut second = Server::open(server.connection().options().clone())?;
        if second.identity().id != server.identity().id {
            return Err(Error::new(
                ErrorKind::ServerIdentity,
                "a different server answers on a second connection: connect to the address of one server",
            ));
        }
        // An offset that cannot be requested: the file is read from its start.
        let is_far = from.offset > u64::from(u32::MAX) && !second.takes_large_offsets()?;
        let offset = if is_far { FIRST_EVENT_AT } else { from.offset };
        let start = DumpStart::File { file: from.file.clone(), offset };
        let options = DumpOptions { server_id, heartbeat: HEARTBEAT, ends: true };
        let dump = Dump::start(second, &start, &options)?;
        let place = DumpPlace::new(from.file.clone(), offset);
        Ok(Self { dump, place, from, to, has_ended: false })
    }

    /// The next event; `None` at the end of the range or of the log.
    pub(crate) fn next(&mut self) -> Result<Option<LogEvent<'_>>> {
        let header = loop {
            if self.has_ended || !self.dump.advance()? {
                return Ok(None);
            }
            let event = self.dump.event();
            let header = complete_event(event).map_err(|error| self.place.locate(error))?;
            let is_own = self.place.pass(&header, event);
            let is_own = is_own.map_err(|error| self.place.locate(error))?;
            self.has_ended = self.place.order(self.to).is_ge();
            if is_own && self.place.order(self.from).is_gt() {
                break header;
            }
        };
        let event = self.place.event(header, self.dump.event());
        event.map_err(|error| self.place.locate(error))
    }
}

/// The interval of the server's heartbeats.
const HEARTBEAT: Duration = Duration::from_secs(10);
