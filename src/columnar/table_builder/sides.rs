//! Which columns take a row as it was before a change, and which as it was after: in the flat layout the same ones, each
//! row for itself; in the nested layout two sets beside each other, where what is not there is a row of NULLs.

use super::row_columns::RowColumns;
use crate::columnar::layout::Layout;
use crate::columnar::table_plan::TablePlan;
use crate::error::{DecodeError, Error, ErrorKind};
use arrow_array::{ArrayRef, StructArray};
use arrow_buffer::NullBuffer;
use std::sync::Arc;

/// The columns of both sides.
pub(super) struct Sides {
    after: RowColumns,
    /// The nested layout's own columns for rows before a change.
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

    /// Whether a row of the batch has both sides.
    #[inline]
    pub(super) fn is_nested(&self) -> bool {
        self.before.is_some()
    }

    /// What takes a row as it was before.
    #[inline]
    pub(super) fn before(&mut self) -> &mut RowColumns {
        self.before.as_mut().unwrap_or(&mut self.after)
    }

    /// What takes a row as it was after.
    #[inline]
    pub(super) fn after(&mut self) -> &mut RowColumns {
        &mut self.after
    }

    /// The row of the batch at hand tells nothing of before.
    #[inline]
    pub(super) fn no_before(&mut self) {
        if let Some(before) = &mut self.before {
            before.append_null_row();
        }
    }

    /// The row of the batch at hand tells nothing of after.
    #[inline]
    pub(super) fn no_after(&mut self) {
        if self.is_nested() {
            self.after.append_null_row();
        }
    }

    pub(super) fn begin(&mut self) {
        self.each().for_each(RowColumns::begin);
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

    /// Zero dates that became NULL since the last call: column index and count.
    pub(super) fn take_zero_dates(&mut self) -> impl Iterator<Item = (usize, u64)> + '_ {
        self.each()
            .flat_map(|columns| columns.take_zero_dates().enumerate())
            .filter(|(_, count)| *count > 0)
    }

    /// The nested layout's two columns. `before` and `after`: in which rows they are there.
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
