//! The fast path for usual transactions: if a read needs nothing but their rows, the position moves past each of them at once, and
//! [`Walk::next`] returns no step for it. In most reads, all transactions are of this kind.

use super::usual::UsualTransaction;
use super::{Next, Walk};
use crate::change::LoggedGtid;
use crate::source::options::{Start, Stop};
use std::ops::Range;

/// A committed transaction that was passed without a step.
pub(crate) struct PassedTransaction {
    /// The offsets from the start of its first event to the end of its last.
    pub(crate) extent: Range<u64>,
    /// The offsets of its Table_map and rows events; `None` if it has no rows events.
    pub(crate) rows: Option<Range<u64>>,
    /// Microseconds since 1970 UTC of its commit.
    pub(crate) commit_timestamp: i64,
    /// Its GTID, if it has one.
    pub(crate) gtid: Option<LoggedGtid>,
}

impl Walk {
    /// True if usual transactions need no step: the read begins and ends at positions, and no transaction was read before.
    pub(crate) fn passes_without_steps(&self) -> bool {
        let is_after_start = match &self.options.start {
            Start::Earliest | Start::Position(_) => true,
            Start::Gtids(_) => self.is_live(),
            Start::Time(_) => false,
        };
        is_after_start
            && self.next == Next::Read
            && self.reads_usual_transactions()
            && matches!(self.bounds.stop, Stop::End | Stop::Position(_))
            && self.bounds.has_no_limit()
            && self.progress.already_read.is_none()
            && self.progress.position.ahead.is_empty()
            && self.skips.is_empty()
    }

    /// Passes the next transaction, if it is a usual one and [`Self::passes_without_steps`]. All others, and errors, are left
    /// to [`Self::next`].
    pub(crate) fn pass_without_step(&mut self) -> Option<PassedTransaction> {
        let open = self.open.as_mut()?;
        let limit = self.quiet_bytes.saturating_sub(open.events.kept());
        let UsualTransaction { transaction, gtid, rows_events, rows, last } =
            open.find_usual(&self.rules, limit)?;
        let (start, end) = (transaction.start, last.end());
        let file = (self.files.index(), &*self.progress.position.file);
        if self.bounds.is_past_stop(file, end - 1) {
            return None;
        }
        self.progress.pass(gtid.as_ref(), end, false).ok()?;
        open.events.advance_by((end - start) as usize);
        self.bounds.count_transaction();
        Some(PassedTransaction {
            extent: start..end,
            rows: (rows_events > 0).then_some(rows),
            commit_timestamp: transaction.commit_timestamp,
            gtid,
        })
    }
}
