//! JSON of MySQL as the text that the server prints.

use super::length::CellLength;
use super::var_bytes::{TextForm, VarBytes};
use super::var_len::VarLenCell;
use crate::error::DecodeError;
use crate::value::json;
use crate::wire::{Reader, Result};

pub(super) struct JsonText {
    length: CellLength,
    encoder: json::TextEncoder,
}

impl JsonText {
    pub(super) fn new(length: CellLength) -> Self {
        Self { length, encoder: json::TextEncoder::default() }
    }
}

impl VarLenCell for JsonText {
    fn read(&mut self, image: &mut Reader<'_>, out: &mut Vec<u8>) -> Result<()> {
        json::write_text(self.length.cell(image)?, out)
    }

    /// The text is UTF-8 if all strings in the document are UTF-8. This is checked at the end of the rows event.
    fn append(&mut self, image: &mut Reader<'_>, values: &mut VarBytes) -> Result<()> {
        values.append(self.encoder.encode(self.length.cell(image)?)?)
    }

    fn read_diffs(&mut self, diffs: &[u8], out: &mut Vec<u8>) -> Result<()> {
        json::write_diff_text(diffs, out)
    }

    fn has_checks(&self) -> bool {
        true
    }

    fn check(
        &self,
        values: &mut VarBytes,
        from: usize,
    ) -> std::result::Result<(), (usize, DecodeError)> {
        let error = DecodeError::Text { what: "string in a JSON document", charset: "utf8mb4" };
        values.check_text(TextForm::Utf8, from).map_err(|row| (row, error))
    }

    fn end_batch(&mut self) {
        self.encoder.shrink();
    }
}
