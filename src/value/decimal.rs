//! NEWDECIMAL(precision, scale): groups of nine decimal digits, big-endian, in an order that sorts by bytes.
//!
//! ```text
//! DECIMAL(14,4) = 1234567890.1234      81 | 0d fb 38 d2 | 04 d2
//!                                      │    │             └ rest of the fraction: 4 digits, 2 bytes
//!                                      │    └ 9 digits of the integer part: 234567890
//!                                      └ the integer's first digit: 1, and the sign bit 0x80
//!
//! digits in a group   1 2 3 4 5 6 7 8 9
//! bytes               1 1 2 2 3 3 4 4 4
//! ```
//!
//! The top bit of the first byte is 1 for a positive number. For a negative number, all bits of its
//! absolute value are flipped.
//!
//! <https://dev.mysql.com/doc/refman/8.4/en/precision-math-decimal-characteristics.html>

mod short;

use super::digits;
use crate::error::DecodeError;
use crate::wire::{Reader, Result};
pub use short::ShortDecimal;

/// The largest number of digits that MySQL and MariaDB store.
pub const MAX_PRECISION: u8 = 65;

/// The largest number of digits after the point: that of MariaDB; MySQL's is 30.
pub const MAX_SCALE: u8 = 38;

/// The largest number of digits that fit in an `i128`.
pub const MAX_PRECISION_I128: u8 = 38;

/// The number of bytes of a value of this precision and scale.
#[inline]
pub const fn byte_count(precision: u8, scale: u8) -> usize {
    part_bytes(precision.saturating_sub(scale)) + part_bytes(scale)
}

/// Returns the unscaled value (123.45 is 12345), for a precision of at most 38.
#[inline]
pub fn decode_i128(bytes: &[u8], precision: u8, scale: u8) -> Result<i128> {
    if precision > MAX_PRECISION_I128 {
        return Err(DecodeError::Limit {
            what: "decimal precision",
            value: u64::from(precision),
            limit: u64::from(MAX_PRECISION_I128),
        });
    }
    let mut groups = Groups::new(bytes, precision, scale, &IN_COLUMN)?;
    if precision <= 18 {
        // Most columns are this narrow: all calculations use eight bytes.
        let value = groups.fold(0u64, |value, group, unit| value * u64::from(unit) + group)? as i64;
        return Ok(i128::from(if groups.negative() { -value } else { value }));
    }
    let value = groups
        .fold(0u128, |value, group, unit| value * u128::from(unit) + u128::from(group))?
        as i128;
    Ok(if groups.negative() { -value } else { value })
}

/// Returns the unscaled value, for every precision.
pub fn decode_wide(bytes: &[u8], precision: u8, scale: u8) -> Result<Wide> {
    let mut groups = Groups::new(bytes, precision, scale, &IN_COLUMN)?;
    let magnitude = groups.fold([0u64; 4], |mut limbs, group, unit| {
        let mut carry = u128::from(group);
        for limb in &mut limbs {
            let product = u128::from(*limb) * u128::from(unit) + carry;
            *limb = product as u64;
            carry = product >> 64;
        }
        limbs
    })?;
    Ok(Wide { negative: groups.negative() && magnitude != [0; 4], magnitude })
}

/// Appends the value as MySQL prints it: `-12.345`, `0.0001`, with all digits of the scale, and
/// without a minus before a zero. After an error, `out` is unchanged.
pub fn write_text(bytes: &[u8], precision: u8, scale: u8, out: &mut Vec<u8>) -> Result<()> {
    write_groups(Groups::new(bytes, precision, scale, &IN_COLUMN)?, out)
}

/// Like [`write_text`], for a decimal in a JSON document.
pub(crate) fn write_json_text(
    bytes: &[u8],
    precision: u8,
    scale: u8,
    out: &mut Vec<u8>,
) -> Result<()> {
    write_groups(Groups::new(bytes, precision, scale, &IN_JSON)?, out)
}

/// A number of up to 256 bits, as sign and magnitude.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wide {
    /// True if the number is below zero; false for zero.
    pub negative: bool,
    /// The absolute value, least significant limb first.
    pub magnitude: [u64; 4],
}

