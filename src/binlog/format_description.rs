//! Format_description_event: the first event of a file. It describes the format of the other
//! events.
//!
//! <https://dev.mysql.com/doc/dev/mysql-server/latest/classmysql_1_1binlog_1_1event_1_1Format__description__event.html>
//!
//! ```text
//! binlog version 2 (4) | server version 50, NUL padded | created 4 | header length 1 (19) | post-header lengths n
//! | checksum algorithm 1 | CRC32 4          <- both only if the server supports checksums, even if they are off
//! ```

use crate::binlog::checksum::{CHECKSUM_LEN, ChecksumAlgorithm};
use crate::binlog::event_type::EventType;
use crate::binlog::header::EventHeader;
use crate::error::DecodeError;
use crate::wire::{Reader, Result};

/// The format of the events of a file, and the server that wrote them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FormatDescription {
    /// 4; other versions are refused.
    pub binlog_version: u16,
    /// The server's version in the server's own notation, such as `8.4.3` or
    /// `10.11.19-MariaDB-log`.
    pub server_version: String,
    /// The time when the event was written, which is when the file was created: seconds since 1970
    /// UTC.
    pub timestamp: u32,
    /// The time when a start of the server created the file; 0 if the file was created otherwise.
    pub created: u32,
    /// `server_id` of the server.
    pub server_id: u32,
    /// The checksum at the end of each later event of the file.
    pub checksum: ChecksumAlgorithm,
    /// True if this event ends with a CRC32. It does even if no other event of the file has one,
    /// except with old servers.
    pub has_checksum: bool,
    /// True if the version contains the name MariaDB.
    pub is_mariadb: bool,
    /// The numbers of the version; a missing number is 0.
    pub version: (u16, u16, u16),
    /// The length of the fixed part of each event type, beginning with code 1.
    pub post_header_lengths: Vec<u8>,
    /// True if the server was still writing the file, or did not close it.
    pub in_use: bool,
}

impl FormatDescription {
    /// Decodes the complete event: header, body, checksum. Only the body shows whether the event
    /// ends with a checksum. The checksum itself is not verified: see
    /// [`verify`](crate::binlog::checksum::verify).
    pub fn decode(event: &[u8]) -> Result<Self> {
        let header = EventHeader::decode(event)?;
        let mut reader = Reader::new(event);
        reader.take(EventHeader::LEN, "event header")?;

        let binlog_version = reader.u16("binlog version")?;
        if binlog_version != BINLOG_VERSION {
            let value = u64::from(binlog_version);
            return Err(DecodeError::Unsupported { what: "binlog version", value });
        }
        let text = reader.take(SERVER_VERSION_LEN, "server version")?;
        let text = text.split(|byte| *byte == 0).next().unwrap_or_default();
        let server_version = String::from_utf8_lossy(text).into_owned();
        let created = reader.u32("created")?;
        let header_len = reader.u8("common header length")?;
        if usize::from(header_len) != EventHeader::LEN {
            let value = u64::from(header_len);
            return Err(DecodeError::Unsupported { what: "common header length", value });
        }

        let is_mariadb = server_version.to_ascii_lowercase().contains("mariadb");
        let version = version_numbers(&server_version, is_mariadb);
        let has_checksum = version >= if is_mariadb { (5, 3, 0) } else { (5, 6, 1) };
        let mut lengths = reader.rest();
        let mut checksum = ChecksumAlgorithm::Off;
        if has_checksum {
            let end = lengths.len().saturating_sub(1 + CHECKSUM_LEN);
            let (head, tail) = lengths.split_at(end);
            checksum = ChecksumAlgorithm::decode(Reader::new(tail).u8("checksum algorithm")?)?;
            if tail.len() != 1 + CHECKSUM_LEN {
                let (needed, left) = (1 + CHECKSUM_LEN, tail.len());
                return Err(DecodeError::UnexpectedEnd { what: "event checksum", needed, left });
            }
            lengths = head;
        }
        // A damaged version number would turn off the checksum, and then the damage would not be
        // found.
        if !has_checksum && lengths.len() > MOST_TYPES_WITHOUT_CHECKSUM {
            let (what, value) = ("event types of a server of this version", lengths.len() as u64);
            return Err(DecodeError::Limit {
                what,
                value,
                limit: MOST_TYPES_WITHOUT_CHECKSUM as u64,
            });
        }
        Ok(Self {
            binlog_version,
            server_version,
            timestamp: header.timestamp,
            created,
            server_id: header.server_id,
            checksum,
            has_checksum,
            is_mariadb,
            version,
            post_header_lengths: lengths.to_vec(),
            in_use: header.has(EventHeader::IN_USE),
        })
    }

    /// The length of the fixed part of `event_type`; `None` for a type that the server did not
    /// have.
    pub fn post_header_length(&self, event_type: EventType) -> Option<u8> {
        let index = usize::from(event_type.0).checked_sub(1)?;
        self.post_header_lengths.get(index).copied()
    }

