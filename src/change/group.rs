//! Groups of events: a transaction, or a single statement outside transactions.
//!
//! A group begins with its GTID event, otherwise with `BEGIN`, otherwise (if the file begins in its middle) with a Table_map
//! event. It ends with Xid, `COMMIT`, `ROLLBACK`, XA_prepare, a Transaction_payload or a single statement. A group without an
//! opening event ends with its statement.

use super::savepoints::{Savepoints, Undone, kept};
use super::transaction_event::{LoggedGtid, TransactionEvent};
use crate::binlog::{FragmentOrder, QueryKind};
use crate::error::{DecodeError, Error};
use crate::limits::MAX_ROWS_EVENTS;
use crate::position::Xid;

/// The properties of a transaction that a reader must know before its rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Transaction {
    /// Offset of the first event in its file.
    pub start: u64,
    /// Microseconds since 1970 UTC: of the commit if the GTID event contains it, otherwise of the first event.
    pub commit_timestamp: i64,
    /// The server that logged it first.
    pub server_id: u32,
    /// Microseconds since 1970 UTC of the commit on the server that made it, if the GTID event contains it.
    pub original_commit_timestamp: Option<i64>,
    /// The connection that ran it, if the log contains it.
    pub thread_id: Option<u32>,
    /// The number of its Xid event, if it ends with one.
    pub xid: Option<u64>,
}

impl Transaction {
    /// A transaction about which nothing else is known.
    pub const fn new(start: u64, commit_timestamp: i64, server_id: u32) -> Self {
        Self {
            start,
            commit_timestamp,
            server_id,
            original_commit_timestamp: None,
            thread_id: None,
            xid: None,
        }
    }
}

/// The end of a group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TransactionEnd {
    /// Its rows were committed.
    Committed,
    /// Its rows were rolled back.
    RolledBack,
    /// Its rows wait for the XA COMMIT or XA ROLLBACK of this XA transaction.
    Prepared(Box<Xid>),
    /// The prepared XA transaction is committed.
    XaCommitted(Box<Xid>),
    /// The prepared XA transaction is rolled back.
    XaRolledBack(Box<Xid>),
}

/// The effect of an event on the open group.
#[derive(Debug, PartialEq, Eq)]
pub enum EventEffect {
    /// No group is open.
    Outside,
    /// It opens a group.
    Opens,
    /// It belongs to the open group.
    Inside,
    /// It is the last event of its group.
    Ends(TransactionEnd),
}

/// A group whose end was not read yet.
#[derive(Debug)]
pub struct EventGroup {
    /// The properties that its rows get.
    pub transaction: Transaction,
    /// Its GTID, if it has one.
    pub gtid: Option<LoggedGtid>,
    /// Rows events so far.
    pub rows_events: u32,
    /// The number of skipped statements so far: logged as text, they may change rows.
    pub statements_skipped: u64,
    /// True if it contains a Transaction_payload event.
    pub has_payload: bool,
    /// The XA transaction that begins in it.
    pub xa: Option<Box<Xid>>,
    /// True if its statement has no effect: the begin or rollback of a two-phase ALTER TABLE.
    pub without_effect: bool,
    /// The number of bytes at its start that certainly contain neither rows events nor Table_map events.
    before_rows: u32,
    /// The number of bytes at its end that certainly contain neither of them.
    after_rows: u32,
    has_begin: bool,
    explicit: bool,
    /// Set after the first statement about savepoints. A group is moved several times, so it is small.
    savepoints: Option<Box<Savepoints>>,
    fragments: FragmentOrder,
    /// True if the rows event in fragments is the last one of its statement.
    fragments_end: bool,
}

/// Follows groups through a file.
#[derive(Debug, Default)]
pub struct TransactionTracker {
    group: Option<EventGroup>,
}

impl TransactionTracker {
    /// A tracker in the middle of `group`.
    pub fn of(group: EventGroup) -> Self {
        Self { group: Some(group) }
    }

    /// The open group.
    pub fn group(&self) -> Option<&EventGroup> {
        self.group.as_ref()
    }

    /// Sets the XA transaction of the open group, if its first event is compressed.
    pub fn set_xa(&mut self, xid: Option<Box<Xid>>) {
        if let Some(group) = &mut self.group {
            group.xa = xid;
        }
    }

    /// Closes the group after [`EventEffect::Ends`], or drops it at the end of the input.
    pub fn take(&mut self) -> Option<EventGroup> {
        self.group.take()
    }

    /// Takes a Table_map event or a rows event in a group that an event opened, which it can neither open nor end: most events
    /// are of this kind. False if there is no such group; then [`Self::on_event`] takes the event.
    #[inline]
    pub fn on_usual_event(&mut self, is_rows: bool) -> Result<bool, Error> {
        match &mut self.group {
            Some(group) if group.explicit && !group.fragments.is_open() => {
                if is_rows {
                    group.add_rows_event()?;
                }
                Ok(true)
            }
            _ => Ok(false),
        }
    }

