//! Rows whose cells are found, but not decoded.

use super::CellResult;
use super::image::{Image, ImageCell, no_nulls, null_bits};
use crate::columnar::builder::{CellPlace, Cells};
use crate::columnar::table_plan::TablePlan;
use crate::wire::{Bitmap, Reader};

/// The places of the cells of rows of one event.
///
/// Rows that contain every column and no NULL have one place for each of their steps. If other rows are among them, all rows
/// have one place for each column.
pub(super) struct PlacedRows {
    /// `width` places for each row, row after row.
    places: Vec<CellPlace>,
    width: usize,
    rows: usize,
    capacity: usize,
    columns: usize,
    /// True if there is one place for each step.
    by_step: bool,
}

impl PlacedRows {
    pub(super) fn new(columns: usize) -> Self {
        let capacity = (MOST_CELLS / columns.max(1)).clamp(LEAST_ROWS, MOST_ROWS);
        let places = vec![CellPlace::NULL; columns * capacity];
        Self { places, width: columns, rows: 0, capacity, columns, by_step: false }
    }

    /// The number of rows.
    #[inline]
    pub(super) const fn rows(&self) -> usize {
        self.rows
    }

    /// True if there may be no space for the two rows of another change.
    #[inline]
    pub(super) const fn is_full(&self) -> bool {
        self.rows + 2 > self.capacity
    }

    /// Removes all rows.
    pub(super) fn clear(&mut self) {
        self.rows = 0;
    }

