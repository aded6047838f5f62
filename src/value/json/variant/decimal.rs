//! Decimals: one byte for the scale, then the unscaled value in 4, 8 or 16 bytes.

use super::super::opaque::Decimal;
use super::header::{DECIMAL4, DECIMAL8, DECIMAL16, tagged};
use crate::value::decimal::{self, MAX_PRECISION_I128};
use crate::wire::Result;

/// Returns the unscaled value and the scale; `None` if the number does not fit in 38 digits, even
/// without the zeros at its end. `scratch` is unchanged afterwards.
pub(super) fn read(number: Decimal<'_>, scratch: &mut Vec<u8>) -> Result<Option<(i128, u8)>> {
    let Decimal { precision, scale, groups } = number;
    if precision <= MAX_PRECISION_I128 {
        return decimal::decode_i128(groups, precision, scale).map(|value| Some((value, scale)));
    }
    let start = scratch.len();
    decimal::write_json_text(groups, precision, scale, scratch)?;
    let parsed = parse(scratch.get(start..).unwrap_or_default());
    scratch.truncate(start);
    Ok(parsed)
}

/// Parses a text like `-12.3400`; drops zeros from the end of the fraction only as far as needed.
fn parse(text: &[u8]) -> Option<(i128, u8)> {
    let (is_negative, text) = match text {
        [b'-', rest @ ..] => (true, rest),
        _ => (false, text),
    };
    let mut parts = text.splitn(2, |byte| *byte == b'.');
    let integer = parts.next().unwrap_or_default();
    let mut fraction = parts.next().unwrap_or_default();
    let is_leading_zero = |byte: &&u8| **byte == b'0';
    loop {
        let digits = integer.iter().chain(fraction).skip_while(is_leading_zero);
        if digits.clone().count() <= MAX_DIGITS && fraction.len() <= MAX_DIGITS {
            let value = digits.fold(0i128, |value, digit| value * 10 + i128::from(digit - b'0'));
            return Some((if is_negative { -value } else { value }, fraction.len() as u8));
        }
        fraction = fraction.strip_suffix(b"0")?;
    }
}

/// Appends a number of at most 38 digits, before and after the point.
pub(super) fn write(unscaled: i128, scale: u8, out: &mut Vec<u8>) {
    let magnitude = unscaled.unsigned_abs();
    let mut put = |kind: u8, bytes: &[u8]| {
        tagged(kind, &[scale], out);
        out.extend_from_slice(bytes);
    };
    if magnitude < 10u128.pow(9) && scale <= 9 {
        put(DECIMAL4, &(unscaled as i32).to_le_bytes());
    } else if magnitude < 10u128.pow(18) && scale <= 18 {
        put(DECIMAL8, &(unscaled as i64).to_le_bytes());
    } else {
        put(DECIMAL16, &unscaled.to_le_bytes());
    }
}

const MAX_DIGITS: usize = MAX_PRECISION_I128 as usize;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits() {
        let nines = 10i128.pow(38) - 1;
        for (text, expected) in [
            ("0", Some((0, 0))),
            ("-0.50", Some((-50, 2))),
            (
                "12345678901.000000000000000000000000000000",
                Some((12345678901 * 10i128.pow(27), 27)),
            ),
            ("99999999999999999999999999999999999999", Some((nines, 0))),
            ("-9999999999.9999999999999999999999999999", Some((-nines, 28))),
            ("0.99999999999999999999999999999999999999", Some((nines, 38))),
            ("0.000000000000000000000000000000000000010", Some((1, 38))),
            ("0.000000000000000000000000000000000000001", None),
            ("100000000000000000000000000000000000000", None),
            ("99999999999.9999999999999999999999999999", None),
        ] {
            assert_eq!(parse(text.as_bytes()), expected, "{text}");
        }
    }

    #[test]
    fn widths() {
        for (unscaled, scale, expected) in [
            (0, 0, &[8 << 2, 0, 0, 0, 0, 0][..]),
            (-150, 2, &[8 << 2, 2, 0x6a, 0xff, 0xff, 0xff]),
            (999_999_999, 9, &[8 << 2, 9, 0xff, 0xc9, 0x9a, 0x3b]),
            (1_000_000_000, 9, &[9 << 2, 9, 0, 0xca, 0x9a, 0x3b, 0, 0, 0, 0]),
            (1, 10, &[9 << 2, 10, 1, 0, 0, 0, 0, 0, 0, 0]),
            (-1, 19, &[&[10 << 2, 19][..], &[0xff; 16]].concat()),
            (1 << 63, 0, &[&[10 << 2, 0, 0, 0, 0, 0, 0, 0, 0, 0x80][..], &[0; 8]].concat()),
        ] {
            let mut out = Vec::new();
            write(unscaled, scale, &mut out);
            assert_eq!(out, expected);
        }
    }
}
