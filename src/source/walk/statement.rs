//! A statement in the log that does not control transactions: DDL, or a statement that is skipped.

use super::events::Event;
use crate::binlog::{EventHeader, EventType, FormatDescription, Query};
use crate::ddl::DdlSession;
use crate::error::Result;
use crate::wire::Inflater;

/// The tables that a statement concerns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Target {
    /// Tables.
    Tables,
    /// Temporary tables.
    Temporary,
    /// Temporary tables or others.
    Unsure,
}

/// A statement that is logged as text.
#[derive(Debug)]
pub(crate) struct Statement {
    /// Offset of its event.
    pub(crate) offset: u64,
    /// The number of rows events in its transaction before it.
    pub(crate) rows_before: u32,
    /// Microseconds since 1970 UTC.
    pub(crate) timestamp: i64,
    /// The server that logged it first.
    pub(crate) server_id: u32,
    /// The connection that ran it.
    pub(crate) thread_id: u32,
    /// True if its event has the flag of statements that may use temporary tables.
    pub(crate) is_thread_specific: bool,
    /// The tables that it concerns.
    pub(crate) target: Target,
    /// The session's database; empty if there was none.
    pub(crate) database: String,
    /// Its text.
    pub(crate) text: String,
    /// The session that ran it.
    pub(crate) session: DdlSession,
    /// True if it is skipped although it may change rows.
    pub(crate) is_skipped: bool,
}

impl Statement {
    /// Decodes a Query event, or a Load_query event.
    pub(super) fn decode(
        (event, body): (&Event, &[u8]),
        format: &FormatDescription,
        rows_before: u32,
        is_skipped: bool,
    ) -> Result<Self> {
        let mut inflater = Inflater::default();
        let query = match event.header.event_type {
            EventType::EXECUTE_LOAD_QUERY => Query::decode_load(body)?,
            event_type => Query::decode(body)?.inflate(event_type, &mut inflater)?,
        };
        Ok(Self {
            offset: event.offset,
            rows_before,
            timestamp: i64::from(event.header.timestamp) * 1_000_000,
            server_id: event.header.server_id,
            thread_id: query.thread_id,
            is_thread_specific: event.header.has(EventHeader::THREAD_SPECIFIC)
                && event.header.event_type != EventType::EXECUTE_LOAD_QUERY,
            target: Target::Tables,
            database: String::from_utf8_lossy(query.database).into_owned(),
            text: query.text().into_owned(),
            session: DdlSession::of(&query, format),
            is_skipped,
        })
    }
}
