//! The columns of a table under construction: each row comes from an image or a part of one, or is
//! NULL.

use super::CellResult;
use super::image::{Image, Place, no_nulls, null_bits};
use crate::columnar::builder::ColumnBuilder;
use crate::columnar::table_plan::TablePlan;
use crate::error::{DecodeError, Error};
use crate::wire::Reader;
use arrow_array::ArrayRef;

/// One builder for each column of a table; all have the same number of rows.
pub(super) struct RowColumns(Vec<Box<dyn ColumnBuilder>>);

impl RowColumns {
    pub(super) fn try_new(plan: &TablePlan) -> Result<Self, Error> {
        plan.builders().map(Self)
    }

    pub(super) fn begin(&mut self) {
        self.0.iter_mut().for_each(|column| column.begin());
    }

    /// Performs the checks that columns do once per event. An error contains its row, its column
    /// and the reason.
    pub(super) fn seal(&mut self) -> Result<(), (usize, (usize, DecodeError))> {
        for (index, column) in self.0.iter_mut().enumerate() {
            column.seal().map_err(|(row, error)| (row, (index, error)))?;
        }
        Ok(())
    }

    pub(super) fn truncate(&mut self, rows: usize) {
        self.0.iter_mut().for_each(|column| column.truncate(rows));
    }

    pub(super) fn take_inflated(&mut self) -> usize {
        self.0.iter_mut().map(|column| column.take_inflated()).sum()
    }

    /// Returns the number of zero dates that became NULL since the last call, for each column.
    pub(super) fn take_zero_dates(&mut self) -> impl Iterator<Item = u64> + '_ {
        self.0.iter_mut().map(|column| column.take_zero_dates())
    }

    /// Returns the rows so far of the selected columns.
    pub(super) fn finish(&mut self, plan: &TablePlan) -> Result<Vec<ArrayRef>, Error> {
        let columns = self.0.iter_mut().zip(&plan.is_selected);
        columns
            .filter(|(_, is_selected)| **is_selected)
            .map(|(column, _)| column.finish())
            .collect()
    }

    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = &mut dyn ColumnBuilder> {
        self.0.iter_mut().map(|column| &mut **column as &mut dyn ColumnBuilder)
    }

    /// Appends a row image. Columns that it leaves out are NULL.
    #[inline]
    pub(super) fn append_image(&mut self, rows: &mut Reader<'_>, image: &Image<'_>) -> CellResult {
        let nulls = null_bits(rows, image)?;
        if image.is_full && no_nulls(nulls, image.count) {
            for (index, column) in self.0.iter_mut().enumerate() {
                column.append(rows).map_err(|error| (index, error))?;
            }
            return Ok(());
        }
        let mut bit = 0;
        for (index, column) in self.0.iter_mut().enumerate() {
            if !image.present.get(index) {
                column.append_null();
                continue;
            }
            if nulls.get(bit) {
                column.append_null();
            } else {
                column.append(rows).map_err(|error| (index, error))?;
            }
            bit += 1;
        }
        Ok(())
    }

    /// Appends a full row image; the cursor is in a row of `row_len` bytes. The places of the
    /// selected columns are added to `places`.
    pub(super) fn append_placed_image(
        &mut self,
        rows: &mut Reader<'_>,
        image: &Image<'_>,
        row_len: usize,
        is_wanted: &[bool],
        places: &mut Vec<Place>,
    ) -> CellResult {
        places.clear();
        let nulls = null_bits(rows, image)?;
        for (index, (column, is_wanted)) in self.0.iter_mut().zip(is_wanted).enumerate() {
            let start = row_len - rows.left();
            if nulls.get(index) {
                column.append_null();
                if *is_wanted {
                    places.push(Place::Null);
                }
                continue;
            }
            column.append(rows).map_err(|error| (index, error))?;
            if *is_wanted {
                places.push(Place::At(start..row_len - rows.left()));
            }
        }
        Ok(())
    }

    /// Appends only the key of a row image.
    pub(super) fn append_key_image(
        &mut self,
        rows: &mut Reader<'_>,
        image: &Image<'_>,
        plan: &TablePlan,
    ) -> CellResult {
        let nulls = null_bits(rows, image)?;
        let mut bit = 0;
        let described = plan.is_key.iter().zip(&plan.cell_sizes);
        for (index, (column, (is_key, size))) in self.0.iter_mut().zip(described).enumerate() {
            let is_present = image.present.get(index);
            let is_null = !is_present || nulls.get(bit);
            bit += usize::from(is_present);
            let passed = match is_null {
                false if *is_key => column.append(rows),
                false => {
                    column.append_null();
                    size.skip(rows)
                }
                true => {
                    column.append_null();
                    Ok(())
                }
            };
            passed.map_err(|error| (index, error))?;
        }
        Ok(())
    }

    /// Appends a row that contains only the key, from the places of its cells in `row`: one place
    /// for each column of the key.
    pub(super) fn append_key<'p>(
        &mut self,
        row: &[u8],
        mut key: impl Iterator<Item = &'p Place>,
        plan: &TablePlan,
    ) -> CellResult {
        for (index, (column, is_key)) in self.0.iter_mut().zip(&plan.is_key).enumerate() {
            let place = is_key.then(|| key.next()).flatten().unwrap_or(&Place::Null);
            append_place(column.as_mut(), row, place).map_err(|error| (index, error))?;
        }
        Ok(())
    }

    /// Appends a row image. Columns of the key that it leaves out are taken from `row`, as in
    /// [`Self::append_key`].
    pub(super) fn append_filled_image<'p>(
        &mut self,
        rows: &mut Reader<'_>,
        image: &Image<'_>,
        row: &[u8],
        mut key: impl Iterator<Item = &'p Place>,
        plan: &TablePlan,
    ) -> CellResult {
        let nulls = null_bits(rows, image)?;
        let mut bit = 0;
        for (index, (column, is_key)) in self.0.iter_mut().zip(&plan.is_key).enumerate() {
            let place = is_key.then(|| key.next()).flatten().unwrap_or(&Place::Null);
            let is_present = image.present.get(index);
            let is_null = is_present && nulls.get(bit);
            bit += usize::from(is_present);
            let appended = match is_present {
                true if is_null => append_place(column.as_mut(), row, &Place::Null),
                true => column.append(rows),
                false => append_place(column.as_mut(), row, place),
            };
            appended.map_err(|error| (index, error))?;
        }
        Ok(())
    }

    /// Appends a row of NULLs.
    pub(super) fn append_null_row(&mut self) {
        self.0.iter_mut().for_each(|column| column.append_null());
    }
}

/// Appends the cell at a place of a row.
pub(super) fn append_place(
    column: &mut dyn ColumnBuilder,
    row: &[u8],
    place: &Place,
) -> Result<(), DecodeError> {
    match place {
        Place::At(place) => {
            column.append(&mut Reader::new(row.get(place.clone()).unwrap_or_default()))
        }
        _ => {
            column.append_null();
            Ok(())
        }
    }
}
