//! The id of an XA transaction: in events, statements and stored positions.

use std::fmt;

use crate::error::DecodeError;
use crate::limits::MAX_XID_PART_BYTES;
use crate::wire::{Result, to_hex};

/// The id that a transaction manager gave an XA transaction.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Xid {
    /// Format of the two parts; usually 1.
    pub format_id: u32,
    /// The global transaction.
    pub gtrid: Vec<u8>,
    /// The branch; may be empty.
    pub bqual: Vec<u8>,
}

impl Xid {
    /// An id. A part that is too long is an error.
    pub fn try_new(format_id: u32, gtrid: &[u8], bqual: &[u8]) -> Result<Self> {
        for (what, part) in [("gtrid length", gtrid), ("bqual length", bqual)] {
            if part.len() > MAX_XID_PART_BYTES {
                let (value, limit) = (part.len() as u64, MAX_XID_PART_BYTES as u64);
                return Err(DecodeError::Limit { what, value, limit });
            }
        }
        Ok(Self { format_id, gtrid: gtrid.to_vec(), bqual: bqual.to_vec() })
    }
}

/// The form of the log: `X'616263',X'',1`.
impl fmt::Display for Xid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "X'{}',X'{}',{}", to_hex(&self.gtrid), to_hex(&self.bqual), self.format_id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text() {
        let xid = Xid::try_new(17, b"abc", &[0, 0xff]).unwrap();
        assert_eq!(xid.to_string(), "X'616263',X'00ff',17");
        assert!(Xid::try_new(1, &[0; 65], b"").is_err());
        assert!(Xid::try_new(1, &[0; 64], &[0; 64]).is_ok());
    }
}
