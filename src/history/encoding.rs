//! The encoding of stored values: JSON, and compressed bytes.
//!
//! Bytes are compressed by zlib; those of version 0.1 by zstd, whose magic number shows this. zstd only decompresses here: its
//! compression would be a twentieth of the library.

use crate::error::{Error, ErrorKind, Result};
use flate2::read::ZlibDecoder;
use flate2::write::ZlibEncoder;
use serde::{Deserialize, Serialize};
use std::io::{Read, Write};

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
    let failed = |error| Error::io("cannot compress", error);
    let mut encoder = ZlibEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(bytes).map_err(failed)?;
    encoder.finish().map_err(failed)
}

/// Decompresses the result of [`pack`].
pub(super) fn unpack(bytes: &[u8]) -> Result<Vec<u8>> {
    let damaged = |_| Error::malformed("it cannot be decompressed");
    let mut out = Vec::new();
    let mut decoder: Box<dyn Read + '_> = match bytes.starts_with(&ZSTD_MAGIC) {
        true => Box::new(zstd::stream::read::Decoder::new(bytes).map_err(damaged)?),
        false => Box::new(ZlibDecoder::new(bytes)),
    };
    decoder.as_mut().take(MAX_TEXT + 1).read_to_end(&mut out).map_err(damaged)?;
    if out.len() as u64 > MAX_TEXT {
        return Err(Error::malformed("it is larger than 1 GiB"));
    }
    Ok(out)
}

/// The first bytes of zstd's format. <https://www.rfc-editor.org/rfc/rfc8878#section-3.1.1>
const ZSTD_MAGIC: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];
/// The maximum size of a text: a million tables of 1000 bytes.
const MAX_TEXT: u64 = 1 << 30;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packed_bytes_of_this_version_and_of_the_first() {
        let text = b"CREATE TABLE t (id INT PRIMARY KEY)".repeat(100);
        let packed = pack(&text).unwrap();
        assert!(packed.len() < text.len() / 10);
        assert_eq!(unpack(&packed).unwrap(), text);
        assert_eq!(unpack(&zstd::bulk::compress(&text, 3).unwrap()).unwrap(), text);
        assert!(unpack(b"neither").is_err());
        assert!(unpack(packed.get(..packed.len() / 2).unwrap()).is_err());
    }
}
