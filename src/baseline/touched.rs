//! The tables that statements in the log may change, between two positions.

use crate::binlog::{EventHeader, EventType, FIRST_EVENT_AT, FormatDescription, Query};
use crate::ddl::{DdlSession, TableName};
use crate::error::{Error, ErrorKind, Result};
use crate::history::LoggedDdl;
use crate::net::{
    Dump, DumpOptions, DumpStart, NextFile, Server, complete_event, is_own, next_file, resolve,
};
use crate::position::{Position, compare_files};
use crate::wire::Inflater;
use std::cmp::Ordering;
use std::collections::BTreeSet;
use std::time::Duration;

/// Tables whose structure may have changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Touched {
    /// All tables.
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

    /// Adds the tables of a statement.
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

/// Returns the tables that the log of a server may change between two positions. The log is read
/// over a second connection.
pub(super) fn between(
    server: &mut Server,
    from: &Position,
    to: &Position,
    server_id: u32,
) -> Result<Touched> {
    let mut touched = Touched::nothing();
    if is_after(&from.file, from.offset, to) {
        return Ok(touched);
    }
    let options = server.connection().options().clone();
    let mut second = Server::open(options)?;
    if second.identity().id != server.identity().id {
        return Err(Error::new(
            ErrorKind::ServerIdentity,
            "a different server answers on a second connection: take the baseline from the address of one server",
        ));
    }
    // An offset that cannot be requested: the file is read from its start.
    let is_far = from.offset > u64::from(u32::MAX) && !second.takes_large_offsets()?;
    let offset = if is_far { FIRST_EVENT_AT } else { from.offset };
    let start = DumpStart::File { file: from.file.clone(), offset };
    let options = DumpOptions { server_id, heartbeat: HEARTBEAT, ends: true };
    let mut dump = Dump::start(second, &start, &options)?;
    let mut log =
        Log { format: None, file: from.file.clone(), offset, inflater: Inflater::default() };
    while !is_after(&log.file, log.offset, to) {
        let Some(event) = dump.next_event()? else { break };
        let ddl = log
            .take(event)
            .map_err(|error| error.context(format_args!("{}:{}", log.file, log.offset)))?;
        if let Some(ddl) = ddl.filter(|_| is_after(&log.file, log.offset, from)) {
            touched.add(&ddl);
        }
    }
    dump.leave();
    Ok(touched)
}

/// True if a place is at `end` or after it.
fn is_after(file: &str, offset: u64, end: &Position) -> bool {
    let order = compare_files(file, &end.file).unwrap_or(Ordering::Less);
    order.then(offset.cmp(&end.offset)).is_ge()
}

/// The place of a dump.
struct Log {
    format: Option<FormatDescription>,
    file: String,
    /// Offset of the next event.
    offset: u64,
    inflater: Inflater,
}

impl Log {
    /// Processes an event; returns its statement, if it has one.
    fn take(&mut self, event: &[u8]) -> Result<Option<LoggedDdl>> {
        let header = complete_event(event)?;
        match header.event_type {
            // Each file begins with an event that the server makes for this reader.
            EventType::ROTATE if !is_own(&header) => {
                let NextFile { name, offset } = next_file(event)?;
                (self.file, self.offset) = (name, offset);
            }
            EventType::FORMAT_DESCRIPTION => self.format = Some(FormatDescription::decode(event)?),
            _ => {}
        }
        if !is_own(&header) {
            return Ok(None);
        }
        self.offset = self.end_of(&header);
        match (&self.format, header.event_type) {
            (Some(format), EventType::QUERY | EventType::MARIADB_QUERY_COMPRESSED) => {
                let end = event.len().saturating_sub(format.checksum.len());
                let body = event.get(EventHeader::LEN..end).unwrap_or_default();
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

    /// Offset after an event. MariaDB's events of a transaction do not contain it from 11.4 on.
    fn end_of(&self, header: &EventHeader) -> u64 {
        let next = self.offset.saturating_add(u64::from(header.event_size));
        match header.log_pos {
            0 => next,
            log_pos => resolve(next, log_pos).unwrap_or(next),
        }
    }
}

/// The time between two heartbeats of the server.
const HEARTBEAT: Duration = Duration::from_secs(10);
