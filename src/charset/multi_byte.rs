//! East Asian character sets: ASCII characters have one byte; all others have two to four, and the
//! first is above 0x7f.

use super::scheme::{BAD, NO_CODE_POINT, Scheme};

/// Code points of two-byte characters: one row for each lead byte, one column for each trail byte.
/// 0: no character.
#[derive(Clone, Copy)]
pub(super) struct Grid {
    first_lead: u8,
    first_trail: u8,
    width: u8,
    cells: &'static [[u8; 2]],
}

impl Grid {
    /// Creates the grid from a file of the measured tables.
    pub(super) const fn new(
        first_lead: u8,
        first_trail: u8,
        last_trail: u8,
        file: &'static [u8],
    ) -> Self {
        let (cells, _) = file.as_chunks();
        Self { first_lead, first_trail, width: last_trail - first_trail + 1, cells }
    }

    /// Returns the character of a lead and a trail byte, and its number of bytes. An undefined pair
    /// is one bad byte, so that the second byte can begin a character; a defined character that
    /// Unicode lacks is a bad character of two bytes.
    #[inline]
    fn get(&self, lead: u8, trail: u8) -> (u32, usize) {
        let row = usize::from(lead.wrapping_sub(self.first_lead));
        let column = trail.wrapping_sub(self.first_trail);
        if column >= self.width {
            return (BAD, 1);
        }
        let index = row * usize::from(self.width) + usize::from(column);
        match self.cells.get(index).map_or(0, |cell| u16::from_le_bytes(*cell)) {
            0 => (BAD, 1),
            NO_CODE_POINT => (BAD, 2),
            point => (u32::from(point), 2),
        }
    }
}

/// big5, euckr, gb2312 and gbk.
#[derive(Clone, Copy)]
pub(super) struct DoubleByte(pub(super) &'static Grid);

impl Scheme for DoubleByte {
    const ASCII_WIDTH: usize = 1;

    #[inline]
    fn next(self, bytes: &[u8]) -> (u32, usize) {
        match *bytes {
            [byte, ..] if byte.is_ascii() => (u32::from(byte), 1),
            [lead, trail, ..] => self.0.get(lead, trail),
            _ => (BAD, 1),
        }
    }
}

/// sjis and cp932: the half-width katakana are between the lead bytes. The grid has no rows for
/// them.
#[derive(Clone, Copy)]
pub(super) struct ShiftedJis(pub(super) &'static Grid);

impl Scheme for ShiftedJis {
    const ASCII_WIDTH: usize = 1;

    #[inline]
    fn next(self, bytes: &[u8]) -> (u32, usize) {
        match *bytes {
            [byte, ..] if byte.is_ascii() => (u32::from(byte), 1),
            [byte @ FIRST_KANA..=LAST_KANA, ..] => (katakana(byte), 1),
            [lead @ 0xe0..=0xff, trail, ..] => self.0.get(lead - 0x40, trail),
            [lead @ 0x80..=0x9f, trail, ..] => self.0.get(lead, trail),
            _ => (BAD, 1),
        }
    }
}

/// ujis and eucjpms: half-width katakana after the byte 8e, and a second grid of characters after
/// 8f.
#[derive(Clone, Copy)]
pub(super) struct EucJapanese(pub(super) &'static Grid, pub(super) &'static Grid);

impl Scheme for EucJapanese {
    const ASCII_WIDTH: usize = 1;

    #[inline]
    fn next(self, bytes: &[u8]) -> (u32, usize) {
        match *bytes {
            [byte, ..] if byte.is_ascii() => (u32::from(byte), 1),
            [0x8e, byte @ FIRST_KANA..=LAST_KANA, ..] => (katakana(byte), 2),
            [0x8f, lead, trail, ..] => match self.1.get(lead, trail) {
                (point, 2) => (point, 3),
                bad => bad,
            },
            [lead, trail, ..] => self.0.get(lead, trail),
            _ => (BAD, 1),
        }
    }
}

const FIRST_KANA: u8 = 0xa1;
const LAST_KANA: u8 = 0xdf;

/// The half-width katakana and punctuation marks from U+FF61 on.
#[inline]
fn katakana(byte: u8) -> u32 {
    0xff61 + u32::from(byte - FIRST_KANA)
}

/// gb18030: two bytes as in gbk, four bytes for all other characters of Unicode.
#[derive(Clone, Copy)]
pub(super) struct Gb18030 {
    pub(super) two: &'static Grid,
    /// The four-byte sequences below U+10000 as runs: the number of the first sequence, and its
    /// code point.
    pub(super) four: &'static [[u8; 4]],
}

impl Scheme for Gb18030 {
    const ASCII_WIDTH: usize = 1;

    #[inline]
    fn next(self, bytes: &[u8]) -> (u32, usize) {
        match *bytes {
            [byte, ..] if byte.is_ascii() => (u32::from(byte), 1),
            [a @ 0x81..=0xfe, b @ b'0'..=b'9', c @ 0x81..=0xfe, d @ b'0'..=b'9', ..] => {
                (self.four_bytes([a, b, c, d]), 4)
            }
            [lead, trail, ..] => self.two.get(lead, trail),
            _ => (BAD, 1),
        }
    }
}

impl Gb18030 {
    /// Converts a four-byte sequence to its number: the bytes are digits in the bases 126, 10, 126
    /// and 10.
    fn four_bytes(self, [a, b, c, d]: [u8; 4]) -> u32 {
        let digits = u32::from(a - 0x81) * 10 + u32::from(b - b'0');
        let number = (digits * 126 + u32::from(c - 0x81)) * 10 + u32::from(d - b'0');
        match number {
            ..FOUR_BYTES_BELOW_10000 => {
                let run = |cell: &[u8; 4]| {
                    let [low, high, point_low, point_high] = *cell;
                    (u16::from_le_bytes([low, high]), u16::from_le_bytes([point_low, point_high]))
                };
                let after = self.four.partition_point(|cell| u32::from(run(cell).0) <= number);
                let cell = after.checked_sub(1).and_then(|index| self.four.get(index));
                cell.map(run)
                    .map_or(BAD, |(first, point)| u32::from(point) + (number - u32::from(first)))
            }
            FOUR_BYTES_FROM_10000..=LAST_FOUR_BYTES => number - FOUR_BYTES_FROM_10000 + 0x1_0000,
            _ => BAD,
        }
    }
}

/// The number of four-byte sequences for characters below U+10000, from 81308130 on.
const FOUR_BYTES_BELOW_10000: u32 = 39_420;
/// The number of the sequence 90308130, U+10000.
const FOUR_BYTES_FROM_10000: u32 = 189_000;
/// The number of the sequence e3329a35, U+10FFFF.
const LAST_FOUR_BYTES: u32 = FOUR_BYTES_FROM_10000 + 0xf_ffff;
