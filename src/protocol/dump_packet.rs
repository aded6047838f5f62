//! The packets of a dump: one per event, until the log ends or the server refuses to continue.
//!
//! ```text
//! 00 | [ef | flag u8] | event     OK; a semi-synchronous header if the server considers us such a replica
//! fe | …                          the log ends
//! ff | …                          the server ends the dump with an error
//! ```
//!
//! <https://dev.mysql.com/doc/dev/mysql-server/latest/page_protocol_replication_binlog_event.html>

use super::response::{OK, ServerRefusal, is_eof};
use crate::error::DecodeError;
use crate::wire::Result;

/// The content of a packet of a dump.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DumpPacket<'a> {
    /// The bytes of an event.
    Event(&'a [u8]),
    /// The log ends here; only in dumps that do not wait for more.
    End,
    /// The server ends the dump with an error.
    Refused(ServerRefusal),
}

impl<'a> DumpPacket<'a> {
    /// Decodes a payload.
    #[inline]
    pub fn decode(payload: &'a [u8]) -> Result<Self> {
        match payload.split_first() {
            Some((&OK, event)) => Ok(Self::Event(without_semi_sync(event))),
            _ if is_eof(payload) => Ok(Self::End),
            first => ServerRefusal::decode(payload).map(Self::Refused).ok_or_else(|| {
                let value = first.map_or(0, |(first, _)| u64::from(*first));
                DecodeError::Invalid { what: "the first byte of a dump's packet", value }
            }),
        }
    }
}

/// A server that considers us a semi-synchronous replica puts a header before each event. This
/// client is never such a replica and acknowledges nothing, so the server continues after its own
/// time-out. The length in the event distinguishes such a header from an event that begins with the
/// same bytes.
fn without_semi_sync(event: &[u8]) -> &[u8] {
    let size_in = |event: &[u8]| {
        let size = event.get(EVENT_SIZE_AT..).and_then(|rest| rest.first_chunk::<4>());
        size.map(|size| u32::from_le_bytes(*size) as usize)
    };
    match event {
        [SEMI_SYNC, _, rest @ ..]
            if size_in(event) != Some(event.len()) && size_in(rest) == Some(rest.len()) =>
        {
            rest
        }
        _ => event,
    }
}

/// The first byte of a semi-synchronous header.
const SEMI_SYNC: u8 = 0xef;

/// The offset of the size in the header of an event.
const EVENT_SIZE_AT: usize = 9;

#[cfg(test)]
mod tests {
    use super::*;

    /// The header of an event with the correct length.
    fn event(first: u8) -> Vec<u8> {
        let mut event = vec![0; 19];
        event[0] = first;
        event[EVENT_SIZE_AT] = 19;
        event
    }

    #[test]
    fn events_with_a_semi_synchronous_header_and_without() {
        for first in [0, SEMI_SYNC] {
            let event = event(first);
            for head in [&[0][..], &[0, SEMI_SYNC, 0], &[0, SEMI_SYNC, 1]] {
                let payload = [head, &event].concat();
                assert_eq!(DumpPacket::decode(&payload), Ok(DumpPacket::Event(&event)));
            }
        }
        // neither reading is possible: the decoder of the event reports the error
        let cut = [&[0, SEMI_SYNC, 0][..], &event(0)[..18]].concat();
        assert_eq!(DumpPacket::decode(&cut), Ok(DumpPacket::Event(&cut[1..])));
    }

    #[test]
    fn ends() {
        assert_eq!(DumpPacket::decode(&[0xfe, 0, 0, 2, 0]), Ok(DumpPacket::End));
        let refused = DumpPacket::decode(b"\xff\xd4\x04#HY000gone").unwrap();
        assert!(matches!(refused, DumpPacket::Refused(refusal) if refusal.code == 1236));
        for none in [&b""[..], b"\x01", b"\xef", &[0xfe; 9]] {
            assert!(DumpPacket::decode(none).is_err(), "{none:?}");
        }
    }
}
