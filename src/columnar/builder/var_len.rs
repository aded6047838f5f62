//! A column of values of varying length: text and bytes.

use super::ColumnBuilder;
use super::cells::Cells;
use super::var_bytes::VarBytes;
use crate::columnar::spare::SpareVectors;
use crate::error::{DecodeError, Error};
use crate::wire::{Reader, Result};
use arrow_array::ArrayRef;
use arrow_schema::DataType;

/// The conversion of the cells of one MySQL type to bytes.
pub(super) trait VarLenCell: Send + 'static {
    /// Reads a cell and appends its bytes. After an error, the caller removes what was appended.
    fn read(&mut self, image: &mut Reader<'_>, out: &mut Vec<u8>) -> Result<()>;

    /// Reads a cell and appends it as a row. Cells whose bytes are the value pass them to [`VarBytes::append`].
    #[inline(always)] // one call per cell, not two
    fn append(&mut self, image: &mut Reader<'_>, values: &mut VarBytes) -> Result<()> {
        values.append_with(|out| self.read(image, out))
    }

    /// Appends the text of the changes of a JSON document.
    fn read_diffs(&mut self, _diffs: &[u8], _out: &mut Vec<u8>) -> Result<()> {
        Err(super::no_document())
    }

    /// True if values are checked at the end of a rows event.
    fn has_checks(&self) -> bool {
        false
    }

    /// Checks the values from row `from` on. An error contains the row.
    fn check(
        &self,
        _values: &mut VarBytes,
        _from: usize,
    ) -> std::result::Result<(), (usize, DecodeError)> {
        Ok(())
    }

    /// The number of bytes by which values were larger than their cells, since the last call.
    fn take_inflated(&mut self) -> usize {
        0
    }

    /// Frees memory at the end of a batch.
    fn end_batch(&mut self) {}
}

/// Values of one type under construction, as Arrow's `Utf8` or `Binary`.
pub(super) struct VarLen<C> {
    cell: C,
    values: VarBytes,
    is_text: bool,
    /// The number of rows that were checked.
    checked_rows: usize,
}

impl<C: VarLenCell> VarLen<C> {
    /// Creates a column of text, for cells that append UTF-8 or check it.
    pub(super) fn text(cell: C) -> Box<dyn ColumnBuilder> {
        Self::boxed(cell, true)
    }

    /// Creates a column of bytes.
    pub(super) fn binary(cell: C) -> Box<dyn ColumnBuilder> {
        Self::boxed(cell, false)
    }

    pub(super) fn boxed(cell: C, is_text: bool) -> Box<dyn ColumnBuilder> {
        Box::new(Self { cell, values: VarBytes::default(), is_text, checked_rows: 0 })
    }
}

impl<C: VarLenCell> ColumnBuilder for VarLen<C> {
    fn data_type(&self) -> DataType {
        match self.is_text {
            true => DataType::Utf8,
            false => DataType::Binary,
        }
    }

    #[inline]
    fn append(&mut self, image: &mut Reader<'_>) -> Result<()> {
        self.cell.append(image, &mut self.values)
    }

    fn append_cells(&mut self, cells: Cells<'_>) -> std::result::Result<(), (usize, DecodeError)> {
        self.values.reserve_rows(cells.rows);
        for (row, image) in cells.iter().enumerate() {
            match image {
                Some(mut image) => {
                    self.cell.append(&mut image, &mut self.values).map_err(|error| (row, error))?;
                }
                None => self.values.append_null(),
            }
        }
        Ok(())
    }

    fn append_diffs(&mut self, diffs: &[u8]) -> Result<()> {
        let Self { cell, values, .. } = self;
        values.append_with(|out| cell.read_diffs(diffs, out))
    }

    fn begin(&mut self, spare: &SpareVectors) {
        self.values.begin(spare);
    }

    fn append_null(&mut self) {
        self.values.append_null();
    }

    fn has_checks(&self) -> bool {
        self.cell.has_checks()
    }

    fn append_nulls(&mut self, rows: usize) {
        self.values.append_nulls(rows);
    }

    fn seal(&mut self) -> std::result::Result<(), (usize, DecodeError)> {
        self.cell.check(&mut self.values, self.checked_rows)?;
        self.checked_rows = self.values.rows();
        Ok(())
    }

    fn truncate(&mut self, rows: usize) {
        self.values.truncate(rows);
        self.checked_rows = self.checked_rows.min(rows);
    }

    fn take_inflated(&mut self) -> usize {
        self.cell.take_inflated()
    }

    fn finish(&mut self) -> std::result::Result<ArrayRef, Error> {
        self.checked_rows = 0;
        self.cell.end_batch();
        match self.is_text {
            true => self.values.finish_text(),
            false => self.values.finish_binary(),
        }
    }
}
