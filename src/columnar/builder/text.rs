//! CHAR, VARCHAR and TEXT as UTF-8.
//!
//! UTF-8 and ASCII columns are copied, and checked once per event, over all cells of the event together.
//! Text in other character sets is transcoded cell by cell, directly into the column's bytes.

use super::length::CellLength;
use super::var_bytes::VarBytes;
use super::var_len::VarLenCell;
use crate::charset::Charset;
use crate::error::DecodeError;
use crate::wire::{Reader, Result};

/// Text whose stored form is UTF-8 (or ASCII).
pub(super) struct Text {
    pub(super) length: CellLength,
    pub(super) charset: Charset,
    is_valid: fn(&[u8]) -> bool,
}

impl Text {
    pub(super) fn utf8(length: CellLength, charset: Charset) -> Self {
        Self { length, charset, is_valid: |bytes| simdutf8::basic::from_utf8(bytes).is_ok() }
    }

    pub(super) fn ascii(length: CellLength) -> Self {
        Self { length, charset: Charset::Ascii, is_valid: <[u8]>::is_ascii }
    }

    /// True if all cells from row `from` on are valid: their bytes together are valid, and no cell
    /// starts inside a character.
    fn are_valid(&self, values: &VarBytes, from: usize) -> bool {
        let bytes = values.bytes();
        let is_boundary =
            |end: &i32| bytes.get(*end as usize).is_none_or(|byte| byte & 0xc0 != 0x80);
        bytes.get(values.start(from)..).is_none_or(self.is_valid)
            && values.ends_from(from).iter().all(is_boundary)
    }

    fn first_bad_row(&self, values: &VarBytes, from: usize) -> usize {
        let bad = |row: &usize| {
            let cell = values.bytes().get(values.start(*row)..values.start(row + 1));
            !cell.is_some_and(self.is_valid)
        };
        (from..values.rows()).find(bad).unwrap_or(from)
    }
}

impl VarLenCell for Text {
    #[inline(always)] // one call per cell, not two
    fn read(&mut self, image: &mut Reader<'_>, out: &mut Vec<u8>) -> Result<()> {
        out.extend_from_slice(self.length.cell(image)?);
        Ok(())
    }

    fn check(
        &self,
        values: &VarBytes,
        from: usize,
    ) -> std::result::Result<(), (usize, DecodeError)> {
        if self.are_valid(values, from) {
            return Ok(());
        }
        let error = DecodeError::Text { what: "a cell", charset: self.charset.name() };
        Err((self.first_bad_row(values, from), error))
    }
}

/// Text that is converted to UTF-8 character by character, or whose invalid characters are
/// replaced.
pub(super) struct TranscodedText {
    pub(super) length: CellLength,
    pub(super) charset: Charset,
    /// True if invalid characters become U+FFFD instead of an error.
    pub(super) replace: bool,
}

impl VarLenCell for TranscodedText {
    #[inline]
    fn read(&mut self, image: &mut Reader<'_>, out: &mut Vec<u8>) -> Result<()> {
        let cell = self.length.cell(image)?;
        if !self.replace {
            return self.charset.decode_into(cell, "a cell", out);
        }
        self.charset.decode_lossy_into(cell, out);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::var_len::VarLen;
    use super::*;

    #[test]
    fn cells_are_checked_one_by_one_where_together_they_are_valid() {
        // "é" split in two: the bytes together are valid, the cells are not.
        let mut text = VarLen::text(Text::utf8(CellLength::declared(10), Charset::Utf8mb4));
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