impl Wide {
    /// Returns the low and the high half in two's complement, for Arrow's `i256::from_parts`.
    #[inline]
    pub const fn to_parts(self) -> (u128, i128) {
        let [a, b, c, d] = self.magnitude;
        let low = (a as u128) | (b as u128) << 64;
        let high = (c as u128) | (d as u128) << 64;
        if !self.negative {
            return (low, high as i128);
        }
        let (low, borrow) = 0u128.overflowing_sub(low);
        (low, 0u128.wrapping_sub(high).wrapping_sub(borrow as u128) as i128)
    }
}

fn write_groups(groups: Groups<'_>, out: &mut Vec<u8>) -> Result<()> {
    let start = out.len();
    let result = write_digits(groups, out);
    if result.is_err() {
        out.truncate(start);
    }
    result
}

fn write_digits(mut groups: Groups<'_>, out: &mut Vec<u8>) -> Result<()> {
    let start = out.len();
    if groups.negative() {
        out.push(b'-');
    }
    let mut any = 0;
    let mut left = groups.integer;
    while left > 0 {
        // An incomplete group is the first of the integer part, but the last of the fraction.
        let digits =
            if left.is_multiple_of(GROUP_DIGITS) { GROUP_DIGITS } else { left % GROUP_DIGITS };
        let group = groups.group(digits)?;
        if any != 0 {
            digits::push_padded(out, group, usize::from(digits));
        } else if group != 0 {
            digits::push(out, group);
        }
        any |= group;
        left -= digits;
    }
    if any == 0 {
        out.push(b'0');
    }
    if groups.scale > 0 {
        out.push(b'.');
    }
    let mut left = groups.scale;
    while left > 0 {
        let digits = left.min(GROUP_DIGITS);
        let group = groups.group(digits)?;
        digits::push_padded(out, group, usize::from(digits));
        any |= group;
        left -= digits;
    }
    if any == 0 && groups.negative() {
        out.remove(start);
    }
    Ok(())
}

/// The groups of a value, in order.
struct Groups<'a> {
    reader: Reader<'a>,
    /// All ones for a negative number, to flip its bits; otherwise 0.
    mask: u32,
    /// The sign bit until the first byte is read, then 0.
    sign: u32,
    integer: u8,
    scale: u8,
}

impl<'a> Groups<'a> {
    #[inline]
    fn new(bytes: &'a [u8], precision: u8, scale: u8, bounds: &Bounds) -> Result<Self> {
        check_size(bytes.len(), precision, scale, bounds)?;
        let negative = bytes.first().is_some_and(|byte| byte & 0x80 == 0);
        Ok(Self {
            reader: Reader::new(bytes),
            mask: if negative { u32::MAX } else { 0 },
            sign: 0x80,
            integer: precision - scale,
            scale,
        })
    }

    #[inline]
    fn negative(&self) -> bool {
        self.mask != 0
    }

    /// Calls `add(value so far, group, ten to the power of the group's digits)` for each group.
    #[inline]
    fn fold<T>(&mut self, zero: T, add: impl Fn(T, u64, u32) -> T) -> Result<T> {
        let mut value = zero;
        let head = self.integer % GROUP_DIGITS;
        if head > 0 {
            value = add(value, self.group(head)?, 0);
        }
        let full_groups = self.integer / GROUP_DIGITS + self.scale / GROUP_DIGITS;
        for _ in 0..full_groups {
            value = add(value, self.group(GROUP_DIGITS)?, unit(GROUP_DIGITS));
        }
        let tail = self.scale % GROUP_DIGITS;
        if tail > 0 {
            value = add(value, self.group(tail)?, unit(tail));
        }
        Ok(value)
    }

    /// Returns the next group, of 1 to 9 digits.
    #[inline]
    fn group(&mut self, digits: u8) -> Result<u64> {
        let bytes = self.reader.take(group_bytes(digits), "decimal group")?;
        let (stored, ones, sign_shift) = match *bytes {
            [a] => (u32::from(a), 0xff, 0),
            [a, b] => (u32::from_be_bytes([0, 0, a, b]), 0xffff, 8),
            [a, b, c] => (u32::from_be_bytes([0, a, b, c]), 0xff_ffff, 16),
            [a, b, c, d] => (u32::from_be_bytes([a, b, c, d]), u32::MAX, 24),
            _ => (u32::MAX, u32::MAX, 24),
        };
        let group = stored ^ (self.mask & ones) ^ self.sign << sign_shift;
        self.sign = 0;
        if group >= unit(digits) {
            return Err(DecodeError::Invalid {
                what: "decimal group beyond its digits",
                value: u64::from(digits),
            });
        }
        Ok(u64::from(group))
    }
}

