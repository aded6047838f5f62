//! The length before the bytes of a string or blob.

use crate::error::DecodeError;
use crate::wire::{Reader, Result};

/// The number of bytes of the length, and the maximum length of the cell.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CellLength {
    prefix: u8,
    max: u32,
}

impl CellLength {
    /// The length of CHAR and VARCHAR: 2 bytes if the declared maximum is over 255.
    pub(super) const fn declared(max_bytes: u16) -> Self {
        Self { prefix: if max_bytes > 255 { 2 } else { 1 }, max: max_bytes as u32 }
    }

    /// The length of BLOB and similar types: the metadata contains its number of bytes.
    pub(super) const fn blob(length_bytes: u8) -> Self {
        Self { prefix: length_bytes, max: u32::MAX }
    }

    /// No stored length: the cell consists of all remaining bytes. For cells that were
    /// decompressed.
    pub(super) const fn rest() -> Self {
        Self { prefix: 0, max: u32::MAX }
    }

    /// Returns the bytes of the cell.
    #[inline]
    pub(crate) fn cell<'a>(self, image: &mut Reader<'a>) -> Result<&'a [u8]> {
        let len = self.len(image)?;
        image.take(len, "cell")
    }

    /// Returns the length of the cell, and the bytes from its start on. They are at least as long as the cell.
    #[inline(always)] // in the loop over cells
    pub(super) fn cell_start<'a>(self, image: &mut Reader<'a>) -> Result<(usize, &'a [u8])> {
        let len = self.len(image)?;
        let start = image.as_slice();
        image.take(len, "cell")?;
        Ok((len, start))
    }

    /// Reads the length of the cell.
    #[inline(always)] // as above
    fn len(self, image: &mut Reader<'_>) -> Result<usize> {
        const WHAT: &str = "cell length";
        let len = match self.prefix {
            1 => u32::from(image.u8(WHAT)?),
            2 => u32::from(image.u16(WHAT)?),
            3 => image.u24(WHAT)?,
            0 => return Ok(image.left()),
            _ => image.u32(WHAT)?,
        };
        if len > self.max {
            return Err(DecodeError::Limit {
                what: WHAT,
                value: u64::from(len),
                limit: u64::from(self.max),
            });
        }
        Ok(len as usize)
    }
}
