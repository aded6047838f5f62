//! Partial_row_data: a fragment of a rows event that is too large for one event (MariaDB 12.3 and later).
//! Not partial JSON: see `value/json/diff.rs`.
//!
//! ```text
//! total u32 | seq u32, from 1 | flags u8 | flag 1: size of the complete event u64 | chunk
//! ```
//! The chunks of fragments 1 to `total`, one after another, are a rows event with its own header.
//!
//! <https://mariadb.com/docs/server/reference/clientserver-protocol/replication-protocol/partial_row_data_event>

use crate::error::DecodeError;
use crate::limits::MAX_EVENT_SIZE;
use crate::wire::{Reader, Result};

/// A fragment, borrowed from its bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PartialRowData<'a> {
    /// The number of fragments of the event.
    pub total: u32,
    /// The number of this fragment, from 1.
    pub seq: u32,
    /// The size of the complete event; only in the first fragment.
    pub original_size: Option<u64>,
    /// This fragment's part of the event.
    pub chunk: &'a [u8],
}

impl<'a> PartialRowData<'a> {
    /// The largest number of bytes before the chunk.
    pub const MAX_HEAD: usize = 4 + 4 + 1 + 8;

    /// Decodes a body without its checksum.
    pub fn decode(body: &'a [u8]) -> Result<Self> {
        let mut reader = Reader::new(body);
        let total = reader.u32("fragment count")?;
        let seq = reader.u32("fragment number")?;
        if seq == 0 || seq > total {
            return Err(DecodeError::Invalid { what: "fragment number", value: u64::from(seq) });
        }
        let original_size = match (reader.u8("fragment flags")?, seq) {
            (0, _) => None,
            (ORIGINAL_SIZE, 1) => Some(reader.u64("size of the complete event")?),
            (flags, _) => {
                let value = u64::from(flags);
                return Err(DecodeError::Invalid { what: "fragment flags", value });
            }
        };
        if let Some(value) = original_size.filter(|size| *size > u64::from(MAX_EVENT_SIZE)) {
            let limit = u64::from(MAX_EVENT_SIZE);
            return Err(DecodeError::Limit { what: "size of the complete event", value, limit });
        }
        Ok(Self { total, seq, original_size, chunk: reader.rest() })
    }

    /// True if it is the last fragment of its event.
    pub const fn is_last(&self) -> bool {
        self.seq == self.total
    }
}

/// Checks the order of fragments, one event after another.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct FragmentOrder {
    /// The number of the next fragment, and the number of all fragments; `None` between events.
    missing: Option<(u32, u32)>,
}

impl FragmentOrder {
    /// Adds fragment `seq` of `total`. Returns true if the event is now complete.
    pub fn take(&mut self, seq: u32, total: u32) -> Result<bool> {
        let (next_seq, same_total) = self.missing.unwrap_or((1, total));
        if total != same_total {
            return Err(DecodeError::Invalid { what: "fragment count", value: u64::from(total) });
        }
        if seq != next_seq {
            return Err(DecodeError::Invalid { what: "fragment number", value: u64::from(seq) });
        }
        self.missing = (seq < total).then(|| (seq + 1, total));
        Ok(self.missing.is_none())
    }

    /// True if fragments are still missing: no other event may follow now.
    pub const fn is_open(&self) -> bool {
        self.missing.is_some()
    }
}

const ORIGINAL_SIZE: u8 = 1;

#[cfg(test)]
mod tests {
    use super::*;

    fn body(total: u32, seq: u32, flags: u8, rest: &[u8]) -> Vec<u8> {
        let mut body = total.to_le_bytes().to_vec();
        body.extend(seq.to_le_bytes());
        body.push(flags);
        body.extend(rest);
        body
    }

    #[test]
    fn fields() {
        let first = body(3, 1, 1, &[9, 1, 0, 0, 0, 0, 0, 0, b'a', b'b']);
        let fragment = PartialRowData::decode(&first).unwrap();
        assert_eq!((fragment.total, fragment.seq, fragment.chunk), (3, 1, &b"ab"[..]));
        assert_eq!(fragment.original_size, Some(265));
        let last = body(3, 3, 0, b"c");
        let fragment = PartialRowData::decode(&last).unwrap();
        assert!(fragment.is_last() && fragment.original_size.is_none());
        for end in 0..17 {
            assert!(PartialRowData::decode(&first[..end]).is_err());
        }
        for bad in [
            body(0, 0, 0, b""),
            body(0, 1, 0, b""),
            body(3, 4, 0, b""),
            body(3, 2, 1, &[0; 8]),
            body(3, 1, 2, b""),
            body(3, 1, 1, &(u64::from(MAX_EVENT_SIZE) + 1).to_le_bytes()),
        ] {
            assert!(PartialRowData::decode(&bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn order() {
        let mut order = FragmentOrder::default();
        assert_eq!(order.take(1, 1), Ok(true));
        assert_eq!(order.take(1, 3), Ok(false));
        assert!(order.is_open());
        for (seq, total) in [(1, 3), (3, 3), (2, 4)] {
            assert!(order.clone().take(seq, total).is_err());
        }
        assert_eq!(order.take(2, 3), Ok(false));
        assert_eq!(order.take(3, 3), Ok(true));
        assert!(!order.is_open());
        assert!(order.take(2, 2).is_err());
    }
}
