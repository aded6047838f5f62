//! The batches under construction, one per table, and the parts of the log that they deliver.

use super::output::{Emit, Output};
use super::slot::{Form, Slot};
use crate::binlog::RowsEvent;
use crate::change::UpdateRule;
use crate::columnar::{SpareVectors, Stamp, TablePlan};
use crate::error::Result;
use crate::filter::{Filter, select_rows};
use crate::position::Position;
use crate::reader::batch::ChangeBatch;
use crate::reader::options::{BatchLimits, DecodeOptions};
use crate::reader::resume::{Progress, Reach, TableKey, Upto};
use crate::reader::rows_writer::RowsWriter;
use crate::reader::stats::Stats;
use crate::source::{Delivered, GtidPlaces, Left, start_of};
use std::collections::HashMap;
use std::sync::Arc;

/// The batches under construction, one per table, by number.
pub(super) struct TableBatches {
    limits: BatchLimits,
    rule: UpdateRule,
    filter: Option<Arc<Filter>>,
    writer: Option<Arc<dyn RowsWriter>>,
    slots: Vec<Slot>,
    by_name: HashMap<TableKey, usize>,
    /// The slots with rows, in the order of their first rows.
    active: Vec<usize>,
    /// The current transaction; `None` before the first one of the segment.
    version: Option<i64>,
    /// True if it continues after its last span.
    is_open: bool,
    /// The GTIDs of the segment's transactions.
    gtids: Option<Arc<GtidPlaces>>,
    /// The memory of batches that were freed.
    spare: SpareVectors,
}

/// The end of a batch.
#[derive(Clone, Copy)]
pub(super) enum Goal<'p> {
    /// Inside the current transaction.
    Within,
    /// At a place that several tables reach.
    Place { end: &'p Arc<Position>, tables: &'p Arc<[TableKey]>, count: usize },
}

impl TableBatches {
    pub(super) fn new(options: &DecodeOptions) -> Self {
        Self {
            limits: options.limits,
            rule: options.update_rule,
            filter: options.filter.clone(),
            writer: options.writer.clone(),
            slots: Vec::new(),
            by_name: HashMap::new(),
            active: Vec::new(),
            version: None,
            is_open: false,
            gtids: None,
            spare: SpareVectors::default(),
        }
    }

    pub(super) fn begin_segment(&mut self, gtids: Option<Arc<GtidPlaces>>) {
        (self.version, self.is_open) = (None, false);
        self.gtids = gtids;
        self.slots.iter_mut().for_each(Slot::forget);
    }

    /// Begins a span. Returns true if it is the first of its transaction in the segment.
    pub(super) fn begin_span(&mut self, version: i64, ends_transaction: bool) -> bool {
        self.is_open = !ends_transaction;
        self.version.replace(version) != Some(version)
    }

    /// True if the current transaction continues after the segment.
    pub(super) fn is_open(&self) -> bool {
        self.is_open
    }

    /// True if the current transaction ends before a position: an item may be after the rows of its own transaction.
    pub(super) fn ends_before(&self, position: &Position) -> bool {
        !self.is_open && self.version.map_or(0, start_of) < position.offset
    }

    /// The batch that got rows last, if it has this plan: most rows are of the same table as the rows before them.
    pub(super) fn recent(&self, plan: &Arc<TablePlan>) -> Option<usize> {
        self.active.last().copied().filter(|index| self.has_plan(*index, plan))
    }

    /// The batch of a plan's table.
    pub(super) fn find(&self, plan: &TablePlan) -> Option<usize> {
        self.by_name.get(&plan.key()).copied()
    }

    pub(super) fn has_plan(&self, index: usize, plan: &Arc<TablePlan>) -> bool {
        self.slots.get(index).is_some_and(|slot| Arc::ptr_eq(slot.builder.plan(), plan))
    }

    /// Adds an empty batch for a plan's table.
    pub(super) fn add(&mut self, plan: Arc<TablePlan>) -> Result<usize> {
        let (index, key) = (self.slots.len(), plan.key());
        let form = Form {
            rule: self.rule,
            filter: self.filter.as_deref(),
            writer: self.writer.as_deref(),
        };
        self.slots.push(Slot::try_new(plan, form, &self.spare)?);
        self.by_name.insert(key, index);
        Ok(index)
    }

    /// Continues a table under another plan, after its batch was returned.
    pub(super) fn replace(&mut self, index: usize, plan: Arc<TablePlan>) -> Result<()> {
        let form = Form {
            rule: self.rule,
            filter: self.filter.as_deref(),
            writer: self.writer.as_deref(),
        };
        match self.slots.get_mut(index) {
            Some(slot) => slot.replace(plan, form, &self.spare),
            None => Ok(()),
        }
    }

    /// The batches with rows, in the order of their first rows.
    pub(super) fn active(&self) -> &[usize] {
        &self.active
    }

    /// Removes all batches from the active ones, to return them.
    pub(super) fn take_active(&mut self) -> Vec<usize> {
        std::mem::take(&mut self.active)
    }

    /// Removes a batch from the active ones, to return it. Returns false if it has no rows.
    pub(super) fn deactivate(&mut self, index: usize) -> bool {
        let before = self.active.len();
        self.active.retain(|active| *active != index);
        self.active.len() < before
    }

    /// Removes a batch from the active ones if it has reached the limits.
    pub(super) fn take_full(&mut self, index: usize) -> bool {
        let is_full = self.slots.get(index).is_some_and(|slot| {
            slot.builder.rows() >= self.limits.rows || slot.builder.bytes() >= self.limits.bytes
        });
        is_full && self.deactivate(index)
    }

