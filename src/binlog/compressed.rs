//! The data that MariaDB's `log_bin_compress` compresses: the rows of a rows event, the text of a
//! Query event.
//!
//! ```text
//! 0x80 | algorithm << 4 | n    plain length, n bytes, big-endian    zlib stream
//! 81                           f2                                   78 9c ...
//! ```
//!
//! <https://mariadb.com/kb/en/compressing-events-to-reduce-size-of-the-binary-log/>

use crate::error::DecodeError;
use crate::wire::{DeflateForm, Inflater, Reader, Result};

/// Compressed data: the plain length that it states, and the zlib stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Compressed<'a> {
    /// The length that the stream should have after inflation. It is not verified yet.
    pub plain_len: u64,
    stream: &'a [u8],
}

impl<'a> Compressed<'a> {
    /// Decodes the head of compressed data.
    pub fn decode(packed: &'a [u8]) -> Result<Self> {
        let mut reader = Reader::new(packed);
        let head = reader.u8("compression header")?;
        let value = u64::from(head);
        if head & IS_COMPRESSED == 0 {
            return Err(DecodeError::Invalid { what: "compression header", value });
        }
        if head & ALGORITHM != 0 {
            return Err(DecodeError::Unsupported { what: "compression", value });
        }
        let len_bytes = match head & LEN_BYTES {
            bytes @ 1..=4 if head & UNUSED == 0 => usize::from(bytes),
            _ => return Err(DecodeError::Invalid { what: "compression header", value }),
        };
        let len = reader.take(len_bytes, "plain length")?;
        let plain_len = len.iter().fold(0, |len, byte| len << 8 | u64::from(*byte));
        if plain_len == 0 {
            return Err(DecodeError::Invalid { what: "plain length", value: 0 });
        }
        Ok(Self { plain_len, stream: reader.rest() })
    }

    /// Inflates the stream and returns the plain bytes.
    pub fn inflate<'i>(&self, inflater: &'i mut Inflater, what: &'static str) -> Result<&'i [u8]> {
        inflater.inflate(self.stream, DeflateForm::Zlib, self.plain_len, what)
    }
}

const IS_COMPRESSED: u8 = 0x80;
const ALGORITHM: u8 = 0x70;
const UNUSED: u8 = 0x08;
const LEN_BYTES: u8 = 0x07;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heads() {
        for (packed, len) in [
            (&b"\x81\xf2\x78\x9c"[..], 0xf2),
            (b"\x82\x01\x00", 256),
            (b"\x83\x00\x00\x01", 1),
            (b"\x84\xff\xff\xff\xff", 0xffff_ffff),
        ] {
            assert_eq!(Compressed::decode(packed).unwrap().plain_len, len);
        }
        for bad in [
            &b""[..],
            b"\x80",             // no length
            b"\x81",             // cut
            b"\x84\0\0\0",       // cut
            b"\x81\x00\x78",     // a length of 0
            b"\x85\0\0\0\0\x01", // a length too long
            b"\x89\x01\x78",     // an unknown bit
            b"\x01\x01\x78",     // not compressed
            b"\x91\x01\x78",     // another algorithm
        ] {
            assert!(Compressed::decode(bad).is_err(), "{bad:x?}");
        }
    }
}
