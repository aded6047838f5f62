//! Gtid_tagged_event: a Gtid event in the newer serialization, which contains a tag. MySQL writes
//! it from 8.3 on, for GTIDs with a tag.
//!
//! <https://dev.mysql.com/doc/dev/mysql-server/latest/PageLibsMysqlSerialization.html>
//!
//! ```text
//! version | total size | last field that must not be skipped, + 1 | { field id | value } ...
//! all varints
//! ```
//! Ids increase. A field that is missing has its default.

use crate::binlog::gtid::GtidEvent;
use crate::error::DecodeError;
use crate::position::{decode_tag, decode_varint, decode_varint_signed};
use crate::wire::{Reader, Result};

impl<'a> GtidEvent<'a> {
    /// Decodes the body of a Gtid_tagged event without its checksum.
    pub fn decode_tagged(body: &'a [u8]) -> Result<Self> {
        let mut reader = Reader::new(body);
        let version = decode_varint(&mut reader, "serialization version")?;
        if version > MAX_VERSION {
            let what = "serialization version";
            return Err(DecodeError::Unsupported { what, value: version });
        }
        let size = decode_varint(&mut reader, "serialization size")?;
        if size != body.len() as u64 {
            return Err(DecodeError::Invalid { what: "serialization size", value: size });
        }
        let needed = decode_varint(&mut reader, "last non-ignorable field")?;
        if needed > LAST_FIELD + 1 {
            let what = "field of a tagged GTID";
            return Err(DecodeError::Unsupported { what, value: needed - 1 });
        }

        let mut event = GtidEvent::default();
        let mut lowest = 0;
        while !reader.is_empty() {
            let field = decode_varint(&mut reader, "field id")?;
            if field < lowest {
                return Err(DecodeError::Invalid { what: "field id", value: field });
            }
            if field > LAST_FIELD {
                break; // of a later version, which says that it may be skipped, with all fields after it
            }
            lowest = field + 1;
            event.decode_field(field, &mut reader)?;
        }
        event.original_commit_us = event.original_commit_us.or(event.immediate_commit_us);
        event.original_server_version =
            event.original_server_version.or(event.immediate_server_version);
        event.check_gno()?;
        Ok(event)
    }

    fn decode_field(&mut self, field: u64, reader: &mut Reader<'a>) -> Result<()> {
        match field {
            0 => self.may_have_statements = decode_varint(reader, "GTID flags")? & 1 == 1,
            1 => {
                for byte in &mut self.uuid {
                    *byte = narrow(decode_varint(reader, "GTID uuid")?, "GTID uuid")?;
                }
            }
            2 => self.gno = decode_varint_signed(reader, "GTID number")?,
            3 => self.tag = decode_tag(reader)?,
            4 => self.last_committed = decode_varint_signed(reader, "last_committed")?,
            5 => self.sequence_number = decode_varint_signed(reader, "sequence_number")?,
            6 => self.immediate_commit_us = Some(decode_varint(reader, "immediate commit time")?),
            7 => self.original_commit_us = Some(decode_varint(reader, "original commit time")?),
            8 => self.transaction_length = Some(decode_varint(reader, "transaction length")?),
            9 => self.immediate_server_version = Some(version(reader)?),
            10 => self.original_server_version = Some(version(reader)?),
            _ => self.commit_group_ticket = Some(decode_varint(reader, "commit group ticket")?),
        }
        Ok(())
    }
}

fn version(reader: &mut Reader<'_>) -> Result<u32> {
    let what = "server version";
    narrow(decode_varint(reader, what)?, what)
}

/// Converts the number to a smaller type, if it fits.
fn narrow<T: TryFrom<u64>>(value: u64, what: &'static str) -> Result<T> {
    T::try_from(value).map_err(|_| DecodeError::Invalid { what, value })
}

/// Versions 0 and 1 are read in the same way.
const MAX_VERSION: u64 = 1;

