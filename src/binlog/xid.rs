//! Xid_event: the commit of a transaction.
//!
//! <https://dev.mysql.com/doc/dev/mysql-server/latest/classmysql_1_1binlog_1_1event_1_1Xid__event.html>

use crate::wire::{Reader, Result};

/// The commit of a transaction of a transactional engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct XidEvent {
    /// The server's own number of the transaction (not the id of an XA transaction). The numbers
    /// start again when the server starts.
    pub xid: u64,
}

impl XidEvent {
    /// Decodes a body without its checksum.
    pub fn decode(body: &[u8]) -> Result<Self> {
        let mut reader = Reader::new(body);
        let xid = reader.u64("xid")?;
        reader.finish("Xid event")?;
        Ok(Self { xid })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bodies() {
        assert_eq!(XidEvent::decode(&[9, 0, 0, 0, 0, 0, 0, 1]), Ok(XidEvent { xid: 9 | 1 << 56 }));
        assert!(XidEvent::decode(&[9, 0, 0, 0, 0, 0, 0]).is_err());
        assert!(XidEvent::decode(&[9, 0, 0, 0, 0, 0, 0, 0, 0]).is_err());
    }
}
