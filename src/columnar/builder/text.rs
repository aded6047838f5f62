//! CHAR, VARCHAR and TEXT as UTF-8.
//!
//! UTF-8 and ASCII columns are copied as they are and checked once an event, over all of the event's cells at a time.
//! Text in other character sets is transcoded cell by cell, straight into the column's bytes.

use super::ColumnBuilder;
use super::length::CellLength;
use super::var_bytes::VarBytes;
use crate::charset::Charset;
use crate::error::{DecodeError, Error};
use crate::wire::{Reader, Result};
use arrow_array::ArrayRef;
use arrow_schema::DataType;

/// Text whose stored form is UTF-8 (or ASCII).
pub(super) struct Text {
    length: CellLength,
    values: VarBytes,
    checked_rows: usize,
    charset: &'static str,
    is_valid: fn(&[u8]) -> bool,
}

impl Text {
    pub(super) fn utf8(length: CellLength, charset: &'static str) -> Self {
        let is_valid = |bytes: &[u8]| simdutf8::basic::from_utf8(bytes).is_ok();
        Self { length, values: VarBytes::default(), checked_rows: 0, charset, is_valid }
    }

    pub(super) fn ascii(length: CellLength) -> Self {
        let is_valid = |bytes: &[u8]| bytes.is_ascii();
        Self { length, values: VarBytes::default(), checked_rows: 0, charset: "ascii", is_valid }
    }

    /// Whether all cells since the last check are valid: together they are, and none starts inside a character.
    fn new_cells_are_valid(&self) -> bool {
        let bytes = self.values.bytes();
        let start = self.values.start(self.checked_rows);
        let is_boundary =
            |end: &i32| bytes.get(*end as usize).is_none_or(|byte| byte & 0xc0 != 0x80);
        bytes.get(start..).is_none_or(self.is_valid)
            && self.values.ends_from(self.checked_rows).iter().all(is_boundary)
    }

    fn first_bad_row(&self) -> usize {
        let bad = |row: &usize| {
            let cell = self.values.bytes().get(self.values.start(*row)..self.values.start(row + 1));
            !cell.is_some_and(self.is_valid)
        };
        (self.checked_rows..self.values.rows()).find(bad).unwrap_or(self.checked_rows)
    }
}

impl ColumnBuilder for Text {
    fn data_type(&self) -> DataType {
        DataType::Utf8
    }

    #[inline]
    fn append(&mut self, image: &mut Reader<'_>) -> Result<()> {
        self.values.append(self.length.cell(image)?)
    }

    fn begin(&mut self) {
        self.values.begin();
    }

    fn append_null(&mut self) {
        self.values.append_null();
    }

    fn seal(&mut self) -> std::result::Result<(), (usize, DecodeError)> {
        if !self.new_cells_are_valid() {
            let error = DecodeError::Text { what: "a cell", charset: self.charset };
            return Err((self.first_bad_row(), error));
        }
        self.checked_rows = self.values.rows();
        Ok(())
    }

    fn truncate(&mut self, rows: usize) {
        self.values.truncate(rows);
        self.checked_rows = self.checked_rows.min(rows);
    }

    fn finish(&mut self) -> std::result::Result<ArrayRef, Error> {
        self.checked_rows = 0;
        self.values.finish_text()
    }
}

/// Text that becomes UTF-8 character by character, or that is repaired where it is not valid.
pub(super) struct TranscodedText {
    length: CellLength,
    values: VarBytes,
    charset: Charset,
    replace: bool,
}

impl TranscodedText {
    /// `replace`: what is no character becomes U+FFFD instead of an error.
    pub(super) fn new(length: CellLength, charset: Charset, replace: bool) -> Self {
        Self { length, values: VarBytes::default(), charset, replace }
    }
}

impl ColumnBuilder for TranscodedText {
    fn data_type(&self) -> DataType {
        DataType::Utf8
    }

    #[inline]
    fn append(&mut self, image: &mut Reader<'_>) -> Result<()> {
        let cell = self.length.cell(image)?;
        let (charset, replace) = (self.charset, self.replace);
        self.values.append_with(|out| match replace {
            false => charset.decode_into(cell, "a cell", out),
            true => {
                charset.decode_lossy_into(cell, out);
                Ok(())
            }
        })
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_checked_one_by_one_where_together_they_are_valid() {
        // "é" cut in two: the bytes together are valid, the cells are not.
        let mut text = Text::utf8(CellLength::declared(10), "utf8mb4");
        text.append(&mut Reader::new(b"\x01a")).unwrap();
        text.append(&mut Reader::new(b"\x01\xc3")).unwrap();
        text.append(&mut Reader::new(b"\x01\xa9")).unwrap();
        assert_eq!(text.seal().unwrap_err().0, 1);
        text.truncate(1);
        text.append(&mut Reader::new(b"\x02\xc3\xa9")).unwrap();
        text.append_null();
        assert!(text.seal().is_ok());
        assert_eq!(text.finish().unwrap().len(), 3);
    }
}
