//! Hexadecimal digits.

/// The digits, in lower case.
pub(crate) const HEX_DIGITS: &[u8; 16] = b"0123456789abcdef";

/// Appends two lower-case digits for each byte.
#[inline]
pub(crate) fn write_hex(bytes: &[u8], out: &mut Vec<u8>) {
    let digits = bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]);
    out.extend(digits.filter_map(|digit| HEX_DIGITS.get(usize::from(digit))));
}

/// Returns two lower-case digits for each byte.
pub(crate) fn to_hex(bytes: &[u8]) -> String {
    let digit = |nibble: u8| char::from_digit(u32::from(nibble), 16).unwrap_or('0');
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}

/// Converts pairs of digits, in upper or lower case, to bytes; `None` for any other text.
pub(crate) fn from_hex(text: &[u8]) -> Option<Vec<u8>> {
    let digit =
        |byte: u8| char::from(byte).to_digit(16).and_then(|nibble| u8::try_from(nibble).ok());
    let (pairs, rest) = text.as_chunks::<2>();
    if !rest.is_empty() {
        return None;
    }
    pairs.iter().map(|[high, low]| Some(digit(*high)? << 4 | digit(*low)?)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hex() {
        let all: Vec<u8> = (0..=255).collect();
        assert_eq!(from_hex(to_hex(&all).as_bytes()), Some(all.clone()));
        let mut written = Vec::new();
        write_hex(&all, &mut written);
        assert_eq!(written, to_hex(&all).as_bytes());
        assert_eq!(from_hex(b"aBf"), None);
        assert_eq!(from_hex(b"g0"), None);
    }
}
