//! Decimals of at most 18 digits. Most columns have no more. The sizes of the groups of digits are determined once per column.

use super::{GROUP_DIGITS, byte_count, group_bytes, unit};

/// The groups of digits in the values of one column.
#[derive(Debug, Clone, Copy)]
pub struct ShortDecimal {
    groups: [Group; MAX_GROUPS],
    count: usize,
    bytes: usize,
}

#[derive(Debug, Clone, Copy, Default)]
struct Group {
    len: usize,
    /// Ten to the power of its digits.
    unit: u32,
    /// All bits that are stored.
    ones: u32,
    /// The bit that is stored reversed, in the first group.
    sign: u32,
}

impl ShortDecimal {
    /// The form of a column. `None` if it has more digits, or if MySQL has no such column.
    pub fn of(precision: u8, scale: u8) -> Option<Self> {
        let integer = precision.checked_sub(scale)?;
        if precision == 0 || precision > MAX_PRECISION {
            return None;
        }
        let mut form =
            Self { groups: Default::default(), count: 0, bytes: byte_count(precision, scale) };
        form.push(integer % GROUP_DIGITS)?;
        for _ in 0..integer / GROUP_DIGITS + scale / GROUP_DIGITS {
            form.push(GROUP_DIGITS)?;
        }
        form.push(scale % GROUP_DIGITS)?;
        Some(form)
    }

    /// Adds a group of this number of digits; none if there are no digits.
    fn push(&mut self, digits: u8) -> Option<()> {
        if digits > 0 {
            let len = group_bytes(digits);
            let ones = u32::MAX >> (32 - 8 * len);
            let sign = if self.count == 0 { 0x80 << (8 * (len - 1)) } else { 0 };
            *self.groups.get_mut(self.count)? = Group { len, unit: unit(digits), ones, sign };
            self.count += 1;
        }
        Some(())
    }

    /// The number of bytes of a value.
    pub const fn bytes(&self) -> usize {
        self.bytes
    }

    /// Returns the unscaled value. `None` if the bytes are not a value of this form.
    #[inline]
    pub fn decode(&self, bytes: &[u8]) -> Option<i64> {
        let is_negative = bytes.first()? & 0x80 == 0;
        let mask = if is_negative { u32::MAX } else { 0 };
        let (mut rest, mut value) = (bytes, 0u64);
        for group in self.groups.get(..self.count)? {
            let (stored, after) = rest.split_at_checked(group.len)?;
            rest = after;
            let stored = match *stored {
                [a] => u32::from(a),
                [a, b] => u32::from_be_bytes([0, 0, a, b]),
                [a, b, c] => u32::from_be_bytes([0, a, b, c]),
                [a, b, c, d] => u32::from_be_bytes([a, b, c, d]),
                _ => return None,
            };
            let number = stored ^ (mask & group.ones) ^ group.sign;
            if number >= group.unit {
                return None;
            }
            value = value * u64::from(group.unit) + u64::from(number);
        }
        let value = value as i64;
        rest.is_empty().then_some(if is_negative { -value } else { value })
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
