//! Values of varying length, one after another, with the offsets of Arrow.

use super::nulls::Nulls;
use crate::columnar::spare::SpareVectors;
use crate::error::{DecodeError, Error, ErrorKind};
use crate::value::block;
use crate::wire::Result;
use arrow_array::{ArrayRef, BinaryArray, StringArray};
use arrow_buffer::{Buffer, OffsetBuffer};
use std::sync::Arc;

/// The maximum number of bytes of a column in one batch: Arrow's offsets have 32 bits.
const MAX_BYTES: usize = i32::MAX as usize;

/// Texts of at most this number of bytes are checked for ASCII first, which takes less time than the general check.
const SHORT: usize = 64;

/// A value of at most this number of bytes is copied as a block of this length, together with some of the bytes after it. A copy
/// whose length is not constant is a function call, which takes longer.
pub(super) const BLOCK: usize = 64;

/// Offsets, bytes and validity of a column under construction.
pub(crate) struct VarBytes {
    /// 0, and the end of each row.
    offsets: Vec<i32>,
    bytes: Vec<u8>,
    nulls: Nulls,
    spare: SpareVectors,
    /// The number of rows at the start that were found to be UTF-8, and whose bytes did not change since.
    text_rows: usize,
    expected_rows: usize,
    expected_bytes: usize,
}

/// The form of the bytes of a column of text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TextForm {
    Utf8,
    /// ASCII, which is UTF-8 too.
    Ascii,
}

impl TextForm {
    fn is_valid(self, bytes: &[u8]) -> bool {
        match self {
            Self::Utf8 => simdutf8::basic::from_utf8(bytes).is_ok(),
            Self::Ascii => bytes.is_ascii(),
        }
    }
}

impl Default for VarBytes {
    fn default() -> Self {
        Self {
            offsets: vec![0],
            bytes: Vec::new(),
            nulls: Nulls::default(),
            spare: SpareVectors::default(),
            text_rows: 0,
            expected_rows: 0,
            expected_bytes: 0,
        }
    }
}

impl VarBytes {
    /// Reserves memory for a batch like the previous one.
    pub(super) fn begin(&mut self, spare: &SpareVectors) {
        if self.bytes.capacity() == 0 && self.rows() == 0 {
            self.bytes = spare.take(self.expected_bytes + BLOCK); // the last value is copied as a block too
            self.offsets = spare.take(self.expected_rows + 1);
            self.offsets.push(0);
            self.spare = spare.clone();
        }
    }

    /// The number of rows so far.
    pub(crate) fn rows(&self) -> usize {
        self.offsets.len() - 1
    }

    /// The values so far, one after another.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The start of row `row` in the bytes.
    fn start(&self, row: usize) -> usize {
        self.offsets.get(row).map_or(0, |start| *start as usize)
    }

    /// Reserves memory for the ends of rows.
    pub(super) fn reserve_rows(&mut self, rows: usize) {
        self.offsets.reserve(rows);
    }

    /// Appends a value.
    #[inline]
    pub(crate) fn append(&mut self, value: &[u8]) -> Result<()> {
        self.bytes.extend_from_slice(value);
        self.end_row()
    }

    /// Appends the first `len` bytes of `start`, which is at least as long.
    #[inline(always)] // in the loop over cells
    pub(super) fn append_start(&mut self, len: usize, start: &[u8]) -> Result<()> {
        match start.first_chunk::<BLOCK>() {
            Some(block) if len <= BLOCK => block::push(&mut self.bytes, block, len),
            _ => self.bytes.extend_from_slice(start.get(..len).unwrap_or_default()),
        }
        self.end_row()
    }

    /// Appends the value that `write` writes; after an error, none of its bytes remain.
    #[inline]
    pub(crate) fn append_with(
        &mut self,
        write: impl FnOnce(&mut Vec<u8>) -> Result<()>,
    ) -> Result<()> {
        // `write` should only append, but it gets all bytes.
        self.text_rows = 0;
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
        self.offsets.push(end as i32);
        Ok(())
    }

    /// Appends an empty value: the value under a struct's NULL.
    pub(crate) fn append_empty(&mut self) {
        self.offsets.push(self.bytes.len() as i32);
    }

    /// Appends a NULL.
    pub(crate) fn append_null(&mut self) {
        self.nulls.append_null(self.rows());
        self.append_empty();
    }