#[inline]
fn check_size(len: usize, precision: u8, scale: u8, bounds: &Bounds) -> Result<()> {
    if precision == 0 || precision > bounds.precision {
        return Err(DecodeError::Invalid {
            what: "decimal precision",
            value: u64::from(precision),
        });
    }
    if scale > precision || scale > bounds.scale {
        return Err(DecodeError::Invalid { what: "decimal scale", value: u64::from(scale) });
    }
    let needed = byte_count(precision, scale);
    if len < needed {
        return Err(DecodeError::UnexpectedEnd { what: "decimal", needed, left: len });
    }
    if len > needed {
        return Err(DecodeError::LeftOver { what: "decimal", bytes: len - needed });
    }
    Ok(())
}

/// The number of bytes of an integer part or fraction that has this number of digits.
const fn part_bytes(digits: u8) -> usize {
    (digits / GROUP_DIGITS) as usize * 4 + group_bytes(digits % GROUP_DIGITS)
}

/// The number of bytes of a group of up to nine digits.
#[inline]
const fn group_bytes(digits: u8) -> usize {
    if digits == GROUP_DIGITS { 4 } else { digits.div_ceil(2) as usize }
}

/// Ten to the power of `digits`, for up to nine.
#[inline]
fn unit(digits: u8) -> u32 {
    const UNITS: [u32; 10] =
        [1, 10, 100, 1_000, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000, 1_000_000_000];
    UNITS.get(usize::from(digits)).copied().unwrap_or(0)
}

const GROUP_DIGITS: u8 = 9;

/// The largest precision and scale that are accepted.
struct Bounds {
    precision: u8,
    scale: u8,
}

const IN_COLUMN: Bounds = Bounds { precision: MAX_PRECISION, scale: MAX_SCALE };

