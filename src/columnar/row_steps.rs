//! The columns of a table in steps, to find the cells of a row that contains every column and no NULL.
//!
//! A step consists of columns of a fixed size, and then at most one column whose length is before its cells. The place of
//! the step determines the places of all its columns.

use super::builder::{CellLength, CellPlace, CellSize};
use crate::wire::Reader;

/// The steps of a table.
#[derive(Debug)]
pub(super) struct RowSteps {
    steps: Vec<Step>,
    /// For each column its step, and its place in it.
    columns: Vec<(usize, usize)>,
}

#[derive(Debug, Default)]
struct Step {
    /// The number of bytes of the columns of a fixed size.
    fixed_bytes: usize,
    /// The column after them.
    length: Option<CellLength>,
}

impl RowSteps {
    pub(super) fn of(sizes: &[CellSize]) -> Self {
        let (mut steps, mut columns, mut step) = (Vec::new(), Vec::new(), Step::default());
        for size in sizes {
            columns.push((steps.len(), step.fixed_bytes));
            match size {
                CellSize::Fixed { bytes, .. } => step.fixed_bytes += bytes,
                CellSize::Prefixed(length) => {
                    step.length = Some(*length);
                    steps.push(std::mem::take(&mut step));
                }
            }
        }
        if columns.last().is_some_and(|(last, _)| *last == steps.len()) {
            steps.push(step);
        }
        Self { steps, columns }
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
}
