//! The encoding of stored values: JSON, and compressed bytes.

use crate::error::{Error, ErrorKind, Result};
use serde::{Deserialize, Serialize};

/// Writes JSON.
pub(super) fn to_json(value: &impl Serialize) -> Result<String> {
    serde_json::to_string(value)
        .map_err(|error| Error::new(ErrorKind::Internal, format!("a history to JSON: {error}")))
}

/// Reads JSON.
pub(super) fn of_json<'t, T: Deserialize<'t>>(text: &'t str) -> Result<T> {
    // The message of serde may contain the text, which is at most a statement and never a cell.
    serde_json::from_str(text).map_err(|error| Error::malformed(error.to_string()))
}

/// Compresses bytes.
pub(super) fn pack(bytes: &[u8]) -> Result<Vec<u8>> {
    zstd::bulk::compress(bytes, LEVEL).map_err(|error| Error::io("cannot compress", error))
}

/// Decompresses the result of [`pack`].
pub(super) fn unpack(bytes: &[u8]) -> Result<Vec<u8>> {
    use std::io::Read;
    let damaged = |_| Error::malformed("it cannot be decompressed");
    let mut out = Vec::new();
    let decoder = zstd::stream::read::Decoder::new(bytes).map_err(damaged)?;
    decoder.take(MAX_TEXT + 1).read_to_end(&mut out).map_err(damaged)?;
    if out.len() as u64 > MAX_TEXT {
        return Err(Error::malformed("it is larger than 1 GiB"));
    }
    Ok(out)
}

/// The level of compression. Texts of structures are repetitive.
const LEVEL: i32 = 3;
/// The maximum size of a text: a million tables of 1000 bytes.
const MAX_TEXT: u64 = 1 << 30;
