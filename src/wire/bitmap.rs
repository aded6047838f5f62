//! Bitmaps over borrowed bytes, in the two bit orders that the binary log uses.

/// Bits counted from the least significant bit of each byte: null bits, columns-present bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bitmap<'a>(pub &'a [u8]);

impl Bitmap<'_> {
    /// The number of bytes that `bits` bits need.
    pub const fn byte_count(bits: usize) -> usize {
        bits.div_ceil(8)
    }

    /// Returns bit `index`; a bit beyond the end is 0.
    #[inline]
    pub fn get(self, index: usize) -> bool {
        self.0.get(index / 8).is_some_and(|byte| byte >> (index % 8) & 1 == 1)
    }

    /// Returns at most 64 bits as a number: bit 0 is the lowest. `None` if there are more.
    #[inline]
    pub(crate) fn to_number(self) -> Option<u64> {
        Some(match *self.0 {
            [] => 0,
            [a] => u64::from(a),
            [a, b] => u64::from(u16::from_le_bytes([a, b])),
            [a, b, c] => u64::from(u32::from_le_bytes([a, b, c, 0])),
            _ => {
                // The first and the last four bytes may overlap.
                let (first, last) = (self.0.first_chunk()?, self.0.last_chunk()?);
                let (first, last) = (u32::from_le_bytes(*first), u32::from_le_bytes(*last));
                let shift = 8 * (self.0.len() - size_of::<u32>());
                (shift <= 32).then(|| u64::from(first) | u64::from(last) << shift)?
            }
        })
    }

    /// Counts the bits that are 1 among the first `bits` bits.
    pub fn count_ones(self, bits: usize) -> usize {
        let (full, rest) = (bits / 8, bits % 8);
        let ones: u32 = self.0.iter().take(full).map(|byte| byte.count_ones()).sum();
        let last = self.0.get(full).map_or(0, |byte| byte & ((1u8 << rest) - 1));
        (ones + last.count_ones()) as usize
    }
}

/// Bits counted from the most significant bit of each byte: SIGNEDNESS and COLUMN_VISIBILITY of the
/// table map.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MsbBitmap<'a>(pub &'a [u8]);

impl MsbBitmap<'_> {
    /// Returns bit `index`; a bit beyond the end is 0.
    pub fn get(self, index: usize) -> bool {
        self.0.get(index / 8).is_some_and(|byte| byte >> (7 - index % 8) & 1 == 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_orders() {
        assert!(Bitmap(&[0b0000_0010]).get(1) && !Bitmap(&[0b0000_0010]).get(0));
        assert!(MsbBitmap(&[0b0100_0000]).get(1) && !MsbBitmap(&[0b0100_0000]).get(0));
        assert!(!Bitmap(&[0xff]).get(8));
        let bytes = [0x81, 0x92, 0xa3, 0xb4, 0xc5, 0xd6, 0xe7, 0xf8, 0x09];
        for len in 0..=8 {
            let number =
                bytes[..len].iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte));
            assert_eq!(Bitmap(&bytes[..len]).to_number(), Some(number));
        }
        assert_eq!(Bitmap(&bytes).to_number(), None);
        assert_eq!(Bitmap(&[0xff, 0xff]).count_ones(9), 9);
        assert_eq!(Bitmap(&[0xff, 0xfe]).count_ones(9), 8);
        assert_eq!(Bitmap(&[0xff]).count_ones(8), 8);
    }
}
