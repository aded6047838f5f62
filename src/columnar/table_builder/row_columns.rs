//! The columns of a table under construction: each row comes from an image or a part of one, or is
//! NULL.

use super::CellResult;
use super::image::{Image, ImageCell, no_nulls, null_bits};
use super::placed_rows::PlacedRows;
use crate::columnar::builder::ColumnBuilder;
use crate::columnar::spare::SpareVectors;
use crate::columnar::table_plan::TablePlan;
use crate::error::{DecodeError, Error};
use crate::wire::Reader;
use arrow_array::ArrayRef;

/// One builder for each column of a table; all have the same number of rows.
///
/// The cells of new rows are placed first, row by row. [`Self::fill`] then decodes them column by column, so that a call of a
/// builder decodes many cells.
pub(super) struct RowColumns {
    builders: Vec<Box<dyn ColumnBuilder>>,
    /// The builders that check their rows at the end of an event.
    checking: Vec<usize>,
    /// The number of rows that the builders contain.
    rows: usize,
    /// The rows after them.
    pub(super) placed: PlacedRows,
}

/// The columns of rows that are decoded; all others are NULL.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wanted {
    All,
    /// All rows are NULL.
    Nothing,
}

impl RowColumns {
    pub(super) fn try_new(plan: &TablePlan) -> Result<Self, Error> {
        let builders = plan.builders()?;
        let has_checks = |index: &usize| builders.get(*index).is_some_and(|one| one.has_checks());
        let checking = (0..builders.len()).filter(has_checks).collect();
        Ok(Self { placed: PlacedRows::new(builders.len()), builders, checking, rows: 0 })
    }

    pub(super) fn begin(&mut self, spare: &SpareVectors) {
        self.builders.iter_mut().for_each(|column| column.begin(spare));
    }

    /// Decodes the rows that are placed. An error contains its row, its column and the reason; it is the first one in the order
    /// of rows, then columns.
    pub(super) fn fill(
        &mut self,
        event_rows: &[u8],
        plan: &TablePlan,
        wanted: Wanted,
    ) -> Result<(), (usize, (usize, DecodeError))> {
        if self.placed.rows() == 0 {
            return Ok(());
        }
        let mut first: Option<(usize, (usize, DecodeError))> = None;
        for (index, column) in self.builders.iter_mut().enumerate() {
            if wanted == Wanted::Nothing {
                column.append_nulls(self.placed.rows());
                continue;
            }
            let filled = column.append_cells(self.placed.column(index, event_rows, plan));
            if let Err((row, error)) = filled {
                let row = self.rows + row;
                if first.as_ref().is_none_or(|(before, _)| row < *before) {
                    first = Some((row, (index, error)));
                }
            }
        }
        self.rows += self.placed.rows();
        self.placed.clear();
        first.map_or(Ok(()), Err)
    }

    /// Performs the checks that columns do once per event. An error contains its row, its column
    /// and the reason.
    pub(super) fn seal(&mut self) -> Result<(), (usize, (usize, DecodeError))> {
        for index in &self.checking {
            if let Some(column) = self.builders.get_mut(*index) {
                column.seal().map_err(|(row, error)| (row, (*index, error)))?;
            }
        }
        Ok(())
    }

    pub(super) fn truncate(&mut self, rows: usize) {
        self.rows = self.rows.min(rows);
        self.placed.clear();
        self.builders.iter_mut().for_each(|column| column.truncate(rows));
    }

    pub(super) fn take_inflated(&mut self) -> usize {
        self.builders.iter_mut().map(|column| column.take_inflated()).sum()
    }

    /// Returns the number of zero dates that became NULL since the last call, for each column.
    pub(super) fn take_zero_dates(&mut self) -> impl Iterator<Item = u64> + '_ {
        self.builders.iter_mut().map(|column| column.take_zero_dates())
    }

    /// Returns the rows so far of the selected columns.
    pub(super) fn finish(&mut self, plan: &TablePlan) -> Result<Vec<ArrayRef>, Error> {
        self.rows = 0;
        let columns = self.builders.iter_mut().zip(&plan.is_selected);
        columns
            .filter(|(_, is_selected)| **is_selected)
            .map(|(column, _)| column.finish())
            .collect()
    }

    /// Appends a row image at once: for events of so few rows that placing them first costs more than it saves. Columns that
    /// the image leaves out are NULL.
    pub(super) fn append_image(&mut self, rows: &mut Reader<'_>, image: &Image<'_>) -> CellResult {
        let nulls = null_bits(rows, image)?;
        let has_nulls = !no_nulls(nulls, image.count);
        self.rows += 1;
        let mut bit = 0;
        for (index, column) in self.builders.iter_mut().enumerate() {
            let is_present = image.is_full || image.present.get(index);
            if is_present && !(has_nulls && nulls.get(bit)) {
                column.append(rows).map_err(|error| (index, error))?;
            } else {
                column.append_null();
            }
            bit += usize::from(is_present);
        }
        Ok(())
    }

    /// The builders, to append a row to each of them; there must be no rows that are only placed.
    pub(super) fn builders_of_row(&mut self) -> impl Iterator<Item = &mut dyn ColumnBuilder> {
        self.rows += 1;
        self.builders.iter_mut().map(|column| &mut **column as &mut dyn ColumnBuilder)
    }
}

/// Appends the cell at a place of an event's rows.
pub(super) fn append_place(
    column: &mut dyn ColumnBuilder,
    event_rows: &[u8],
    place: &ImageCell,
) -> Result<(), DecodeError> {
    match place {
        ImageCell::At(place) => {
            column.append(&mut Reader::new(event_rows.get(place.clone()).unwrap_or_default()))
        }
        _ => {
            column.append_null();
            Ok(())
        }
    }
}
