//! Runs: the SQL of consecutive changes, and their place in the log.

use super::table::TableCounts;
use std::ops::Range;

/// The SQL of the changes of a batch, in the order of the script.
#[derive(Debug, Default)]
pub(super) struct Part {
    pub(super) text: Vec<u8>,
    pub(super) runs: Vec<Run>,
    /// The comments of transactions.
    pub(super) comments: Vec<u8>,
    pub(super) counts: TableCounts,
    /// The length of the longest statement.
    pub(super) longest: usize,
}

/// The place of a change in the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Order {
    /// The version of its transaction.
    pub(super) version: i64,
    /// The place in the transaction.
    pub(super) ordinal: i64,
    /// The place among the effects of one change: 0 for the change itself, which is the last one.
    pub(super) step: i64,
}

/// The SQL of consecutive changes of one transaction, with no other change between them.
#[derive(Debug, Clone)]
pub(super) struct Run {
    /// The first and the last of its changes in the log.
    pub(super) first: Order,
    pub(super) last: Order,
    pub(super) text: Range<usize>,
    /// The comment of the transaction.
    pub(super) comment: Range<usize>,
}

impl Order {
    /// True if no other change can be between this one and the next one of its batch, except effects of the next one. This is known
    /// for changes of one event, which has rows of one table, and of consecutive events.
    pub(super) const fn is_directly_before(self, next: Self) -> bool {
        self.version == next.version
            && match (self.step, next.step) {
                (0, 0) => next.ordinal >> EVENT <= (self.ordinal >> EVENT) + 1,
                (step, later) => self.ordinal == next.ordinal && step + 1 == later && later < 0,
            }
    }
}

impl Part {
    /// Removes all changes, and keeps the memory.
    pub(super) fn clear(&mut self) {
        self.text.clear();
        self.runs.clear();
        self.comments.clear();
        (self.counts, self.longest) = (TableCounts::default(), 0);
    }
}

/// The number of bits of `_change_ordinal` that contain the place in an event.
const EVENT: u32 = 32;