    /// Appends NULLs.
    pub(super) fn append_nulls(&mut self, rows: usize) {
        let first = self.rows();
        self.nulls.append_nulls(first..first + rows);
        self.offsets.resize(first + rows + 1, self.bytes.len() as i32);
    }

    pub(super) fn truncate(&mut self, rows: usize) {
        let end = self.start(rows.min(self.rows()));
        self.offsets.truncate(rows + 1);
        self.bytes.truncate(end);
        self.nulls.truncate(rows);
        self.text_rows = self.text_rows.min(rows);
    }

    /// Checks that the values from row `from` on are text of this form. An error is the first row that is not.
    pub(super) fn check_text(&mut self, form: TextForm, from: usize) -> Result<(), usize> {
        if !self.is_text(form, from) {
            let is_invalid = |row: &usize| {
                let value = self.bytes.get(self.start(*row)..self.start(row + 1));
                !value.is_some_and(|value| form.is_valid(value))
            };
            return Err((from..self.rows()).find(is_invalid).unwrap_or(from));
        }
        if from <= self.text_rows {
            self.text_rows = self.rows();
        }
        Ok(())
    }

    /// True if each value from row `from` on is of the form: the bytes together are, and no value starts inside a character.
    fn is_text(&self, form: TextForm, from: usize) -> bool {
        let Some(bytes) = self.bytes.get(self.start(from)..) else { return true };
        if bytes.len() < SHORT && bytes.is_ascii() {
            return true;
        }
        let is_boundary =
            |end: &i32| self.bytes.get(*end as usize).is_none_or(|byte| byte & 0xc0 != 0x80);
        form.is_valid(bytes) && self.offsets.iter().skip(from + 1).all(is_boundary)
    }

    /// Returns the rows so far as text. Rows that [`Self::check_text`] has checked are not checked again.
    ///
    /// `StringArray::try_new` would check the text with the standard library, which takes more than
    /// half of the time of decoding text outside ASCII (benches/README.md contains the figure); a second check of rows
    /// that were checked at the end of their event takes a sixth of the time of reading text.
    #[allow(unsafe_code)]
    pub(crate) fn finish_text(&mut self) -> std::result::Result<ArrayRef, Error> {
        if self.check_text(TextForm::Utf8, self.text_rows).is_err() {
            return Err(Error::new(ErrorKind::Internal, "a column of text that is not UTF-8"));
        }
        let (offsets, bytes, nulls) = self.take();
        // SAFETY: Each value is UTF-8. `check_text` has just set `text_rows` to the number of rows, and it adds rows only
        // after it found that all their bytes are UTF-8 (or ASCII, which is UTF-8) and that no offset is inside a
        // character; the rows before them were in `text_rows` already. Rows that are in it do not change: of the methods
        // that change `bytes` or `offsets`, `append`, `append_start` and the two for empty values only add rows, `append_with` sets
        // `text_rows` to 0, `truncate` removes the removed rows from it, and `take` removes all. A row that follows begins at the
        // end of a value, and is checked together with the offset at its start.
        // The offsets increase and end at the length of the bytes: `end_row` and `append_null` only append that length, and
        // `truncate` cuts both to the end of one row. If there are nulls, they have one bit for each row.
        Ok(Arc::new(unsafe { StringArray::new_unchecked(offsets, bytes, nulls) }))
    }

    /// Returns the rows so far as bytes.
    pub(super) fn finish_binary(&mut self) -> std::result::Result<ArrayRef, Error> {
        let (offsets, bytes, nulls) = self.take();
        BinaryArray::try_new(offsets, bytes, nulls)
            .map(|array| Arc::new(array) as ArrayRef)
            .map_err(|error| Error::malformed(error.to_string()))
    }

    fn take(&mut self) -> (OffsetBuffer<i32>, Buffer, Option<arrow_buffer::NullBuffer>) {
        // A small batch at the end of a segment does not predict the size of the next one.
        let rows = self.rows();
        self.expected_rows = rows.max(self.expected_rows / 2);
        self.expected_bytes = self.bytes.len().max(self.expected_bytes / 2);
        self.text_rows = 0;
        let nulls = self.nulls.finish(rows);
        let offsets = std::mem::replace(&mut self.offsets, vec![0]);
        let bytes = std::mem::take(&mut self.bytes);
        let offsets = OffsetBuffer::new(self.spare.lend(offsets));
        (offsets, self.spare.lend(bytes).into_inner(), nulls)
    }
}
