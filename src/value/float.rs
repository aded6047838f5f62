//! FLOAT and DOUBLE with the fewest digits from which the same number is read again, in the
//! notation of the server.
//!
//! ```text
//! the value is 0.d1 … dn × 10^point
//!
//! fixed         point ≥ -14 and (point ≤ 15 or n > point)      0.000001  1.0  1.5  123456789012345.0
//! exponent      otherwise                                      1e16  1.5e-17
//! ```
//!
//! <https://dev.mysql.com/doc/dev/mysql-server/latest/dtoa_8h.html>

use std::fmt::{self, Write as _};

use super::{block, digits};
use crate::error::DecodeError;
use crate::wire::Result;

/// Appends a DOUBLE as the server prints the value of a column: `1`, `0.1`, `1.5e20`.
pub(crate) fn write_double(value: f64, out: &mut Vec<u8>) {
    if write_json(value, out).is_err() {
        // No server stores such a value.
        out.extend_from_slice(if value.is_nan() { b"nan" } else { b"inf" });
    }
    cut_point(out);
}

/// Appends a FLOAT in the same way. (Servers print only 6 digits of a FLOAT, which are the same for
/// many numbers.)
pub(crate) fn write_single(value: f32, out: &mut Vec<u8>) {
    let wide = f64::from(value);
    if !value.is_finite() || wide.abs() < EXACT_INTEGERS && wide.fract() == 0.0 {
        return write_double(wide, out);
    }
    if value.is_sign_negative() {
        out.push(b'-');
    }
    let mut scientific = Scientific::default();
    // Writing cannot fail: the longest form is shorter than the buffer.
    let _ = write!(scientific, "{:e}", value.abs());
    scientific.write_to(None, out);
    cut_point(out);
}

/// Removes the `.0` that only JSON numbers have.
fn cut_point(out: &mut Vec<u8>) {
    if out.ends_with(b".0") {
        out.truncate(out.len() - 2);
    }
}

/// Appends a number of JSON. Infinities and NaN are errors, because JSON has no such values.
pub(crate) fn write_json(value: f64, out: &mut Vec<u8>) -> Result<()> {
    if !value.is_finite() {
        return Err(DecodeError::Invalid { what: "JSON double that is not a number", value: 0 });
    }
    if value.is_sign_negative() {
        out.push(b'-');
    }
    let value = value.abs();
    if write_short(value, out) {
        return Ok(());
    }
    if (FIXED_IN_ALL..EXACT_INTEGERS).contains(&value) {
        out.extend_from_slice(zmij::Buffer::new().format_finite(value).as_bytes());
        return Ok(());
    }
    let mut scientific = Scientific::default();
    if write!(scientific, "{value:e}").is_err() || !scientific.write_to(Some(value), out) {
        // Cannot happen: the longest form is shorter than the buffer.
        return Err(DecodeError::Unsupported { what: "JSON double", value: 0 });
    }
    Ok(())
}

/// Appends a positive number if it has at most 15 digits, at most 8 of them after the point: prices, measurements, integers.
///
/// If such a decimal rounds to `value`, it is the shortest one: two decimals of at most 15 digits never round to the same
/// double. `value * power` has an error of at most one part in 2^52, and it is below 2^50. So the nearest integer
/// contains the digits of the decimal, if there is one. The division of two exact numbers is rounded correctly, so it
/// shows whether there is one.
#[inline]
fn write_short(value: f64, out: &mut Vec<u8>) -> bool {
    if value >= EXACT_INTEGERS {
        return false;
    }
    if write_hundredths(value, out) {
        return true;
    }
    let integer = value as i64;
    if integer as f64 == value {
        digits::push(out, integer as u64);
        out.extend_from_slice(b".0");
        return true;
    }
    write_fraction::<100>(value, 2, out)
        || write_fraction::<10_000>(value, 4, out)
        || write_fraction::<100_000_000>(value, 8, out)
}

