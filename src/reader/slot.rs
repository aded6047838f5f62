//! A table's batch under construction, and how far the table is delivered with it.

use super::progress::TableKey;
use super::stats::TableStats;
use crate::binlog::RowsKind;
use crate::change::UpdateRule;
use crate::columnar::{TableBuilder, TablePlan};
use crate::error::Result;
use std::sync::Arc;

/// A table's batch under construction.
pub(super) struct Slot {
    pub(super) builder: TableBuilder,
    pub(super) counts: TableStats,
    /// The transaction that rows came from last.
    version: Option<i64>,
    /// Its changes of this table in this segment, given or not.
    changes: u64,
    /// The same before its last rows event.
    before_event: u64,
    /// How many of the events passed over are counted.
    passed: usize,
    /// The changes in them.
    passed_changes: u64,
    /// Rows at the beginning of the batch that are left out: they were delivered before.
    pub(super) left_out: usize,
}

impl Slot {
    pub(super) fn try_new(plan: Arc<TablePlan>, rule: UpdateRule) -> Result<Self> {
        Ok(Self {
            builder: TableBuilder::try_new(plan, rule)?,
            counts: TableStats::default(),
            version: None,
            changes: 0,
            before_event: 0,
            passed: 0,
            passed_changes: 0,
            left_out: 0,
        })
    }

    pub(super) fn key(&self) -> TableKey {
        let table = &self.builder.plan().table;
        (Arc::clone(&table.database), Arc::clone(&table.table))
    }

    /// A rows event of a transaction was taken in.
    pub(super) fn take_in(&mut self, version: i64, changes: u64) {
        if self.version != Some(version) {
            (self.version, self.changes) = (Some(version), 0);
            (self.passed, self.passed_changes) = (0, 0);
        }
        self.before_event = self.changes;
        self.changes += changes;
    }

    /// What was given of it is that of another segment.
    pub(super) fn forget(&mut self) {
        self.version = None;
    }

    /// Whether rows came from a transaction last.
    pub(super) fn is_in(&self, version: Option<i64>) -> bool {
        version.is_some() && self.version == version
    }

    /// The changes of the transaction so far.
    pub(super) fn changes(&self) -> u64 {
        self.changes
    }

    /// The changes of the transaction so far, but for those in events that were passed over.
    pub(super) fn given(&self) -> u64 {
        self.changes - self.passed_changes
    }

    /// The number of the next event passed over that is not counted.
    pub(super) fn passed(&self) -> usize {
        self.passed
    }

    /// Events that were passed over, up to number `upto`, hold so many changes. All stand before the last rows event.
    pub(super) fn pass(&mut self, upto: usize, changes: u64) {
        self.passed = upto;
        self.passed_changes += changes;
        self.before_event += changes;
        self.changes += changes;
    }

    /// The changes of the transaction before a row of the event that came last.
    pub(super) fn changes_before(&self, row: usize) -> u64 {
        self.before_event + self.builder.changes_before(row)
    }

    /// Rows of the only event so far are left out: those of its first changes.
    pub(super) fn leave_out(&mut self, changes: u64, kind: RowsKind) {
        self.left_out = self.builder.row_of_change(changes);
        let count = match kind {
            RowsKind::Write => &mut self.counts.inserts,
            RowsKind::Update => &mut self.counts.updates,
            RowsKind::Delete => &mut self.counts.deletes,
        };
        *count = count.saturating_sub(changes);
    }

    /// Forgets the rows so far.
    pub(super) fn clear(&mut self) -> Result<()> {
        self.builder.finish()?;
        self.builder.take_zero_dates().for_each(drop);
        self.counts = TableStats::default();
        self.left_out = 0;
        Ok(())
    }
}
