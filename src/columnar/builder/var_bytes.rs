//! Values of varying length, one after the other, with the offsets that Arrow wants.

use super::nulls::Nulls;
use crate::error::{DecodeError, Error};
use crate::wire::Result;
use arrow_array::{ArrayRef, BinaryArray, StringArray};
use arrow_buffer::{Buffer, OffsetBuffer, ScalarBuffer};
use std::sync::Arc;

/// The most bytes that one batch's column can hold: Arrow's offsets are 32-bit.
const MAX_BYTES: usize = i32::MAX as usize;

/// Offsets, bytes and validity of a column under construction. `offsets` holds the end of each row.
#[derive(Default)]
pub(super) struct VarBytes {
    ends: Vec<i32>,
    bytes: Vec<u8>,
    nulls: Nulls,
    expected_rows: usize,
    expected_bytes: usize,
}

impl VarBytes {
    pub(super) fn rows(&self) -> usize {
        self.ends.len()
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Where row `row` starts in the bytes.
    pub(super) fn start(&self, row: usize) -> usize {
        row.checked_sub(1).and_then(|before| self.ends.get(before)).map_or(0, |end| *end as usize)
    }

    /// The ends of the rows from `row` on.
    pub(super) fn ends_from(&self, row: usize) -> &[i32] {
        self.ends.get(row..).unwrap_or_default()
    }

    #[inline]
    pub(super) fn append(&mut self, value: &[u8]) -> Result<()> {
        self.bytes.extend_from_slice(value);
        self.end_row()
    }

    /// Appends what `write` writes; nothing of it stays on an error.
    #[inline]
    pub(super) fn append_with(
        &mut self,
        write: impl FnOnce(&mut Vec<u8>) -> Result<()>,
    ) -> Result<()> {
        let start = self.bytes.len();
        let written = write(&mut self.bytes);
        if let Err(error) = written {
            self.bytes.truncate(start);
            return Err(error);
        }
        self.end_row()
    }

    #[inline]
    fn end_row(&mut self) -> Result<()> {
        let end = self.bytes.len();
        if end > MAX_BYTES {
            return Err(DecodeError::Limit {
                what: "bytes of one column in one batch",
                value: end as u64,
                limit: MAX_BYTES as u64,
            });
        }
        self.ends.push(end as i32);
        self.nulls.append_valid();
        Ok(())
    }

    pub(super) fn append_null(&mut self) {
        self.nulls.append_null(self.ends.len());
        self.ends.push(self.bytes.len() as i32);
    }

    pub(super) fn truncate(&mut self, rows: usize) {
        let end = self.start(rows.min(self.ends.len()));
        self.ends.truncate(rows);
        self.bytes.truncate(end);
        self.nulls.truncate(rows);
    }

    /// The rows so far as text, which Arrow checks.
    pub(super) fn finish_text(&mut self) -> std::result::Result<ArrayRef, Error> {
        let (offsets, bytes, nulls) = self.take();
        StringArray::try_new(offsets, bytes, nulls)
            .map(|array| Arc::new(array) as ArrayRef)
            .map_err(|error| Error::malformed(error.to_string()))
    }

    /// The rows so far as bytes.
    pub(super) fn finish_binary(&mut self) -> std::result::Result<ArrayRef, Error> {
        let (offsets, bytes, nulls) = self.take();
        BinaryArray::try_new(offsets, bytes, nulls)
            .map(|array| Arc::new(array) as ArrayRef)
            .map_err(|error| Error::malformed(error.to_string()))
    }

    fn take(&mut self) -> (OffsetBuffer<i32>, Buffer, Option<arrow_buffer::NullBuffer>) {
        self.expected_rows = self.expected_rows.max(self.ends.len());
        self.expected_bytes = self.expected_bytes.max(self.bytes.len());
        let ends = std::mem::replace(&mut self.ends, Vec::with_capacity(self.expected_rows));
        let bytes = std::mem::replace(&mut self.bytes, Vec::with_capacity(self.expected_bytes));
        let mut offsets = Vec::with_capacity(ends.len() + 1);
        offsets.push(0);
        offsets.extend_from_slice(&ends);
        let offsets = OffsetBuffer::new(ScalarBuffer::from(offsets));
        (offsets, Buffer::from_vec(bytes), self.nulls.finish())
    }
}
