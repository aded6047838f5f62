//! DECIMAL: from the text of a SELECT to the form of a row image, which `value::decimal` describes.

use crate::error::DecodeError;
use crate::value::decimal::byte_count;
use crate::wire::Result;

/// Appends a number such as `-12.345` as DECIMAL(precision, scale).
///
/// # Errors
/// The text is not a decimal number, or has more digits than the type.
pub(super) fn encode(text: &[u8], precision: u8, scale: u8, out: &mut Vec<u8>) -> Result<()> {
    let (is_negative, digits) = match text.strip_prefix(b"-") {
        Some(digits) => (true, digits),
        None => (false, text),
    };
    let point = digits.iter().position(|byte| *byte == b'.').unwrap_or(digits.len());
    let (integer, fraction) = digits.split_at_checked(point).ok_or_else(bad)?;
    let fraction = fraction.strip_prefix(b".").unwrap_or_default();
    let zeros = integer.iter().take_while(|byte| **byte == b'0').count();
    let integer = integer.get(zeros..).unwrap_or_default();
    let (integer_digits, scale) =
        (usize::from(precision.saturating_sub(scale)), usize::from(scale));
    if integer.len() > integer_digits || fraction.len() > scale {
        return Err(bad());
    }
    let start = out.len();
    let mut groups = Groups { out, flip: if is_negative { u32::MAX } else { 0 } };
    // The integer part begins with an incomplete group, the fraction ends with one.
    let mut position = integer_digits;
    while position > 0 {
        let size = if position % 9 == 0 { 9 } else { position % 9 };
        let digits = (position - size..position).rev();
        groups.push(digits.map(|place| digit_before_point(integer, place)), size)?;
        position -= size;
    }
    let mut at = 0;
    while at < scale {
        let size = (scale - at).min(9);
        groups.push((at..at + size).map(|place| fraction.get(place).copied()), size)?;
        at += size;
    }
    debug_assert_eq!(out.len() - start, byte_count(precision, scale as u8));
    if let Some(first) = out.get_mut(start) {
        *first ^= 0x80;
    }
    Ok(())
}

/// The digit of 10 to the power of `place`.
fn digit_before_point(integer: &[u8], place: usize) -> Option<u8> {
    integer.get(integer.len().checked_sub(place + 1)?).copied()
}

/// Groups of up to nine digits, in as few bytes as they need.
struct Groups<'o> {
    out: &'o mut Vec<u8>,
    /// All bits of a negative number are inverted.
    flip: u32,
}

impl Groups<'_> {
    /// Appends a group. Digits that the text does not contain are zeros.
    fn push(&mut self, digits: impl Iterator<Item = Option<u8>>, size: usize) -> Result<()> {
        let mut value = 0;
        for digit in digits {
            let digit = match digit.unwrap_or(b'0') {
                digit @ b'0'..=b'9' => digit - b'0',
                _ => return Err(bad()),
            };
            value = value * 10 + u32::from(digit);
        }
        let bytes = (value ^ self.flip).to_be_bytes();
        self.out.extend(
            bytes.get(4 - GROUP_BYTES.get(size).copied().unwrap_or(4)..).unwrap_or_default(),
        );
        Ok(())
    }
}

fn bad() -> DecodeError {
    DecodeError::Invalid { what: "the text of a DECIMAL value", value: 0 }
}

/// The number of bytes of a group, by its number of digits.
const GROUP_BYTES: [usize; 10] = [0, 1, 1, 2, 2, 3, 3, 4, 4, 4];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::decimal::write_text;

    #[test]
    fn encoded_numbers_are_decoded_to_the_same_text() {
        for (text, precision, scale) in [
            ("1234567890.1234", 14, 4),
            ("-1234567890.1234", 14, 4),
            ("0", 1, 0),
            ("-7", 1, 0),
            ("0.00", 10, 2),
            ("-0.01", 10, 2),
            ("0.000000001", 9, 9),
            ("99999999999999999999999999999999999999999999999999999999999999999", 65, 0),
            ("-123456789012345678901234567.12345678901234567890123456789012345678", 65, 38),
            ("123456789", 9, 0),
            ("1000000000", 10, 0),
        ] {
            let mut image = Vec::new();
            encode(text.as_bytes(), precision, scale, &mut image).unwrap();
            assert_eq!(image.len(), byte_count(precision, scale), "{text}");
            let mut decoded = Vec::new();
            write_text(&image, precision, scale, &mut decoded).unwrap();
            assert_eq!(String::from_utf8(decoded).unwrap(), text);
        }
        let mut image = Vec::new();
        encode(b"1234567890.1234", 14, 4, &mut image).unwrap();
        assert_eq!(image, b"\x81\x0d\xfb\x38\xd2\x04\xd2", "as the server writes it");
    }

    #[test]
    fn what_is_no_decimal_is_an_error() {
        for text in ["x", "1e3", "1.2.3", "123", "1.234", "--1"] {
            assert!(encode(text.as_bytes(), 4, 2, &mut Vec::new()).is_err(), "{text}");
        }
    }
}
