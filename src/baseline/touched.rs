//! The tables that statements in the log may change, between two positions.

use crate::binlog::{EventType, Query};
use crate::ddl::{DdlSession, TableName};
use crate::error::Result;
use crate::history::LoggedDdl;
use crate::net::{LogEvent, LogRange, Server};
use crate::position::Position;
use crate::wire::Inflater;
use std::collections::BTreeSet;

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
    if LogRange::is_empty(from, to) {
        return Ok(touched);
    }
    let mut log = LogRange::open(server, from, to, server_id)?;
    let mut inflater = Inflater::default();
    while let Some(event) = log.next()? {
        let ddl = statement(&event, &mut inflater);
        if let Some(ddl) = ddl.map_err(|error| event.locate(error))? {
            touched.add(&ddl);
        }
    }
    Ok(touched)
}

/// The statement of an event, if it has one.
fn statement(event: &LogEvent<'_>, inflater: &mut Inflater) -> Result<Option<LoggedDdl>> {
    let LogEvent { header, body, format, .. } = event;
    if !matches!(header.event_type, EventType::QUERY | EventType::MARIADB_QUERY_COMPRESSED) {
        return Ok(None);
    }
    let query = Query::decode(body)?.inflate(header.event_type, inflater)?;
    Ok(Some(LoggedDdl {
        position: Position::in_file(event.file, event.end),
        timestamp: i64::from(header.timestamp) * 1_000_000,
        database: String::from_utf8_lossy(query.database).into_owned(),
        statement: query.text().into_owned(),
        session: DdlSession::of(&query, format),
    }))
}
