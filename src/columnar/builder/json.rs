//! JSON of MySQL as the text that the server prints.

use super::length::CellLength;
use super::var_len::VarLenCell;
use crate::value::json;
use crate::wire::{Reader, Result};

pub(super) struct JsonText {
    pub(super) length: CellLength,
}

impl VarLenCell for JsonText {
    fn read(&mut self, image: &mut Reader<'_>, out: &mut Vec<u8>) -> Result<()> {
        json::write_text(self.length.cell(image)?, out)
    }

    fn read_diffs(&mut self, diffs: &[u8], out: &mut Vec<u8>) -> Result<()> {
        json::write_diff_text(diffs, out)
    }
}
