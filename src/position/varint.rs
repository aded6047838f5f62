//! The numbers of MySQL's serialization library, in tagged GTID events and in the tags of GTID sets.
//!
//! ```text
//! trailing 1 bits of the first byte = bytes that follow it, k
//! k < 8: the k + 1 bytes, little-endian, shifted right by k + 1      k = 8 (ff): the 8 bytes after it
//! ```
//! A longer form than a number needs is read like the shortest.

use crate::wire::{Reader, Result};

/// Decodes an unsigned number.
pub(crate) fn decode_varint(reader: &mut Reader<'_>, what: &'static str) -> Result<u64> {
    let first = reader.u8(what)?;
    let follow = first.trailing_ones();
    let rest = reader.uint_le(follow as usize, what)?;
    if follow == u8::BITS {
        return Ok(rest);
    }
    // The rest of the first byte contains the lowest bits.
    Ok(rest << (7 - follow) | u64::from(first) >> (follow + 1))
}

/// Decodes a signed number: if the lowest bit is set, the others are inverted.
pub(crate) fn decode_varint_signed(reader: &mut Reader<'_>, what: &'static str) -> Result<i64> {
    let number = decode_varint(reader, what)?;
    Ok((number >> 1).cast_signed() ^ -(number & 1).cast_signed())
}

/// Appends the shortest form of `number`.
pub(crate) fn encode_varint(out: &mut Vec<u8>, number: u64) {
    let bits = u64::BITS - number.leading_zeros();
    let follow = bits.saturating_sub(1) / 7;
    if follow >= u8::BITS {
        out.push(0xff);
        out.extend(number.to_le_bytes());
        return;
    }
    let marked = u128::from(number) << (follow + 1) | ((1 << follow) - 1);
    out.extend(marked.to_le_bytes().iter().take(follow as usize + 1));
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const UNSIGNED: [(u64, &[u8]); 9] = [
        (0, &[0]),
        (127, &[0xfe]),
        (128, &[1, 2]),
        (16383, &[0xfd, 0xff]),
        (16384, &[3, 0, 2]),
        ((1 << 56) - 1, &[0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff]),
        (1 << 56, &[0xff, 0, 0, 0, 0, 0, 0, 0, 1]),
        (u64::MAX, &[0xff; 9]),
        (1770368687207196, &[0x7f, 0x1c, 0xf3, 0xb8, 0x14, 0x24, 0x4a, 0x06]),
    ];

    #[test]
    fn unsigned() {
        for (number, bytes) in UNSIGNED {
            assert_eq!(decode_varint(&mut Reader::new(bytes), "n"), Ok(number));
            let mut out = Vec::new();
            encode_varint(&mut out, number);
            assert_eq!(out, bytes, "{number}");
            assert!(decode_varint(&mut Reader::new(&bytes[..bytes.len() - 1]), "n").is_err());
        }
        assert_eq!(decode_varint(&mut Reader::new(&[0x01, 0x00]), "n"), Ok(0));
    }

    #[test]
    fn signed() {
        for (number, bytes) in [
            (0, &[0][..]),
            (-1, &[2]),
            (1, &[4]),
            (-2, &[6]),
            (65535, &[0xf3, 0xff, 0x0f]),
            (-65536, &[0xfb, 0xff, 0x0f]),
            (i64::MIN, &[0xff; 9]),
        ] {
            assert_eq!(decode_varint_signed(&mut Reader::new(bytes), "n"), Ok(number));
        }
    }

    proptest! {
        #[test]
        fn round_trip(number: u64, shift in 0u32..64) {
            let number = number >> shift;
            let mut out = Vec::new();
            encode_varint(&mut out, number);
            let mut reader = Reader::new(&out);
            prop_assert_eq!(decode_varint(&mut reader, "n"), Ok(number));
            prop_assert!(reader.is_empty());
        }
    }
}
