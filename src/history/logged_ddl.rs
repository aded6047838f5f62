//! A statement of the log that changes tables, with everything that its meaning depends on.

use crate::ddl::DdlSession;
use crate::position::Position;

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
