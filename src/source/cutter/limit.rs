//! How far a read goes: at most so much of the log, or no less than to a goal.

use super::{Cutter, Stop};
use crate::error::{Error, ErrorKind, Result};
use std::cmp::Ordering;

/// How much of the log was gone through.
#[derive(Debug, Default)]
pub(super) struct Gone {
    /// Bytes of the files before.
    before: u64,
    /// Offset in the file at hand from which on bytes count.
    from: u64,
    /// Whether a transaction was.
    has_transaction: bool,
}

impl Cutter {
    /// Bytes count from here, where the read begins in a file, or goes on behind what the server passed over.
    pub(super) fn count_from(&mut self, offset: u64) {
        self.gone.from = offset;
    }

    /// The bytes up to here count; those behind it do not.
    pub(super) fn count_to(&mut self, offset: u64) {
        self.gone.before += offset.saturating_sub(self.gone.from);
        self.gone.from = offset;
    }

    /// A transaction has ended.
    pub(super) fn count_transaction(&mut self) {
        self.gone.has_transaction = true;
    }

    /// Whether the read ends before the next event: the limit is met, or the transaction that is open goes beyond it.
    pub(super) fn is_spent(&self, offset: u64) -> bool {
        match self.tracker.group() {
            None => {
                self.gone.has_transaction
                    && self.options.limit.is_some_and(|limit| self.gone_to(offset) >= limit)
            }
            Some(_) => self.exceeds_limit(offset),
        }
    }

    /// Whether a transaction that ends at `end` is beyond the limit; the first is not.
    pub(super) fn exceeds_limit(&self, end: u64) -> bool {
        self.options.limit.is_some_and(|limit| self.gone_to(end) > limit)
    }

    /// Bytes gone through up to an offset; none before the first transaction's end.
    fn gone_to(&self, offset: u64) -> u64 {
        match self.gone.has_transaction {
            true => self.gone.before + offset.saturating_sub(self.gone.from),
            false => 0,
        }
    }

    /// Whether a read that had to reach a place did.
    pub(super) fn check_goal(&self) -> Result<()> {
        let Some(goal) = &self.options.goal else { return Ok(()) };
        let here = &self.position;
        let is_reached = match &self.options.stop {
            Stop::Gtids(wanted) => here.gtid_set.as_ref().is_some_and(|read| read.covers(wanted)),
            _ => here.compare(goal).is_some_and(Ordering::is_ge),
        };
        if is_reached {
            return Ok(());
        }
        Err(Error::new(
            ErrorKind::Config,
            format!(
                "the range ends at {goal}, and the last whole transaction before it at {here}: a range ends at a transaction's end"
            ),
        ))
    }
}
