//! The name of a table.

use super::cursor::Cursor;
use super::token::Result;
use crate::schema::folded;
use std::fmt;

/// A table's name, with its database.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct TableName {
    /// The database; empty if neither the statement nor its session names one.
    pub database: String,
    /// The table.
    pub table: String,
}

impl TableName {
    /// Reads a name; without a database it is in the session's.
    pub(super) fn parse(cursor: &mut Cursor<'_>, session: &str) -> Result<Self> {
        let (database, table) = cursor.qualified_name()?;
        Ok(Self { database: database.unwrap_or_else(|| session.to_owned()), table })
    }

    /// The name in lower case.
    #[must_use]
    pub fn folded(&self) -> Self {
        Self { database: folded(&self.database), table: folded(&self.table) }
    }
}

impl fmt::Display for TableName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.database, self.table)
    }
}
