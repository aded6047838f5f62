//! The actions of an ALTER TABLE.

use super::charset_clause::CharsetClause;
use super::column::ColumnDefinition;
use super::create_table::Period;
use super::key::{Constraint, Key};

/// The place of a column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ColumnPlace {
    First,
    After(String),
}

/// The name of a table, with the database if the statement names it.
pub(crate) type Name = (Option<String>, String);

/// One change of an ALTER TABLE to the structure or to the rows. A clause that changes neither has no action.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Action {
    AddColumn {
        column: Box<ColumnDefinition>,
        place: Option<ColumnPlace>,
        if_not_exists: bool,
    },
    /// CHANGE, and MODIFY, which does not change the name.
    Change {
        from: String,
        column: Box<ColumnDefinition>,
        place: Option<ColumnPlace>,
        if_exists: bool,
    },
    DropColumn {
        name: String,
        if_exists: bool,
    },
    RenameColumn {
        from: String,
        to: String,
        if_exists: bool,
    },
    /// ALTER COLUMN SET DEFAULT, DROP DEFAULT.
    Default {
        name: String,
        default: Option<String>,
        if_exists: bool,
    },
    ColumnVisible {
        name: String,
        visible: bool,
    },
    AddKey(Key),
    AddCheck(Constraint),
    DropPrimary {
        if_exists: bool,
    },
    DropKey {
        name: String,
        if_exists: bool,
    },
    /// DROP CONSTRAINT, DROP CHECK, DROP FOREIGN KEY.
    DropConstraint {
        name: String,
        /// True for DROP CONSTRAINT, which can also drop a key.
        may_be_key: bool,
    },
    RenameKey {
        from: String,
        to: String,
        if_exists: bool,
    },
    KeyVisible {
        name: String,
        visible: bool,
    },
    Rename(Name),
    Convert(CharsetClause),
    DefaultCharset(CharsetClause),
    Comment(String),
    Engine(String),
    Versioning(bool),
    AddPeriod(Period),
    DropPeriod(String),
    /// MariaDB's CONVERT PARTITION p TO TABLE t.
    PartitionToTable(Name),
    /// MariaDB's CONVERT TABLE t TO PARTITION p.
    TableToPartition(Name),
    /// EXCHANGE PARTITION p WITH TABLE t.
    Exchange(Name),
    /// The structure does not change, but the table has other or fewer rows afterwards.
    OtherRows(&'static str),
}

/// The clauses of an ALTER TABLE.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Clauses {
    pub(crate) actions: Vec<Action>,
    /// True if the statement only gives the table another name.
    pub(crate) only_renames: bool,
    /// True for ALGORITHM=COPY, false for the others; `None` if the server chooses.
    pub(crate) is_copy: Option<bool>,
}
