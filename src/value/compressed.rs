//! A cell of a column with MariaDB's COMPRESSED attribute.
//!
//! ```text
//! (nothing)                                    the empty value
//! 00                   the value               not compressed: too short to be worth it
//! 80 | raw << 3 | n    plain length, n bytes big-endian, a deflate stream; raw: without zlib's header and checksum
//! 8a                   01 2c   ...
//! ```
//!
//! <https://mariadb.com/kb/en/storage-engine-independent-column-compression/>

use crate::error::DecodeError;
use crate::wire::{DeflateForm, Inflater, Reader, Result};

/// Returns the value of the cell. It is a part of the cell, or it is in the buffer of the inflater.
pub fn plain<'c>(cell: &'c [u8], inflater: &'c mut Inflater) -> Result<&'c [u8]> {
    let mut reader = Reader::new(cell);
    if reader.is_empty() {
        return Ok(cell);
    }
    let head = reader.u8("compressed cell")?;
    if head == STORED {
        return Ok(reader.rest());
    }
    let value = u64::from(head);
    if head & METHOD != ZLIB {
        return Err(DecodeError::Unsupported { what: "the compression of a cell", value });
    }
    let len_bytes = match head & LEN_BYTES {
        bytes @ 1..=4 => usize::from(bytes),
        _ => return Err(DecodeError::Invalid { what: "compressed cell", value }),
    };
    let len = reader.take(len_bytes, "compressed cell")?;
    let len = len.iter().fold(0, |len, byte| len << 8 | u64::from(*byte));
    let form = if head & RAW == 0 { DeflateForm::Zlib } else { DeflateForm::Raw };
    inflater.inflate(reader.rest(), form, len, "a compressed cell")
}

const STORED: u8 = 0;
const METHOD: u8 = 0xf0;
const ZLIB: u8 = 0x80;
const RAW: u8 = 0x08;
const LEN_BYTES: u8 = 0x07;

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::Compression;
    use flate2::write::{DeflateEncoder, ZlibEncoder};
    use std::io::Write;

    fn decode(cell: &[u8]) -> Result<Vec<u8>> {
        plain(cell, &mut Inflater::default()).map(<[u8]>::to_vec)
    }

    #[test]
    fn all_forms() {
        assert_eq!(decode(b"").unwrap(), b"");
        assert_eq!(decode(b"\0").unwrap(), b"");
        assert_eq!(decode(b"\0\x8a\0").unwrap(), b"\x8a\0");

        let value = b"ab".repeat(150);
        let mut raw = DeflateEncoder::new(vec![0x8a, 0x01, 0x2c], Compression::default());
        raw.write_all(&value).unwrap();
        assert_eq!(decode(&raw.finish().unwrap()).unwrap(), value);
        let mut zlib = ZlibEncoder::new(vec![0x84, 0, 0, 0x01, 0x2c], Compression::default());
        zlib.write_all(&value).unwrap();
        assert_eq!(decode(&zlib.finish().unwrap()).unwrap(), value);
    }

    #[test]
    fn refused() {
        for cell in [
            &b"\x01"[..],
            b"\x10\x01a",
            b"\x7a\x01\x2c",
            b"\x90\x01\x2c",
            b"\x88",             // no length
            b"\x8a\x01",         // cut
            b"\x8d\0\0\0\0\x01", // a length too long
            b"\x8f",
            b"\x8a\x01\x2c",     // no stream
            b"\x89\x05\x03\x00", // a stream that ends too soon
            b"\x8c\xff\xff\xff\xff\x03\x00",
        ] {
            assert!(decode(cell).is_err(), "{cell:x?}");
        }
    }
}
