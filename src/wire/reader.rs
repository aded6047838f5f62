//! The only cursor over bytes. Each read is checked against the number of bytes that are left.
//!
//! <https://dev.mysql.com/doc/dev/mysql-server/latest/page_protocol_basic_dt_integers.html>

use super::Result;
use crate::error::DecodeError;

/// A cursor over a slice: each read moves it forward, but never past the end.
#[derive(Debug, Clone, Copy)]
pub struct Reader<'a> {
    bytes: &'a [u8],
}

impl<'a> Reader<'a> {
    /// Creates a cursor at the start of `bytes`.
    #[inline]
    pub const fn new(bytes: &'a [u8]) -> Self {
        Self { bytes }
    }

    /// The number of bytes that are not read yet.
    #[inline]
    pub const fn left(&self) -> usize {
        self.bytes.len()
    }

    /// True if all bytes are read.
    #[inline]
    pub const fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Returns the bytes that are not read yet, and does not move the cursor.
    #[inline]
    pub const fn as_slice(&self) -> &'a [u8] {
        self.bytes
    }

    /// Returns the next `len` bytes; `what` names the field in the error.
    #[inline]
    pub fn take(&mut self, len: usize, what: &'static str) -> Result<&'a [u8]> {
        match self.bytes.split_at_checked(len) {
            Some((head, tail)) => {
                self.bytes = tail;
                Ok(head)
            }
            None => Err(DecodeError::UnexpectedEnd { what, needed: len, left: self.bytes.len() }),
        }
    }

    /// Returns the next `N` bytes as an array.
    #[inline]
    pub fn array<const N: usize>(&mut self, what: &'static str) -> Result<[u8; N]> {
        match self.bytes.split_first_chunk::<N>() {
            Some((head, tail)) => {
                self.bytes = tail;
                Ok(*head)
            }
            None => Err(DecodeError::UnexpectedEnd { what, needed: N, left: self.bytes.len() }),
        }
    }

    /// Returns a cursor over the next `len` bytes only: a length field limits what the code for its
    /// body can read.
    #[inline]
    pub fn sub(&mut self, len: usize, what: &'static str) -> Result<Reader<'a>> {
        self.take(len, what).map(Reader::new)
    }

    /// Returns all bytes that are left.
    #[inline]
    pub fn rest(&mut self) -> &'a [u8] {
        std::mem::take(&mut self.bytes)
    }

    /// Returns an error unless all bytes are read.
    pub fn finish(&self, what: &'static str) -> Result<()> {
        match self.bytes.len() {
            0 => Ok(()),
            bytes => Err(DecodeError::LeftOver { what, bytes }),
        }
    }

    /// `int<1>`
    #[inline]
    pub fn u8(&mut self, what: &'static str) -> Result<u8> {
        self.array::<1>(what).map(|[byte]| byte)
    }

    /// `int<2>`
    #[inline]
    pub fn u16(&mut self, what: &'static str) -> Result<u16> {
        self.array(what).map(u16::from_le_bytes)
    }

    /// `int<3>`
    #[inline]
    pub fn u24(&mut self, what: &'static str) -> Result<u32> {
        self.array::<3>(what).map(|[a, b, c]| u32::from_le_bytes([a, b, c, 0]))
    }

    /// `int<4>`
    #[inline]
    pub fn u32(&mut self, what: &'static str) -> Result<u32> {
        self.array(what).map(u32::from_le_bytes)
    }

    /// `int<6>`
    #[inline]
    pub fn u48(&mut self, what: &'static str) -> Result<u64> {
        self.uint_le(6, what)
    }

    /// `int<8>`
    #[inline]
    pub fn u64(&mut self, what: &'static str) -> Result<u64> {
        self.array(what).map(u64::from_le_bytes)
    }

    /// `int<8>`, signed
    #[inline]
    pub fn i64(&mut self, what: &'static str) -> Result<i64> {
        self.array(what).map(i64::from_le_bytes)
    }

    /// A little-endian unsigned number of `len` bytes, at most 8.
    #[inline]
    pub fn uint_le(&mut self, len: usize, what: &'static str) -> Result<u64> {
        if len == 6 {
            // Each rows event begins with a table id of this length.
            let [a, b, c, d, e, f] = self.array(what)?;
            return Ok(u64::from_le_bytes([a, b, c, d, e, f, 0, 0]));
        }
        if len == 7 {
            // Each GTID event contains timestamps of this length.
            let [a, b, c, d, e, f, g] = self.array(what)?;
            return Ok(u64::from_le_bytes([a, b, c, d, e, f, g, 0]));
        }
        let bytes = self.take(len, what)?;
        Ok(bytes.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte)))
    }

    /// A big-endian unsigned number of `len` bytes, at most 8.
    #[inline]
    pub fn uint_be(&mut self, len: usize, what: &'static str) -> Result<u64> {
        let bytes = self.take(len, what)?;
        Ok(bytes.iter().fold(0, |number, byte| number << 8 | u64::from(*byte)))
    }

    /// `int<lenenc>`, also called packed integer: 1, 3, 4 or 9 bytes. `0xfb` and `0xff` are errors here.
    #[inline]
    pub fn lenenc_int(&mut self, what: &'static str) -> Result<u64> {
        match self.u8(what)? {
            small @ 0..=0xfa => Ok(u64::from(small)),
            0xfc => self.u16(what).map(u64::from),
            0xfd => self.u24(what).map(u64::from),
            0xfe => self.u64(what),
            value => Err(DecodeError::Invalid { what, value: u64::from(value) }),
        }
    }

    /// A lenenc number that is a length or a count of remaining bytes: a number larger than the
    /// rest is an error.
    #[inline]
    pub fn lenenc_len(&mut self, what: &'static str) -> Result<usize> {
        let number = self.lenenc_int(what)?;
        usize::try_from(number).map_err(|_| DecodeError::Limit {
            what,
            value: number,
            limit: usize::MAX as u64,
        })
    }

    /// `string<lenenc>`
    #[inline]
    pub fn lenenc_str(&mut self, what: &'static str) -> Result<&'a [u8]> {
        let len = self.lenenc_len(what)?;
        self.take(len, what)
    }

    /// `string<NUL>`: the bytes before the next NUL. The cursor moves past the NUL.
    pub fn nul_str(&mut self, what: &'static str) -> Result<&'a [u8]> {
        let end =
            self.bytes.iter().position(|byte| *byte == 0).ok_or(DecodeError::UnexpectedEnd {
                what,
                needed: self.bytes.len() + 1,
                left: self.bytes.len(),
            })?;
        let text = self.take(end, what)?;
        self.u8(what)?;
        Ok(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers() {
        let mut reader = Reader::new(&[1, 2, 0, 3, 0, 0, 0, 0, 0, 1]);
        assert_eq!(reader.u8("a"), Ok(1));
        assert_eq!(reader.u16("b"), Ok(2));
        assert_eq!(reader.u48("c"), Ok(3));
        assert_eq!(
            reader.u32("d"),
            Err(DecodeError::UnexpectedEnd { what: "d", needed: 4, left: 1 })
        );
        assert_eq!(reader.finish("e"), Err(DecodeError::LeftOver { what: "e", bytes: 1 }));
        assert_eq!(Reader::new(&[1, 2, 3]).uint_be(3, "f"), Ok(0x01_02_03));
    }

    #[test]
    fn lenenc() {
        for (bytes, value) in [
            (&[0xfa][..], 0xfa),
            (&[0xfc, 0x00, 0x01], 0x100),
            (&[0xfd, 0, 0, 1], 0x1_0000),
            (&[0xfe, 0, 0, 0, 0, 1, 0, 0, 0], 1 << 32),
        ] {
            assert_eq!(Reader::new(bytes).lenenc_int("n"), Ok(value));
        }
        for bad in [0xfb, 0xff] {
            assert!(Reader::new(&[bad, 0, 0]).lenenc_int("n").is_err());
        }
        assert!(Reader::new(&[0xfe, 0xff]).lenenc_int("n").is_err());
    }

    #[test]
    fn strings() {
        let mut reader = Reader::new(b"\x02abcd\0e");
        assert_eq!(reader.lenenc_str("s"), Ok(&b"ab"[..]));
        assert_eq!(reader.nul_str("n"), Ok(&b"cd"[..]));
        assert!(reader.nul_str("n").is_err());
        assert_eq!(reader.rest(), b"e");
    }
}
