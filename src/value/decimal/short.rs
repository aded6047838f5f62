//! Decimals of at most 18 digits. Most columns have no more. The sizes of the groups of digits are determined once per column.

use super::{GROUP_DIGITS, byte_count, group_bytes, unit};

/// The groups of digits in the values of one column.
#[derive(Debug, Clone, Copy)]
pub struct ShortDecimal {
    groups: [Group; MAX_GROUPS],
    bytes: usize,
}

#[derive(Debug, Clone, Copy)]
struct Group {
    /// The number of bits after the group.
    shift: u32,
    /// All bits that are stored.
    ones: u32,
    /// Ten to the power of its digits.
    unit: u32,
}

/// A group of no digits. Its only value is 0.
const NO_GROUP: Group = Group { shift: 0, ones: 0, unit: 1 };

impl ShortDecimal {
    /// The form of a column. `None` if it has more digits, or if MySQL has no such column.
    pub fn of(precision: u8, scale: u8) -> Option<Self> {
        let integer = precision.checked_sub(scale)?;
        if precision == 0 || precision > MAX_PRECISION {
            return None;
        }
        let digits = std::iter::once(integer % GROUP_DIGITS)
            .chain((0..integer / GROUP_DIGITS + scale / GROUP_DIGITS).map(|_| GROUP_DIGITS))
            .chain([scale % GROUP_DIGITS]);
        let bytes = byte_count(precision, scale);
        let (mut groups, mut places, mut left) = ([NO_GROUP; MAX_GROUPS], 0.., bytes);
        for digits in digits.filter(|digits| *digits > 0) {
            let len = group_bytes(digits);
            left -= len;
            let (shift, ones) = (8 * left as u32, u32::MAX >> (32 - 8 * len));
            *groups.get_mut(places.next()?)? = Group { shift, ones, unit: unit(digits) };
        }
        Some(Self { groups, bytes })
    }

    /// The number of bytes of a value.
    pub const fn bytes(&self) -> usize {
        self.bytes
    }

    /// Returns the unscaled value. `None` if the bytes are not a value of this form.
    #[inline]
    pub fn decode(&self, bytes: &[u8]) -> Option<i64> {
        // The first and the last four bytes, which may overlap, are read as numbers.
        match (bytes.first_chunk(), bytes.last_chunk()) {
            (Some(first), Some(last)) if bytes.len() == self.bytes && bytes.len() <= 8 => {
                let first = u64::from(u32::from_be_bytes(*first)) << (8 * (bytes.len() - 4));
                let stored = first | u64::from(u32::from_be_bytes(*last));
                let sign = 1 << (8 * bytes.len() - 1);
                let is_negative = stored & sign == 0;
                let value = stored ^ sign ^ if is_negative { u64::MAX } else { 0 };
                self.value(is_negative, |shift| (value >> shift) as u32)
            }
            _ => self.decode_any(bytes),
        }
    }

    /// [`Self::decode`] for any number of bytes.
    #[inline(never)]
    fn decode_any(&self, bytes: &[u8]) -> Option<i64> {
        if bytes.len() != self.bytes {
            return None;
        }
        let stored = bytes.iter().fold(0, |stored, byte| stored << 8 | u128::from(*byte));
        let sign = 1 << (8 * bytes.len() - 1);
        let is_negative = stored & sign == 0;
        let value = stored ^ sign ^ if is_negative { u128::MAX } else { 0 };
        self.value(is_negative, |shift| (value >> shift) as u32)
    }

    /// Adds up the groups. `from` returns the bits of the absolute value from a place on.
    #[inline(always)]
    fn value(&self, is_negative: bool, from: impl Fn(u32) -> u32) -> Option<i64> {
        let (mut value, mut is_valid) = (0, true);
        for group in &self.groups {
            let number = from(group.shift) & group.ones;
            is_valid &= number < group.unit;
            // Only invalid numbers are too large for the sum.
            value = i64::wrapping_mul(value, i64::from(group.unit)).wrapping_add(i64::from(number));
        }
        is_valid.then(|| if is_negative { -value } else { value })
    }
}

const MAX_PRECISION: u8 = 18;

/// 18 digits have at most one complete group, with one incomplete group before it and one after it.
const MAX_GROUPS: usize = 3;

#[cfg(test)]
mod tests {
    use super::super::decode_i128;
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn forms() {
        for precision in 0..=40 {
            for scale in 0..=40 {
                let form = ShortDecimal::of(precision, scale);
                assert_eq!(form.is_some(), (1..=18).contains(&precision) && scale <= precision);
                assert!(form.is_none_or(|form| form.bytes() == byte_count(precision, scale)));
            }
        }
    }

    #[test]
    fn invalid_groups_whose_sum_has_no_negative() {
        // The groups are 92, which is too large, 233720368 and 54775808: together 2^63.
        let bytes = [0x23, 0xf2, 0x11, 0xb5, 0xcf, 0xfc, 0xbc, 0x2f, 0xff];
        assert_eq!(ShortDecimal::of(18, 8).unwrap().decode(&bytes), None);
    }

    proptest! {
        #[test]
        fn like_the_general_form(
            bytes in proptest::collection::vec(prop_oneof![any::<u8>(), 0..99u8, 0x80..=0x89u8], 10),
            precision in 1..=18u8,
            scale in 0..=18u8,
            wrong in -1..=1i8,
        ) {
            let scale = scale % (precision + 1);
            let form = ShortDecimal::of(precision, scale).unwrap();
            let len = form.bytes().saturating_add_signed(isize::from(wrong)).min(bytes.len());
            let value = form.decode(&bytes[..len]);
            prop_assert_eq!(value.map(i128::from), decode_i128(&bytes[..len], precision, scale).ok());
        }
    }
}
