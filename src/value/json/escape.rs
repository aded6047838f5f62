//! Strings in double quotes, with the server's escapes.
//!
//! ```text
//! "  \         \"  \\
//! 08 09 0a 0c 0d      \b  \t  \n  \f  \r
//! 00 … 1f, the rest   \u0000 … \u001f
//! ```
//!
//! <https://dev.mysql.com/doc/refman/8.4/en/json-modification-functions.html#function_json-unquote>

use crate::value::block;

/// Appends `text` in quotes. Bytes from 0x80 on are copied unchanged.
#[inline]
pub(crate) fn quote(text: &[u8], out: &mut Vec<u8>) {
    match quoted_short(text) {
        Some(quoted) => block::push(out, &quoted.to_le_bytes(), text.len() + 2),
        None => quote_any(text, out),
    }
}

/// Returns a text of at most 14 bytes in quotes, if no byte needs an escape. The first byte is the lowest byte of the result.
#[inline]
fn quoted_short(text: &[u8]) -> Option<u128> {
    let word = match text.len() {
        8..=14 => {
            let (first, last) = (text.first_chunk::<8>()?, text.last_chunk::<8>()?);
            let (first, last) = (u64::from_le_bytes(*first), u64::from_le_bytes(*last));
            if specials(first) | specials(last) != 0 {
                return None;
            }
            u128::from(first) | u128::from(last) << (8 * (text.len() - 8))
        }
        4..8 => {
            let (first, last) = (text.first_chunk::<4>()?, text.last_chunk::<4>()?);
            let (first, last) = (u32::from_le_bytes(*first), u32::from_le_bytes(*last));
            if specials(u64::from(first) | u64::from(last) << 32) != 0 {
                return None;
            }
            u128::from(u64::from(first) | u64::from(last) << (8 * (text.len() - 4)))
        }
        len @ 1..4 => {
            let [first, middle, last] = [text.first(), text.get(len / 2), text.last()]
                .map(|byte| byte.map_or(0, |b| u32::from(*b)));
            // The other bytes of the number that is checked need no escape.
            if specials(u64::from(first | middle << 8 | last << 16) | PLAIN << 24) != 0 {
                return None;
            }
            u128::from(first | middle << (8 * (len / 2)) | last << (8 * (len - 1)))
        }
        _ => return None,
    };
    let quote = u128::from(b'"');
    Some(quote | word << 8 | quote << (8 * (text.len() + 1)))
}

/// Bytes that need no escape.
const PLAIN: u64 = 0x61_6161_6161;

/// [`quote`] for any text.
#[inline(never)]
fn quote_any(text: &[u8], out: &mut Vec<u8>) {
    out.reserve(text.len() + 2);
    out.push(b'"');
    write(text, out);
    out.push(b'"');
}

/// Appends `text` with its escapes.
#[inline]
pub(super) fn write(text: &[u8], out: &mut Vec<u8>) {
    if !write_short(text, out) {
        match first_special(text) {
            None => out.extend_from_slice(text),
            Some(place) => write_escaped(text, place, out),
        }
    }
}

/// Appends a text of at most 16 bytes, if no byte needs an escape: most keys are such texts.
///
/// Its first and last bytes, which may overlap, are checked and copied as numbers, and what is too much is removed again: a
/// copy of any other number of bytes is a call.
#[inline]
fn write_short(text: &[u8], out: &mut Vec<u8>) -> bool {
    let end = out.len() + text.len();
    match text.len() {
        8..=16 => {
            let Some((first, last)) = text.first_chunk::<8>().zip(text.last_chunk::<8>()) else {
                return false;
            };
            if first_in(*first, 0).or_else(|| first_in(*last, 0)).is_some() {
                return false;
            }
            let last = u128::from(u64::from_le_bytes(*last)) << (8 * (text.len() - 8));
            let both = u128::from(u64::from_le_bytes(*first)) | last;
            out.extend_from_slice(&both.to_le_bytes());
        }
        4..8 => {
            let Some((first, last)) = text.first_chunk::<4>().zip(text.last_chunk::<4>()) else {
                return false;
            };
            let (first, last) =
                (u64::from(u32::from_le_bytes(*first)), u64::from(u32::from_le_bytes(*last)));
            if first_in((first | last << 32).to_le_bytes(), 0).is_some() {
                return false;
            }
            out.extend_from_slice(&(first | last << (8 * (text.len() - 4))).to_le_bytes());
        }
        len @ 1..4 => {
            let [Some(first), Some(middle), Some(last)] =
                [text.first(), text.get(len / 2), text.last()]
            else {
                return false;
            };
            if is_special(*first) || is_special(*middle) || is_special(*last) {
                return false;
            }
            out.extend_from_slice(&[*first, *middle, *last]);
        }
        _ => return false,
    }
    out.truncate(end);
    true
}

