//! Masked columns: values are hashed, or replaced by NULL, before they become Arrow.
//!
//! Input: the cursor over a row image. Output: for `sha256` the HMAC-SHA256 of each value's text
//! (`masked_text.rs`), with the salt as its key, in hexadecimal; for `null` the column's own type,
//! all NULL.

use super::ColumnBuilder;
use super::cell_size::CellSize;
use super::var_len::VarLenCell;
use crate::columnar::spare::SpareVectors;
use crate::error::Error;
use crate::wire::{Reader, Result, write_hex};
use arrow_array::ArrayRef;
use arrow_schema::DataType;
use ring::hmac;

/// Hashes of values.
pub(super) struct Hashed {
    cell: Box<dyn VarLenCell>,
    key: hmac::Key,
    /// The text of the current value.
    text: Vec<u8>,
    grown: usize,
}

impl Hashed {
    /// `cell` appends the text of a value, and checks it.
    pub(super) fn new(cell: Box<dyn VarLenCell>, key: hmac::Key) -> Self {
        Self { cell, key, text: Vec::new(), grown: 0 }
    }
}

impl VarLenCell for Hashed {
    fn read(&mut self, image: &mut Reader<'_>, out: &mut Vec<u8>) -> Result<()> {
        self.text.clear();
        let before = image.left();
        self.cell.read(image, &mut self.text)?;
        self.grown += (2 * DIGEST_BYTES).saturating_sub(before - image.left());
        let hash = hmac::sign(&self.key, &self.text);
        write_hex(hash.as_ref(), out);
        Ok(())
    }

    fn take_inflated(&mut self) -> usize {
        std::mem::take(&mut self.grown)
    }

    fn end_batch(&mut self) {
        self.text.clear();
        self.text.shrink_to(MAX_KEPT_TEXT);
    }
}

/// A column of NULLs.
pub(super) struct Nulled {
    pub(super) size: CellSize,
    /// The column without its mask.
    pub(super) plain: Box<dyn ColumnBuilder>,
}

impl ColumnBuilder for Nulled {
    fn data_type(&self) -> DataType {
        self.plain.data_type()
    }

    fn append(&mut self, image: &mut Reader<'_>) -> Result<()> {
        self.size.skip(image)?;
        self.plain.append_null();
        Ok(())
    }

    fn append_diffs(&mut self, _diffs: &[u8]) -> Result<()> {
        self.plain.append_null();
        Ok(())
    }

    fn begin(&mut self, spare: &SpareVectors) {
        self.plain.begin(spare);
    }

    fn append_null(&mut self) {
        self.plain.append_null();
    }

    fn truncate(&mut self, rows: usize) {
        self.plain.truncate(rows);
    }

    fn finish(&mut self) -> std::result::Result<ArrayRef, Error> {
        self.plain.finish()
    }
}

/// The number of bytes of a SHA-256.
const DIGEST_BYTES: usize = 32;

/// The number of bytes of memory for text that is kept from batch to batch.
const MAX_KEPT_TEXT: usize = 64 << 10;

#[cfg(test)]
mod tests {
    use super::super::binary::Bytes;
    use super::super::var_len::VarLen;
    use super::super::{CellLength, Primitive, number};
    use super::*;
    use arrow_array::cast::AsArray;

    /// RFC 4231, test case 2. Its key is too short for any purpose except a test.
    #[test]
    fn hashes_are_those_of_the_rfc() {
        let key = hmac::Key::new(hmac::HMAC_SHA256, b"Jefe");
        let cell = Bytes::new(CellLength::declared(40));
        let mut column = VarLen::text(Hashed::new(Box::new(cell), key));
        column.append(&mut Reader::new(b"\x1cwhat do ya want for nothing?")).unwrap();
        column.append_null();
        assert_eq!(column.take_inflated(), 64 - 29);
        assert!(column.append(&mut Reader::new(b"\x05what")).is_err());
        column.append(&mut Reader::new(b"\0")).unwrap();
        column.truncate(2);
        let array = column.finish().unwrap();
        let texts: Vec<_> = array.as_string::<i32>().iter().collect();
        let expected = "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843";
        assert_eq!(texts, [Some(expected), None]);
    }

    #[test]
    fn nulls_have_the_columns_own_type() {
        let plain = Primitive::boxed(number::Short);
        let size = CellSize::Fixed { bytes: 2, what: "number" };
        let mut column = Nulled { size, plain };
        let mut image = Reader::new(&[1, 0, 2]);
        column.append(&mut image).unwrap();
        assert!(column.append(&mut image).is_err());
        column.append_diffs(b"x").unwrap();
        column.append_null();
        column.truncate(2);
        let array = column.finish().unwrap();
        assert_eq!((array.len(), array.null_count()), (2, 2));
        assert_eq!(*array.data_type(), DataType::Int16);
    }
}
