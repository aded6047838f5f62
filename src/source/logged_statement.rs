//! A statement that is logged as text, and its parsing: this is done only here.

use crate::binlog::{FormatDescription, Query};
use crate::ddl::{DdlSession, ParsedStatement};
use std::sync::Arc;

/// A statement that is logged as text and does not control transactions.
#[derive(Debug)]
pub(crate) struct LoggedStatement {
    /// The connection that executed it.
    pub(crate) thread_id: u32,
    /// The session's database; empty if there was none.
    pub(crate) database: String,
    /// Its text.
    pub(crate) text: String,
    /// The session that executed it.
    pub(crate) session: DdlSession,
    /// The result of reading it.
    pub(crate) parsed: Arc<ParsedStatement>,
}

impl LoggedStatement {
    /// Reads the statement of a Query event.
    pub(super) fn read(query: &Query<'_>, format: &FormatDescription) -> Self {
        let database = String::from_utf8_lossy(query.database).into_owned();
        let text = query.text().into_owned();
        let session = DdlSession::of(query, format);
        let parsed = Arc::new(ParsedStatement::parse(&text, &database, session.quote_mode()));
        Self { thread_id: query.thread_id, database, text, session, parsed }
    }
}