/// Appends `text`, whose first byte that needs an escape is at `place`.
#[cold]
fn write_escaped(mut text: &[u8], mut place: usize, out: &mut Vec<u8>) {
    while let Some((plain, [special, rest @ ..])) = text.split_at_checked(place) {
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
        place = first_special(text).unwrap_or(text.len());
    }
    out.extend_from_slice(text);
}

/// Returns the place of the first byte that needs an escape.
#[inline]
fn first_special(text: &[u8]) -> Option<usize> {
    if let (Some(first), Some(last)) = (text.first_chunk::<8>(), text.last_chunk::<8>()) {
        return match text.len() {
            ..=16 => first_in(*first, 0).or_else(|| first_in(*last, text.len() - 8)),
            _ => first_in_blocks(text, last),
        };
    }
    if let (Some(first), Some(last)) = (text.first_chunk::<4>(), text.last_chunk::<4>()) {
        // Both halves together are the text; bytes in the middle are in both.
        let place = first_in(*[*first, *last].as_flattened().first_chunk()?, 0)?;
        return Some(if place < 4 { place } else { place + text.len() - 8 });
    }
    text.iter().position(|byte| is_special(*byte))
}

/// Returns the place of the first byte that needs an escape in more than 16 bytes. `last`: the last eight of them.
fn first_in_blocks(text: &[u8], last: &[u8; 8]) -> Option<usize> {
    // Complete blocks without such a byte are skipped at the speed of vector instructions.
    let (blocks, rest) = text.as_chunks::<16>();
    for (number, block) in blocks.iter().enumerate() {
        if has_special(block) {
            let place = block.iter().position(|byte| is_special(*byte))?;
            return Some(number * 16 + place);
        }
    }
    let in_rest = rest.first_chunk().and_then(|first| first_in(*first, blocks.len() * 16));
    in_rest.or_else(|| first_in(*last, text.len() - 8))
}

#[inline]
fn has_special(block: &[u8; 16]) -> bool {
    block.iter().fold(false, |any, byte| any | is_special(*byte))
}

#[inline]
const fn is_special(byte: u8) -> bool {
    byte < 0x20 || byte == b'"' || byte == b'\\'
}

/// Returns the place of the first byte that needs an escape, if the first of the bytes is at `start`.
#[inline]
fn first_in(bytes: [u8; 8], start: usize) -> Option<usize> {
    let special = specials(u64::from_le_bytes(bytes));
    (special != 0).then(|| start + special.trailing_zeros() as usize / 8)
}

/// Returns 0 if no byte needs an escape. Otherwise the lowest bit that is 1 is the top bit of the first byte that needs one.
///
/// `word - ones * b` sets the top bit of each byte that is less than `b`, if the byte has no top bit itself. A borrow can set
/// it only in a byte above one that is less; so the lowest of these bits is correct, and that is the one that is used.
#[inline]
const fn specials(word: u64) -> u64 {
    const ONES: u64 = u64::from_ne_bytes([1; 8]);
    const TOPS: u64 = u64::from_ne_bytes([0x80; 8]);
    let quotes = word ^ (ONES * b'"' as u64);
    let backslashes = word ^ (ONES * b'\\' as u64);
    let control = word.wrapping_sub(ONES * 0x20) & !word;
    let quote = quotes.wrapping_sub(ONES) & !quotes;
    let backslash = backslashes.wrapping_sub(ONES) & !backslashes;
    (control | quote | backslash) & TOPS
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
    fn of_every_length() {
        for len in 0..70 {
            let text: Vec<u8> = (0..len).map(|place| b'A' + (place % 26)).collect();
            let expected = format!("\"{}\"", str::from_utf8(&text).unwrap());
            assert_eq!(quoted(&text), expected.as_bytes());
            let (mut in_front, mut out) = (b"x".to_vec(), b"x".to_vec());
            write(&text, &mut out);
            in_front.extend_from_slice(&text);
            assert_eq!(out, in_front);
        }
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
