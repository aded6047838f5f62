//! CHAR, VARCHAR and TEXT as UTF-8.
//!
//! UTF-8 and ASCII columns are copied, and checked once per event, over all cells of the event together.
//! Text in other character sets is transcoded cell by cell, directly into the column's bytes.

use super::length::CellLength;
use super::var_bytes::{TextForm, VarBytes};
use super::var_len::VarLenCell;
use crate::charset::Charset;
use crate::error::DecodeError;
use crate::wire::{Reader, Result};

/// Text whose stored form is UTF-8 (or ASCII).
pub(super) struct Text {
    pub(super) length: CellLength,
    pub(super) charset: Charset,
    form: TextForm,
}

impl Text {
    pub(super) fn utf8(length: CellLength, charset: Charset) -> Self {
        Self { length, charset, form: TextForm::Utf8 }
    }

    pub(super) fn ascii(length: CellLength) -> Self {
        Self { length, charset: Charset::Ascii, form: TextForm::Ascii }
    }
}

impl VarLenCell for Text {
    fn read(&mut self, image: &mut Reader<'_>, out: &mut Vec<u8>) -> Result<()> {
        out.extend_from_slice(self.length.cell(image)?);
        Ok(())
    }

    #[inline(always)]
    fn append(&mut self, image: &mut Reader<'_>, values: &mut VarBytes) -> Result<()> {
        let (len, start) = self.length.cell_start(image)?;
        values.append_start(len, start)
    }

    fn has_checks(&self) -> bool {
        true
    }

    fn check(
        &self,
        values: &mut VarBytes,
        from: usize,
    ) -> std::result::Result<(), (usize, DecodeError)> {
        let error = DecodeError::Text { what: "a cell", charset: self.charset.name() };
        values.check_text(self.form, from).map_err(|row| (row, error))
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
    use arrow_array::cast::AsArray;

    #[test]
    fn cells_of_every_length() {
        let cells: Vec<String> = (0..140)
            .chain((0..140).rev())
            .map(|len| "0123456789".repeat(14)[..len].into())
            .collect();
        let image = cells.iter().flat_map(|cell| [&[cell.len() as u8], cell.as_bytes()].concat());
        let image: Vec<u8> = image.collect();
        let (mut image, mut text) = (
            Reader::new(&image),
            VarLen::text(Text::utf8(CellLength::declared(255), Charset::Utf8mb4)),
        );
        for _ in &cells {
            text.append(&mut image).unwrap();
        }
        assert!(image.is_empty() && text.seal().is_ok());
        let values = text.finish().unwrap();
        assert!(values.as_string::<i32>().iter().flatten().eq(&cells));
    }

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
