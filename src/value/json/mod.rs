//! Converts MySQL's binary JSON to text, byte for byte as `CAST(column AS CHAR)` prints it, and to
//! Spark's VARIANT.
//!
//! ```text
//! {"a": 1}      00 | 01 00 | 0c 00 | 0b 00 01 00 | 05 01 00 | 61
//!               │    │       │       │             │          └ the key's bytes
//!               │    │       │       │             └ value entry: i16, and the value itself
//!               │    │       │       └ key entry: offset, length
//!               │    │       └ size of the container
//!               │    └ count of members
//!               └ type: small object
//! ```
//!
//! | type | value | file |
//! |---|---|---|
//! | 00–03 | objects and arrays, small and large | `container.rs` |
//! | 04–0c | literals, integers, double, string | `scalar.rs` |
//! | 0f | any other MySQL type: temporals, decimals, bytes | `opaque.rs` |
//!
//! `text.rs` prints the values that these files read, with `value/float.rs`, `escape.rs`, `shapes.rs` and
//! `base64.rs`; `variant` converts them to Spark's VARIANT, and `sql.rs` to an expression of SQL. `diff.rs` reads the diffs that partial
//! updates log; `patch.rs` and `rebuild.rs` apply them: binary form in, binary form out.
//!
//! A malicious document costs no more than any other of its length: the depth of containers is
//! limited, and no byte is used more than once, so that time and output are linear in the length of
//! the document. MariaDB's JSON is plain text and is not decoded here.
//!
//! <https://dev.mysql.com/doc/dev/mysql-server/latest/json__binary_8h.html>

mod base64;
mod budget;
mod container;
mod diff;
mod escape;
mod nodes;
mod opaque;
mod patch;
mod path;
mod rebuild;
mod scalar;
mod shapes;
mod sql;
mod text;
mod variant;

use crate::error::DecodeError;
use crate::wire::{Reader, Result};
use budget::Budget;
use scalar::ScalarValue;

pub use diff::{Diff, Diffs, Operation, write_diff_text};
pub(crate) use escape::quote;
pub use patch::apply_diffs;
pub(crate) use sql::{is_same_from_text, write_expression};
pub use text::TextEncoder;
pub use variant::{RowEncoder, VariantEncoder};

/// Appends the document as text, in valid UTF-8. An empty document is `null`, as for the server.
/// After an error, `out` is unchanged.
pub fn write_text(document: &[u8], out: &mut Vec<u8>) -> Result<()> {
    let start = out.len();
    let result = text::Text::write(document, out).and_then(|()| check_utf8(out, start));
    if result.is_err() {
        out.truncate(start);
    }
    result
}

/// Checks all strings at once: everything between them is ASCII.
fn check_utf8(out: &[u8], start: usize) -> Result<()> {
    match simdutf8::basic::from_utf8(out.get(start..).unwrap_or_default()) {
        Ok(_) => Ok(()),
        Err(_) => Err(DecodeError::Text { what: "string in a JSON document", charset: "utf8mb4" }),
    }
}

/// A value: its kind, and bytes that begin with it. For a value at an offset, these bytes continue
/// to the end of its container.
#[derive(Debug, Clone, Copy)]
struct Value<'a> {
    kind: Kind,
    bytes: &'a [u8],
    /// True if the value is contained in the entry of its container. The budget for it is then used
    /// with the entry.
    is_inlined: bool,
}

impl<'a> Value<'a> {
    /// Returns the value of the document; an empty document is null.
    fn of_document(document: &'a [u8]) -> Result<Self> {
        let mut reader = Reader::new(if document.is_empty() { NULL } else { document });
        let kind = Kind::from_code(reader.u8("JSON type")?)?;
        Ok(Self { kind, bytes: reader.rest(), is_inlined: document.is_empty() })
    }

    /// Reads a value of the kind `Kind::Scalar(scalar)`.
    #[inline(always)]
    fn scalar(self, scalar: Scalar, budget: &mut Budget) -> Result<ScalarValue<'a>> {
        let mut reader = Reader::new(self.bytes);
        let value = scalar::read(scalar, &mut reader)?;
        if !self.is_inlined {
            budget.spend(self.bytes.len() - reader.left())?;
        }
        Ok(value)
    }
}

/// The document `null`.
const NULL: &[u8] = &[4, 0];

/// The meaning of a type byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Object(Width),
    Array(Width),
    Scalar(Scalar),
}

/// The size of a container's counts, sizes and offsets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Width {
    /// Two bytes.
    Small,
    /// Four bytes.
    Large,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Scalar {
    Literal,
    I16,
    U16,
    I32,
    U32,
    I64,
    U64,
    Double,
    String,
    Opaque,
}

impl Kind {
    fn from_code(code: u8) -> Result<Self> {
        Ok(match code {
            0x00 => Self::Object(Width::Small),
            0x01 => Self::Object(Width::Large),
            0x02 => Self::Array(Width::Small),
            0x03 => Self::Array(Width::Large),
            0x04 => Self::Scalar(Scalar::Literal),
            0x05 => Self::Scalar(Scalar::I16),
            0x06 => Self::Scalar(Scalar::U16),
            0x07 => Self::Scalar(Scalar::I32),
            0x08 => Self::Scalar(Scalar::U32),
            0x09 => Self::Scalar(Scalar::I64),
            0x0a => Self::Scalar(Scalar::U64),
            0x0b => Self::Scalar(Scalar::Double),
            0x0c => Self::Scalar(Scalar::String),
            0x0f => Self::Scalar(Scalar::Opaque),
            _ => return Err(DecodeError::Invalid { what: "JSON type", value: u64::from(code) }),
        })
    }
}

#[cfg(test)]
mod encode;
#[cfg(test)]
mod tests;
