//! A rows event put together from its fragments (MariaDB's Partial_row_data events).

use crate::binlog::{CHECKSUM_LEN, ChecksumAlgorithm, EventHeader, FragmentOrder, PartialRowData};
use crate::error::{DecodeError, Error, Result};
use crate::limits::MAX_EVENT_SIZE;
use crate::source::event_body;

/// The fragments of one event after the other, in a buffer that is used again.
#[derive(Default)]
pub(super) struct Fragments {
    bytes: Vec<u8>,
    order: FragmentOrder,
    original_size: Option<u64>,
    offset: u64,
}

impl Fragments {
    /// Gives up what is not whole.
    pub(super) fn clear(&mut self) {
        self.order = FragmentOrder::default();
    }

    /// Another event may come only after the last fragment.
    pub(super) fn expect_none(&self) -> Result<()> {
        match self.order.is_open() {
            true => Err(Error::malformed("fragments of the rows event before it are missing")),
            false => Ok(()),
        }
    }

    /// Takes the fragment at `offset`; tells whether the event is whole now.
    pub(super) fn take(&mut self, fragment: &PartialRowData<'_>, offset: u64) -> Result<bool> {
        if !self.order.is_open() {
            match self.bytes.capacity() > MAX_KEPT {
                true => self.bytes = Vec::new(),
                false => self.bytes.clear(),
            }
            self.original_size = fragment.original_size;
            self.offset = offset;
        }
        let is_whole = self.order.take(fragment.seq, fragment.total)?;
        let len = self.bytes.len() as u64 + fragment.chunk.len() as u64;
        let limit = self.original_size.unwrap_or(u64::from(MAX_EVENT_SIZE));
        if len > limit {
            let what = "size of the fragments together";
            return Err(DecodeError::Limit { what, value: len, limit }.into());
        }
        self.bytes.extend_from_slice(fragment.chunk);
        Ok(is_whole)
    }

    /// Where the first of them stands.
    pub(super) fn offset(&self) -> u64 {
        self.offset
    }

    /// The whole event's header and body. The event may have a checksum of its own or not, as those in payloads have none.
    pub(super) fn event(&self, checksum: ChecksumAlgorithm) -> Result<(EventHeader, &[u8])> {
        let header = EventHeader::decode(&self.bytes)?;
        let len = self.bytes.len() as u64;
        if self.original_size.is_some_and(|size| size != len) {
            return Err(Error::malformed("the fragments are shorter than their event"));
        }
        if !header.event_type.is_rows() {
            return Err(Error::malformed("the fragments are those of an event without rows"));
        }
        let own = match checksum {
            ChecksumAlgorithm::Crc32 if crate::binlog::checksum::verify(&self.bytes) => checksum,
            _ => ChecksumAlgorithm::Off,
        };
        // Its size may count the checksum that its fragments have instead.
        let left_out = match (checksum, own) {
            (ChecksumAlgorithm::Crc32, ChecksumAlgorithm::Off) => CHECKSUM_LEN as u64,
            _ => 0,
        };
        let size = u64::from(header.event_size);
        if size != len && size != len + left_out {
            return Err(Error::malformed("the fragments are not as long as their event"));
        }
        Ok((header, event_body(&self.bytes, own)?))
    }
}

/// A larger buffer is given back.
const MAX_KEPT: usize = 16 << 20;
