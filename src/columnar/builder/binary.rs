//! BINARY, VARBINARY, BLOB: bytes as stored.

use super::length::CellLength;
use super::var_bytes::VarBytes;
use super::var_len::VarLenCell;
use crate::wire::{Reader, Result};

/// Bytes as stored. BINARY(n) is padded to n bytes, because the server removes zeros at the end.
pub(super) struct Bytes {
    length: CellLength,
    pad_to: usize,
}

impl Bytes {
    pub(super) fn new(length: CellLength) -> Self {
        Self::padded(length, 0)
    }

    pub(super) fn padded(length: CellLength, pad_to: usize) -> Self {
        Self { length, pad_to }
    }
}

impl VarLenCell for Bytes {
    #[inline(always)] // one call per cell, not two
    fn read(&mut self, image: &mut Reader<'_>, out: &mut Vec<u8>) -> Result<()> {
        let cell = self.length.cell(image)?;
        out.extend_from_slice(cell);
        if cell.len() < self.pad_to {
            out.resize(out.len() + self.pad_to - cell.len(), 0);
        }
        Ok(())
    }

    #[inline(always)]
    fn append(&mut self, image: &mut Reader<'_>, values: &mut VarBytes) -> Result<()> {
        if self.pad_to == 0 {
            let (len, start) = self.length.cell_start(image)?;
            return values.append_start(len, start);
        }
        values.append_with(|out| self.read(image, out))
    }
}
