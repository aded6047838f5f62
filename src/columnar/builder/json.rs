//! JSON of MySQL as the text that the server prints.

use super::ColumnBuilder;
use super::length::CellLength;
use super::var_bytes::VarBytes;
use crate::error::Error;
use crate::value::json;
use crate::wire::{Reader, Result};
use arrow_array::ArrayRef;
use arrow_schema::DataType;

pub(super) struct JsonText {
    length: CellLength,
    values: VarBytes,
}

impl JsonText {
    pub(super) fn new(length_bytes: u8) -> Self {
        Self { length: CellLength::blob(length_bytes), values: VarBytes::default() }
    }
}

impl ColumnBuilder for JsonText {
    fn data_type(&self) -> DataType {
        DataType::Utf8
    }

    fn append(&mut self, image: &mut Reader<'_>) -> Result<()> {
        let document = self.length.cell(image)?;
        self.values.append_with(|out| json::write_text(document, out))
    }

    fn append_diffs(&mut self, diffs: &[u8]) -> Result<()> {
        self.values.append_with(|out| json::write_diff_text(diffs, out))
    }

    fn begin(&mut self) {
        self.values.begin();
    }

    fn append_null(&mut self) {
        self.values.append_null();
    }

    fn truncate(&mut self, rows: usize) {
        self.values.truncate(rows);
    }

    fn finish(&mut self) -> std::result::Result<ArrayRef, Error> {
        self.values.finish_text()
    }
}
