//! The rows of a batch that belong to one change, and the columns that their images contain.

use super::layout::Layout;
use crate::wire::Bitmap;

/// The rows of one change in a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChangeImages {
    /// The row that contains the image before the change.
    pub before: Option<usize>,
    /// The row that contains the image after the change.
    pub after: Option<usize>,
}

/// The changes of a batch.
#[derive(Debug)]
pub struct RowImages {
    pub(super) changes: Vec<ChangeImages>,
    /// The bits of `_present` of all rows.
    pub(super) present: Vec<u8>,
    /// The number of their bytes for each row.
    pub(super) width: usize,
    pub(super) layout: Layout,
}

impl RowImages {
    /// The images of a number of complete rows, which are in the flat layout. Each is the image after a change.
    pub fn of_rows(rows: usize, columns: usize) -> Self {
        let width = columns.div_ceil(8);
        let change = |row| ChangeImages { before: None, after: Some(row) };
        Self {
            changes: (0..rows).map(change).collect(),
            present: vec![u8::MAX; rows * width],
            width,
            layout: Layout::Flat,
        }
    }

    /// The changes, in the order of their rows.
    pub fn changes(&self) -> &[ChangeImages] {
        &self.changes
    }

    /// True if a row of the batch contains both images of a change.
    pub fn is_nested(&self) -> bool {
        self.layout == Layout::Nested
    }

    /// True if the image of a row contains a column. `is_after`: the image after the change.
    pub fn has(&self, row: usize, is_after: bool, column: usize) -> bool {
        let side = if self.is_nested() && is_after { self.width / 2 } else { 0 };
        let bytes = self.present.get(row * self.width + side..(row + 1) * self.width);
        bytes.is_some_and(|bytes| Bitmap(bytes).get(column))
    }
}
