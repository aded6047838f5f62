//! Heartbeat events: the position of a dump while there is nothing to send. They are never in a
//! file.
//!
//! <https://dev.mysql.com/doc/dev/mysql-server/latest/classmysql_1_1binlog_1_1event_1_1Heartbeat__event.html>,
//! <https://dev.mysql.com/doc/dev/mysql-server/latest/classmysql_1_1binlog_1_1event_1_1Heartbeat__event__v2.html>

use super::{EventHeader, EventType};
use crate::wire::{Reader, Result};

/// The position of the server in its log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Heartbeat<'a> {
    /// The file's name.
    pub file: &'a [u8],
    /// The offset. Version 1 contains only its lower 32 bits, or 0 if there is none.
    pub offset: Offset,
}

/// The known part of an offset.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Offset {
    /// The offset is not known.
    Unknown,
    /// The lower 32 bits are known.
    Low(u32),
    /// The complete offset is known.
    Complete(u64),
}

impl<'a> Heartbeat<'a> {
    /// Decodes a body without its checksum, of either version. `is_mariadb`: MariaDB puts offsets
    /// above 4 GiB into the body.
    pub fn decode(header: &EventHeader, body: &'a [u8], is_mariadb: bool) -> Result<Self> {
        let mut reader = Reader::new(body);
        if header.event_type == EventType::HEARTBEAT_V2 {
            return Self::decode_fields(&mut reader);
        }
        let offset = match header.log_pos {
            0 if is_mariadb && body.len() > 8 => Offset::Complete(reader.u64("heartbeat offset")?),
            0 => Offset::Unknown,
            low => Offset::Low(low),
        };
        Ok(Self { file: reader.rest(), offset })
    }

    fn decode_fields(reader: &mut Reader<'a>) -> Result<Self> {
        let mut heartbeat = Self { file: &[], offset: Offset::Unknown };
        while !reader.is_empty() {
            let field = reader.lenenc_int("heartbeat field")?;
            if field == END {
                break;
            }
            let value = reader.lenenc_str("heartbeat field")?;
            match field {
                FILE => heartbeat.file = value,
                OFFSET => {
                    let offset = Reader::new(value).lenenc_int("heartbeat offset")?;
                    heartbeat.offset = Offset::Complete(offset);
                }
                // A newer server may send more fields.
                _ => {}
            }
        }
        Ok(heartbeat)
    }
}

const END: u64 = 0;
const FILE: u64 = 1;
const OFFSET: u64 = 2;

#[cfg(test)]
mod tests {
    use super::*;

    fn header(event_type: EventType, log_pos: u32) -> EventHeader {
        EventHeader { timestamp: 0, event_type, server_id: 1, event_size: 100, log_pos, flags: 0 }
    }

    #[test]
    fn of_the_first_version() {
        let decode = |log_pos, body: &'static [u8], is_mariadb| {
            Heartbeat::decode(&header(EventType::HEARTBEAT, log_pos), body, is_mariadb).unwrap()
        };
        let found = decode(900, b"b.1", false);
        assert_eq!((found.file, found.offset), (&b"b.1"[..], Offset::Low(900)));
        let found = decode(0, b"\x07\0\0\0\x02\0\0\0b.1", true);
        assert_eq!((found.file, found.offset), (&b"b.1"[..], Offset::Complete((2 << 32) + 7)));
        assert_eq!(decode(0, b"mysql-bin.000001", false).offset, Offset::Unknown);
    }

    #[test]
    fn of_the_second_version() {
        let header = header(EventType::HEARTBEAT_V2, 0);
        let body = b"\x01\x03b.1\x02\x09\xfe\x07\0\0\0\x02\0\0\0\x09\x01x\0";
        let found = Heartbeat::decode(&header, body, false).unwrap();
        assert_eq!((found.file, found.offset), (&b"b.1"[..], Offset::Complete((2 << 32) + 7)));
        for end in [1, 3, 6, 10] {
            assert!(Heartbeat::decode(&header, &body[..end], false).is_err(), "{end}");
        }
    }
}
