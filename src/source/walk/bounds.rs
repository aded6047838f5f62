//! The bounds of a walk: a place, a set of GTIDs, or a number of bytes.

use crate::error::{Error, ErrorKind, Result};
use crate::position::{Position, compare_files};
use crate::source::options::Stop;
use std::cmp::Ordering;

/// The bounds of a walk.
#[derive(Debug)]
pub(super) struct Bounds {
    /// The end.
    pub(super) stop: Stop,
    /// The index of the stop's file, in a list of files.
    pub(super) stop_index: Option<usize>,
    /// The maximum number of bytes to read. The walk ends at the end of a transaction, and reads at least one.
    limit: Option<u64>,
    /// Bytes that were read from the previous files.
    bytes_before: u64,
    /// Offset in the open file from which bytes are counted.
    counts_from: u64,
    /// True if a transaction was read.
    has_transaction: bool,
}

impl Bounds {
    pub(super) fn new(stop: Stop, limit: Option<u64>) -> Self {
        Self {
            stop,
            stop_index: None,
            limit,
            bytes_before: 0,
            counts_from: 0,
            has_transaction: false,
        }
    }

    /// True if an offset of a file is at the stop position, or after it.
    pub(super) fn is_past_stop(&self, (index, file): (usize, &str), offset: u64) -> bool {
        let Stop::Position(stop) = &self.stop else { return false };
        let order = match self.stop_index {
            Some(stop_index) => Some(index.cmp(&stop_index)),
            None => compare_files(file, &stop.file),
        };
        match order {
            Some(Ordering::Greater) => true,
            Some(Ordering::Equal) => offset >= stop.offset,
            Some(Ordering::Less) | None => false,
        }
    }

    /// Counts bytes from an offset: at the beginning of a file, or after a part that the server skipped.
    pub(super) fn count_from(&mut self, offset: u64) {
        self.counts_from = offset;
    }

    /// Counts the bytes up to an offset, and none after it.
    pub(super) fn count_to(&mut self, offset: u64) {
        self.bytes_before += offset.saturating_sub(self.counts_from);
        self.counts_from = offset;
    }

    /// True if the number of bytes is not limited.
    pub(super) fn has_no_limit(&self) -> bool {
        self.limit.is_none()
    }

    /// Counts a transaction.
    pub(super) fn count_transaction(&mut self) {
        self.has_transaction = true;
    }

    /// True if the limit is reached, or if the open transaction exceeds it.
    pub(super) fn is_limit_reached(&self, in_transaction: bool, offset: u64) -> bool {
        match in_transaction {
            false => {
                self.has_transaction
                    && self.limit.is_some_and(|limit| self.bytes_to(offset) >= limit)
            }
            true => self.exceeds_limit(offset),
        }
    }

    /// True if a transaction that ends at `end` exceeds the limit. The first transaction never does.
    pub(super) fn exceeds_limit(&self, end: u64) -> bool {
        self.limit.is_some_and(|limit| self.bytes_to(end) > limit)
    }

    /// Bytes that were read up to an offset; 0 before the end of the first transaction.
    fn bytes_to(&self, offset: u64) -> u64 {
        match self.has_transaction {
            true => self.bytes_before + offset.saturating_sub(self.counts_from),
            false => 0,
        }
    }

    /// True if the complete GTID set of the stop was read.
    pub(super) fn has_all_gtids(&self, here: &Position) -> bool {
        match (&self.stop, &here.gtid_set) {
            (Stop::Gtids(wanted), Some(read)) => read.covers(wanted),
            _ => false,
        }
    }

    /// Checks that a walk that ended has reached its goal.
    pub(super) fn check_goal(&self, here: &Position, goal: &Position) -> Result<()> {
        let is_reached = match &self.stop {
            Stop::Gtids(_) => self.has_all_gtids(here),
            _ => here.compare(goal).is_some_and(Ordering::is_ge),
        };
        if is_reached {
            return Ok(());
        }
        Err(Error::new(
            ErrorKind::Config,
            format!(
                "the stop position {goal} is not the end of a transaction; the last transaction before it ends at {here}"
            ),
        ))
    }
}
