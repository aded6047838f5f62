//! Appends the digits of numbers to a byte vector, without `std::fmt`.

use crate::wire::HEX_DIGITS;

/// The largest number of digits of a `u64`.
const MAX_DIGITS: usize = 20;

/// Appends `value` with at least `width` digits, with leading zeros. A width above 20 counts as 20.
#[inline]
pub(crate) fn push_padded(out: &mut Vec<u8>, mut value: u64, width: usize) {
    let mut buffer = [b'0'; MAX_DIGITS];
    let mut used = 0;
    for digit in buffer.iter_mut().rev() {
        if value == 0 {
            break;
        }
        *digit = b'0' + (value % 10) as u8;
        value /= 10;
        used += 1;
    }
    let skip = MAX_DIGITS.saturating_sub(used.max(width));
    out.extend(buffer.get(skip..).unwrap_or_default());
}

/// Appends `value` without leading zeros; zero is `0`.
#[inline]
pub(crate) fn push(out: &mut Vec<u8>, value: u64) {
    push_padded(out, value, 1);
}

/// Appends `value` in base 16 without leading zeros; zero is `0`.
pub(crate) fn push_hex(out: &mut Vec<u8>, value: u16) {
    let nibbles = [value >> 12, value >> 8 & 15, value >> 4 & 15, value & 15];
    let zeros = nibbles.iter().take(3).take_while(|nibble| **nibble == 0).count();
    out.extend(nibbles.iter().skip(zeros).filter_map(|n| HEX_DIGITS.get(usize::from(*n))));
}

/// Appends `value` without leading zeros, with a `-` if it is negative.
#[inline]
pub(crate) fn push_signed(out: &mut Vec<u8>, value: i64) {
    if value < 0 {
        out.push(b'-');
    }
    push(out, value.unsigned_abs());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn widths() {
        let mut out = Vec::new();
        for (value, width) in [(0, 0), (0, 1), (7, 3), (1234, 2), (u64::MAX, 0), (5, 99)] {
            push_padded(&mut out, value, width);
            out.push(b' ');
        }
        assert_eq!(out, b" 0 007 1234 18446744073709551615 00000000000000000005 ");
        out.clear();
        push_signed(&mut out, i64::MIN);
        assert_eq!(out, b"-9223372036854775808");
    }
}
