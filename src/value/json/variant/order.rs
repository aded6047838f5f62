//! The order of keys: Spark compares them by UTF-16, while the Parquet document says by bytes.
//!
//! The two orders differ for a character above U+FFFF and one from U+E000 to U+FFFF: in UTF-16 the
//! surrogates of the former come first. Spark finds a key in a large object with a binary search,
//! so its order is used.

use std::cmp::Ordering;

/// Compares texts in UTF-8 in the order of their UTF-16.
pub(super) fn by_utf16(one: &[u8], other: &[u8]) -> Ordering {
    match one.iter().zip(other).find(|(a, b)| a != b) {
        None => one.len().cmp(&other.len()),
        // The first bytes that differ begin characters, or continue characters of the same size.
        Some((a, b)) => rank(*a).cmp(&rank(*b)),
    }
}

/// Lead bytes of four-byte characters (0xf0 on) are ordered before those of U+E000 to U+FFFF (0xee
/// and 0xef).
const fn rank(byte: u8) -> u8 {
    match byte {
        0xee | 0xef => byte | 0x10,
        0xf0.. => byte - 2,
        _ => byte,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn expected(one: &str, other: &str) -> Ordering {
        one.encode_utf16().cmp(other.encode_utf16())
    }

    #[test]
    fn surrogates_come_first() {
        let keys = ["", "a", "aa", "b", "é", "€", "\u{d7ff}", "😀", "\u{10ffff}", "\u{e000}", "Ａ"];
        for (place, one) in keys.iter().enumerate() {
            for (other_place, other) in keys.iter().enumerate() {
                assert_eq!(by_utf16(one.as_bytes(), other.as_bytes()), place.cmp(&other_place));
                assert_eq!(expected(one, other), place.cmp(&other_place));
            }
        }
    }

    proptest! {
        #[test]
        fn as_utf16(one in "[ab\u{e000}-\u{ffff}\u{10000}-\u{10ffff}]{0,4}", other in "[ab\u{e000}-\u{ffff}\u{10000}-\u{10ffff}]{0,4}") {
            prop_assert_eq!(by_utf16(one.as_bytes(), other.as_bytes()), expected(&one, &other));
        }
    }
}