/// Appends `value` if it is less than 10,000 and has at most two digits after the point.
#[inline]
fn write_hundredths(value: f64, out: &mut Vec<u8>) -> bool {
    let scaled = value * 100.0;
    if scaled >= 999_999.0 {
        return false;
    }
    // The sum is rounded to an integer, which is then in its lowest bits. A conversion takes more instructions.
    let sum = scaled + INTEGERS;
    if (sum - INTEGERS) / 100.0 != value {
        return false;
    }
    let all = sum.to_bits() & 0xf_ffff;
    let (integer, [e, f]) = (digits::four(all / 100), digits::pair(all));
    // At least one digit of the integer is written.
    let zeros = (u32::from_le_bytes(integer) ^ u32::from_le_bytes(*b"0000")).trailing_zeros() / 8;
    let zeros = zeros.min(3) as usize;
    let [a, b, c, d] = integer;
    // All digits are written at once, and zeros at both ends are removed later, so that each copy has a constant length.
    let text = u64::from_le_bytes([a, b, c, d, b'.', e, f, 0]) >> (8 * zeros);
    block::push(out, &text.to_le_bytes(), 7 - zeros - usize::from(f == b'0'));
    true
}

/// Appends `value` if it has at most `places` digits after the point. `POWER`: ten to the power of `places`.
#[inline]
fn write_fraction<const POWER: u32>(value: f64, mut places: usize, out: &mut Vec<u8>) -> bool {
    let scaled = value * f64::from(POWER);
    if scaled >= EXACT_INTEGERS {
        return false;
    }
    let all = (scaled + 0.5) as i64;
    if all as f64 / f64::from(POWER) != value {
        return false;
    }
    let (integer, mut fraction) = (all as u64 / u64::from(POWER), all as u64 % u64::from(POWER));
    while fraction % 10 == 0 && places > 1 {
        fraction /= 10;
        places -= 1;
    }
    digits::push(out, integer);
    out.push(b'.');
    digits::push_padded(out, fraction, places);
    true
}

/// A positive number as the standard library prints it (`1.5e-17`), for access to its digits and
/// its exponent.
#[derive(Default)]
struct Scientific {
    text: [u8; 32],
    len: usize,
}

impl fmt::Write for Scientific {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let end = self.len + text.len();
        self.text.get_mut(self.len..end).ok_or(fmt::Error)?.copy_from_slice(text.as_bytes());
        self.len = end;
        Ok(())
    }
}

impl Scientific {
    /// Appends the number in the server's notation; `false` if the printed text has an unexpected
    /// form. `value` is the number if it is a double: a double can be in the middle between two
    /// forms.
    fn write_to(&mut self, value: Option<f64>, out: &mut Vec<u8>) -> bool {
        let Some((digits, exponent)) = self.parts() else {
            return false;
        };
        let point = exponent + 1;
        let count = digits.len() as i32;
        if let Some(value) = value {
            settle_tie(value, digits, count - point);
        }
        if point < MIN_POINT || point > MAX_POINT && count <= point {
            let (first, rest) = digits.split_at(1);
            out.extend_from_slice(first);
            if !rest.is_empty() {
                out.push(b'.');
                out.extend_from_slice(rest);
            }
            out.push(b'e');
            digits::push_signed(out, i64::from(exponent));
        } else if point <= 0 {
            out.extend_from_slice(b"0.");
            out.extend(std::iter::repeat_n(b'0', point.unsigned_abs() as usize));
            out.extend_from_slice(digits);
        } else if point < count {
            let (integer, fraction) = digits.split_at(point as usize);
            out.extend_from_slice(integer);
            out.push(b'.');
            out.extend_from_slice(fraction);
        } else {
            out.extend_from_slice(digits);
            out.extend(std::iter::repeat_n(b'0', (point - count) as usize));
            out.extend_from_slice(b".0");
        }
        true
    }

