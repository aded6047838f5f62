//! Literals and names of SQL that every server reads as the same bytes.
//!
//! The script sets `sql_mode` without NO_BACKSLASH_ESCAPES and the character set utf8mb4. Line
//! feeds and NUL are escaped, because the client `mysql` changes or refuses them.

use crate::charset::{Charset, Transcoding};
use crate::value::digits;
use crate::wire::write_hex;

/// Appends a name in backticks.
pub(super) fn name(name: &str, out: &mut Vec<u8>) {
    out.push(b'`');
    for byte in name.bytes() {
        if byte == b'`' {
            out.push(b'`');
        }
        out.push(byte);
    }
    out.push(b'`');
}

/// Appends UTF-8 in quotes.
pub(super) fn quoted(text: &[u8], out: &mut Vec<u8>) {
    out.reserve(text.len() + 2);
    out.push(b'\'');
    let mut rest = text;
    // Most text needs no escape, and this loop has no branch, so that it compares many bytes at once.
    if !text.iter().fold(false, |found, byte| found | escape(*byte).is_some()) {
        out.extend_from_slice(text);
        out.push(b'\'');
        return;
    }
    while let Some(at) = rest.iter().position(|byte| escape(*byte).is_some()) {
        let (plain, from) = rest.split_at(at);
        out.extend_from_slice(plain);
        let Some((byte, after)) = from.split_first() else { break };
        out.extend([b'\\', escape(*byte).unwrap_or(*byte)]);
        rest = after;
    }
    out.extend_from_slice(rest);
    out.push(b'\'');
}

/// The character after the backslash for a byte that is escaped.
#[inline]
const fn escape(byte: u8) -> Option<u8> {
    match byte {
        b'\'' => Some(b'\''),
        b'\\' => Some(b'\\'),
        0 => Some(b'0'),
        b'\n' => Some(b'n'),
        b'\r' => Some(b'r'),
        0x1a => Some(b'Z'),
        _ => None,
    }
}

/// Appends bytes as a hexadecimal literal.
pub(super) fn bytes(bytes: &[u8], out: &mut Vec<u8>) {
    match bytes {
        [] => out.extend_from_slice(b"''"),
        _ => {
            out.extend_from_slice(b"0x");
            write_hex(bytes, out);
        }
    }
}

/// Appends the hexadecimal digits of bytes in quotes, as `HEX()` returns them.
pub(super) fn quoted_hex(bytes: &[u8], out: &mut Vec<u8>) {
    out.push(b'\'');
    let start = out.len();
    write_hex(bytes, out);
    out.get_mut(start..).unwrap_or_default().make_ascii_uppercase();
    out.push(b'\'');
}

/// Appends text that is stored in `charset`. Returns false if it is not valid there, so that no
/// literal has this value.
pub(super) fn stored_text(stored: &[u8], charset: Charset, out: &mut Vec<u8>) -> bool {
    match charset.transcoding() {
        None => return false,
        Some(_) if stored.is_empty() => out.extend_from_slice(b"''"),
        Some(Transcoding::Utf8) => {
            if simdutf8::basic::from_utf8(stored).is_err() {
                return false;
            }
            quoted(stored, out);
        }
        Some(Transcoding::Ascii | Transcoding::Latin1) if stored.is_ascii() => quoted(stored, out),
        Some(Transcoding::Ascii) => return false,
        Some(Transcoding::Characters) if is_same_in(stored, charset) => quoted(stored, out),
        Some(_) => {
            if charset.decode(stored, "text").is_err() {
                return false;
            }
            out.push(b'_');
            out.extend_from_slice(charset.name().as_bytes());
            out.push(b' ');
            bytes(stored, out);
        }
    }
    true
}

/// True if stored text consists of characters that have the same bytes in UTF-8.
fn is_same_in(stored: &[u8], charset: Charset) -> bool {
    use Charset as C;
    !matches!(charset, C::Ucs2 | C::Utf16 | C::Utf16le | C::Utf32)
        && stored.iter().all(|byte| byte.is_ascii_alphanumeric() || b" -_.,:/+".contains(byte))
}

/// Appends stored bytes that are compared with other bytes.
pub(super) fn compared_bytes(stored: &[u8], charset: Charset, out: &mut Vec<u8>) {
    let is_utf8 = charset.transcoding() == Some(Transcoding::Utf8);
    match stored.is_ascii() || is_utf8 && simdutf8::basic::from_utf8(stored).is_ok() {
        true => quoted(stored, out),
        false => bytes(stored, out),
    }
}

/// Appends a number that servers read as a DOUBLE, exactly.
pub(super) fn double(value: f64, out: &mut Vec<u8>) -> bool {
    if !value.is_finite() {
        return false;
    }
    let mut buffer = zmij::Buffer::new();
    let text = buffer.format_finite(value).as_bytes();
    out.extend_from_slice(text);
    // Without an exponent it would be a DECIMAL.
    if !text.contains(&b'e') {
        out.extend_from_slice(b"e0");
    }
    true
}