    /// The tables of batches.
    pub(super) fn keys(&self, batches: &[usize]) -> impl Iterator<Item = TableKey> {
        batches.iter().filter_map(|index| self.slots.get(*index)).map(Slot::key)
    }

    /// Appends the rows of an event, of `bytes` bytes, except those that were delivered before a resumed read. Returns false
    /// if these are all.
    pub(super) fn append(
        &mut self,
        index: usize,
        event: &RowsEvent<'_>,
        stamp: &Stamp<'_>,
        bytes: usize,
        left: Left,
        delivered: Option<&Delivered>,
    ) -> Result<bool> {
        let Some(slot) = self.slots.get_mut(index) else { return Ok(false) };
        let was_empty = slot.builder.rows() == 0;
        let left_out = match left {
            Left::Changes(left) => left,
            Left::Nothing | Left::All => 0,
        };
        let counts = slot.builder.append(event, stamp, left_out)?;
        let changes = counts.changes();
        slot.take_in(stamp.commit_version, changes);
        if let (Left::Changes(left), Some(delivered)) = (left, delivered) {
            let (database, table) = slot.key();
            delivered.leave_out(&database, &table, changes);
            if changes <= left {
                slot.clear()?;
                return Ok(false);
            }
        }
        slot.counts.inserts += counts.inserts;
        slot.counts.updates += counts.updates;
        slot.counts.deletes += counts.deletes;
        slot.counts.bytes += bytes as u64;
        if let Left::Changes(left) = left {
            slot.leave_out(left, event.kind);
        }
        if was_empty {
            self.active.push(index);
        }
        Ok(true)
    }

    /// The table of a batch, and the number of the first skipped event that is not counted for it.
    /// `None` if the batch has no rows of the current transaction.
    pub(super) fn passed(&self, index: usize) -> Option<(TableKey, usize)> {
        let slot = self.slots.get(index).filter(|slot| slot.is_in(self.version))?;
        Some((slot.key(), slot.passed()))
    }

    /// Adds the changes in skipped events up to number `upto` to a batch.
    pub(super) fn pass(&mut self, index: usize, upto: usize, changes: u64) {
        if let Some(slot) = self.slots.get_mut(index) {
            slot.pass(upto, changes);
        }
    }

    /// The changes of the current transaction so far, by table, except those in skipped events.
    pub(super) fn given(&self) -> impl Iterator<Item = (TableKey, u64)> {
        let slots = self.slots.iter().filter(|slot| slot.is_in(self.version));
        slots.map(|slot| (slot.key(), slot.given()))
    }

    /// Returns one batch, in pieces by the row limit. `start` is the position at which to resume before it.
    pub(super) fn flush(
        &mut self,
        index: usize,
        start: &Arc<Position>,
        goal: Goal<'_>,
        stats: &mut Stats,
        emit: &mut Emit<'_>,
    ) -> Result<bool> {
        let Some(slot) = self.slots.get_mut(index) else { return Ok(true) };
        let plan = Arc::clone(slot.builder.plan());
        for (column, count) in slot.builder.take_zero_dates() {
            *stats.zero_dates.entry(plan.column_label(column)).or_default() += count;
        }
        stats.matched_masks.extend(plan.matched_masks.iter().cloned());
        if let Some(history_mismatch) = &plan.history_mismatch {
            stats
                .history_mismatches
                .entry(plan.table.full_name())
                .or_insert_with(|| history_mismatch.clone());
        }
        let mut from = std::mem::take(&mut slot.left_out);
        let cuts = slot.builder.cuts(from, self.limits.rows);
        let rows = slot.builder.rows();
        // Pieces that end before the end of the rows end inside the last event.
        let changes: Vec<u64> = cuts.iter().map(|cut| slot.changes_before(*cut)).collect();
        let all_changes = if slot.is_in(self.version) { slot.changes() } else { 0 };
        let images = slot.filter.as_ref().and_then(|_| slot.builder.images());
        let (batch, mut written) = slot.builder.finish()?;
        let kept = match (&slot.filter, &images) {
            (Some(filter), Some(images)) => Some(filter.kept_rows(&batch, images)?),
            _ => None,
        };
        stats.tables.entry(plan.key()).or_default().add(&std::mem::take(&mut slot.counts));
        let open_start = start_of(self.version.unwrap_or_default());
        for (cut, changes) in cuts.into_iter().zip(changes) {
            let rows_kept = match &kept {
                Some(kept) => select_rows(&batch, from..cut, kept)?,
                None => batch.slice(from, cut - from),
            };
            stats.rows += rows_kept.num_rows() as u64;
            stats.batches += u64::from(rows_kept.num_rows() > 0);
            let change = ChangeBatch {
                database: Arc::clone(&plan.table.database),
                table: Arc::clone(&plan.table.table),
                batch: rows_kept,
                plan: Arc::clone(&plan),
                before: Progress::at(Arc::clone(start)),
                progress: Progress::at(Arc::clone(start)),
                committed: stats.time_span.map(|(_, last)| last),
                segment: 0,
                // The rows of a writer have one cut.
                written: written.take(),
            };
            let upto = match goal {
                Goal::Place { end, tables, count } if cut == rows => {
                    Upto::Place { end: Arc::clone(end), tables: Arc::clone(tables), count }
                }
                _ if cut == rows => Upto::Within { start: open_start, changes: all_changes },
                _ => Upto::Within { start: open_start, changes },
            };
            let reach = Reach { base: Arc::clone(start), gtids: self.gtids.clone(), upto };
            if !emit(Output::Batch(change, reach)) {
                return Ok(false);
            }
            from = cut;
        }
        Ok(true)
    }
}
