//! The properties that all events of a span share, and the place of one of them.

use crate::binlog::EventHeader;
use crate::change::Transaction;
use crate::columnar::{CommitDetails, Stamp, TablePlan};
use crate::position::Position;
use crate::source::{Delivered, FileContext, Left, Span};
use std::sync::Arc;

/// The properties that all events of a span share.
pub(super) struct SpanContext<'s> {
    pub(super) span: &'s Span,
    pub(super) file: &'s Arc<FileContext>,
    /// The position at which to resume before the rows.
    pub(super) start: &'s Arc<Position>,
    /// The properties of its transaction, if requested; for a compressed one, including those that only its contents show.
    pub(super) transaction: Option<Transaction>,
    /// The buffer that the places of events refer to, if the events can be read again.
    pub(super) buffer: Option<&'s [u8]>,
}

/// The place of a rows event.
#[derive(Clone, Copy)]
pub(super) struct EventPlace {
    /// Its offset in the file.
    pub(super) offset: u64,
    /// Its number in the transaction.
    pub(super) number: u32,
    /// The start of its body in the context's buffer, if it is there.
    pub(super) body_at: Option<usize>,
}

impl<'s> SpanContext<'s> {
    /// The changes that were delivered before a resumed read, if there are any.
    pub(super) fn delivered(&self) -> Option<&'s Delivered> {
        self.span.more.as_ref().and_then(|more| more.delivered.as_deref())
    }

    /// The number of a table's next changes to leave out, if the read was resumed.
    pub(super) fn left(&self, plan: &TablePlan) -> Left {
        let table = &plan.table;
        self.delivered()
            .map_or(Left::Nothing, |delivered| delivered.left(&table.database, &table.table))
    }

    pub(super) fn buffer(&self) -> &'s [u8] {
        self.buffer.unwrap_or_default()
    }

    /// The values that all rows of an event share.
    pub(super) fn stamp<'a>(
        &'a self,
        header: &EventHeader,
        place: EventPlace,
        gtid: Option<&'a str>,
        query: Option<&'a str>,
    ) -> Stamp<'a> {
        Stamp {
            commit_version: self.span.commit_version,
            commit_timestamp: self.span.commit_timestamp,
            first_ordinal: i64::from(place.number) << 32,
            file: &self.file.name,
            position: place.offset,
            server_id: header.server_id,
            details: CommitDetails {
                gtid,
                original_commit_timestamp: self
                    .transaction
                    .and_then(|transaction| transaction.original_commit_timestamp),
                thread_id: self.transaction.and_then(|transaction| transaction.thread_id),
                xid: self.transaction.and_then(|transaction| transaction.xid),
                query,
            },
        }
    }
}