    /// Returns the digits without the point, and the exponent.
    fn parts(&mut self) -> Option<(&mut [u8], i32)> {
        let text = self.text.get_mut(..self.len)?;
        let mark = text.iter().position(|byte| *byte == b'e')?;
        let (mantissa, exponent) = text.split_at_mut_checked(mark)?;
        let exponent = std::str::from_utf8(exponent.get(1..)?).ok()?.parse().ok()?;
        // Move the first digit to the place of the point: the digits are then contiguous.
        if let [first, point, ..] = mantissa {
            *point = *first;
            return Some((mantissa.get_mut(1..)?, exponent));
        }
        (!mantissa.is_empty()).then_some((mantissa, exponent))
    }
}

/// Makes the last digit even if the number is in the middle between two shortest forms, as the
/// server does; the standard library rounds up. 265031503403829.125 is such a number: from both
/// …9.12 and …9.13 the same number is read.
///
/// The number is `odd / 2^halvings`. So it has `halvings` digits after the point, and the last one
/// is a 5. A tie has one digit more than its two shortest forms.
fn settle_tie(value: f64, digits: &mut [u8], fraction_digits: i32) {
    const MANTISSA_BITS: u32 = f64::MANTISSA_DIGITS - 1;
    let bits = value.to_bits();
    let mantissa = bits & ((1 << MANTISSA_BITS) - 1) | 1 << MANTISSA_BITS;
    let odd = mantissa >> mantissa.trailing_zeros();
    // This is correct for normal numbers; the others are far too small to be ties.
    let halvings = 1075 - (bits >> MANTISSA_BITS) as i32 - mantissa.trailing_zeros() as i32;
    if fraction_digits < 1 || halvings != fraction_digits + 1 {
        return;
    }
    let Some(doubled) =
        5u64.checked_pow(fraction_digits as u32).and_then(|five| five.checked_mul(odd))
    else {
        return;
    };
    let short =
        digits.iter().fold(0u64, |number, digit| number.wrapping_mul(10) + u64::from(digit - b'0'));
    if let Some(last @ (b'1' | b'3' | b'5' | b'7' | b'9')) = digits.last_mut() {
        if short.wrapping_mul(2).wrapping_sub(1) == doubled && value != NO_LOWER_FORM {
            *last -= 1;
        } else if short.wrapping_mul(2).wrapping_add(1) == doubled && *last < b'9' {
            *last += 1;
        }
    }
}

/// 2^-24: below a power of two, numbers are closer together, and here the lower short form means
/// another number.
const NO_LOWER_FORM: f64 = 1.0 / 16_777_216.0;

/// 2^52: all numbers from here to its double are integers, in the order of their bits.
const INTEGERS: f64 = 4_503_599_627_370_496.0;

/// Integers below this have at most 15 digits: they are exact, and printed in fixed notation.
const EXACT_INTEGERS: f64 = 1e15;

/// From here to [`EXACT_INTEGERS`], zmij's notation is the server's, and so are its digits.
const FIXED_IN_ALL: f64 = 1e-5;

/// Smaller numbers are printed with an exponent.
const MIN_POINT: i32 = -14;

