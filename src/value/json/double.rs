//! Doubles with the fewest digits that give the same number back, in the server's notation.
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

use super::super::digits;
use crate::error::DecodeError;
use crate::wire::Result;

/// Appends a number; infinities and NaN are errors, for JSON has none.
pub(super) fn write(value: f64, out: &mut Vec<u8>) -> Result<()> {
    if !value.is_finite() {
        return Err(DecodeError::Invalid { what: "JSON double that is not a number", value: 0 });
    }
    if value.is_sign_negative() {
        out.push(b'-');
    }
    let value = value.abs();
    if value < EXACT_INTEGERS && value.fract() == 0.0 {
        digits::push(out, value as u64);
        out.extend_from_slice(b".0");
        return Ok(());
    }
    let mut scientific = Scientific::default();
    if write!(scientific, "{value:e}").is_err() || !scientific.write_to(out) {
        // Cannot be: the longest form is shorter than the buffer.
        return Err(DecodeError::Unsupported { what: "JSON double", value: 0 });
    }
    Ok(())
}

/// A positive number as the standard library prints it, `1.5e-17`, taken apart while it is being printed.
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
    /// Appends the number in the server's notation; `false` where the text is not what was expected.
    fn write_to(&mut self, out: &mut Vec<u8>) -> bool {
        let Some((digits, exponent)) = self.parts() else {
            return false;
        };
        let point = exponent + 1;
        let count = digits.len() as i32;
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

    /// The digits without the point, and the exponent.
    fn parts(&mut self) -> Option<(&[u8], i32)> {
        let text = self.text.get_mut(..self.len)?;
        let mark = text.iter().position(|byte| *byte == b'e')?;
        let (mantissa, exponent) = text.split_at_mut_checked(mark)?;
        let exponent = std::str::from_utf8(exponent.get(1..)?).ok()?.parse().ok()?;
        // Put the first digit where the point is: the digits are then in one piece.
        if let [first, point, ..] = mantissa {
            *point = *first;
            return Some((mantissa.get(1..)?, exponent));
        }
        (!mantissa.is_empty()).then_some((mantissa, exponent))
    }
}

/// Integers below have at most 15 digits: fixed notation, and exact.
const EXACT_INTEGERS: f64 = 1e15;

/// Smaller numbers get an exponent.
const MIN_POINT: i32 = -14;

/// Larger numbers get an exponent, unless they have a fraction.
const MAX_POINT: i32 = 15;

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn text(value: f64) -> String {
        let mut out = Vec::new();
        write(value, &mut out).unwrap();
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
            assert!(write(value, &mut Vec::new()).is_err());
        }
    }

    proptest! {
        #[test]
        fn the_same_number_comes_back(bits: u64) {
            let value = f64::from_bits(bits);
            prop_assume!(value.is_finite());
            prop_assert_eq!(text(value).parse::<f64>().unwrap().to_bits(), bits);
        }
    }
}
