//! VARCHAR and BLOB with MariaDB's COMPRESSED attribute.

use super::length::CellLength;
use super::var_bytes::VarBytes;
use super::var_len::VarLenCell;
use crate::error::DecodeError;
use crate::value::compressed::plain;
use crate::wire::{Inflater, Reader, Result};

/// Cells as the log contains them. Each is inflated and passed to the plain column's cell, which has the length
/// [`CellLength::rest`].
pub(super) struct Compressed {
    length: CellLength,
    inflater: Inflater,
    inflated: usize,
    plain: Box<dyn VarLenCell>,
}

impl Compressed {
    /// `length`: the form in which the length of the compressed cell is stored.
    pub(super) fn new(length: CellLength, plain: Box<dyn VarLenCell>) -> Self {
        Self { length, inflater: Inflater::default(), inflated: 0, plain }
    }
}

impl VarLenCell for Compressed {
    fn read(&mut self, image: &mut Reader<'_>, out: &mut Vec<u8>) -> Result<()> {
        let cell = self.length.cell(image)?;
        let value = plain(cell, &mut self.inflater)?;
        self.inflated += value.len().saturating_sub(cell.len());
        self.plain.read(&mut Reader::new(value), out)
    }

    fn has_checks(&self) -> bool {
        self.plain.has_checks()
    }

    fn check(
        &self,
        values: &mut VarBytes,
        from: usize,
    ) -> std::result::Result<(), (usize, DecodeError)> {
        self.plain.check(values, from)
    }

    fn take_inflated(&mut self) -> usize {
        std::mem::take(&mut self.inflated)
    }
}

#[cfg(test)]
mod tests {
    use super::super::text::Text;
    use super::super::var_len::VarLen;
    use super::*;
    use crate::charset::Charset;
    use arrow_array::cast::AsArray;

    #[test]
    fn text_in_all_forms() {
        let text = Box::new(Text::utf8(CellLength::rest(), Charset::Utf8mb4));
        let mut column = VarLen::text(Compressed::new(CellLength::declared(41), text));
        // Deflate's stored form of "ab", without the header of zlib.
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