    /// Adds a complete transaction: a GTID event, then events without rows, Table_map and rows events, and the Xid event. `rows`
    /// contains the number of its rows events, and the numbers of bytes before and after its Table_map and rows events.
    pub fn on_usual_transaction(
        &mut self,
        transaction: Transaction,
        gtid: Option<LoggedGtid>,
        (rows_events, before_rows, after_rows): (u32, u32, u32),
    ) {
        let group = self.open(transaction, gtid, true, true);
        group.rows_events = rows_events;
        (group.before_rows, group.after_rows) = (before_rows, after_rows);
    }

    /// Takes the next event. `seconds` is its header's time.
    pub fn on_event(
        &mut self,
        event: &TransactionEvent,
        offset: u64,
        seconds: u32,
        server_id: u32,
    ) -> Result<EventEffect, Error> {
        let header_time = i64::from(seconds) * 1_000_000;
        let complete;
        let event = match *event {
            TransactionEvent::Fragment { seq, total, statement_end } => {
                let header = (offset, header_time, server_id);
                match self.on_fragment((seq, total), statement_end, header)? {
                    Some(statement_end) => complete = TransactionEvent::Rows { statement_end },
                    None => return Ok(EventEffect::Inside),
                }
                &complete
            }
            _ if self.group.as_ref().is_some_and(|group| group.fragments.is_open()) => {
                return Err(Error::malformed("fragments of the rows event before it are missing"));
            }
            _ => event,
        };
        if let TransactionEvent::Gtid {
            ref gtid,
            begins,
            commit_timestamp,
            original_commit_timestamp,
            thread_id,
            without_effect,
        } = *event
        {
            if self.group.as_ref().is_some_and(|group| group.rows_events > 0) {
                return Err(Error::malformed("a transaction begins before the one before it ends"));
            }
            let commit_timestamp = commit_timestamp.unwrap_or(header_time);
            let transaction = Transaction {
                original_commit_timestamp,
                thread_id,
                ..Transaction::new(offset, commit_timestamp, server_id)
            };
            self.open(transaction, gtid.clone(), begins, true).without_effect = without_effect;
            return Ok(EventEffect::Opens);
        }
        let Some(group) = &mut self.group else {
            let mut transaction = Transaction::new(offset, header_time, server_id);
            if let TransactionEvent::Query(_, thread_id) | TransactionEvent::Skipped(thread_id) =
                event
            {
                transaction.thread_id = Some(*thread_id);
            }
            return self.outside(event, transaction);
        };
        Ok(match event {
            TransactionEvent::Query(kind, thread_id) => {
                group.transaction.thread_id.get_or_insert(*thread_id);
                return group.on_query(kind, offset);
            }
            TransactionEvent::Skipped(thread_id) => {
                group.transaction.thread_id.get_or_insert(*thread_id);
                group.statements_skipped += 1;
                return group.on_query(&QueryKind::Other, offset);
            }
            TransactionEvent::Xid(xid) => {
                group.transaction.xid = Some(*xid);
                EventEffect::Ends(TransactionEnd::Committed)
            }
            TransactionEvent::Payload => {
                group.has_payload = true;
                EventEffect::Ends(TransactionEnd::Committed)
            }
            TransactionEvent::XaPrepare { one_phase: true, .. } => {
                EventEffect::Ends(TransactionEnd::Committed)
            }
            TransactionEvent::XaPrepare { xid, .. } => {
                EventEffect::Ends(TransactionEnd::Prepared(Box::new(xid.clone())))
            }
            TransactionEvent::Rows { statement_end } => {
                group.add_rows_event()?;
                match *statement_end && !group.explicit {
                    true => EventEffect::Ends(TransactionEnd::Committed),
                    false => EventEffect::Inside,
                }
            }
            TransactionEvent::TableMap
            | TransactionEvent::Other
            | TransactionEvent::Fragment { .. }
            | TransactionEvent::Gtid { .. } => EventEffect::Inside,
        })
    }

    /// The last fragment returns the flag of the complete event.
    fn on_fragment(
        &mut self,
        (seq, total): (u32, u32),
        statement_end: Option<bool>,
        (start, commit_timestamp, server_id): (u64, i64, u32),
    ) -> Result<Option<bool>, Error> {
        if self.group.is_none() {
            self.open(Transaction::new(start, commit_timestamp, server_id), None, true, false);
        }
        let Some(group) = &mut self.group else { return Ok(None) };
        let is_complete = group.fragments.take(seq, total)?;
        group.fragments_end = statement_end.unwrap_or(group.fragments_end);
        Ok(is_complete.then_some(group.fragments_end))
    }

