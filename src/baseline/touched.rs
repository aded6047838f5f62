//! Which tables the log between two places touches.

use crate::binlog::{
    CHECKSUM_LEN, EventHeader, EventType, FIRST_EVENT_AT, FormatDescription, Query, Rotate,
    checksum,
};
use crate::ddl::{DdlSession, TableName};
use crate::error::{Error, ErrorKind, Result};
use crate::history::LoggedDdl;
use crate::net::{Dump, DumpOptions, DumpStart, Server};
use crate::position::{Position, compare_files};
use crate::wire::Inflater;
use std::cmp::Ordering;
use std::collections::BTreeSet;
use std::time::Duration;

/// Tables whose structure may be another one than it was.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Touched {
    /// Any.
    Everything,
    /// All of these databases, and these tables.
    Some { databases: BTreeSet<String>, tables: Vec<TableName> },
}

impl Touched {
    fn nothing() -> Self {
        Self::Some { databases: BTreeSet::new(), tables: Vec::new() }
    }

    pub(super) fn is_nothing(&self) -> bool {
        *self == Self::nothing()
    }

    /// Takes a statement in.
    fn add(&mut self, ddl: &LoggedDdl) {
        let Self::Some { databases, tables } = self else { return };
        let statement = ddl.parse();
        if !statement.changes_structures() {
            return;
        }
        match statement.ddl() {
            Ok(Some(parsed)) if parsed.tables.is_empty() => drop(databases.insert(parsed.database)),
            Ok(Some(parsed)) => {
                let new = parsed.tables.into_iter().filter(|name| !tables.contains(name));
                let new: Vec<_> = new.collect();
                tables.extend(new);
            }
            _ => *self = Self::Everything,
        }
    }
}

/// What the log of a server touches between two places, over a connection of its own.
pub(super) fn between(
    server: &mut Server,
    from: &Position,
    to: &Position,
    server_id: u32,
) -> Result<Touched> {
    let mut touched = Touched::nothing();
    if is_behind(&from.file, from.offset, to) {
        return Ok(touched);
    }
    let options = server.connection().options().clone();
    let mut second = Server::open(options)?;
    if second.identity().id != server.identity().id {
        return Err(Error::new(
            ErrorKind::ServerIdentity,
            "another server answers on a second connection: take the baseline from a server's own address",
        ));
    }
    // What cannot be asked for is passed over: the file from its start.
    let is_far = from.offset > u64::from(u32::MAX) && !second.takes_large_offsets()?;
    let offset = if is_far { FIRST_EVENT_AT } else { from.offset };
    let start = DumpStart::File { file: from.file.clone(), offset };
    let options = DumpOptions { server_id, heartbeat: HEARTBEAT, ends: true };
    let mut dump = Dump::start(second, &start, &options)?;
    let mut log =
        Log { format: None, file: from.file.clone(), offset, inflater: Inflater::default() };
    while !is_behind(&log.file, log.offset, to) {
        let Some(event) = dump.next_event()? else { break };
        let ddl = log
            .take(event)
            .map_err(|error| error.context(format_args!("{}:{}", log.file, log.offset)))?;
        if let Some(ddl) = ddl.filter(|_| is_behind(&log.file, log.offset, from)) {
            touched.add(&ddl);
        }
    }
    dump.leave();
    Ok(touched)
}

/// Whether a place is at `end` or behind it.
fn is_behind(file: &str, offset: u64, end: &Position) -> bool {
    let order = compare_files(file, &end.file).unwrap_or(Ordering::Less);
    order.then(offset.cmp(&end.offset)).is_ge()
}

/// Where a dump is.
struct Log {
    format: Option<FormatDescription>,
    file: String,
    /// Where the next event stands.
    offset: u64,
    inflater: Inflater,
}

impl Log {
    /// Takes an event in; gives its statement.
    fn take(&mut self, event: &[u8]) -> Result<Option<LoggedDdl>> {
        let header = EventHeader::decode(event)?;
        if header.event_type.is_heartbeat() {
            return Ok(None);
        }
        let checksum = self.format.as_ref().map_or(0, |format| format.checksum.len());
        let end = event.len().saturating_sub(checksum);
        let body = event.get(EventHeader::LEN..end).unwrap_or_default();
        match header.event_type {
            // Every file begins with one that is made for us.
            EventType::ROTATE if header.timestamp == 0 => {
                let rotate = Rotate::decode(unchecked_body(event))?;
                (self.file, self.offset) = (rotate.file.to_owned(), rotate.position);
                return Ok(None);
            }
            EventType::FORMAT_DESCRIPTION => self.format = Some(FormatDescription::decode(event)?),
            _ => {}
        }
        // What opens a file is sent again where a dump begins within it.
        let opens_file = [EventType::FORMAT_DESCRIPTION, EventType::MARIADB_START_ENCRYPTION]
            .contains(&header.event_type);
        let is_made_for_us = opens_file && header.log_pos == 0;
        if !(is_made_for_us || header.has(EventHeader::ARTIFICIAL)) {
            self.offset = self.end_of(&header);
        }
        match (&self.format, header.event_type) {
            (Some(format), EventType::QUERY | EventType::MARIADB_QUERY_COMPRESSED) => {
                let query = Query::decode(body)?.inflate(header.event_type, &mut self.inflater)?;
                Ok(Some(LoggedDdl {
                    position: Position::in_file(self.file.as_str(), self.offset),
                    timestamp: i64::from(header.timestamp) * 1_000_000,
                    database: String::from_utf8_lossy(query.database).into_owned(),
                    statement: query.text().into_owned(),
                    session: DdlSession::of(&query, format),
                }))
            }
            _ => Ok(None),
        }
    }

    /// Where the next event stands. Events say so, but for MariaDB's of a transaction from 11.4 on; by the lower 32 bits only.
    fn end_of(&self, header: &EventHeader) -> u64 {
        let next = self.offset.saturating_add(u64::from(header.event_size));
        let stated = (next & !u64::from(u32::MAX)) | u64::from(header.log_pos);
        let is_near = stated >= next && stated - next < LONGEST_HOLE;
        if header.log_pos != 0 && is_near { stated } else { next }
    }
}

/// The body of an event that was made for us. Whether that has a checksum only its bytes tell.
fn unchecked_body(event: &[u8]) -> &[u8] {
    let end = if checksum::verify(event) { CHECKSUM_LEN } else { 0 };
    event.get(EventHeader::LEN..event.len().saturating_sub(end)).unwrap_or_default()
}

/// What a server may pass over within a file.
const LONGEST_HOLE: u64 = 1 << 20;

/// How often the server says that it lives.
const HEARTBEAT: Duration = Duration::from_secs(10);