    /// The cells of a column.
    #[inline]
    pub(super) fn column<'a>(
        &'a self,
        index: usize,
        event_rows: &'a [u8],
        plan: &TablePlan,
    ) -> Cells<'a> {
        let (first, offset) =
            if self.by_step { plan.row_steps.of_column(index) } else { (index, 0) };
        Cells {
            event_rows: event_rows.get(offset..).unwrap_or_default(),
            places: self.places.get(first..).unwrap_or_default(),
            width: self.width,
            rows: self.rows,
        }
    }

    /// The places of the next row.
    #[inline]
    fn next_row(&mut self) -> &mut [CellPlace] {
        let start = self.rows * self.width;
        self.places.get_mut(start..).and_then(|rest| rest.get_mut(..self.width)).unwrap_or_default()
    }

    /// Begins rows with one place for each column, even if the rows so far have one for each step.
    fn place_columns(&mut self, plan: &TablePlan) {
        if !self.by_step {
            return;
        }
        let steps = self.width;
        (self.by_step, self.width) = (false, self.columns);
        // From the last row on: a row needs at least as many places as before, so no place is overwritten before it is read.
        for row in (0..self.rows).rev() {
            for index in (0..self.columns).rev() {
                let (step, offset) = plan.row_steps.of_column(index);
                let place = self.places.get(row * steps + step).copied();
                let place = place.map_or(CellPlace::NULL, |place| place.after(offset));
                if let Some(slot) = self.places.get_mut(row * self.columns + index) {
                    *slot = place;
                }
            }
        }
    }

    /// Adds a row image. Columns that it leaves out are NULL.
    #[inline]
    pub(super) fn add_image(
        &mut self,
        rows: &mut Reader<'_>,
        image: &Image<'_>,
        plan: &TablePlan,
    ) -> CellResult {
        let nulls = null_bits(rows, image)?;
        if !image.is_full {
            self.place_columns(plan);
            return self.add_cells(rows, image, nulls, plan, |_, place| place);
        }
        let number = nulls.to_number();
        let has_no_nulls = match number {
            // The unused bits of the last byte may be 1.
            Some(number) => number.checked_shl(u64::BITS - image.count as u32).unwrap_or(0) == 0,
            None => no_nulls(nulls, image.count),
        };
        if has_no_nulls && self.add_steps(rows, image, plan) {
            return Ok(());
        }
        self.place_columns(plan);
        match number.is_some_and(|number| self.add_nullable(rows, image, number, plan)) {
            true => Ok(()),
            false => self.add_row(rows, image, plan, |index| !nulls.get(index), |_, place| place),
        }
    }

    /// Adds at least one row image, and more until there is no space or no bytes are left. Returns the number of complete rows.
    pub(super) fn add_images(
        &mut self,
        rows: &mut Reader<'_>,
        image: &Image<'_>,
        plan: &TablePlan,
    ) -> (usize, CellResult) {
        let first = self.rows;
        loop {
            let added = self.rows - first;
            if let Err(error) = self.add_image(rows, image, plan) {
                return (added, Err(error));
            }
            if self.is_full() || rows.is_empty() {
                return (added + 1, Ok(()));
            }
        }
    }

    /// Adds a row without NULLs, if all rows have one place for each step. Returns false for an incomplete row too.
    #[inline]
    fn add_steps(&mut self, rows: &mut Reader<'_>, image: &Image<'_>, plan: &TablePlan) -> bool {
        if self.rows == 0 {
            (self.by_step, self.width) = (true, plan.row_steps.count());
        }
        if !self.by_step {
            return false;
        }
        let Some(rest) = plan.row_steps.place(*rows, image.event_len, self.next_row()) else {
            return false;
        };
        *rows = rest;
        self.rows += 1;
        true
    }

    /// Adds a row that contains every column, if the row is complete. Returns false if not. `nulls`: one bit for each column.
    #[inline]
    fn add_nullable(
        &mut self,
        rows: &mut Reader<'_>,
        image: &Image<'_>,
        nulls: u64,
        plan: &TablePlan,
    ) -> bool {
        let rest = plan.row_steps.place_nullable(*rows, image.event_len, nulls, self.next_row());
        let Some(rest) = rest else { return false };
        *rows = rest;
        self.rows += 1;
        true
    }

    /// Adds only the key of a row image.
    pub(super) fn add_key_image(
        &mut self,
        rows: &mut Reader<'_>,
        image: &Image<'_>,
        plan: &TablePlan,
    ) -> CellResult {
        let nulls = null_bits(rows, image)?;
        self.place_columns(plan);
        let is_key = |index: usize| plan.is_key.get(index) == Some(&true);
        self.add_cells(rows, image, nulls, plan, |index, place| match is_key(index) {
            true => place,
            false => CellPlace::NULL,
        })
    }

    /// Adds a row image. Columns of the key that it leaves out are taken from another row, as in [`Self::add_key`].
    pub(super) fn add_filled_image<'p>(
        &mut self,
        rows: &mut Reader<'_>,
        image: &Image<'_>,
        mut key: impl Iterator<Item = &'p ImageCell>,
        plan: &TablePlan,
    ) -> CellResult {
        let nulls = null_bits(rows, image)?;
        self.place_columns(plan);
        self.add_cells(rows, image, nulls, plan, |index, place| {
            let is_key = plan.is_key.get(index) == Some(&true);
            let before = if is_key { key.next() } else { None };
            match image.present.get(index) {
                true => place,
                false => before.map_or(CellPlace::NULL, CellPlace::from),
            }
        })
    }

    /// Adds a row that contains only the key: `key` has one place for each column of the key.
    pub(super) fn add_key<'p>(
        &mut self,
        mut key: impl Iterator<Item = &'p ImageCell>,
        plan: &TablePlan,
    ) {
        self.place_columns(plan);
        for (place, is_key) in self.next_row().iter_mut().zip(&plan.is_key) {
            let cell = if *is_key { key.next() } else { None };
            *place = cell.map_or(CellPlace::NULL, CellPlace::from);
        }
        self.rows += 1;
    }

    /// Adds a row of NULLs.
    pub(super) fn add_nulls(&mut self, plan: &TablePlan) {
        self.place_columns(plan);
        self.next_row().fill(CellPlace::NULL);
        self.rows += 1;
    }

    /// True if the last two rows, which are complete, have different keys, compared by bytes.
    pub(super) fn last_keys_differ(&self, event_rows: &[u8], plan: &TablePlan) -> bool {
        let last = self.rows.saturating_sub(1);
        plan.key_columns.iter().any(|index| {
            let (cells, size) =
                (self.column(*index, event_rows, plan), plan.cell_sizes.get(*index));
            let cell = |row: usize| {
                let (start, size) = (cells.get(row)?, size?);
                let mut end = start;
                size.skip(&mut end).ok()?;
                start.as_slice().get(..start.left() - end.left())
            };
            cell(last.saturating_sub(1)) != cell(last)
        })
    }

    /// Adds the cells of an image that may leave out columns.
    fn add_cells(
        &mut self,
        rows: &mut Reader<'_>,
        image: &Image<'_>,
        nulls: Bitmap<'_>,
        plan: &TablePlan,
        choose: impl FnMut(usize, CellPlace) -> CellPlace,
    ) -> CellResult {
        let mut bit = 0;
        let has_cell = |index: usize| {
            let is_present = image.present.get(index);
            let is_null = nulls.get(bit);
            bit += usize::from(is_present);
            is_present && !is_null
        };
        self.add_row(rows, image, plan, has_cell, choose)
    }

    /// Adds a row. `choose` gets each column with the place of its cell, and returns the place that is used. After an error, the
    /// rest of the row is NULL.
    #[inline]
    fn add_row(
        &mut self,
        rows: &mut Reader<'_>,
        image: &Image<'_>,
        plan: &TablePlan,
        mut has_cell: impl FnMut(usize) -> bool,
        mut choose: impl FnMut(usize, CellPlace) -> CellPlace,
    ) -> CellResult {
        let mut rest = *rows;
        let row = self.next_row();
        let mut failed = Ok(());
        for (index, (slot, size)) in row.iter_mut().zip(&plan.cell_sizes).enumerate() {
            let mut place = CellPlace::NULL;
            if has_cell(index) {
                place = CellPlace::at(image.event_len - rest.left());
                if let Err(error) = size.skip(&mut rest) {
                    failed = Err((index, error));
                    break;
                }
            }
            *slot = choose(index, place);
        }
        if let Err((index, _)) = &failed {
            row.iter_mut().skip(*index).for_each(|place| *place = CellPlace::NULL);
        }
        self.rows += 1;
        *rows = rest;
        failed
    }
}

impl From<&ImageCell> for CellPlace {
    fn from(place: &ImageCell) -> Self {
        match place {
            ImageCell::At(cell) => Self::at(cell.start),
            _ => Self::NULL,
        }
    }
}

/// More cells are not placed before they are decoded: rows and places remain in the cache of a core.
const MOST_CELLS: usize = 4096;

/// With more rows, calls would not become much rarer.
const MOST_ROWS: usize = 64;

/// Enough for a change; a table of thousands of columns gains nothing from more.
const LEAST_ROWS: usize = 4;
