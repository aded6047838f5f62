//! MariaDB's Gtid_list_log_event: the last GTIDs of the files before this one.
//!
//! <https://mariadb.com/kb/en/gtid_list_event/>
//!
//! ```text
//! count, 28 bits, and flags, 4 bits: 4 | { domain 4, server 4, seq 8 }
//! ```

use crate::error::DecodeError;
use crate::position::{MariadbGtid, MariadbGtidPosition};
use crate::wire::{Reader, Result};

/// The second event of a MariaDB file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MariadbGtidList {
    /// The last GTID of each server in each domain. For each domain, the newest GTID is the last
    /// one in the list.
    pub gtids: Vec<MariadbGtid>,
    /// The four bits above the count.
    pub flags: u8,
}

impl MariadbGtidList {
    /// Decodes a body without its checksum.
    pub fn decode(body: &[u8]) -> Result<Self> {
        let mut reader = Reader::new(body);
        let head = reader.u32("GTID list count")?;
        let (count, flags) = (head & COUNT_BITS, (head >> 28) as u8);
        let fit = reader.left() / ENTRY_LEN;
        if count as usize > fit {
            let (value, limit) = (u64::from(count), fit as u64);
            return Err(DecodeError::Limit { what: "GTID list count", value, limit });
        }
        let mut gtids = Vec::with_capacity(count as usize);
        for _ in 0..count {
            gtids.push(MariadbGtid {
                domain_id: reader.u32("GTID domain")?,
                server_id: reader.u32("GTID server id")?,
                seq: reader.u64("GTID sequence number")?,
            });
        }
        // an empty list is padded, because short events cause errors in old replicas
        if count > 0 {
            reader.finish("Gtid_list event")?;
        }
        Ok(Self { gtids, flags })
    }

    /// Returns the position at the event: the newest GTID of each domain.
    pub fn position(&self) -> MariadbGtidPosition {
        let mut position = MariadbGtidPosition::new();
        for gtid in &self.gtids {
            position.update(*gtid);
        }
        position
    }
}

const COUNT_BITS: u32 = (1 << 28) - 1;

const ENTRY_LEN: usize = 16;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bodies() {
        let mut real = vec![1, 0, 0, 0, 0, 0, 0, 0, 7, 0, 0, 0, 39];
        real.resize(20, 0);
        assert_eq!(MariadbGtidList::decode(&real).unwrap().position().to_string(), "0-7-39");
        for end in 0..real.len() {
            assert!(MariadbGtidList::decode(&real[..end]).is_err());
        }
        real[3] = 0x10;
        assert_eq!(MariadbGtidList::decode(&real).unwrap().flags, 1);
        real.push(0);
        assert!(MariadbGtidList::decode(&real).is_err());
        assert!(MariadbGtidList::decode(&[0xff; 20]).is_err());
        for empty in [4, 6] {
            assert!(MariadbGtidList::decode(&[0; 6][..empty]).unwrap().gtids.is_empty());
        }
    }
}
