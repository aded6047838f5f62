//! Items in the log that are not rows: statements that change tables, transactions, heartbeats.

use super::{LoggedGtid, OnlineTool};
use crate::binlog::RowsKind;
use crate::ddl::{DdlKind, TableName};
use crate::history::{AlteredColumn, ForeignKey};
use crate::position::Xid;
use crate::schema::NameCase;

/// An item that is not a row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Item {
    /// A statement that changes tables or databases.
    SchemaChange(SchemaChange),
    /// A table was emptied.
    Truncate(TableName),
    /// Rows of a table were removed, added or changed without row events.
    Emptied(Emptied),
    /// A statement that may change rows, was logged as text, and is skipped.
    SkippedStatement(SkippedStatement),
    /// The begin, end or XA PREPARE of a transaction.
    Transaction(TransactionMark),
    /// Rows of some tables may have changed without events, because rows of another one did.
    UnloggedChange(UnloggedChange),
    /// The server reported that it is alive and has nothing to send.
    Heartbeat,
}

/// A table whose rows were removed or changed without row events.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Emptied {
    /// The database.
    pub database: String,
    /// The table; `None` if all tables of the database are removed.
    pub table: Option<String>,
    /// The statement: its first words.
    pub by: &'static str,
    /// True if the table has no rows now; otherwise some rows are removed, added, or have other values.
    pub removes_all: bool,
    /// The tool that uses such names for a swap, if nothing proves that it made this one.
    pub resembles: Option<OnlineTool>,
    /// The columns with other values, if it is not the rows that change. The structure of the table before the statement may
    /// show that the values stay.
    pub columns: Vec<AlteredColumn>,
    /// The reason why it may be another table, or keep all rows.
    pub uncertainty: Option<Uncertainty>,
    /// The meaning of letter case in the name.
    pub name_case: NameCase,
}

/// The reason why a statement may not concern the rows of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Uncertainty {
    /// The table is read under a name in other letter case: it is the same table if `lower_case_table_names` is 1 or 2.
    LetterCase,
    /// The statement uses a temporary table, and this may be its name.
    Temporary,
    /// The statement removes only rows that are damaged.
    Repair,
}

/// A statement that may change rows, logged as text: the log does not contain the changed rows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkippedStatement {
    /// The session's database; empty if there was none.
    pub database: String,
    /// Its text.
    pub statement: String,
}

/// A change of a table's rows that may have changed rows of other tables, which no event contains.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnloggedChange {
    /// The table whose rows the log changes.
    pub table: TableName,
    /// The kind of its change: a delete or an update; `None` if it is a MERGE table.
    pub kind: Option<RowsKind>,
    /// The foreign keys whose actions may have changed rows, also through other tables; empty if they are not known.
    pub foreign_keys: Vec<ForeignKey>,
    /// The tables whose rows may have changed; empty if they are not known.
    pub changed: Vec<TableName>,
    /// The numbers, in the transaction, of the first and the last rows event of the statement; `None` if they are not known.
    pub rows_events: Option<(u32, u32)>,
}

/// A statement that changes tables or databases.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SchemaChange {
    /// The effect of the statement.
    pub kind: DdlKind,
    /// The database that the statement creates, changes or drops. For tables, the database of the first table.
    pub database: String,
    /// The tables that the statement changes; empty for a database.
    pub tables: Vec<TableName>,
    /// Its text.
    pub statement: String,
    /// The online schema-change tool whose change the statement completes.
    pub tool: Option<OnlineTool>,
    /// True if the tables may have other rows, or other values in existing columns: the log has no row events for this.
    pub changes_rows: bool,
    /// The old and the new names of renamed tables, in the statement's order.
    pub renames: Vec<(TableName, TableName)>,
    /// The old and the new names of columns that an ALTER TABLE renames, in lower case.
    pub renamed_columns: Vec<(String, String)>,
    /// The names of columns that an ALTER TABLE drops, in lower case.
    pub dropped_columns: Vec<String>,
}

/// A place in a transaction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TransactionMark {
    /// The kind of place.
    pub kind: MarkKind,
    /// The transaction's GTID, if it has one.
    pub gtid: Option<LoggedGtid>,
    /// Microseconds since 1970 UTC of the commit on the server where the transaction was executed
    /// first, if the log contains it.
    pub original_commit_timestamp: Option<i64>,
    /// At an end, the number of rows that were returned; set when they are returned.
    pub rows: Option<u64>,
    /// The state and the id of an XA transaction.
    pub xa: Option<(XaState, Xid)>,
}

/// A place in a transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MarkKind {
    /// Before its first row.
    Begin,
    /// After its last row: it is committed.
    End,
    /// An XA transaction was prepared: its rows are returned when it is committed.
    Prepare,
    /// A prepared XA transaction was rolled back; or any other transaction, if rows that were not committed are returned.
    Rollback,
}

/// The state of an XA transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum XaState {
    /// It is prepared.
    Prepared,
    /// It is committed.
    Committed,
    /// It is rolled back.
    RolledBack,
}
