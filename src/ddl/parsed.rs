//! A statement that is read once. Everything that depends on its text comes from the result: whether it can change rows, its
//! tables, its effect on a catalog, its markers.
//!
//! <https://dev.mysql.com/doc/refman/9.7/en/sql-data-definition-statements.html>,
//! <https://mariadb.com/kb/en/data-definition/>

use super::body::Body;
use super::cursor::Cursor;
use super::parser::Parser;
use super::table_name::TableName;
use super::token::{QuoteMode, Result};
use super::trigger::TriggerStatement;

/// A statement that was read.
#[derive(Debug, Clone)]
pub struct ParsedStatement {
    /// The session's database; empty if there was none.
    pub database: String,
    /// An error is one before the names of all tables are known.
    pub(crate) body: Result<Body>,
    changes_no_rows: bool,
    changes_structures: bool,
}

impl ParsedStatement {
    /// Reads a statement that ran in `database`.
    pub fn parse(sql: &str, database: &str, mode: QuoteMode) -> Self {
        let cursor = match Cursor::with_mode(sql, mode) {
            Ok(cursor) => cursor,
            Err(error) => {
                return Self {
                    database: database.to_owned(),
                    body: Ok(Body::Unreadable(error)),
                    changes_no_rows: false,
                    changes_structures: true,
                };
            }
        };
        let (body, known) = Parser::read(cursor, database);
        Self {
            database: database.to_owned(),
            changes_no_rows: known.changes_no_rows,
            changes_structures: known.changes_structures.unwrap_or(body.is_err()),
            body,
        }
    }

    /// Returns true if the statement is recognised as one that cannot change rows of tables.
    ///
    /// Among them are statements that empty a table (TRUNCATE, DROP TABLE) or change its structure: see [`Self::ddl`].
    pub fn changes_no_rows(&self) -> bool {
        self.changes_no_rows
    }

    /// Returns true if the statement can change the structure of tables, or if this is not known.
    pub fn changes_structures(&self) -> bool {
        self.changes_structures
    }

    /// Returns true for the text ``DELETE FROM `d`.`m` `` and nothing else, comments aside.
    ///
    /// MySQL 5 logs this at the first use of a MEMORY table after a restart, which has emptied the table.
    pub fn deletes_all_of_one_table(&self) -> bool {
        matches!(self.body, Ok(Body::DeleteAll(_)))
    }

    /// The statement, if it is about a trigger.
    pub fn trigger(&self) -> Option<&TriggerStatement> {
        match &self.body {
            Ok(Body::Trigger(statement)) => Some(statement),
            _ => None,
        }
    }

    /// The tables of a REPAIR TABLE; none for any other statement.
    pub fn repaired_tables(&self) -> &[TableName] {
        match &self.body {
            Ok(Body::Repair(tables)) => tables,
            _ => &[],
        }
    }

    /// True for CREATE OR REPLACE, and CREATE ... IF NOT EXISTS: the table or database may have existed before.
    pub(crate) fn is_conditional_create(&self) -> bool {
        matches!(
            self.body,
            Ok(Body::CreateTable { or_replace, if_not_exists, .. }
                | Body::CreateDatabase { or_replace, if_not_exists, .. })
                if or_replace || if_not_exists
        )
    }
}
