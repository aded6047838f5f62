//! The 19 bytes that every event starts with.
//!
//! <https://dev.mysql.com/doc/dev/mysql-server/latest/classmysql_1_1binlog_1_1event_1_1Log__event__header.html>
//!
//! ```text
//! timestamp 4 | type 1 | server id 4 | event size 4 | log_pos 4 | flags 2
//! ```

use crate::binlog::event_type::EventType;
use crate::error::DecodeError;
use crate::limits::MAX_EVENT_SIZE;
use crate::wire::{Reader, Result};

/// The common header of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EventHeader {
    /// Seconds since 1970 when the statement started; 0 in artificial events.
    pub timestamp: u32,
    /// The type of the event.
    pub event_type: EventType,
    /// The id of the server on which the event originated.
    pub server_id: u32,
    /// The number of bytes of the complete event: header, body, checksum.
    pub event_size: u32,
    /// Start of the *next* event, modulo 2^32. 0 in artificial events, and in MariaDB from 11.4 on
    /// in events that were in the transaction cache.
    pub log_pos: u32,
    /// The flags: the bits below.
    pub flags: u16,
}

impl EventHeader {
    /// The number of bytes of a header.
    pub const LEN: usize = 19;

    /// The file is still being written, or was not closed (only in the format description event).
    pub const IN_USE: u16 = 0x0001;
    /// The statement depends on its connection (temporary tables).
    pub const THREAD_SPECIFIC: u16 = 0x0004;
    /// The statement does not need the default database.
    pub const SUPPRESS_USE: u16 = 0x0008;
    /// The server created the event for this reader: it is in no file.
    pub const ARTIFICIAL: u16 = 0x0020;
    /// Written by a replica's receiver.
    pub const RELAY_LOG: u16 = 0x0040;
    /// A reader that does not know the type may skip the event.
    pub const IGNORABLE: u16 = 0x0080;
    /// Not subject to replication filters.
    pub const NO_FILTER: u16 = 0x0100;
    /// Not to be applied in parallel with others.
    pub const MTS_ISOLATE: u16 = 0x0200;
    /// MariaDB: a replica applies the event even if the replica itself is its origin.
    pub const MARIADB_ACCEPT_OWN: u16 = 0x4000;
    /// MariaDB: written with `skip_replication`.
    pub const MARIADB_SKIP_REPLICATION: u16 = 0x8000;

    /// Decodes the header at the start of `bytes`; the bytes after it are ignored.
    #[inline]
    pub fn decode(bytes: &[u8]) -> Result<Self> {
        // One check of the length, instead of one for each field.
        let mut reader = Reader::new(bytes).sub(Self::LEN, "event header")?;
        let header = Self {
            timestamp: reader.u32("event timestamp")?,
            event_type: EventType(reader.u8("event type")?),
            server_id: reader.u32("event server id")?,
            event_size: reader.u32("event size")?,
            log_pos: reader.u32("event log_pos")?,
            flags: reader.u16("event flags")?,
        };
        let value = u64::from(header.event_size);
        if value < Self::LEN as u64 {
            return Err(DecodeError::Invalid { what: "event size", value });
        }
        if header.event_size > MAX_EVENT_SIZE {
            let limit = u64::from(MAX_EVENT_SIZE);
            return Err(DecodeError::Limit { what: "event size", value, limit });
        }
        Ok(header)
    }

    /// Returns the event at the start of `bytes`: its header, and its bytes if all of them are
    /// available.
    #[inline]
    pub fn first_event(bytes: &[u8]) -> Result<(Self, Option<&[u8]>)> {
        let header = Self::decode(bytes)?;
        Ok((header, bytes.get(..header.event_size as usize)))
    }

    /// True if all bits of `flag` are set.
    pub const fn has(&self, flag: u16) -> bool {
        self.flags & flag == flag
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROTATE: [u8; 19] =
        [0, 0, 0, 0, 4, 7, 0, 0, 0, 0x2f, 0, 0, 0, 0xfb, 0xff, 0xff, 0xff, 0x20, 0];

    #[test]
    fn fields() {
        let header = EventHeader::decode(&ROTATE).unwrap();
        assert_eq!(
            header,
            EventHeader {
                timestamp: 0,
                event_type: EventType::ROTATE,
                server_id: 7,
                event_size: 47,
                log_pos: 0xffff_fffb,
                flags: EventHeader::ARTIFICIAL,
            }
        );
        assert!(header.has(EventHeader::ARTIFICIAL) && !header.has(EventHeader::IN_USE));
    }

    #[test]
    fn sizes() {
        for (size, ok) in [
            (0, false),
            (18, false),
            (19, true),
            (MAX_EVENT_SIZE, true),
            (MAX_EVENT_SIZE + 1, false),
            (u32::MAX, false),
        ] {
            let mut bytes = ROTATE;
            bytes[9..13].copy_from_slice(&size.to_le_bytes());
            assert_eq!(EventHeader::decode(&bytes).is_ok(), ok, "{size}");
        }
        for end in 0..ROTATE.len() {
            assert!(EventHeader::decode(&ROTATE[..end]).is_err());
        }
    }
}
