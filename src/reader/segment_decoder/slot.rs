//! A table's batch under construction, and the part of the table's changes that it completes.

use super::rows_builder::RowsBuilder;
use crate::binlog::RowsKind;
use crate::change::UpdateRule;
use crate::columnar::{SpareVectors, TablePlan};
use crate::error::Result;
use crate::filter::{BoundFilter, Filter};
use crate::reader::resume::TableKey;
use crate::reader::rows_writer::RowsWriter;
use crate::reader::stats::TableStats;
use std::sync::Arc;

/// The properties of rows that are the same for all tables.
#[derive(Clone, Copy)]
pub(super) struct Form<'f> {
    pub(super) rule: UpdateRule,
    pub(super) filter: Option<&'f Filter>,
    pub(super) writer: Option<&'f dyn RowsWriter>,
}

/// A table's batch under construction.
pub(super) struct Slot {
    pub(super) builder: RowsBuilder,
    /// The filter of its rows.
    pub(super) filter: Option<BoundFilter>,
    pub(super) counts: TableStats,
    /// The transaction of the last rows.
    version: Option<i64>,
    /// The number of its changes of this table in this segment, returned or not.
    changes: u64,
    /// `changes` before the last rows event.
    before_event: u64,
    /// The number of skipped events that are counted.
    passed: usize,
    /// The changes in them.
    passed_changes: u64,
    /// Number of rows at the beginning of the batch to leave out, because they were delivered before.
    pub(super) left_out: usize,
}

impl Slot {
    pub(super) fn try_new(
        plan: Arc<TablePlan>,
        form: Form<'_>,
        spare: &SpareVectors,
    ) -> Result<Self> {
        let (builder, filter) = building(plan, form, spare)?;
        Ok(Self {
            builder,
            filter,
            counts: TableStats::default(),
            version: None,
            changes: 0,
            before_event: 0,
            passed: 0,
            passed_changes: 0,
            left_out: 0,
        })
    }

    /// Continues under another plan.
    pub(super) fn replace(
        &mut self,
        plan: Arc<TablePlan>,
        form: Form<'_>,
        spare: &SpareVectors,
    ) -> Result<()> {
        (self.builder, self.filter) = building(plan, form, spare)?;
        Ok(())
    }

    pub(super) fn key(&self) -> TableKey {
        self.builder.plan().key()
    }

    /// Adds a rows event of a transaction.
    pub(super) fn take_in(&mut self, version: i64, changes: u64) {
        if self.version != Some(version) {
            (self.version, self.changes) = (Some(version), 0);
            (self.passed, self.passed_changes) = (0, 0);
        }
        self.before_event = self.changes;
        self.changes += changes;
    }

    /// Resets the counts of changes: the next rows are of another segment.
    pub(super) fn forget(&mut self) {
        self.version = None;
    }

    /// True if the last rows are from this transaction.
    pub(super) fn is_in(&self, version: Option<i64>) -> bool {
        version.is_some() && self.version == version
    }

    /// The changes of the transaction so far.
    pub(super) fn changes(&self) -> u64 {
        self.changes
    }

    /// The changes of the transaction so far, except those in skipped events.
    pub(super) fn given(&self) -> u64 {
        self.changes - self.passed_changes
    }

    /// The number of the next skipped event that is not counted.
    pub(super) fn passed(&self) -> usize {
        self.passed
    }

    /// Adds the changes in skipped events up to number `upto`. All of these events are before the last rows event.
    pub(super) fn pass(&mut self, upto: usize, changes: u64) {
        self.passed = upto;
        self.passed_changes += changes;
        self.before_event += changes;
        self.changes += changes;
    }

    /// The changes of the transaction before a row of the last event.
    pub(super) fn changes_before(&self, row: usize) -> u64 {
        self.before_event + self.builder.changes_before(row)
    }

    /// Leaves out the rows of the first changes of the only event so far.
    pub(super) fn leave_out(&mut self, changes: u64, kind: RowsKind) {
        self.left_out = self.builder.row_of_change(changes);
        let count = match kind {
            RowsKind::Write => &mut self.counts.inserts,
            RowsKind::Update => &mut self.counts.updates,
            RowsKind::Delete => &mut self.counts.deletes,
        };
        *count = count.saturating_sub(changes);
    }

    /// Removes the rows so far.
    pub(super) fn clear(&mut self) -> Result<()> {
        self.builder.finish()?;
        self.builder.take_zero_dates();
        self.counts = TableStats::default();
        self.left_out = 0;
        Ok(())
    }
}

/// The builder of a plan's batches, and the filter of their rows.
fn building(
    plan: Arc<TablePlan>,
    Form { rule, filter, writer }: Form<'_>,
    spare: &SpareVectors,
) -> Result<(RowsBuilder, Option<BoundFilter>)> {
    let filter = filter.map(|filter| filter.bind(&plan)).transpose()?;
    let mut builder = RowsBuilder::try_new(plan, rule, writer, spare)?;
    if filter.is_some() {
        builder.watch_images();
    }
    Ok((builder, filter))
}
