//! The columns of a table in steps, to find the cells of a row that contains every column.
//!
//! A step consists of columns of a fixed size, and then at most one column whose length is before its cells. The place of
//! the step determines the places of all its columns, if none of them is NULL.

use super::builder::{CellLength, CellPlace, CellSize};
use crate::wire::Reader;

/// The steps of a table.
#[derive(Debug)]
pub(super) struct RowSteps {
    steps: Vec<Step>,
    /// For each column its step, and its place in it.
    columns: Vec<(usize, usize)>,
    /// The numbers of bytes of the columns of a fixed size: of a cell, and of NULL, which has no bytes.
    fixed_sizes: Vec<[usize; 2]>,
}

#[derive(Debug, Default)]
struct Step {
    /// The number of columns of a fixed size.
    fixed_columns: usize,
    /// The number of their bytes.
    fixed_bytes: usize,
    /// The column after them.
    length: Option<CellLength>,
}

impl RowSteps {
    pub(super) fn of(sizes: &[CellSize]) -> Self {
        let (mut steps, mut columns, mut step) = (Vec::new(), Vec::new(), Step::default());
        let mut fixed_sizes = Vec::new();
        for size in sizes {
            columns.push((steps.len(), step.fixed_bytes));
            match size {
                CellSize::Fixed { bytes, .. } => {
                    step.fixed_columns += 1;
                    step.fixed_bytes += bytes;
                    fixed_sizes.push([*bytes, 0]);
                }
                CellSize::Prefixed(length) => {
                    step.length = Some(*length);
                    steps.push(std::mem::take(&mut step));
                }
            }
        }
        if columns.last().is_some_and(|(last, _)| *last == steps.len()) {
            steps.push(step);
        }
        Self { steps, columns, fixed_sizes }
    }

    /// The number of steps.
    #[inline]
    pub(super) fn count(&self) -> usize {
        self.steps.len()
    }

    /// The step of a column, and its place in it.
    #[inline]
    pub(super) fn of_column(&self, index: usize) -> (usize, usize) {
        self.columns.get(index).copied().unwrap_or_default()
    }

    /// Finds the places of the steps of a row, and returns the bytes after it; `rows` begins at the first cell, and is at the
    /// end of `event_len` bytes. `None` if the row is incomplete.
    #[inline]
    pub(super) fn place<'a>(
        &self,
        mut rows: Reader<'a>,
        event_len: usize,
        places: &mut [CellPlace],
    ) -> Option<Reader<'a>> {
        for (place, step) in places.iter_mut().zip(&self.steps) {
            *place = CellPlace::at(event_len - rows.left());
            rows.take(step.fixed_bytes, "cells").ok()?;
            if let Some(length) = step.length {
                length.cell(&mut rows).ok()?;
            }
        }
        Some(rows)
    }

    /// Finds the place of each column of a row in which some columns are NULL; otherwise like [`Self::place`]. `nulls`: one bit for
    /// each column.
    #[inline]
    pub(super) fn place_nullable<'a>(
        &self,
        rows: Reader<'a>,
        event_len: usize,
        mut nulls: u64,
        mut places: &mut [CellPlace],
    ) -> Option<Reader<'a>> {
        let bytes = rows.as_slice();
        let start = event_len - bytes.len();
        let (mut at, mut sizes) = (0, self.fixed_sizes.as_slice());
        let mut next_bit = || {
            let bit = nulls as usize & 1;
            nulls >>= 1;
            bit
        };
        for step in &self.steps {
            let (fixed, after) = places.split_at_mut_checked(step.fixed_columns)?;
            let (fixed_sizes, other_sizes) = sizes.split_at_checked(step.fixed_columns)?;
            (places, sizes) = (after, other_sizes);
            // There is no branch for NULL, because the processor cannot predict which cells are NULL. The number of bytes is checked
            // before the next length, and at the end.
            for (place, sizes) in fixed.iter_mut().zip(fixed_sizes) {
                let bit = next_bit();
                *place = CellPlace::of_null_bit(bit, start + at);
                at += sizes.get(bit)?;
            }
            if let Some(length) = step.length {
                let (place, after) = std::mem::take(&mut places).split_first_mut()?;
                let bit = next_bit();
                (*place, places) = (CellPlace::of_null_bit(bit, start + at), after);
                if bit == 0 {
                    let mut rest = Reader::new(bytes.get(at..)?);
                    length.cell(&mut rest).ok()?;
                    at = bytes.len() - rest.left();
                }
            }
        }
        bytes.get(at..).map(Reader::new)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::{Column, ColumnType};
    use proptest::prelude::*;

    fn size(column_type: ColumnType) -> CellSize {
        CellSize::of(&Column::new(None, column_type), false).unwrap()
    }

    proptest! {
        /// The places are those of columns that are skipped one by one.
        #[test]
        fn places(
            columns in prop::collection::vec((0..4_usize, any::<bool>()), 1..65),
            bytes in prop::collection::vec(0..6_u8, 0..200),
            before in 0..9_usize,
        ) {
            let all = [ColumnType::Tiny, ColumnType::LongLong, ColumnType::VarChar { max_bytes: 5 }, ColumnType::Blob { length_bytes: 2 }];
            let all = all.map(size);
            let sizes: Vec<CellSize> = columns.iter().map(|(number, _)| all[*number]).collect();
            let event_len = before + bytes.len();
            let (mut expected, mut rest, mut is_complete) = (Vec::new(), Reader::new(&bytes), true);
            for (size, (_, is_null)) in sizes.iter().zip(&columns) {
                let place = CellPlace::at(event_len - rest.left());
                expected.push(if *is_null { CellPlace::NULL } else { place });
                is_complete &= *is_null || size.skip(&mut rest).is_ok();
            }
            let nulls = columns.iter().rev().fold(0, |bits, (_, is_null)| bits << 1 | u64::from(*is_null));
            let mut places = vec![CellPlace::NULL; columns.len()];
            let steps = RowSteps::of(&sizes);
            let after = steps.place_nullable(Reader::new(&bytes), event_len, nulls, &mut places);
            prop_assert_eq!(after.map(|rest| rest.left()), is_complete.then_some(rest.left()));
            prop_assert!(!is_complete || places == expected);
        }
    }
}
