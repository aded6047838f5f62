//! Appends the digits of numbers to a byte vector, without `std::fmt`.

use crate::wire::HEX_DIGITS;

/// The largest number of digits of a `u64`.
const MAX_DIGITS: usize = 20;

/// Appends `value` with at least `width` digits, with leading zeros. A width above 20 counts as 20.
#[inline]
pub(crate) fn push_padded(out: &mut Vec<u8>, value: u64, width: usize) {
    match width {
        2 if value < 100 => out.extend_from_slice(&pair(value)),
        4 if value < 10_000 => out.extend_from_slice(&four(value)),
        _ => push_digits(out, value, width),
    }
}

/// Appends `value` without leading zeros; zero is `0`.
#[inline]
pub(crate) fn push(out: &mut Vec<u8>, value: u64) {
    match value {
        0..10 => out.push(b'0' + value as u8),
        10..100 => out.extend_from_slice(&pair(value)),
        100..1000 => {
            let [_, digits @ ..] = four(value);
            out.extend_from_slice(&digits);
        }
        1000..10_000 => out.extend_from_slice(&four(value)),
        10_000..100_000_000 => {
            push(out, value / 10_000);
            out.extend_from_slice(&four(value % 10_000));
        }
        _ => push_digits(out, value, 1),
    }
}

/// Returns the last two digits of `value`.
#[inline]
pub(super) fn pair(value: u64) -> [u8; 2] {
    PAIRS.get((value % 100) as usize).copied().unwrap_or_default()
}

/// The digits of the numbers below 100.
static PAIRS: [[u8; 2]; 100] = {
    let mut pairs = [[b'0'; 2]; 100];
    let (mut rest, mut number) = (pairs.as_mut_slice(), 0);
    while let [pair, others @ ..] = rest {
        *pair = [b'0' + number / 10, b'0' + number % 10];
        (rest, number) = (others, number + 1);
    }
    pairs
};

/// Returns the last four digits of `value`.
#[inline]
pub(super) fn four(value: u64) -> [u8; 4] {
    let ([a, b], [c, d]) = (pair(value / 100), pair(value));
    [a, b, c, d]
}

/// [`push_padded`] for any value and width.
fn push_digits(out: &mut Vec<u8>, mut value: u64, width: usize) {
    let mut buffer = [[b'0'; 2]; MAX_DIGITS / 2];
    let mut used = 0;
    for digits in buffer.iter_mut().rev() {
        if value == 0 {
            break;
        }
        *digits = pair(value);
        used += if value < 10 { 1 } else { 2 };
        value /= 100;
    }
    let skip = MAX_DIGITS.saturating_sub(used.max(width));
    out.extend_from_slice(buffer.as_flattened().get(skip..).unwrap_or_default());
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

    #[test]
    fn values_of_all_lengths() {
        let powers = (0..20).map(|digits| 10_u64.pow(digits));
        let near = powers.flat_map(|power| [power - 1, power, power + 1, power.wrapping_mul(7)]);
        for value in (0..20_000).chain(near).chain([u64::MAX]) {
            for width in 0..=MAX_DIGITS {
                let mut out = Vec::new();
                push_padded(&mut out, value, width);
                let expected = match (value, width) {
                    (0, 0) => String::new(),
                    _ => format!("{value:0width$}"),
                };
                assert_eq!(out, expected.as_bytes());
                out.clear();
                push(&mut out, value);
                assert_eq!(out, value.to_string().as_bytes());
            }
        }
    }
}
