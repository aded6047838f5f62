//! Rotate_event: the next file of the log.
//!
//! <https://dev.mysql.com/doc/dev/mysql-server/latest/classmysql_1_1binlog_1_1event_1_1Rotate__event.html>

use crate::error::DecodeError;
use crate::limits::MAX_FILE_NAME_BYTES;
use crate::wire::{Reader, Result};

/// The continuation of the log. It is the last event of most files; a server also sends an
/// artificial one at the start of each file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rotate<'a> {
    /// Offset of the next event in the next file.
    pub position: u64,
    /// The next file's name, without a folder.
    pub file: &'a str,
}

impl<'a> Rotate<'a> {
    /// Decodes a body without its checksum.
    pub fn decode(body: &'a [u8]) -> Result<Self> {
        let mut reader = Reader::new(body);
        let position = reader.u64("rotate position")?;
        if position < FIRST_EVENT_AT {
            return Err(DecodeError::Invalid { what: "rotate position", value: position });
        }
        let name = reader.rest();
        if name.is_empty() || name.len() > MAX_FILE_NAME_BYTES {
            let (what, value) = ("rotate file name length", name.len() as u64);
            return Err(DecodeError::Limit { what, value, limit: MAX_FILE_NAME_BYTES as u64 });
        }
        match std::str::from_utf8(name) {
            Ok(file) => Ok(Self { position, file }),
            Err(_) => Err(DecodeError::Text { what: "rotate file name", charset: "utf8" }),
        }
    }
}

/// Offset of a file's first event: after the magic bytes.
pub const FIRST_EVENT_AT: u64 = 4;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bodies() {
        let good = b"\x04\0\0\0\0\0\0\0binlog.000002";
        assert_eq!(Rotate::decode(good), Ok(Rotate { position: 4, file: "binlog.000002" }));
        for end in 0..9 {
            assert_eq!(Rotate::decode(&good[..end]).is_ok(), end == 9);
        }
        assert!(Rotate::decode(b"\x03\0\0\0\0\0\0\0a").is_err());
        assert!(Rotate::decode(b"\x04\0\0\0\0\0\0\0\xff").is_err());
        let mut long = good[..8].to_vec();
        long.resize(8 + 512, b'a');
        assert!(Rotate::decode(&long).is_err());
        assert!(Rotate::decode(&long[..8 + 511]).is_ok());
    }
}
