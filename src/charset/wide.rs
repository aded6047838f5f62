//! Unicode in units of two and four bytes.

use super::scheme::{BAD, Scheme};

/// utf16, utf16le and ucs2. In ucs2 two surrogates are not a pair: such a column contains no
/// characters above U+FFFF.
#[derive(Clone, Copy)]
pub(super) struct Utf16<const BIG_ENDIAN: bool, const PAIRS: bool>;

impl<const BIG_ENDIAN: bool, const PAIRS: bool> Scheme for Utf16<BIG_ENDIAN, PAIRS> {
    const ASCII_WIDTH: usize = 2;

    #[inline]
    fn ascii(word: [u8; 8]) -> ([u8; 8], usize) {
        let [a, b, c, d, e, f, g, h] = word;
        if BIG_ENDIAN {
            let high = u64::from_be_bytes(word) & 0xff80_ff80_ff80_ff80;
            ([b, d, f, h, 0, 0, 0, 0], high.leading_zeros() as usize / 16)
        } else {
            let high = u64::from_le_bytes(word) & 0xff80_ff80_ff80_ff80;
            ([a, c, e, g, 0, 0, 0, 0], high.trailing_zeros() as usize / 16)
        }
    }

    #[inline]
    fn next(self, bytes: &[u8]) -> (u32, usize) {
        let unit = |bytes: [u8; 2]| match BIG_ENDIAN {
            true => u32::from(u16::from_be_bytes(bytes)),
            false => u32::from(u16::from_le_bytes(bytes)),
        };
        match *bytes {
            [a, b, ref rest @ ..] => match (unit([a, b]), rest) {
                (high @ 0xd800..0xdc00, &[c, d, ..]) if PAIRS => match unit([c, d]) {
                    low @ 0xdc00..0xe000 => {
                        (0x1_0000 + ((high - 0xd800) << 10) + (low - 0xdc00), 4)
                    }
                    _ => (BAD, 2),
                },
                (0xd800..0xe000, _) => (BAD, 2),
                (point, _) => (point, 2),
            },
            _ => (BAD, 1),
        }
    }
}

/// utf32, with the high byte first.
#[derive(Clone, Copy)]
pub(super) struct Utf32;

impl Scheme for Utf32 {
    const ASCII_WIDTH: usize = 0;

    #[inline]
    fn next(self, bytes: &[u8]) -> (u32, usize) {
        match bytes.first_chunk().map(|bytes| u32::from_be_bytes(*bytes)) {
            Some(point @ (0..0xd800 | 0xe000..=0x10_ffff)) => (point, 4),
            Some(_) => (BAD, 4),
            None => (BAD, bytes.len()),
        }
    }
}
