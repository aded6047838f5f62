//! Previous_gtids_event: all GTIDs of the files before this one.
//!
//! <https://dev.mysql.com/doc/dev/mysql-server/latest/classmysql_1_1binlog_1_1event_1_1Previous__gtids__event.html>

use crate::position::GtidSet;
use crate::wire::Result;

/// The second event of a MySQL file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PreviousGtids {
    /// The GTIDs that were executed before the file was created.
    pub gtid_set: GtidSet,
}

impl PreviousGtids {
    /// Decodes a body without its checksum.
    pub fn decode(body: &[u8]) -> Result<Self> {
        GtidSet::decode(body).map(|gtid_set| Self { gtid_set })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn empty() {
        assert!(PreviousGtids::decode(&[0; 8]).unwrap().gtid_set.is_empty());
        assert!(PreviousGtids::decode(&[0; 7]).is_err());
        assert!(PreviousGtids::decode(&[0; 9]).is_err());
    }
}
