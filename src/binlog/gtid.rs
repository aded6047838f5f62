//! Gtid_event and Anonymous_gtid_event: the start of a transaction.
//!
//! <https://dev.mysql.com/doc/dev/mysql-server/latest/classmysql_1_1binlog_1_1event_1_1Gtid__event.html>
//!
//! ```text
//! flags 1 | uuid 16 | gno 8                                              5.6 ends here
//! | 2 | last_committed 8 | sequence_number 8                             5.7 ends here
//! | immediate commit time 7 [original commit time 7] | transaction length lenenc
//! | immediate server version 4 [original server version 4] | commit group ticket 8
//! ```

use crate::error::DecodeError;
use crate::position::{Gtid, MAX_GNO, Tsid};
use crate::wire::{Reader, Result};

/// The opening event of a MySQL transaction, with or without a GTID, tagged or not.
///
/// It identifies the transaction; the transaction counts as executed only after its group has
/// ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct GtidEvent<'a> {
    /// True if the transaction may contain changes that are logged as statements.
    pub may_have_statements: bool,
    /// The UUID of the server on which the transaction was executed first; zeros if anonymous.
    pub uuid: [u8; 16],
    /// The tag; usually empty.
    pub tag: &'a str,
    /// The number of the transaction, from 1 on; 0 if anonymous.
    pub gno: i64,
    /// The number of the last transaction of this file that must be committed before this one
    /// starts (logical clock).
    pub last_committed: i64,
    /// The number of this transaction in its file (logical clock).
    pub sequence_number: i64,
    /// Microseconds since 1970 of the commit on the server that wrote this file.
    pub immediate_commit_us: Option<u64>,
    /// Microseconds since 1970 of the commit on the server where the transaction was executed
    /// first.
    pub original_commit_us: Option<u64>,
    /// The number of bytes of the complete transaction, including this event.
    pub transaction_length: Option<u64>,
    /// The version of the server that wrote this file, as 90704.
    pub immediate_server_version: Option<u32>,
    /// The version of the server where the transaction was executed first.
    pub original_server_version: Option<u32>,
    /// The number of the group commit (group replication).
    pub commit_group_ticket: Option<u64>,
}

impl<'a> GtidEvent<'a> {
    /// Decodes the body of a Gtid event without its checksum.
    pub fn decode(body: &'a [u8]) -> Result<Self> {
        let event = decode_body(body)?;
        event.check_gno()?;
        Ok(event)
    }

    /// Decodes the body of an Anonymous_gtid event without its checksum.
    pub fn decode_anonymous(body: &'a [u8]) -> Result<Self> {
        let event = decode_body(body)?;
        if !event.is_anonymous() || event.uuid != [0; 16] {
            let value = event.gno.cast_unsigned();
            return Err(DecodeError::Invalid { what: "number of an anonymous GTID", value });
        }
        Ok(event)
    }

    /// True if the transaction has no GTID.
    pub const fn is_anonymous(&self) -> bool {
        self.gno == 0
    }

    /// The GTID; `None` if anonymous.
    pub fn gtid(&self) -> Option<Gtid> {
        let gno = u64::try_from(self.gno).ok().filter(|gno| *gno > 0)?;
        Some(Gtid { tsid: Tsid::new(self.uuid, self.tag), gno })
    }

    /// Returns an error if the number is not one that servers assign.
    pub(super) fn check_gno(&self) -> Result<()> {
        match u64::try_from(self.gno) {
            Ok(1..=MAX_GNO) => Ok(()),
            _ => {
                let value = self.gno.cast_unsigned();
                Err(DecodeError::Invalid { what: "GTID number", value })
            }
        }
    }
}

