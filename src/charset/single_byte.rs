//! Character sets with one byte per character.

use super::scheme::{BAD, NO_CODE_POINT, Scheme};

/// The code point of each byte, from a measured table.
pub(super) type Points = [u16; 256];

/// A character set with a table. `ASCII` is false if bytes below 0x80 are characters other than
/// those of ASCII.
#[derive(Clone, Copy)]
pub(super) struct SingleByte<const ASCII: bool>(pub(super) &'static Points);

impl<const ASCII: bool> Scheme for SingleByte<ASCII> {
    const ASCII_WIDTH: usize = if ASCII { 1 } else { 0 };

    #[inline]
    fn next(self, bytes: &[u8]) -> (u32, usize) {
        let point = bytes.first().and_then(|byte| self.0.get(usize::from(*byte)));
        match point {
            Some(&point) if point != NO_CODE_POINT => (u32::from(point), 1),
            _ => (BAD, 1),
        }
    }
}

/// ASCII: bytes above 0x7f are invalid.
#[derive(Clone, Copy)]
pub(super) struct Ascii;

impl Scheme for Ascii {
    const ASCII_WIDTH: usize = 1;

    #[inline]
    fn next(self, bytes: &[u8]) -> (u32, usize) {
        match bytes.first() {
            Some(byte) if byte.is_ascii() => (u32::from(*byte), 1),
            _ => (BAD, 1),
        }
    }
}

/// Reads the numbers of a table file.
pub(super) const fn points(file: &[u8; 512]) -> Points {
    let (cells, _) = file.as_chunks::<2>();
    let mut points = [0; 256];
    let (mut table, mut cells) = (points.as_mut_slice(), cells);
    while let ([point, points @ ..], [cell, rest @ ..]) = (table, cells) {
        *point = u16::from_le_bytes(*cell);
        (table, cells) = (points, rest);
    }
    points
}