    fn outside(
        &mut self,
        event: &TransactionEvent,
        transaction: Transaction,
    ) -> Result<EventEffect, Error> {
        Ok(match event {
            TransactionEvent::Query(
                QueryKind::Begin | QueryKind::CreateTableStartTransaction,
                _,
            ) => {
                self.open(transaction, None, true, true);
                EventEffect::Opens
            }
            TransactionEvent::Query(QueryKind::XaStart(xid), _) => {
                self.open(transaction, None, true, true).xa = Some(Box::new(xid.clone()));
                EventEffect::Opens
            }
            TransactionEvent::Query(QueryKind::XaCommit(xid), _) => {
                self.open(transaction, None, true, true);
                EventEffect::Ends(TransactionEnd::XaCommitted(Box::new(xid.clone())))
            }
            TransactionEvent::Query(QueryKind::XaRollback(xid), _) => {
                self.open(transaction, None, true, true);
                EventEffect::Ends(TransactionEnd::XaRolledBack(Box::new(xid.clone())))
            }
            TransactionEvent::TableMap => {
                self.open(transaction, None, true, false);
                EventEffect::Opens
            }
            TransactionEvent::Rows { statement_end } => {
                self.open(transaction, None, true, false);
                if let Some(group) = &mut self.group {
                    group.rows_events = 1;
                }
                if *statement_end {
                    EventEffect::Ends(TransactionEnd::Committed)
                } else {
                    EventEffect::Opens
                }
            }
            TransactionEvent::Skipped(_) => {
                self.open(transaction, None, false, true).statements_skipped = 1;
                EventEffect::Ends(TransactionEnd::Committed)
            }
            TransactionEvent::Payload => {
                self.open(transaction, None, true, true);
                if let Some(group) = &mut self.group {
                    group.has_payload = true;
                }
                EventEffect::Ends(TransactionEnd::Committed)
            }
            _ => EventEffect::Outside,
        })
    }

    fn open(
        &mut self,
        transaction: Transaction,
        gtid: Option<LoggedGtid>,
        has_begin: bool,
        explicit: bool,
    ) -> &mut EventGroup {
        self.group.insert(EventGroup {
            transaction,
            gtid,
            rows_events: 0,
            statements_skipped: 0,
            has_payload: false,
            xa: None,
            without_effect: false,
            before_rows: 0,
            after_rows: 0,
            has_begin,
            explicit,
            savepoints: None,
            fragments: FragmentOrder::default(),
            fragments_end: false,
        })
    }
}

impl EventGroup {
    #[inline]
    fn add_rows_event(&mut self) -> Result<(), DecodeError> {
        if self.rows_events >= MAX_ROWS_EVENTS {
            return Err(DecodeError::Limit {
                what: "rows events in one transaction",
                value: u64::from(self.rows_events) + 1,
                limit: u64::from(MAX_ROWS_EVENTS),
            });
        }
        self.rows_events += 1;
        Ok(())
    }

    fn on_query(&mut self, kind: &QueryKind, offset: u64) -> Result<EventEffect, Error> {
        Ok(match kind {
            QueryKind::Commit => EventEffect::Ends(TransactionEnd::Committed),
            QueryKind::Rollback => EventEffect::Ends(TransactionEnd::RolledBack),
            QueryKind::XaCommit(xid) => {
                EventEffect::Ends(TransactionEnd::XaCommitted(Box::new(xid.clone())))
            }
            QueryKind::XaRollback(xid) => {
                EventEffect::Ends(TransactionEnd::XaRolledBack(Box::new(xid.clone())))
            }
            QueryKind::Begin | QueryKind::CreateTableStartTransaction => {
                self.has_begin = true;
                EventEffect::Inside
            }
            QueryKind::XaStart(xid) => {
                self.has_begin = true;
                self.xa = Some(Box::new(xid.clone()));
                EventEffect::Inside
            }
            QueryKind::Savepoint(name) => {
                self.savepoints.get_or_insert_default().set(name.clone(), offset)?;
                EventEffect::Inside
            }
            QueryKind::RollbackTo(name) => {
                let savepoints = self.savepoints.get_or_insert_default();
                savepoints.roll_back_to(name, offset, self.rows_events)?;
                EventEffect::Inside
            }
            // A single statement is its own group.
            QueryKind::Other if !self.has_begin => EventEffect::Ends(TransactionEnd::Committed),
            QueryKind::XaEnd | QueryKind::Other => EventEffect::Inside,
        })
    }

    /// True if an event opened it. If not, the flags of its rows events determine its end.
    pub fn is_explicit(&self) -> bool {
        self.explicit
    }

    /// True if it is one statement without rows: usually DDL.
    pub fn is_statement(&self) -> bool {
        !self.has_begin && !self.has_rows()
    }

    /// True if it may contain rows.
    pub fn has_rows(&self) -> bool {
        self.rows_events > 0 || self.has_payload
    }

    /// True if rows of it were rolled back to a savepoint.
    pub fn has_undone_rows(&self) -> bool {
        !self.undone().is_empty()
    }

    /// The part of the group that contains all its rows, if the group ends at `end`.
    pub fn part_with_rows(&self, end: u64) -> (u64, u64) {
        let start = self.transaction.start + u64::from(self.before_rows);
        (start, end.saturating_sub(u64::from(self.after_rows)).max(start))
    }

    /// The parts of `start..end` whose rows were not rolled back, each with the number of rows events before it.
    pub fn kept(&self, end: u64) -> impl Iterator<Item = (u64, u64, u32)> + '_ {
        kept(self.undone(), self.transaction.start, end)
    }

    fn undone(&self) -> &[Undone] {
        self.savepoints.as_ref().map_or(&[], |savepoints| savepoints.undone())
    }
}

#[cfg(test)]
mod tests;