/// Decodes the part that both events have. Later versions added fields; each is present only if
/// bytes are left.
fn decode_body<'a>(body: &'a [u8]) -> Result<GtidEvent<'a>> {
    let mut reader = Reader::new(body);
    let mut event = GtidEvent {
        may_have_statements: reader.u8("GTID flags")? & 1 == 1,
        uuid: reader.array("GTID uuid")?,
        gno: reader.i64("GTID number")?,
        ..GtidEvent::default()
    };
    if reader.is_empty() || reader.u8("logical clock type")? != LOGICAL_CLOCK {
        return Ok(event);
    }
    event.last_committed = reader.i64("last_committed")?;
    event.sequence_number = reader.i64("sequence_number")?;
    if reader.is_empty() {
        return Ok(event);
    }
    let immediate = reader.uint_le(7, "immediate commit timestamp")?;
    event.immediate_commit_us = Some(immediate & !ORIGINAL_FOLLOWS);
    event.original_commit_us = match immediate & ORIGINAL_FOLLOWS {
        0 => event.immediate_commit_us,
        _ => Some(reader.uint_le(7, "original commit timestamp")?),
    };
    if reader.is_empty() {
        return Ok(event);
    }
    event.transaction_length = Some(reader.lenenc_int("transaction length")?);
    if reader.is_empty() {
        return Ok(event);
    }
    let immediate = reader.u32("immediate server version")?;
    event.immediate_server_version = Some(immediate & !VERSION_FOLLOWS);
    event.original_server_version = match immediate & VERSION_FOLLOWS {
        0 => event.immediate_server_version,
        _ => Some(reader.u32("original server version")?),
    };
    // the bytes after this field belong to a later version
    if reader.left() >= 8 {
        event.commit_group_ticket = Some(reader.u64("commit group ticket")?);
    }
    Ok(event)
}

/// The only type code of the logical clock part.
const LOGICAL_CLOCK: u8 = 2;

/// Top bit of the 7-byte time: another time follows.
const ORIGINAL_FOLLOWS: u64 = 1 << 55;

/// Top bit of the version: another version follows.
const VERSION_FOLLOWS: u32 = 1 << 31;

#[cfg(test)]
mod tests {
    use super::*;

    /// The body of an event that 8.0.26 wrote, but with a UUID of sevens.
    fn real(gno: u8, uuid: u8) -> Vec<u8> {
        let mut body = vec![0];
        body.extend([uuid; 16]);
        body.extend([gno, 0, 0, 0, 0, 0, 0, 0]);
        body.extend([2, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0]);
        body.extend([0x37, 0xad, 0x73, 0x0d, 0x73, 0xd1, 0x05]);
        body.extend([0xfc, 0x4f, 0x01, 0x9a, 0x38, 0x01, 0x00]);
        body
    }

    #[test]
    fn fields() {
        let body = real(3, 7);
        let event = GtidEvent::decode(&body).unwrap();
        assert_eq!((event.last_committed, event.sequence_number), (0, 1));
        assert_eq!(event.immediate_commit_us, Some(0x05_d173_0d73_ad37));
        assert_eq!(event.original_commit_us, event.immediate_commit_us);
        assert_eq!(event.transaction_length, Some(335));
        assert_eq!(event.immediate_server_version, Some(80026));
        assert_eq!(event.original_server_version, Some(80026));
        assert_eq!(event.gtid().unwrap().to_string(), "07070707-0707-0707-0707-070707070707:3");
    }

    #[test]
    fn older_and_newer() {
        let body = real(3, 7);
        let ends = [25, 42, 49, 52, 56];
        for end in 0..=body.len() {
            assert_eq!(GtidEvent::decode(&body[..end]).is_ok(), ends.contains(&end), "{end}");
        }
        let event = GtidEvent::decode(&body[..25]).unwrap();
        assert_eq!(event.immediate_commit_us, None);
        let mut newer = body.clone();
        newer.extend([5, 0, 0, 0, 0, 0, 0, 0, 0xff]);
        assert_eq!(GtidEvent::decode(&newer).unwrap().commit_group_ticket, Some(5));
    }

    #[test]
    fn originals() {
        let mut body = real(3, 7);
        body.truncate(42);
        body.extend([1, 0, 0, 0, 0, 0, 0x80, 2, 0, 0, 0, 0, 0, 0]);
        body.extend([0xfe, 0, 0, 0, 0, 1, 0, 0, 0]);
        body.extend([1, 0, 0, 0x80, 2, 0, 0, 0]);
        let event = GtidEvent::decode(&body).unwrap();
        assert_eq!(event.immediate_commit_us, Some(1));
        assert_eq!(event.original_commit_us, Some(2));
        assert_eq!(event.transaction_length, Some(1 << 32));
        assert_eq!(event.immediate_server_version, Some(1));
        assert_eq!(event.original_server_version, Some(2));
    }

    #[test]
    fn numbers() {
        let anonymous = real(0, 0);
        assert!(GtidEvent::decode(&anonymous).is_err());
        let event = GtidEvent::decode_anonymous(&anonymous).unwrap();
        assert!(event.is_anonymous() && event.gtid().is_none());
        assert!(GtidEvent::decode_anonymous(&real(1, 0)).is_err());
        assert!(GtidEvent::decode_anonymous(&real(0, 1)).is_err());
        let mut body = real(1, 1);
        body[24] = 0x80;
        assert!(GtidEvent::decode(&body).is_err());
    }
}
