//! A statement in the log that does not control transactions: DDL, or a statement that is skipped.

use crate::binlog::{EventHeader, EventType};
use crate::source::event_source::Event;
use crate::source::logged_statement::LoggedStatement;

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

/// A statement that is logged as text, and its place in the log.
#[derive(Debug)]
pub(crate) struct Statement {
    /// Offset of its event.
    pub(crate) offset: u64,
    /// The number of rows events in its transaction before it.
    pub(crate) rows_before: u32,
    /// Microseconds since 1970 UTC.
    pub(crate) timestamp: i64,
    /// The id of the server that logged it first.
    pub(crate) server_id: u32,
    /// True if its event has the flag of statements that may use temporary tables.
    pub(crate) is_thread_specific: bool,
    /// The tables that it concerns.
    pub(crate) target: Target,
    /// The statement.
    pub(crate) logged: LoggedStatement,
    /// True if it is skipped although it may change rows.
    pub(crate) is_skipped: bool,
}

impl Statement {
    pub(super) fn new(
        event: &Event,
        logged: LoggedStatement,
        rows_before: u32,
        is_skipped: bool,
    ) -> Self {
        Self {
            offset: event.offset,
            rows_before,
            timestamp: i64::from(event.header.timestamp) * 1_000_000,
            server_id: event.header.server_id,
            is_thread_specific: event.header.has(EventHeader::THREAD_SPECIFIC)
                && event.header.event_type != EventType::EXECUTE_LOAD_QUERY,
            target: Target::Tables,
            logged,
            is_skipped,
        }
    }
}
