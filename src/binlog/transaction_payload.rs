//! Transaction_payload_event: the events of a transaction, compressed together.
//!
//! <https://dev.mysql.com/doc/dev/mysql-server/latest/classmysql_1_1binlog_1_1event_1_1Transaction__payload__event.html>
//!
//! ```text
//! { type lenenc, length lenenc, value } ...  0  payload
//! ```
//! The payload contains complete events one after another, without checksums.

use crate::error::DecodeError;
use crate::wire::{Reader, Result};

/// The event's header fields and the bytes they describe. Nothing is decompressed here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TransactionPayload<'a> {
    /// The compression of `payload`.
    pub compression: Compression,
    /// The number of bytes of the events after decompression, as the event states it. It is a hint:
    /// memory must not be allocated by it.
    pub uncompressed_size: Option<u64>,
    /// The events.
    pub payload: &'a [u8],
}

/// The compression of a payload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Compression {
    /// Zstandard, in one or more frames.
    Zstd,
    /// No compression.
    None,
}

impl<'a> TransactionPayload<'a> {
    /// Decodes a body without its checksum.
    pub fn decode(body: &'a [u8]) -> Result<Self> {
        let mut reader = Reader::new(body);
        let mut compression = None;
        let mut uncompressed_size = None;
        let mut payload_size = None;
        loop {
            let field = reader.lenenc_int("payload field type")?;
            if field == END_MARK {
                break;
            }
            let len = reader.lenenc_len("payload field length")?;
            let mut value = reader.sub(len, "payload field")?;
            match field {
                PAYLOAD_SIZE => payload_size = Some(value.lenenc_len("payload size")?),
                COMPRESSION => compression = Some(value.lenenc_int("payload compression")?),
                UNCOMPRESSED_SIZE => {
                    uncompressed_size = Some(value.lenenc_int("payload uncompressed size")?);
                }
                _ => continue, // a field of a later version, which may be skipped
            }
            value.finish("payload field")?;
        }
        let compression = match compression {
            Some(0) => Compression::Zstd,
            Some(255) => Compression::None,
            Some(value) => {
                return Err(DecodeError::Unsupported { what: "payload compression", value });
            }
            None => return Err(DecodeError::Invalid { what: "payload compression", value: 0 }),
        };
        let size = payload_size.ok_or(DecodeError::Invalid { what: "payload size", value: 0 })?;
        let payload = reader.take(size, "payload")?;
        reader.finish("Transaction_payload event")?;
        Ok(Self { compression, uncompressed_size, payload })
    }
}

const END_MARK: u64 = 0;
const PAYLOAD_SIZE: u64 = 1;
const COMPRESSION: u64 = 2;
const UNCOMPRESSED_SIZE: u64 = 3;

#[cfg(test)]
mod tests {
    use super::*;

    /// The header of an event that a server wrote, with a payload of 124 bytes.
    fn real() -> Vec<u8> {
        let mut body = vec![2, 1, 0, 3, 1, 0xb3, 1, 1, 0x7c, 0, 0x28, 0xb5, 0x2f, 0xfd];
        body.resize(10 + 124, 0);
        body
    }

    #[test]
    fn fields() {
        let body = real();
        let payload = TransactionPayload::decode(&body).unwrap();
        assert_eq!(payload.compression, Compression::Zstd);
        assert_eq!(payload.uncompressed_size, Some(179));
        assert_eq!(payload.payload, &body[10..]);

        let plain = [2, 3, 0xfc, 255, 0, 9, 2, 7, 7, 1, 1, 1, 0, b'e'];
        let payload = TransactionPayload::decode(&plain).unwrap();
        assert_eq!(payload.compression, Compression::None);
        assert_eq!((payload.uncompressed_size, payload.payload), (None, &b"e"[..]));
    }

    #[test]
    fn refused() {
        let good = real();
        for end in 0..good.len() {
            assert!(TransactionPayload::decode(&good[..end]).is_err());
        }
        let mut long = good.clone();
        long.push(0);
        assert!(TransactionPayload::decode(&long).is_err());
        for bad in [
            &[2, 1, 1, 1, 1, 0, 0][..], // an unknown compression
            &[1, 1, 0, 0],              // no compression
            &[2, 1, 0, 0],              // no size
            &[2, 2, 0, 0, 1, 1, 0, 0],  // a value shorter than its length
            &[1, 9, 0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2, 1, 0, 0],
        ] {
            assert!(TransactionPayload::decode(bad).is_err());
        }
    }
}
