//! XA_prepare_event: an XA transaction is prepared, but not committed yet.
//!
//! <https://dev.mysql.com/doc/dev/mysql-server/latest/classmysql_1_1binlog_1_1event_1_1XA__prepare__event.html>
//!
//! ```text
//! one phase 1 | format id 4 | gtrid length 4 | bqual length 4 | gtrid | bqual
//! ```

use crate::error::DecodeError;
use crate::limits::MAX_XID_PART_BYTES;
use crate::position::Xid;
use crate::wire::{Reader, Result};

/// The end of the group that contains an XA transaction's rows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct XaPrepare {
    /// `XA COMMIT ... ONE PHASE`: this is the commit, and no other statement follows.
    pub one_phase: bool,
    /// The transaction's id, which a later `XA COMMIT` or `XA ROLLBACK` names.
    pub xid: Xid,
}

impl XaPrepare {
    /// Decodes a body without its checksum.
    pub fn decode(body: &[u8]) -> Result<Self> {
        let mut reader = Reader::new(body);
        let one_phase = reader.u8("XA one phase flag")? != 0;
        let format_id = reader.u32("XA format id")?;
        let gtrid_len = part_len(&mut reader, "XA gtrid length")?;
        let bqual_len = part_len(&mut reader, "XA bqual length")?;
        let gtrid = reader.take(gtrid_len, "XA gtrid")?;
        let bqual = reader.take(bqual_len, "XA bqual")?;
        reader.finish("XA_prepare event")?;
        Ok(Self { one_phase, xid: Xid::try_new(format_id, gtrid, bqual)? })
    }
}

fn part_len(reader: &mut Reader<'_>, what: &'static str) -> Result<usize> {
    match reader.u32(what)? as usize {
        len @ 0..=MAX_XID_PART_BYTES => Ok(len),
        len => {
            Err(DecodeError::Limit { what, value: len as u64, limit: MAX_XID_PART_BYTES as u64 })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bodies() {
        let good = b"\x01\x11\0\0\0\x03\0\0\0\x01\0\0\0abcd";
        let prepare = XaPrepare::decode(good).unwrap();
        assert!(prepare.one_phase);
        assert_eq!(prepare.xid.to_string(), "X'616263',X'64',17");
        for end in 0..good.len() {
            assert!(XaPrepare::decode(&good[..end]).is_err());
        }
        let mut bad = good.to_vec();
        bad.push(0);
        assert!(XaPrepare::decode(&bad).is_err());
        bad[5..13].copy_from_slice(&[65, 0, 0, 0, 0xff, 0xff, 0xff, 0xff]);
        assert!(XaPrepare::decode(&bad).is_err());
    }
}