/// The id of the last field that is known here, `commit_group_ticket`.
const LAST_FIELD: u64 = 11;

#[cfg(test)]
mod tests {
    use super::*;

    /// An event that MySQL 9.6.0 wrote.
    const REAL: [u8; 60] = [
        0x02, 0x78, 0x00, 0x00, 0x02, 0x02, 0xaa, 0xee, 0x25, 0x02, 0x08, 0x04, 0x65, 0x02, 0x22,
        0xc5, 0x03, 0xc5, 0x02, 0xe1, 0x02, 0x9c, 0xc1, 0x03, 0x11, 0x03, 0x55, 0x02, 0xde, 0xad,
        0x03, 0x04, 0x0c, 0x06, 0x0a, 0x6d, 0x79, 0x74, 0x61, 0x67, 0x08, 0x00, 0x0a, 0x04, 0x0c,
        0x7f, 0x1c, 0xf3, 0xb8, 0x14, 0x24, 0x4a, 0x06, 0x10, 0xa1, 0x04, 0x12, 0x43, 0x0f, 0x0b,
    ];

    /// A body with `fields` and the size that matches.
    fn body(needed: u8, fields: &[u8]) -> Vec<u8> {
        let mut body = vec![2, 0, needed];
        body.extend(fields);
        body[1] = (body.len() as u8) << 1;
        body
    }

    #[test]
    fn real() {
        let event = GtidEvent::decode_tagged(&REAL).unwrap();
        assert!(event.may_have_statements);
        assert_eq!(
            event.gtid().unwrap().to_string(),
            "55778904-0299-11f1-b1b8-4ef0c4956feb:mytag:3"
        );
        assert_eq!((event.last_committed, event.sequence_number), (0, 1));
        assert_eq!(event.immediate_commit_us, Some(1_770_368_687_207_196));
        assert_eq!(event.original_commit_us, event.immediate_commit_us);
        assert_eq!(event.transaction_length, Some(296));
        assert_eq!(event.immediate_server_version, Some(90600));
        assert_eq!(event.original_server_version, Some(90600));
        assert_eq!(event.commit_group_ticket, None);
    }

    #[test]
    fn sizes() {
        for end in 0..REAL.len() {
            assert!(GtidEvent::decode_tagged(&REAL[..end]).is_err());
        }
        for size in [0x76, 0x7a] {
            let mut bad = REAL;
            bad[1] = size;
            assert!(GtidEvent::decode_tagged(&bad).is_err());
        }
    }

    #[test]
    fn fields() {
        assert_eq!(GtidEvent::decode_tagged(&body(0, &[4, 12])).unwrap().gno, 3);
        // an unknown field may be skipped, unless the header forbids it
        assert!(GtidEvent::decode_tagged(&body(0, &[4, 12, 24, 1, 2, 3])).is_ok());
        assert!(GtidEvent::decode_tagged(&body(24, &[4, 12, 24, 1, 2, 3])).is_ok());
        assert!(GtidEvent::decode_tagged(&body(26, &[4, 12, 24, 1, 2, 3])).is_err());
        for bad in [
            &[4, 12, 4, 12][..],     // twice
            &[4, 12, 0, 0],          // order
            &[4, 0],                 // number 0
            &[4, 2],                 // number -1
            &[4, 12, 6, 2, b'A'],    // upper case
            &[4, 12, 6, 2, b'1'],    // digit first
            &[2, 0x01, 0x04, 4, 12], // 256 is not a byte of a uuid
        ] {
            assert!(GtidEvent::decode_tagged(&body(0, bad)).is_err(), "{bad:?}");
        }
        let mut long = vec![4, 12, 6, 33 << 1];
        long.extend([b'a'; 33]);
        assert!(GtidEvent::decode_tagged(&body(0, &long)).is_err());
        long.pop();
        long[3] = 32 << 1;
        assert!(GtidEvent::decode_tagged(&body(0, &long)).is_ok());
    }
}
