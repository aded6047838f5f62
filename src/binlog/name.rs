//! Names of databases, tables, columns.

use crate::error::DecodeError;
use crate::wire::Result;
use std::sync::Arc;

/// Decodes a name: names are stored in UTF-8.
pub(super) fn text(bytes: &[u8], what: &'static str) -> Result<Arc<str>> {
    // U+0000 is the only character that neither identifiers nor Arrow's field names may contain.
    match std::str::from_utf8(bytes) {
        Ok(text) if !bytes.contains(&0) => Ok(text.into()),
        _ => Err(DecodeError::Text { what, charset: "utf8mb4" }),
    }
}
