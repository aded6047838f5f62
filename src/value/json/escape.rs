//! Strings in double quotes, with the server's escapes.
//!
//! ```text
//! "  \         \"  \\
//! 08 09 0a 0c 0d      \b  \t  \n  \f  \r
//! 00 … 1f, the rest   \u0000 … \u001f
//! ```
//!
//! <https://dev.mysql.com/doc/refman/8.4/en/json-modification-functions.html#function_json-unquote>

/// Appends `text` in quotes. Bytes from 0x80 on are copied unchanged.
pub(crate) fn quote(text: &[u8], out: &mut Vec<u8>) {
    out.reserve(text.len() + 2);
    out.push(b'"');
    write(text, out);
    out.push(b'"');
}

fn write(mut text: &[u8], out: &mut Vec<u8>) {
    while let Some((plain, special, rest)) = split_at_special(text) {
        out.extend_from_slice(plain);
        match special {
            b'"' => out.extend_from_slice(b"\\\""),
            b'\\' => out.extend_from_slice(b"\\\\"),
            0x08 => out.extend_from_slice(b"\\b"),
            b'\t' => out.extend_from_slice(b"\\t"),
            b'\n' => out.extend_from_slice(b"\\n"),
            0x0c => out.extend_from_slice(b"\\f"),
            b'\r' => out.extend_from_slice(b"\\r"),
            control => {
                out.extend_from_slice(b"\\u00");
                out.push(b'0' + (control >> 4));
                out.push(match control & 15 {
                    digit @ 0..=9 => b'0' + digit,
                    letter => b'a' - 10 + letter,
                });
            }
        }
        text = rest;
    }
    out.extend_from_slice(text);
}

/// Splits `text` at the first byte that needs an escape: the text before it, the byte, and the text
/// after it.
fn split_at_special(text: &[u8]) -> Option<(&[u8], u8, &[u8])> {
    // Complete blocks without such a byte are skipped at the speed of vector instructions.
    let (blocks, _) = text.as_chunks::<16>();
    let clean = blocks.iter().take_while(|block| !has_special(block)).count() * 16;
    let place = clean + text.get(clean..)?.iter().position(|byte| is_special(*byte))?;
    let (plain, tail) = text.split_at_checked(place)?;
    let (special, rest) = tail.split_first()?;
    Some((plain, *special, rest))
}

#[inline]
fn has_special(block: &[u8; 16]) -> bool {
    block.iter().fold(false, |any, byte| any | is_special(*byte))
}

#[inline]
const fn is_special(byte: u8) -> bool {
    byte < 0x20 || byte == b'"' || byte == b'\\'
}

#[cfg(test)]
mod tests {
    use super::*;

    fn quoted(text: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        quote(text, &mut out);
        out
    }

    #[test]
    fn escapes() {
        assert_eq!(quoted(b""), b"\"\"");
        assert_eq!(quoted(b"a\"b\\c/d"), br#""a\"b\\c/d""#);
        assert_eq!(
            quoted(b"\x00\x08\t\n\x0b\x0c\r\x1f\x7f"),
            b"\"\\u0000\\b\\t\\n\\u000b\\f\\r\\u001f\x7f\""
        );
        assert_eq!(quoted("ключ€😀".as_bytes()), "\"ключ€😀\"".as_bytes());
    }

    #[test]
    fn at_every_place() {
        for len in 0..70 {
            for place in 0..len {
                let mut text = vec![b'x'; len];
                text[place] = b'\n';
                let expected =
                    format!("\"{}\\n{}\"", "x".repeat(place), "x".repeat(len - place - 1));
                assert_eq!(quoted(&text), expected.as_bytes());
            }
        }
    }
}
