//! The order of keys: Spark compares them by UTF-16, the Parquet document by bytes.
//!
//! They part where a character above U+FFFF meets one from U+E000 to U+FFFF: its surrogates come first in UTF-16. Spark
//! finds a key in a large object by halving, so that its order is the one to keep.

use std::cmp::Ordering;

/// Compares texts in UTF-8 as their UTF-16 would compare.
pub(super) fn by_utf16(one: &[u8], other: &[u8]) -> Ordering {
    match one.iter().zip(other).find(|(a, b)| a != b) {
        None => one.len().cmp(&other.len()),
        // The first bytes that differ begin characters, or continue ones of the same size.
        Some((a, b)) => rank(*a).cmp(&rank(*b)),
    }
}

/// Lead bytes of four-byte characters (0xf0 on) go before those of U+E000 to U+FFFF (0xee and 0xef).
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
