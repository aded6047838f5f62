//! The columns for a row before a change, and those for a row after it. In the flat layout they are
//! the same columns, and each side is a row of its own. In the nested layout there are two sets of
//! columns, and a side that does not exist is a row of NULLs.

use super::row_columns::{RowColumns, Wanted};
use crate::binlog::RowsKind;
use crate::columnar::layout::Layout;
use crate::columnar::spare::SpareVectors;
use crate::columnar::table_plan::TablePlan;
use crate::error::{DecodeError, Error, ErrorKind};
use arrow_array::{ArrayRef, StructArray};
use arrow_buffer::NullBuffer;
use std::sync::Arc;

/// The columns of both sides.
pub(super) struct Sides {
    after: RowColumns,
    /// The separate columns of the nested layout for rows before a change.
    before: Option<RowColumns>,
}

impl Sides {
    pub(super) fn try_new(plan: &TablePlan) -> Result<Self, Error> {
        let before = match plan.layout {
            Layout::Flat => None,
            Layout::Nested => Some(RowColumns::try_new(plan)?),
        };
        Ok(Self { after: RowColumns::try_new(plan)?, before })
    }

    /// True if a row of the batch has both sides.
    #[inline]
    pub(super) fn is_nested(&self) -> bool {
        self.before.is_some()
    }

    /// The columns for a row before a change.
    #[inline]
    pub(super) fn before(&mut self) -> &mut RowColumns {
        self.before.as_mut().unwrap_or(&mut self.after)
    }

    /// The columns for a row after a change.
    #[inline]
    pub(super) fn after(&mut self) -> &mut RowColumns {
        &mut self.after
    }

    /// The current row of the batch has no row before the change.
    #[inline]
    pub(super) fn no_before(&mut self, plan: &TablePlan) {
        if let Some(before) = &mut self.before {
            before.placed.add_nulls(plan);
        }
    }

    /// The current row of the batch has no row after the change.
    #[inline]
    pub(super) fn no_after(&mut self, plan: &TablePlan) {
        if self.is_nested() {
            self.after.placed.add_nulls(plan);
        }
    }

    /// True if so many cells are placed that they must be decoded now.
    #[inline]
    pub(super) fn are_full(&self) -> bool {
        self.after.placed.is_full()
            || self.before.as_ref().is_some_and(|columns| columns.placed.is_full())
    }

    /// True if rows are placed that must be decoded.
    #[inline]
    pub(super) fn have_placed_rows(&self) -> bool {
        self.after.placed.rows() > 0
            || self.before.as_ref().is_some_and(|columns| columns.placed.rows() > 0)
    }

    /// Decodes the rows of an event whose cells were placed. An error contains its row, its column and the reason.
    pub(super) fn fill(
        &mut self,
        event_rows: &[u8],
        kind: RowsKind,
        plan: &TablePlan,
    ) -> Result<(), (usize, (usize, DecodeError))> {
        let (mut of_before, mut of_after) = (Wanted::All, Wanted::All);
        match kind {
            _ if !self.is_nested() => {}
            RowsKind::Write => of_before = Wanted::Nothing,
            RowsKind::Delete => of_after = Wanted::Nothing,
            RowsKind::Update => {}
        }
        let sides = self.before.iter_mut().map(|columns| (columns, of_before));
        let errors = sides
            .chain([(&mut self.after, of_after)])
            .filter_map(|(columns, wanted)| columns.fill(event_rows, plan, wanted).err());
        // Of errors in the same row, the first one is that of the row before the change.
        errors.min_by_key(|(row, _)| *row).map_or(Ok(()), Err)
    }

    pub(super) fn begin(&mut self, spare: &SpareVectors) {
        self.each().for_each(|columns| columns.begin(spare));
    }

    pub(super) fn truncate(&mut self, rows: usize) {
        self.each().for_each(|columns| columns.truncate(rows));
    }

    pub(super) fn seal(&mut self) -> Result<(), (usize, (usize, DecodeError))> {
        self.each().try_for_each(RowColumns::seal)
    }

    pub(super) fn take_inflated(&mut self) -> usize {
        self.each().map(RowColumns::take_inflated).sum()
    }

    /// Returns the zero dates that became NULL since the last call: column index and count.
    pub(super) fn take_zero_dates(&mut self) -> impl Iterator<Item = (usize, u64)> + '_ {
        self.each()
            .flat_map(|columns| columns.take_zero_dates().enumerate())
            .filter(|(_, count)| *count > 0)
    }

    /// Returns the two columns of the nested layout. `before` and `after`: the rows that have this
    /// side.
    pub(super) fn finish_structs(
        &mut self,
        plan: &TablePlan,
        before: NullBuffer,
        after: NullBuffer,
    ) -> Result<[ArrayRef; 2], Error> {
        let make = |columns: &mut RowColumns, nulls: NullBuffer| -> Result<ArrayRef, Error> {
            let (arrays, rows) = (columns.finish(plan)?, nulls.len());
            let nulls = Some(nulls).filter(|nulls| nulls.null_count() > 0);
            StructArray::try_new_with_length(plan.fields.clone(), arrays, nulls, rows)
                .map(|array| Arc::new(array) as ArrayRef)
                .map_err(|error| Error::new(ErrorKind::Internal, error.to_string()))
        };
        Ok([make(self.before(), before)?, make(self.after(), after)?])
    }

    fn each(&mut self) -> impl Iterator<Item = &mut RowColumns> {
        self.before.iter_mut().chain([&mut self.after])
    }
}
