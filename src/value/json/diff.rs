//! JSON diffs: the changes of a statement to a document, as a Partial_update_rows event contains
//! them.
//!
//! ```text
//! REPLACE $.age 26      00 | 05 24 2e 61 67 65 | 03 05 1a 00       operation u8 | path lenenc | value lenenc
//! REMOVE  $.b[last]     02 | 09 24 2e …                            no value
//! ```
//!
//! The diffs of a cell follow one after another and apply in that order. Each value is a document.
//!
//! <https://dev.mysql.com/doc/dev/mysql-server/latest/classJson__diff.html>

use super::text::Text;
use super::{check_utf8, escape};
use crate::error::DecodeError;
use crate::wire::{Reader, Result};

/// The operation of a diff.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    /// Replaces an existing value.
    Replace,
    /// Adds the value as a new member, or as a new cell before the one at its index.
    Insert,
    /// Removes a value.
    Remove,
}

/// One diff, borrowed from the event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Diff<'a> {
    /// The operation.
    pub operation: Operation,
    /// The path of the value.
    pub path: &'a [u8],
    /// The new value as a document; empty if a value is removed.
    pub value: &'a [u8],
}

/// Appends the diffs as text, in valid UTF-8: `{"$diff":[{"op":"replace","path":"$.age","value":26}]}`.
///
/// The text of a document never looks like this: the server prints a space after each colon. After
/// an error, `out` is unchanged.
pub fn write_diff_text(diffs: &[u8], out: &mut Vec<u8>) -> Result<()> {
    let start = out.len();
    let result = write_diffs(diffs, out).and_then(|()| check_utf8(out, start));
    if result.is_err() {
        out.truncate(start);
    }
    result
}

fn write_diffs(diffs: &[u8], out: &mut Vec<u8>) -> Result<()> {
    out.extend_from_slice(b"{\"$diff\":[");
    for (number, diff) in Diffs::new(diffs).enumerate() {
        let diff = diff?;
        out.extend_from_slice(if number > 0 { b",{\"op\":\"" } else { b"{\"op\":\"" });
        out.extend_from_slice(diff.operation.as_str().as_bytes());
        out.extend_from_slice(b"\",\"path\":");
        escape::quote(diff.path, out);
        if diff.operation != Operation::Remove {
            out.extend_from_slice(b",\"value\":");
            Text::write(diff.value, out)?;
        }
        out.push(b'}');
    }
    out.extend_from_slice(b"]}");
    Ok(())
}

/// Iterates over the diffs of a cell, in order. If they are incomplete, the last item is an error.
#[derive(Debug, Clone, Copy)]
pub struct Diffs<'a>(Reader<'a>);

impl<'a> Diffs<'a> {
    /// Iterates over the diffs in `bytes`.
    pub const fn new(bytes: &'a [u8]) -> Self {
        Self(Reader::new(bytes))
    }

    fn diff(&mut self) -> Result<Diff<'a>> {
        let operation = match self.0.u8("operation of a JSON diff")? {
            0 => Operation::Replace,
            1 => Operation::Insert,
            2 => Operation::Remove,
            code => {
                let what = "operation of a JSON diff";
                return Err(DecodeError::Invalid { what, value: u64::from(code) });
            }
        };
        let path = self.0.lenenc_str("path of a JSON diff")?;
        let value = match operation {
            Operation::Remove => &[],
            _ => self.0.lenenc_str("value of a JSON diff")?,
        };
        Ok(Diff { operation, path, value })
    }
}

impl<'a> Iterator for Diffs<'a> {
    type Item = Result<Diff<'a>>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.0.is_empty() {
            return None;
        }
        let diff = self.diff();
        if diff.is_err() {
            self.0.rest();
        }
        Some(diff)
    }
}

impl Operation {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Replace => "replace",
            Self::Insert => "insert",
            Self::Remove => "remove",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Recorded from a server.
    const AGE: &[u8] = b"\0\x05$.age\x03\x05\x1a\0";
    const LAST: &[u8] = b"\x02\x09$.b[last]";

    fn text(diffs: &[u8]) -> Result<String> {
        let mut out = Vec::new();
        write_diff_text(diffs, &mut out)?;
        Ok(String::from_utf8(out).unwrap())
    }

    #[test]
    fn diffs_of_a_server() {
        let both = [AGE, LAST].concat();
        let found: Vec<_> = Diffs::new(&both).map(Result::unwrap).collect();
        let age = Diff { operation: Operation::Replace, path: b"$.age", value: b"\x05\x1a\0" };
        let last = Diff { operation: Operation::Remove, path: b"$.b[last]", value: b"" };
        assert_eq!(found, [age, last]);
        assert_eq!(
            text(&both).unwrap(),
            r#"{"$diff":[{"op":"replace","path":"$.age","value":26},{"op":"remove","path":"$.b[last]"}]}"#
        );
        assert_eq!(text(b"").unwrap(), r#"{"$diff":[]}"#);
        assert_eq!(
            text(b"\x01\x06$.\"\\n\"\x00").unwrap(),
            r#"{"$diff":[{"op":"insert","path":"$.\"\\n\"","value":null}]}"#
        );
    }

    #[test]
    fn cut_anywhere() {
        for end in 1..AGE.len() {
            let found: Vec<_> = Diffs::new(&AGE[..end]).collect();
            assert!(matches!(found[..], [Err(_)]), "{end}");
            assert!(text(&AGE[..end]).is_err());
        }
        for end in 1..LAST.len() {
            assert!(text(&LAST[..end]).is_err(), "{end}");
        }
    }

    #[test]
    fn rejects() {
        for (diffs, why) in [
            (&b"\x03\x01$"[..], "operation"),
            (b"\x7f\x01$", "operation"),
            (b"\x02\xfb", "path without a length"),
            (b"\x02\xfe\xff\xff\xff\xff\xff\xff\xff\xff$", "length of the path"),
            (b"\x00\x01$\xfd\xff\xff\xff\x05", "length of the value"),
            (b"\x02\x03$.\xff", "path that is not UTF-8"),
            (b"\x00\x01$\x03\x0c\x01\xff", "value that is not UTF-8"),
            (b"\x00\x01$\x01\x0d", "value of no type"),
        ] {
            let mut out = b"kept".to_vec();
            assert!(write_diff_text(diffs, &mut out).is_err(), "{why}");
            assert_eq!(out, b"kept");
        }
    }
}
