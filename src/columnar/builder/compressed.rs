//! VARCHAR and BLOB with MariaDB's COMPRESSED attribute: each cell is unpacked, then handed to the builder of a plain column.

use super::ColumnBuilder;
use super::length::CellLength;
use crate::error::{DecodeError, Error};
use crate::value::compressed::plain;
use crate::wire::{Inflater, Reader, Result};
use arrow_array::ArrayRef;
use arrow_schema::DataType;

/// A builder for cells as the log holds them, around one for plain cells of [`CellLength::whole`].
struct Compressed {
    length: CellLength,
    inflater: Inflater,
    inflated: usize,
    plain: Box<dyn ColumnBuilder>,
}

/// `length`: how the length of the packed cell is written. `plain` takes all that it is given.
pub(super) fn boxed(length: CellLength, plain: Box<dyn ColumnBuilder>) -> Box<dyn ColumnBuilder> {
    Box::new(Compressed { length, inflater: Inflater::default(), inflated: 0, plain })
}

impl ColumnBuilder for Compressed {
    fn data_type(&self) -> DataType {
        self.plain.data_type()
    }

    fn append(&mut self, image: &mut Reader<'_>) -> Result<()> {
        let cell = self.length.cell(image)?;
        let value = plain(cell, &mut self.inflater)?;
        self.inflated += value.len().saturating_sub(cell.len());
        self.plain.append(&mut Reader::new(value))
    }

    fn begin(&mut self) {
        self.plain.begin();
    }

    fn append_null(&mut self) {
        self.plain.append_null();
    }

    fn seal(&mut self) -> std::result::Result<(), (usize, DecodeError)> {
        self.plain.seal()
    }

    fn truncate(&mut self, rows: usize) {
        self.plain.truncate(rows);
    }

    fn take_zero_dates(&mut self) -> u64 {
        self.plain.take_zero_dates()
    }

    fn take_inflated(&mut self) -> usize {
        std::mem::take(&mut self.inflated)
    }

    fn finish(&mut self) -> std::result::Result<ArrayRef, Error> {
        self.plain.finish()
    }
}

#[cfg(test)]
mod tests {
    use super::super::text::Text;
    use super::*;
    use arrow_array::cast::AsArray;

    #[test]
    fn text_in_all_forms() {
        let text = Box::new(Text::utf8(CellLength::whole(), "utf8mb4"));
        let mut column = boxed(CellLength::declared(41), text);
        // Deflate's stored form of "ab", without zlib's header.
        for cell in [&b"\0"[..], b"\x01\0", b"\x03\0\xc3\xa9", b"\x09\x89\x02\x01\x02\0\xfd\xffab"]
        {
            column.append(&mut Reader::new(cell)).unwrap();
        }
        column.append_null();
        assert!(column.append(&mut Reader::new(b"\x03\x89\x02\x01")).is_err());
        assert!(column.append(&mut Reader::new(&[42; 43])).is_err(), "longer than declared");
        assert!(column.seal().is_ok());
        column.append(&mut Reader::new(b"\x02\0\xff")).unwrap();
        assert_eq!(column.seal().unwrap_err().0, 5);
        column.truncate(5);
        let array = column.finish().unwrap();
        let texts: Vec<_> = array.as_string::<i32>().iter().collect();
        assert_eq!(texts, [Some(""), Some(""), Some("é"), Some("ab"), None]);
    }
}