    /// The number of bytes of the table id in a Table_map or rows event: 6, but 4 in files from
    /// before 5.1.4.
    pub fn table_id_width(&self, event_type: EventType) -> usize {
        if self.post_header_length(event_type) == Some(6) { 4 } else { 6 }
    }

    /// True if the bytes after the null bits of a table map are optional metadata. Older servers
    /// may leave meaningless bytes there.
    pub fn optional_metadata_reliable(&self) -> bool {
        self.version >= if self.is_mariadb { (10, 5, 0) } else { (8, 0, 1) }
    }
}

/// Converts `8.0.36-debug` to (8, 0, 36). Text that is not a version becomes (0, 0, 0).
fn version_numbers(text: &str, is_mariadb: bool) -> (u16, u16, u16) {
    // MariaDB puts this before its version in a handshake, for old replicas
    let text = if is_mariadb { text.strip_prefix("5.5.5-").unwrap_or(text) } else { text };
    let mut numbers = text.split('.').map(|part| {
        let digits = part.find(|c: char| !c.is_ascii_digit()).unwrap_or(part.len());
        part.get(..digits).and_then(|digits| digits.parse().ok()).unwrap_or(0)
    });
    let mut next = || numbers.next().unwrap_or(0);
    (next(), next(), next())
}

/// The only version since MySQL 5.0.
const BINLOG_VERSION: u16 = 4;

/// The newest type before checksums was HEARTBEAT, 27; the first server with both knew 35.
const MOST_TYPES_WITHOUT_CHECKSUM: usize = 34;

/// The number of bytes of the server version, including NULs.
const SERVER_VERSION_LEN: usize = 50;

#[cfg(test)]
mod tests {
    use super::*;

    fn event(version: &str, lengths: &[u8], tail: &[u8]) -> Vec<u8> {
        let mut body = vec![4, 0];
        body.extend(version.as_bytes());
        body.resize(2 + 50, 0);
        body.extend(7u32.to_le_bytes());
        body.push(19);
        body.extend(lengths);
        body.extend(tail);
        let mut event = vec![0, 0, 0, 0, 15, 1, 0, 0, 0];
        event.extend((19 + body.len() as u32).to_le_bytes());
        event.extend([0, 0, 0, 0, 1, 0]);
        event.extend(body);
        event
    }

    #[test]
    fn versions_and_checksums() {
        use ChecksumAlgorithm::{Crc32, Off};
        for (version, tail, numbers, checksum, is_mariadb, metadata) in [
            ("9.7.4", &[1, 0, 0, 0, 0][..], (9, 7, 4), Crc32, false, true),
            ("8.0.0-log", &[0, 0, 0, 0, 0], (8, 0, 0), Off, false, false),
            ("8.0.mysql_aurora.3", &[1, 0, 0, 0, 0], (8, 0, 0), Crc32, false, false),
            ("5.6.1-ndb", &[255, 0, 0, 0, 0], (5, 6, 1), Off, false, false),
            ("5.5.62-log", &[], (5, 5, 62), Off, false, false),
            ("10.11.19-MariaDB-log", &[1, 0, 0, 0, 0], (10, 11, 19), Crc32, true, true),
            ("10.4.2-mariadb", &[1, 0, 0, 0, 0], (10, 4, 2), Crc32, true, false),
            ("5.5.5-10.5.1-MariaDB", &[0, 0, 0, 0, 0], (10, 5, 1), Off, true, true),
        ] {
            let fde = FormatDescription::decode(&event(version, &[56, 13, 0, 8], tail)).unwrap();
            assert_eq!(fde.server_version, version);
            assert_eq!(fde.version, numbers, "{version}");
            assert_eq!(fde.checksum, checksum, "{version}");
            assert_eq!(fde.is_mariadb, is_mariadb, "{version}");
            assert_eq!(fde.optional_metadata_reliable(), metadata, "{version}");
            assert_eq!(fde.post_header_lengths, [56, 13, 0, 8], "{version}");
            assert!(fde.in_use);
            assert_eq!(fde.created, 7);
        }
    }

    #[test]
    fn post_header_lengths_may_be_short() {
        let mut lengths = vec![0; 19];
        lengths[18] = 6;
        let fde = FormatDescription::decode(&event("5.1.3", &lengths, &[])).unwrap();
        assert_eq!(fde.table_id_width(EventType::TABLE_MAP), 4);
        assert_eq!(fde.table_id_width(EventType::WRITE_ROWS), 6);
        assert_eq!(fde.post_header_length(EventType(255)), None);
        assert_eq!(fde.post_header_length(EventType(0)), None);
    }

    #[test]
    fn refused() {
        let good = event("9.7.4", &[], &[1, 0, 0, 0, 0]);
        for end in 0..good.len() {
            assert!(FormatDescription::decode(&good[..end]).is_err());
        }
        for (at, byte) in [(19, 3), (75, 18), (75, 20), (76, 2)] {
            let mut bad = good.clone();
            bad[at] = byte;
            assert!(FormatDescription::decode(&bad).is_err(), "{at}");
        }
    }
}
