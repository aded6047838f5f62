//! Which columns take a row as it was before a change, and which as it was after: in the flat layout the same ones, each
//! row for itself; in the nested layout two sets beside each other, where what is not there is a row of NULLs.

use super::row_columns::RowColumns;
use crate::columnar::table_plan::{Layout, TablePlan};
use crate::error::{DecodeError, Error};

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

    fn each(&mut self) -> impl Iterator<Item = &mut RowColumns> {
        self.before.iter_mut().chain([&mut self.after])
    }
}