/// Appends a decimal of at most 38 digits.
pub(super) fn decimal(unscaled: i128, scale: usize, out: &mut Vec<u8>) {
    if unscaled < 0 {
        out.push(b'-');
    }
    let value = unscaled.unsigned_abs();
    let power_of = u32::try_from(scale).unwrap_or(0).min(38);
    // Most values and powers are small, and a division of 128 bits is slow.
    if let (Ok(value), Some(power)) = (u64::try_from(value), 10_u64.checked_pow(power_of)) {
        digits::push(out, value / power);
        if scale > 0 {
            out.push(b'.');
            digits::push_padded(out, value % power, scale);
        }
        return;
    }
    let power = 10_u128.pow(power_of);
    match (u64::try_from(value / power), u64::try_from(value % power)) {
        (Ok(integer), Ok(rest)) if scale <= 20 => {
            digits::push(out, integer);
            if scale > 0 {
                out.push(b'.');
                digits::push_padded(out, rest, scale);
            }
        }
        _ => {
            let text = format!("{value:0width$}", width = scale + 1);
            let (left, right) = text.split_at(text.len() - scale);
            out.extend_from_slice(left.as_bytes());
            if scale > 0 {
                out.push(b'.');
                out.extend_from_slice(right.as_bytes());
            }
        }
    }
}

/// Appends text for a comment: on one line.
pub(super) fn comment(text: &str, out: &mut Vec<u8>) {
    let shown = text.chars().map(|c| if c.is_control() { ' ' } else { c });
    for character in shown {
        out.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(write: impl FnOnce(&mut Vec<u8>)) -> String {
        let mut out = Vec::new();
        write(&mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn quotes() {
        assert_eq!(text(|out| name("a`b", out)), "`a``b`");
        let awkward = "it's \\ \n\r\0\u{1a}\té";
        assert_eq!(text(|out| quoted(awkward.as_bytes(), out)), "'it\\'s \\\\ \\n\\r\\0\\Z\té'");
        assert_eq!(text(|out| bytes(&[], out)), "''");
        assert_eq!(text(|out| bytes(&[0, 0xfe], out)), "0x00fe");
        assert_eq!(text(|out| quoted_hex(&[0, 0xfe], out)), "'00FE'");
        assert_eq!(text(|out| comment("a\n-- b", out)), "a -- b");
    }

    #[test]
    fn text_of_each_kind_of_charset() {
        let of = |stored: &[u8], charset| {
            let mut out = Vec::new();
            stored_text(stored, charset, &mut out).then(|| String::from_utf8(out).unwrap())
        };
        assert_eq!(of("é".as_bytes(), Charset::Utf8mb4).as_deref(), Some("'é'"));
        assert_eq!(of(&[0xe9], Charset::Utf8mb4), None);
        assert_eq!(of(b"a\\", Charset::Latin1).as_deref(), Some("'a\\\\'"));
        assert_eq!(of(&[0xe9], Charset::Latin1).as_deref(), Some("_latin1 0xe9"));
        assert_eq!(of(&[0xe9], Charset::Ascii), None);
        assert_eq!(of(b"abc", Charset::Sjis).as_deref(), Some("'abc'"));
        assert_eq!(of(b"a~", Charset::Sjis).as_deref(), Some("_sjis 0x617e"));
        assert_eq!(of(&[0, 0x61], Charset::Utf16).as_deref(), Some("_utf16 0x0061"));
        assert_eq!(of(&[0x61], Charset::Utf16), None);
        assert_eq!(of(b"", Charset::Utf16).as_deref(), Some("''"));
        assert_eq!(of(b"a", Charset::Binary), None);
    }

    #[test]
    fn numbers() {
        let of = |value| text(|out| assert!(double(value, out)));
        assert_eq!(of(1.5), "1.5e0");
        assert_eq!(of(f64::from(1.1_f32)), "1.100000023841858e0");
        for value in [f64::MAX, f64::MIN_POSITIVE, 5e-324, -0.0, 1e22, 123_456_789.125] {
            let read: f64 = of(value).parse().unwrap();
            assert_eq!(read.to_bits(), value.to_bits());
        }
        assert!(!double(f64::NAN, &mut Vec::new()));
        assert_eq!(text(|out| decimal(-5, 2, out)), "-0.05");
        assert_eq!(text(|out| decimal(1200, 2, out)), "12.00");
        assert_eq!(text(|out| decimal(7, 0, out)), "7");
        let wide = 99_999_999_999_999_999_999_999_999_999_999_999_999_i128;
        assert_eq!(
            text(|out| decimal(wide, 30, out)),
            format!("{}.{}", "9".repeat(8), "9".repeat(30))
        );
    }
}
