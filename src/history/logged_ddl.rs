//! A statement of the log that changes tables, with everything that its meaning depends on.

use crate::ddl::{DdlSession, ParsedStatement};
use crate::position::Position;
use std::sync::Arc;

/// A DDL statement as it is in the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoggedDdl {
    /// The position to resume at after it: the end of its transaction.
    pub position: Position,
    /// Microseconds since 1970 UTC of its commit.
    pub timestamp: i64,
    /// The default database; empty if the session had none.
    pub database: String,
    /// Its text.
    pub statement: String,
    /// The settings of the session that ran it.
    pub session: DdlSession,
}

impl LoggedDdl {
    /// Reads the statement.
    pub fn parse(&self) -> ParsedStatement {
        ParsedStatement::parse(&self.statement, &self.database, self.session.quote_mode())
    }
}

/// A DDL statement of the log, and the result of reading it.
#[derive(Debug, Clone)]
pub struct ParsedDdl {
    /// The statement.
    pub logged: LoggedDdl,
    /// The result of reading it.
    pub parsed: Arc<ParsedStatement>,
}

impl From<LoggedDdl> for ParsedDdl {
    fn from(logged: LoggedDdl) -> Self {
        let parsed = Arc::new(logged.parse());
        Self { logged, parsed }
    }
}
