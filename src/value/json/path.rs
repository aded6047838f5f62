//! The path of a JSON diff: the way from a document's root to the value that changes.
//!
//! ```text
//! $                       the root
//! .name   ."any \"name"   a member; in quotes with the escapes of a JSON string
//! [3]  [last]  [last-2]   a cell
//! ```
//!
//! The path in the log is that of the statement, including `[last]`. But it contains no wildcards,
//! no ranges, and no cells of values that are not arrays.
//!
//! <https://dev.mysql.com/doc/refman/8.4/en/json.html#json-path-syntax>

use crate::error::DecodeError;
use crate::limits::MAX_JSON_DEPTH;
use crate::wire::{Reader, Result};
use std::borrow::Cow;

/// One step of a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Leg<'a> {
    /// The member with this name.
    Member(Cow<'a, [u8]>),
    /// The cell with this index.
    Cell(Index),
}

/// The index of a cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Index {
    number: u32,
    from_end: bool,
}

impl Index {
    /// Returns the index from the front in an array of `len` cells; `None` if there is no such
    /// cell.
    pub(super) fn within(self, len: usize) -> Option<usize> {
        let number = self.number as usize;
        (number < len).then(|| if self.from_end { len - 1 - number } else { number })
    }

    /// Returns the index at which a new cell is inserted in an array of `len` cells: after the last
    /// cell if the path is beyond the end, before the first if it is before the front.
    pub(super) fn place(self, len: usize) -> usize {
        self.within(len).unwrap_or(if self.from_end { 0 } else { len })
    }
}

/// Parses a path. It has at most as many legs as the depth of nested containers.
pub(super) fn parse(path: &[u8]) -> Result<Vec<Leg<'_>>> {
    if simdutf8::basic::from_utf8(path).is_err() {
        return Err(DecodeError::Text { what: WHAT, charset: "utf8mb4" });
    }
    let mut reader = Reader::new(path);
    let mut legs = Vec::new();
    if next(&mut reader) != Some(b'$') {
        return Err(bad(path, &reader));
    }
    while let Some(byte) = next(&mut reader) {
        if legs.len() == MAX_JSON_DEPTH {
            return Err(DecodeError::Limit {
                what: "legs of a JSON diff's path",
                value: legs.len() as u64 + 1,
                limit: MAX_JSON_DEPTH as u64,
            });
        }
        let leg = match byte {
            b'.' => member(&mut reader).map(Leg::Member),
            b'[' => index(&mut reader).map(Leg::Cell),
            _ => None,
        };
        legs.push(leg.ok_or_else(|| bad(path, &reader))?);
    }
    Ok(legs)
}

/// Creates the error for a path that is invalid at the position of `reader`.
fn bad(path: &[u8], reader: &Reader<'_>) -> DecodeError {
    let value = (path.len() - reader.left()) as u64;
    DecodeError::Invalid { what: "path of a JSON diff, at its byte,", value }
}

fn next(reader: &mut Reader<'_>) -> Option<u8> {
    reader.u8(WHAT).ok()
}

fn member<'a>(reader: &mut Reader<'a>) -> Option<Cow<'a, [u8]>> {
    let text = reader.as_slice();
    if text.first() == Some(&b'"') {
        next(reader)?;
        return quoted(reader);
    }
    let is_end = |byte: &u8| matches!(byte, b'.' | b'[');
    let name = reader.take(text.iter().position(is_end).unwrap_or(text.len()), WHAT).ok()?;
    let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$' | 0x80..);
    (!name.is_empty() && name.iter().all(is_plain)).then_some(Cow::Borrowed(name))
}

/// Returns the text before the closing quote, without its escapes.
fn quoted<'a>(reader: &mut Reader<'a>) -> Option<Cow<'a, [u8]>> {
    let mut name = Cow::Borrowed(plain_run(reader)?);
    loop {
        match next(reader)? {
            b'"' => return Some(name),
            b'\\' => {
                let name = name.to_mut();
                match next(reader)? {
                    byte @ (b'"' | b'\\' | b'/') => name.push(byte),
                    b'b' => name.push(0x08),
                    b'f' => name.push(0x0c),
                    b'n' => name.push(b'\n'),
                    b'r' => name.push(b'\r'),
                    b't' => name.push(b'\t'),
                    b'u' => {
                        let character = unicode(reader)?;
                        name.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
                    }
                    _ => return None,
                }
                name.extend_from_slice(plain_run(reader)?);
            }
            _ => return None,
        }
    }
}

/// Returns the bytes before the next quote or backslash.
fn plain_run<'a>(reader: &mut Reader<'a>) -> Option<&'a [u8]> {
    let len = reader.as_slice().iter().position(|byte| matches!(byte, b'"' | b'\\'))?;
    reader.take(len, WHAT).ok()
}

