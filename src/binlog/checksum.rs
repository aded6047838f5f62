//! The four bytes of CRC32 at the end of an event.
//!
//! It covers the complete event except these four bytes. A server writes the format description
//! event when it opens the file, and sets the in-use flag until it closes the file: for the
//! checksum this flag counts as 0.

use crate::binlog::event_type::EventType;
use crate::binlog::header::EventHeader;
use crate::error::{DecodeError, Error, ErrorKind};
use crate::wire::Result;
use std::sync::LazyLock;

/// The checksum at the end of each event of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChecksumAlgorithm {
    /// No checksum.
    Off,
    /// Four bytes of CRC32.
    Crc32,
}

impl ChecksumAlgorithm {
    /// Decodes the algorithm byte of a format description event. "Undefined" (255) means none.
    pub fn decode(code: u8) -> Result<Self> {
        match code {
            0 | 255 => Ok(Self::Off),
            1 => Ok(Self::Crc32),
            _ => Err(DecodeError::Invalid { what: "checksum algorithm", value: u64::from(code) }),
        }
    }

    /// The number of bytes of the checksum.
    pub const fn len(self) -> usize {
        match self {
            Self::Off => 0,
            Self::Crc32 => CHECKSUM_LEN,
        }
    }

    /// The bytes between an event's header and its checksum.
    #[inline]
    pub(crate) fn body(self, event: &[u8]) -> std::result::Result<&[u8], Error> {
        let end = event.len().checked_sub(self.len());
        end.and_then(|end| event.get(EventHeader::LEN..end))
            .ok_or_else(|| Error::malformed("the event is too short for its checksum"))
    }

    /// Checks the CRC32 of a complete event, if its file has checksums.
    pub(crate) fn check(self, event: &[u8]) -> std::result::Result<(), Error> {
        match self.is_empty() || verify(event) {
            true => Ok(()),
            false => Err(Error::new(
                ErrorKind::Checksum,
                "the event's CRC32 does not match its bytes: the file is damaged",
            )),
        }
    }

    /// True if the checksum has no bytes.
    pub const fn is_empty(self) -> bool {
        matches!(self, Self::Off)
    }
}

/// True if the last four bytes of the complete `event` are the CRC32 of the other bytes.
pub fn verify(event: &[u8]) -> bool {
    event
        .split_last_chunk()
        .is_some_and(|(covered, stored)| crc32(covered) == u32::from_le_bytes(*stored))
}

/// The CRC32 of an event without its checksum, calculated as if the in-use flag were 0.
fn crc32(covered: &[u8]) -> u32 {
    let mut hasher = NEW_HASHER.clone();
    match covered.split_at_checked(FLAGS_AT) {
        Some((head, [flags, tail @ ..]))
            if covered.get(TYPE_AT) == Some(&EventType::FORMAT_DESCRIPTION.0) =>
        {
            hasher.update(head);
            hasher.update(&[flags & !(EventHeader::IN_USE as u8)]);
            hasher.update(tail);
        }
        _ => hasher.update(covered),
    }
    hasher.finalize()
}

/// A copy of it avoids a detection of the processor for each event.
static NEW_HASHER: LazyLock<crc32fast::Hasher> = LazyLock::new(crc32fast::Hasher::new);

/// The number of bytes of a CRC32.
pub const CHECKSUM_LEN: usize = 4;

/// The offsets of the type and of the low byte of the flags in a header.
const TYPE_AT: usize = 4;
const FLAGS_AT: usize = 17;

#[cfg(test)]
mod tests {
    use super::*;

    fn with_checksum(mut event: Vec<u8>) -> Vec<u8> {
        event.extend(crc32fast::hash(&event).to_le_bytes());
        event
    }

    #[test]
    fn any_flipped_bit_is_found() {
        let event = with_checksum((0..40).collect());
        assert!(verify(&event));
        for bit in 0..event.len() * 8 {
            let mut event = event.clone();
            event[bit / 8] ^= 1 << (bit % 8);
            assert!(!verify(&event));
        }
        for end in 0..event.len() {
            assert!(!verify(&event[..end]) || end == 4);
        }
    }

    #[test]
    fn in_use_flag_counts_as_0_in_a_format_description_only() {
        for (event_type, same) in [(15, true), (2, false)] {
            let mut event = vec![0; 30];
            event[4] = event_type;
            let mut event = with_checksum(event);
            event[17] |= 1;
            assert_eq!(verify(&event), same);
        }
    }

    #[test]
    fn algorithms() {
        assert_eq!(ChecksumAlgorithm::decode(0), Ok(ChecksumAlgorithm::Off));
        assert_eq!(ChecksumAlgorithm::decode(1).map(ChecksumAlgorithm::len), Ok(4));
        assert!(ChecksumAlgorithm::decode(2).is_err());
    }
}