/// The nine groups of the server's buffer. Decimals in JSON documents come from literals and
/// arithmetic too, and these have more digits before and after the point than a column can have.
const IN_JSON: Bounds = Bounds { precision: 81, scale: 81 };

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Packs `digits` (their number is the precision): the reverse of decoding.
    fn encode(negative: bool, digits: &[u8], scale: u8) -> Vec<u8> {
        let (integer, fraction) = digits.split_at(digits.len() - usize::from(scale));
        let mut bytes = Vec::new();
        let mut pack = |group: &[u8]| {
            let number = group.iter().fold(0u32, |number, digit| number * 10 + u32::from(*digit));
            bytes.extend(&number.to_be_bytes()[4 - [0, 1, 1, 2, 2, 3, 3, 4, 4, 4][group.len()]..]);
        };
        let (head, groups) = integer.split_at(integer.len() % 9);
        pack(head);
        groups.chunks(9).for_each(&mut pack);
        fraction.chunks(9).for_each(&mut pack);
        bytes[0] ^= 0x80;
        if negative {
            bytes.iter_mut().for_each(|byte| *byte ^= 0xff);
        }
        bytes
    }

    fn text(bytes: &[u8], precision: u8, scale: u8) -> Result<String> {
        let mut out = b"before:".to_vec();
        let result = write_text(bytes, precision, scale, &mut out);
        let out = String::from_utf8(out).unwrap().split_off(7);
        assert!(result.is_ok() || out.is_empty());
        result.map(|()| out)
    }

    #[test]
    fn vectors() {
        for (bytes, precision, scale, value, printed) in [
            (
                &[0x7e, 0xf2, 0x04, 0xc7, 0x2d, 0xfb, 0x2d][..],
                14,
                4,
                -12_345_678_901_234,
                "-1234567890.1234",
            ),
            (
                &[0x81, 0x0d, 0xfb, 0x38, 0xd2, 0x04, 0xd2],
                14,
                4,
                12_345_678_901_234,
                "1234567890.1234",
            ),
            (&[0x80, 0, 0, 0, 0x2a], 10, 0, 42, "42"),
            (&[0x80, 0, 0, 0, 0, 0, 1], 14, 4, 1, "0.0001"),
            (&[0x7f, 0xf3, 0xfe, 0xa6], 6, 3, -12_345, "-12.345"),
            (&[0x7f, 0xff, 0xff, 0xff], 6, 3, 0, "0.000"),
            (&[0x80], 1, 0, 0, "0"),
            (&[0x89], 1, 1, 9, "0.9"),
        ] {
            assert_eq!(byte_count(precision, scale), bytes.len());
            assert_eq!(decode_i128(bytes, precision, scale), Ok(value));
            assert_eq!(text(bytes, precision, scale).unwrap(), printed);
        }
    }

    #[test]
    fn rejects() {
        assert!(decode_i128(&[0xff; 4], 9, 0).is_err(), "a group of 10^9 and more");
        assert!(decode_i128(&[0x80 | 10], 1, 0).is_err());
        assert!(text(&[0x80, 0, 0, 0, 1, 0xff, 0xff], 14, 4).is_err());
        assert!(decode_i128(&[], 0, 0).is_err());
        assert!(decode_wide(&[0x80; 30], 66, 0).is_err());
        assert!(decode_i128(&[0x80; 4], 5, 6).is_err());
        assert!(decode_i128(&[0x80; 4], 10, 0).is_err(), "too short");
        assert!(decode_i128(&[0x80; 6], 10, 0).is_err(), "too long");
        assert!(decode_i128(&[0x80; 20], 39, 0).is_err(), "beyond an i128");
    }

    fn decimals(max_precision: u8) -> impl Strategy<Value = (bool, Vec<u8>, u8)> {
        (1..=max_precision, any::<u8>()).prop_flat_map(|(precision, scale)| {
            let digits = prop_oneof![
                proptest::collection::vec(0..=9u8, usize::from(precision)),
                proptest::collection::vec(
                    prop_oneof![9 => Just(0u8), 1 => 0..=9u8],
                    usize::from(precision)
                ),
                Just(vec![9; usize::from(precision)]),
            ];
            (any::<bool>(), digits, Just(scale % (precision.min(MAX_SCALE) + 1)))
        })
    }

    proptest! {
        #[test]
        fn narrow_round_trip((negative, digits, scale) in decimals(38)) {
            let precision = digits.len() as u8;
            let bytes = encode(negative, &digits, scale);
            prop_assert_eq!(bytes.len(), byte_count(precision, scale));
            let magnitude = digits.iter().fold(0i128, |value, digit| value * 10 + i128::from(*digit));
            let value = if negative { -magnitude } else { magnitude };
            prop_assert_eq!(decode_i128(&bytes, precision, scale), Ok(value));
            let (low, high) = decode_wide(&bytes, precision, scale).unwrap().to_parts();
            prop_assert_eq!((low as i128, high), (value, value >> 127));
        }

        #[test]
        fn text_round_trip((negative, digits, scale) in decimals(65)) {
            let precision = digits.len() as u8;
            let bytes = encode(negative, &digits, scale);
            let point = digits.len() - usize::from(scale);
            let mut expected: String = digits.iter().map(|digit| char::from(b'0' + digit)).collect();
            if scale > 0 {
                expected.insert(point, '.');
            }
            let integer = expected.trim_start_matches('0');
            let lead = if integer.is_empty() || integer.starts_with('.') { "0" } else { "" };
            let minus = if negative && digits.iter().any(|digit| *digit != 0) { "-" } else { "" };
            prop_assert_eq!(text(&bytes, precision, scale).unwrap(), format!("{minus}{lead}{integer}"));
        }

        #[test]
        fn wide_is_the_sum_of_its_digits((negative, digits, scale) in decimals(65)) {
            let wide = decode_wide(&encode(negative, &digits, scale), digits.len() as u8, scale).unwrap();
            // Divide by ten, digit after digit, and compare from the last.
            let mut limbs = wide.magnitude;
            for digit in digits.iter().rev() {
                let mut rest = 0u128;
                for limb in limbs.iter_mut().rev() {
                    let part = rest << 64 | u128::from(*limb);
                    *limb = (part / 10) as u64;
                    rest = part % 10;
                }
                prop_assert_eq!(rest, u128::from(*digit));
            }
            prop_assert_eq!(limbs, [0; 4]);
        }

        #[test]
        fn any_bytes_do_no_harm(bytes in proptest::collection::vec(any::<u8>(), 0..40), precision: u8, scale: u8) {
            let narrow = decode_i128(&bytes, precision, scale);
            let wide = decode_wide(&bytes, precision, scale);
            prop_assert_eq!(wide.is_ok(), text(&bytes, precision, scale).is_ok());
            prop_assert!(narrow.is_err() || wide.is_ok());
        }
    }
}