/// Returns the character after `\u`: one number, or two of a surrogate pair.
fn unicode(reader: &mut Reader<'_>) -> Option<char> {
    let high = four_digits(reader)?;
    if !matches!(high, 0xd800..0xdc00) {
        return char::from_u32(high);
    }
    if reader.array::<2>(WHAT).ok()? != *b"\\u" {
        return None;
    }
    let low = four_digits(reader)?.checked_sub(0xdc00).filter(|low| *low < 0x400)?;
    char::from_u32(0x1_0000 + ((high - 0xd800) << 10 | low))
}

fn four_digits(reader: &mut Reader<'_>) -> Option<u32> {
    let digits = reader.array::<4>(WHAT).ok()?;
    digits.iter().try_fold(0, |number, digit| Some(number << 4 | char::from(*digit).to_digit(16)?))
}

fn index(reader: &mut Reader<'_>) -> Option<Index> {
    let text = reader.as_slice();
    let inside = reader.take(text.iter().position(|byte| *byte == b']')?, WHAT).ok()?;
    next(reader)?;
    let (from_end, digits) = match inside.strip_prefix(b"last") {
        Some(b"") => return Some(Index { number: 0, from_end: true }),
        Some(rest) => (true, rest.strip_prefix(b"-")?),
        None => (false, inside),
    };
    if !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    Some(Index { number: std::str::from_utf8(digits).ok()?.parse().ok()?, from_end })
}

const WHAT: &str = "path of a JSON diff";

#[cfg(test)]
mod tests {
    use super::*;

    fn member(name: &str) -> Leg<'_> {
        Leg::Member(Cow::Borrowed(name.as_bytes()))
    }

    fn cell(number: u32) -> Leg<'static> {
        Leg::Cell(Index { number, from_end: false })
    }

    fn last(number: u32) -> Leg<'static> {
        Leg::Cell(Index { number, from_end: true })
    }

    #[test]
    fn paths() {
        for (path, legs) in [
            ("$", vec![]),
            ("$.age", vec![member("age")]),
            ("$.a.b[0][17].c", vec![member("a"), member("b"), cell(0), cell(17), member("c")]),
            ("$[last][last-2]", vec![last(0), last(2)]),
            ("$[4294967295]", vec![cell(u32::MAX)]),
            (r#"$.""."x.y[0]""#, vec![member(""), member("x.y[0]")]),
            (
                r#"$."\"\\\/\b\f\n\r\t\u0001\u20AC\ud83D\ude00é""#,
                vec![member("\"\\/\x08\x0c\n\r\t\x01€😀é")],
            ),
            ("$._é$1", vec![member("_é$1")]),
        ] {
            assert_eq!(parse(path.as_bytes()).unwrap(), legs, "{path}");
        }
    }

    #[test]
    fn no_paths() {
        for path in [
            "",
            "a",
            ".a",
            "$a",
            "$$",
            "$.",
            "$..a",
            "$.*",
            "$**.a",
            "$[*]",
            "$[]",
            "$[",
            "$[1",
            "$[-1]",
            "$[+1]",
            "$[1 to 2]",
            "$[ 1]",
            "$[4294967296]",
            "$[99999999999999999999]",
            "$[last+1]",
            "$[last-]",
            "$[last-4294967296]",
            "$[latest]",
            "$ .a",
            "$.a b",
            "$.a\"",
            "$.\"a",
            "$.\"a\\",
            "$.\"\\x\"",
            "$.\"\\u12\"",
            "$.\"\\ud800\"",
            "$.\"\\ud800\\u0041\"",
            "$.\"\\udc00\"",
            "$.\"a\"b",
        ] {
            assert!(parse(path.as_bytes()).is_err(), "{path}");
        }
        assert!(parse(b"$.\"\xff\"").is_err());
    }

    #[test]
    fn as_many_legs_as_containers_nest() {
        let path = |legs: usize| format!("${}", "[0]".repeat(legs));
        assert_eq!(parse(path(MAX_JSON_DEPTH).as_bytes()).unwrap().len(), MAX_JSON_DEPTH);
        assert!(matches!(
            parse(path(MAX_JSON_DEPTH + 1).as_bytes()),
            Err(DecodeError::Limit { .. })
        ));
        assert!(parse(path(1 << 18).as_bytes()).is_err());
        assert_eq!(parse(format!("$.{}", "x".repeat(1 << 20)).as_bytes()).unwrap().len(), 1);
    }

    #[test]
    fn places_in_arrays() {
        let index = |number, from_end| Index { number, from_end };
        assert_eq!((index(0, false).within(3), index(0, false).place(3)), (Some(0), 0));
        assert_eq!((index(3, false).within(3), index(3, false).place(3)), (None, 3));
        assert_eq!((index(9, false).within(3), index(9, false).place(3)), (None, 3));
        assert_eq!((index(0, true).within(3), index(0, true).place(3)), (Some(2), 2));
        assert_eq!((index(3, true).within(3), index(3, true).place(3)), (None, 0));
        assert_eq!((index(0, true).within(0), index(0, true).place(0)), (None, 0));
    }
}
