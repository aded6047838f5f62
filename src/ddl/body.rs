//! The content of a parsed statement, before any effect on tables.

use super::alter_action::Clauses;
use super::charset_clause::CharsetClause;
use super::create_table::CreateTable;
use super::key::Key;
use super::table_name::TableName;
use super::token::{Result, SyntaxError};
use super::trigger::TriggerStatement;

/// The content of a statement. Names without a database are in the session's database.
#[derive(Debug, Clone)]
pub(crate) enum Body {
    CreateTable {
        table: TableName,
        or_replace: bool,
        if_not_exists: bool,
        source: TableSource,
    },
    /// CREATE SEQUENCE, and ALTER SEQUENCE ... AS: MariaDB's table of one row.
    Sequence {
        table: TableName,
        if_not_exists: bool,
        /// The type of its numbers.
        number: String,
    },
    CreateDatabase {
        name: String,
        or_replace: bool,
        if_not_exists: bool,
        charset: Result<Option<CharsetClause>>,
    },
    CreateIndex {
        table: TableName,
        or_replace: bool,
        key: Result<Key>,
    },
    AlterDatabase {
        name: String,
        charset: Result<Option<CharsetClause>>,
    },
    AlterTable(Box<AlterTable>),
    DropTables(Vec<TableName>),
    DropSequences(Vec<TableName>),
    DropDatabase(String),
    DropIndex {
        table: TableName,
        name: String,
        if_exists: bool,
    },
    Rename {
        renames: Vec<(TableName, TableName)>,
        if_exists: bool,
    },
    Truncate(TableName),
    /// ``DELETE FROM `d`.`m` `` without any other clause.
    DeleteAll(TableName),
    CreateTemporary(TableName),
    DropTemporary(Vec<TableName>),
    Trigger(TriggerStatement),
    Repair(Vec<TableName>),
    /// Any other statement.
    Other,
    /// The text does not begin with a token.
    Unreadable(SyntaxError),
}

/// The structure of a new table.
#[derive(Debug, Clone)]
pub(crate) enum TableSource {
    Columns(Box<CreateTable>),
    Like(TableName),
    NotUnderstood(String),
}

/// An ALTER TABLE.
#[derive(Debug, Clone)]
pub(crate) struct AlterTable {
    pub(crate) table: TableName,
    pub(crate) if_exists: bool,
    pub(crate) has_ignore: bool,
    pub(crate) clauses: Result<Clauses>,
    /// The other tables that it names, without the new name of this one.
    pub(crate) others: Vec<TableName>,
    pub(crate) renamed: Option<TableName>,
    /// True if it only gives the table another name.
    pub(crate) only_renames: bool,
}
