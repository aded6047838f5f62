//! The cells of rows events as the log contains them, for text that is written from them without a batch.

use super::image::{Image, Images};
use super::placed_rows::PlacedRows;
use super::{CellResult, RowCounts};
use crate::binlog::{RowsEvent, RowsKind};
use crate::columnar::builder::{CellLength, CellSize, TextOf, text_of};
use crate::columnar::table_plan::TablePlan;
use crate::error::Error;
use crate::wire::Reader;
use std::sync::Arc;

/// Finds the cells of the rows of one table.
pub struct StoredRows {
    plan: Arc<TablePlan>,
    /// The rows before updates, and all rows of other events.
    first: PlacedRows,
    /// The rows after updates.
    second: PlacedRows,
}

/// Consecutive changes of one rows event.
pub struct StoredChanges<'a> {
    /// The number of the first one in its event.
    pub first: u64,
    /// The number of changes.
    pub rows: usize,
    /// The rows before the changes; `None` if they are inserts.
    pub before: Option<StoredImages<'a>>,
    /// The rows after the changes; `None` if they are deletes.
    pub after: Option<StoredImages<'a>>,
}

/// One side of consecutive changes.
#[derive(Clone, Copy)]
pub struct StoredImages<'a> {
    placed: &'a PlacedRows,
    image: &'a Image<'a>,
    event_rows: &'a [u8],
    plan: &'a TablePlan,
}

impl StoredRows {
    /// Creates the state for a table.
    pub fn new(plan: Arc<TablePlan>) -> Self {
        let placed = || PlacedRows::new(plan.cell_sizes.len());
        Self { first: placed(), second: placed(), plan }
    }

    /// The plan of the table.
    pub const fn plan(&self) -> &Arc<TablePlan> {
        &self.plan
    }

    /// Passes the changes of an event to `take`, some at a time. The event must not contain changes of documents
    /// (Partial_update_rows).
    ///
    /// # Errors
    /// The rows do not match the table, or are truncated. The changes before the error may have been passed.
    pub fn for_each(
        &mut self,
        event: &RowsEvent<'_>,
        mut take: impl FnMut(&StoredChanges<'_>) -> Result<(), Error>,
    ) -> Result<RowCounts, Error> {
        let images = Images::try_new(event, self.plan.cell_sizes.len())
            .map_err(|error| self.plan.row_error(0, error))?;
        let Images { before, after, .. } = &images;
        let mut rows = Reader::new(event.rows);
        // An image without columns has no bytes: it is one row in which all columns are left out.
        if before.count == 0 && (event.kind != RowsKind::Update || after.count == 0) {
            rows.finish("a row image without columns")
                .map_err(|error| self.plan.row_error(0, error.into()))?;
        }
        let mut passed = 0;
        loop {
            self.first.clear();
            self.second.clear();
            let mut count = 0;
            loop {
                self.place(&mut rows, event.kind, &images).map_err(|error| {
                    self.plan.row_error(passed + count, self.plan.cell_error(error))
                })?;
                count += 1;
                if rows.is_empty() || self.first.is_full() {
                    break;
                }
            }
            take(&self.changes(event, &images, passed, count as usize))?;
            passed += count;
            if rows.is_empty() {
                return Ok(RowCounts::of(event.kind, passed));
            }
        }
    }

    /// Finds the cells of one change.
    #[inline]
    fn place(&mut self, rows: &mut Reader<'_>, kind: RowsKind, images: &Images<'_>) -> CellResult {
        self.first.add_image(rows, &images.before, &self.plan)?;
        match kind {
            RowsKind::Update => self.second.add_image(rows, &images.after, &self.plan),
            RowsKind::Write | RowsKind::Delete => Ok(()),
        }
    }

    fn changes<'a>(
        &'a self,
        event: &RowsEvent<'a>,
        images: &'a Images<'a>,
        first: u64,
        rows: usize,
    ) -> StoredChanges<'a> {
        let side = |placed, image| {
            Some(StoredImages { placed, image, event_rows: event.rows, plan: &self.plan })
        };
        let (before, after) = match event.kind {
            RowsKind::Write => (None, side(&self.first, &images.after)),
            RowsKind::Update => {
                (side(&self.first, &images.before), side(&self.second, &images.after))
            }
            RowsKind::Delete => (side(&self.first, &images.before), None),
        };
        StoredChanges { first, rows, before, after }
    }
}

impl<'a> StoredImages<'a> {
    /// One bit for each column that the images contain.
    #[inline]
    pub const fn present(&self) -> &'a [u8] {
        self.image.present.0
    }

    /// Returns a cursor at a cell; `None` for NULL, and for a column that the image leaves out.
    #[inline]
    pub fn cell(&self, column: usize, row: usize) -> Option<Reader<'a>> {
        self.placed.column(column, self.event_rows, self.plan).get(row)
    }

    /// Returns the bytes of a cell, with the length before them.
    #[inline]
    pub fn cell_bytes(&self, column: usize, row: usize) -> Option<&'a [u8]> {
        let start = self.cell(column, row)?;
        let mut end = start;
        self.plan.cell_sizes.get(column)?.skip(&mut end).ok()?;
        start.as_slice().get(..start.left() - end.left())
    }
}

impl TablePlan {
    /// The text of the cells of a column, as `SELECT` prints it.
    pub(crate) fn text_of(&self, index: usize) -> Option<TextOf> {
        let column = self.table.columns.get(index)?;
        text_of(column, &self.types, self.is_mariadb()).ok()
    }

    /// The length before the cells of a column; `None` if all have the same size.
    pub(crate) fn cell_length(&self, index: usize) -> Option<CellLength> {
        match self.cell_sizes.get(index)? {
            CellSize::Prefixed(length) => Some(*length),
            CellSize::Fixed { .. } => None,
        }
    }
}