/// Larger numbers are printed with an exponent, unless they have a fraction.
const MAX_POINT: i32 = 15;

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn text(value: f64) -> String {
        let mut out = Vec::new();
        write_json(value, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn notation() {
        for (value, expected) in [
            (0.0, "0.0"),
            (-0.0, "-0.0"),
            (1.0, "1.0"),
            (1.5, "1.5"),
            (-2.5e-3, "-0.0025"),
            (1e-15, "0.000000000000001"),
            (1e-16, "1e-16"),
            (1.25e-16, "1.25e-16"),
            (1e14, "100000000000000.0"),
            (1e15, "1e15"),
            (123_456_789_012_345.6, "123456789012345.6"),
            (1_234_567_890_123_456.0, "1.234567890123456e15"),
            (1_234_567_890_123_456.7, "1234567890123456.8"),
            (f64::MAX, "1.7976931348623157e308"),
            (f64::MIN_POSITIVE, "2.2250738585072014e-308"),
            (5e-324, "5e-324"),
        ] {
            assert_eq!(text(value), expected);
        }
        for value in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            assert!(write_json(value, &mut Vec::new()).is_err());
        }
    }

    #[test]
    fn hundredths() {
        for all in (0..1_100_000u32).step_by(7).chain(999_900..1_000_100) {
            let value = f64::from(all) / 100.0;
            assert_eq!(text(value), format!("{value:?}"));
        }
    }

    #[test]
    fn columns_have_no_point_after_integers() {
        let double = |value| {
            let mut out = b"x".to_vec();
            write_double(value, &mut out);
            String::from_utf8(out).unwrap()
        };
        for (value, expected) in
            [(0.0, "x0"), (-0.0, "x-0"), (1e14, "x100000000000000"), (0.5, "x0.5"), (1e15, "x1e15")]
        {
            assert_eq!(double(value), expected);
        }
        assert_eq!((double(f64::NAN), double(f64::INFINITY)), ("xnan".into(), "xinf".into()));
    }

    fn single(value: f32) -> String {
        let mut out = Vec::new();
        write_single(value, &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn singles_have_digits_of_their_own() {
        for (value, expected) in [
            (0.1, "0.1"),
            (-1.0, "-1"),
            (16_777_217.0, "16777216"),
            (f32::MAX, "3.4028235e38"),
            (1e-20, "1e-20"),
            (3.25, "3.25"),
        ] {
            assert_eq!(single(value), expected);
        }
    }

    /// The expected texts are those that a server printed.
    #[test]
    fn ties_go_to_the_even_digit() {
        for (eighths, expected) in [
            (11_316_745_043_640_266u64, "1414593130455033.2"),
            (11_316_745_043_640_270, "1414593130455033.8"),
            (2_120_252_027_230_633, "265031503403829.12"),
            (2_120_252_027_230_635, "265031503403829.38"),
        ] {
            assert_eq!(text(eighths as f64 / 8.0), expected);
        }
        assert_eq!(text(2f64.powi(-24)), "0.00000005960464477539063");
        assert_eq!(text(2f64.powi(-25)), "0.000000029802322387695312");
    }

    proptest! {
        #[test]
        fn near_ties_too(number in 0..1u64 << 53, halvings in 1..30i32) {
            let value = number as f64 / 2f64.powi(halvings);
            prop_assert_eq!(text(value).parse::<f64>().unwrap().to_bits(), value.to_bits());
        }

        /// The fast forms equal the one that is made of the digits of the standard library.
        #[test]
        fn all_forms_are_the_same(number in 0..1_u64 << 53, shift in 0..53, places in 0..12, halvings in 0..60, bits: u64) {
            let number = (number >> shift) as f64;
            let decimal = number / 10_f64.powi(places);
            for value in [decimal, number / 2_f64.powi(halvings), f64::from_bits(bits), decimal.next_up()] {
                if value.is_finite() && value.fract() != 0.0 {
                    let mut scientific = Scientific::default();
                    write!(scientific, "{:e}", value.abs()).unwrap();
                    let mut expected = if value < 0.0 { b"-".to_vec() } else { Vec::new() };
                    assert!(scientific.write_to(Some(value.abs()), &mut expected));
                    prop_assert_eq!(text(value), String::from_utf8(expected).unwrap());
                }
            }
        }

        #[test]
        fn the_same_single_comes_back(bits: u32) {
            let value = f32::from_bits(bits);
            prop_assume!(value.is_finite());
            prop_assert_eq!(single(value).parse::<f32>().unwrap().to_bits(), bits);
        }

        #[test]
        fn the_same_number_comes_back(bits: u64) {
            let value = f64::from_bits(bits);
            prop_assume!(value.is_finite());
            prop_assert_eq!(text(value).parse::<f64>().unwrap().to_bits(), bits);
        }
    }
}
