//! A column that is not selected: its cells are skipped, and it has no array.

use super::ColumnBuilder;
use super::cell_size::CellSize;
use super::cells::Cells;
use crate::error::{DecodeError, Error, ErrorKind};
use crate::wire::{Reader, Result};
use arrow_array::ArrayRef;
use arrow_schema::DataType;

/// Replaces the builder of the column.
pub(super) struct Skipped(pub(super) CellSize);

impl ColumnBuilder for Skipped {
    fn data_type(&self) -> DataType {
        DataType::Null
    }

    #[inline]
    fn append(&mut self, image: &mut Reader<'_>) -> Result<()> {
        self.0.skip(image)
    }

    fn append_cells(&mut self, _: Cells<'_>) -> std::result::Result<(), (usize, DecodeError)> {
        Ok(())
    }

    fn append_diffs(&mut self, _diffs: &[u8]) -> Result<()> {
        Ok(())
    }

    fn append_null(&mut self) {}

    fn truncate(&mut self, _rows: usize) {}

    fn finish(&mut self) -> std::result::Result<ArrayRef, Error> {
        Err(Error::new(ErrorKind::Internal, "a column that is not selected has no array"))
    }
}
