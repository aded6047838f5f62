//! MariaDB's Gtid_log_event: the start of an event group.
//!
//! <https://mariadb.com/kb/en/gtid_event/>
//!
//! ```text
//! seq 8 | domain 4 | flags 1 | [commit id 8] | [xa: format 4, lengths 1 + 1, data] | [more flags 1, ...] | padding
//! ```

use crate::position::{MariadbGtid, Xid};
use crate::wire::{Reader, Result};

/// The opening event of a MariaDB group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MariadbGtidEvent {
    /// The number of the group in its domain.
    pub seq: u64,
    /// The domain.
    pub domain_id: u32,
    /// The flags: the bits below.
    pub flags: u8,
    /// Groups that were committed together have the same id.
    pub commit_id: Option<u64>,
    /// The XA transaction that this group prepares, or completes.
    pub xid: Option<Xid>,
    /// The connection, from MariaDB 11.5 on.
    pub thread_id: Option<u32>,
    /// The number of the group that started the two-phase ALTER TABLE which this group ends.
    pub start_alter_seq: Option<u64>,
    /// True if this group starts a two-phase ALTER TABLE.
    pub start_alter: bool,
    /// True if this group rolls back a two-phase ALTER TABLE.
    pub rollback_alter: bool,
}

impl MariadbGtidEvent {
    /// One statement follows, without a commit. If the flag is not set, a transaction begins here,
    /// without a BEGIN.
    pub const STANDALONE: u8 = 0x01;
    /// The event contains a commit id.
    pub const GROUP_COMMIT_ID: u8 = 0x02;
    /// The group can be rolled back.
    pub const TRANSACTIONAL: u8 = 0x04;
    /// The group may be applied in parallel.
    pub const ALLOW_PARALLEL: u8 = 0x08;
    /// The transaction waited for a lock.
    pub const WAITED: u8 = 0x10;
    /// The group contains DDL.
    pub const DDL: u8 = 0x20;
    /// The group prepares an XA transaction.
    pub const PREPARED_XA: u8 = 0x40;
    /// The group commits or rolls back an XA transaction that was prepared before.
    pub const COMPLETED_XA: u8 = 0x80;

    /// Decodes a body without its checksum.
    pub fn decode(body: &[u8]) -> Result<Self> {
        let mut reader = Reader::new(body);
        let mut event = Self {
            seq: reader.u64("GTID sequence number")?,
            domain_id: reader.u32("GTID domain")?,
            flags: reader.u8("GTID flags")?,
            commit_id: None,
            xid: None,
            thread_id: None,
            start_alter_seq: None,
            start_alter: false,
            rollback_alter: false,
        };
        if event.has(Self::GROUP_COMMIT_ID) {
            event.commit_id = Some(reader.u64("GTID commit id")?);
        }
        if event.has(Self::PREPARED_XA) || event.has(Self::COMPLETED_XA) {
            let format_id = reader.u32("XA format id")?;
            let gtrid_len = reader.u8("XA gtrid length")?;
            let bqual_len = reader.u8("XA bqual length")?;
            let gtrid = reader.take(usize::from(gtrid_len), "XA gtrid")?;
            let bqual = reader.take(usize::from(bqual_len), "XA bqual")?;
            event.xid = Some(Xid::try_new(format_id, gtrid, bqual)?);
        }
        if reader.is_empty() {
            return Ok(event);
        }
        // In short events of older servers this byte is padding, 0.
        let extra = reader.u8("GTID extra flags")?;
        if extra & EXTRA_MULTI_ENGINE != 0 {
            reader.u8("GTID extra engines")?;
        }
        event.start_alter = extra & EXTRA_START_ALTER != 0;
        event.rollback_alter = extra & EXTRA_ROLLBACK_ALTER != 0;
        if extra & (EXTRA_COMMIT_ALTER | EXTRA_ROLLBACK_ALTER) != 0 {
            event.start_alter_seq = Some(reader.u64("GTID of the ALTER's start")?);
        }
        if extra & EXTRA_THREAD_ID != 0 {
            event.thread_id = Some(reader.u32("GTID thread id")?);
        }
        Ok(event) // padding, or fields of a later version, are ignored
    }

    /// True if all bits of `flag` are set.
    pub const fn has(&self, flag: u8) -> bool {
        self.flags & flag == flag
    }

    /// True if one statement follows instead of a transaction.
    pub const fn is_standalone(&self) -> bool {
        self.has(Self::STANDALONE)
    }

    /// The GTID. The id of the server is in the header of the event.
    pub const fn gtid(&self, server_id: u32) -> MariadbGtid {
        MariadbGtid { domain_id: self.domain_id, server_id, seq: self.seq }
    }
}

const EXTRA_MULTI_ENGINE: u8 = 0x01;
const EXTRA_START_ALTER: u8 = 0x02;
const EXTRA_COMMIT_ALTER: u8 = 0x04;
const EXTRA_ROLLBACK_ALTER: u8 = 0x08;
const EXTRA_THREAD_ID: u8 = 0x10;

#[cfg(test)]
mod tests {
    use super::*;

    fn body(flags: u8, tail: &[u8]) -> Vec<u8> {
        let mut body = vec![39, 0, 0, 0, 0, 0, 0, 0, 5, 0, 0, 0, flags];
        body.extend(tail);
        body
    }

    #[test]
    fn short() {
        let event = MariadbGtidEvent::decode(&body(0x29, &[0; 6])).unwrap();
        assert!(event.is_standalone() && event.has(MariadbGtidEvent::DDL));
        assert_eq!(event.gtid(7).to_string(), "5-7-39");
        assert_eq!((event.commit_id, event.xid, event.thread_id), (None, None, None));
        assert!(MariadbGtidEvent::decode(&body(0, &[])).is_ok());
        assert!(MariadbGtidEvent::decode(&body(0, &[])[..12]).is_err());
    }

    #[test]
    fn commit_id_and_xid_together() {
        let mut tail = vec![9, 0, 0, 0, 0, 0, 0, 0];
        tail.extend(b"\x11\0\0\0\x03\x01abcd");
        tail.extend([0x1d, 2, 8, 0, 0, 0, 0, 0, 0, 0, 77, 0, 0, 0]);
        let full = body(0x42, &tail);
        let event = MariadbGtidEvent::decode(&full).unwrap();
        assert_eq!(event.commit_id, Some(9));
        assert_eq!(event.xid.unwrap().to_string(), "X'616263',X'64',17");
        assert_eq!(event.start_alter_seq, Some(8));
        assert_eq!(event.thread_id, Some(77));
        let xid_end = 13 + 8 + 10;
        for end in 0..full.len() {
            assert_eq!(MariadbGtidEvent::decode(&full[..end]).is_ok(), end == xid_end, "{end}");
        }
    }

    #[test]
    fn xid_lengths() {
        let mut tail = b"\x01\0\0\0\xff\xff".to_vec();
        assert!(MariadbGtidEvent::decode(&body(0x80, &tail)).is_err());
        tail.extend([0; 510]);
        assert!(MariadbGtidEvent::decode(&body(0x80, &tail)).is_err());
        assert!(MariadbGtidEvent::decode(&body(0x80, b"\x01\0\0\0\0\0")).is_ok());
    }
}
