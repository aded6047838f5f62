//! The meaning of an event for transactions.

use crate::binlog::QueryKind;
use crate::position::{Gtid, MariadbGtid, Xid};
use std::fmt;

/// The meaning of an event for groups.
#[derive(Debug)]
pub enum TransactionEvent {
    /// A GTID event of any kind: a group begins.
    Gtid {
        /// The group's GTID; `None` if it is anonymous.
        gtid: Option<LoggedGtid>,
        /// True if rows follow without a `BEGIN` (MariaDB, except for single statements).
        begins: bool,
        /// Microseconds of the commit, if the event contains it.
        commit_timestamp: Option<i64>,
        /// Microseconds of the commit on the server where the transaction was executed first, if
        /// the event contains it.
        original_commit_timestamp: Option<i64>,
        /// The connection, if the event contains it.
        thread_id: Option<u32>,
        /// True if its statement has no effect: the first event of MariaDB's two-phase ALTER TABLE, and its rollback.
        without_effect: bool,
    },
    /// A statement, and the connection that executed it.
    Query(QueryKind, u32),
    /// A statement logged as text that may change rows and is skipped, and the connection that
    /// executed it.
    Skipped(u32),
    /// A Xid event, the commit, with its number.
    Xid(u64),
    /// The end of an XA transaction that is prepared, or with `one_phase` committed.
    XaPrepare {
        /// Its id.
        xid: Xid,
        /// True if it is committed immediately.
        one_phase: bool,
    },
    /// A Table_map event.
    TableMap,
    /// A rows event of any kind.
    Rows {
        /// True if it is the last rows event of its statement.
        statement_end: bool,
    },
    /// A part of a rows event (MariaDB's Partial_row_data): the last part counts as the event.
    Fragment {
        /// The number of the part, from 1.
        seq: u32,
        /// The number of parts.
        total: u32,
        /// In the first part: true if the rows event is the last one of its statement.
        statement_end: Option<bool>,
    },
    /// A Transaction_payload event: a complete transaction.
    Payload,
    /// An event that neither begins nor ends a group.
    Other,
}

impl TransactionEvent {
    /// True for a statement that is skipped although it may change rows.
    pub fn is_skipped(&self) -> bool {
        matches!(self, Self::Skipped(_))
    }
}

/// A GTID of MySQL or MariaDB.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LoggedGtid {
    /// A GTID of MySQL.
    Mysql(Gtid),
    /// A GTID of MariaDB.
    Mariadb(MariadbGtid),
}

impl fmt::Display for LoggedGtid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Mysql(gtid) => gtid.fmt(f),
            Self::Mariadb(gtid) => gtid.fmt(f),
        }
    }
}
