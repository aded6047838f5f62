//! A rows event that is joined from its fragments (MariaDB's Partial_row_data events).

use crate::binlog::{CHECKSUM_LEN, ChecksumAlgorithm, EventHeader, FragmentOrder, PartialRowData};
use crate::error::{DecodeError, Error, Result};
use crate::limits::MAX_EVENT_SIZE;

/// The fragments of one event, in a buffer that is reused for the next event.
#[derive(Default)]
pub(super) struct Fragments {
    bytes: Vec<u8>,
    order: FragmentOrder,
    original_size: Option<u64>,
    offset: u64,
}

impl Fragments {
    /// Removes fragments of an incomplete event.
    pub(super) fn clear(&mut self) {
        self.order = FragmentOrder::default();
    }

    /// Checks that no fragment is missing: another event may follow only the last fragment.
    pub(super) fn expect_none(&self) -> Result<()> {
        match self.order.is_open() {
            true => Err(Error::malformed("fragments of the rows event before it are missing")),
            false => Ok(()),
        }
    }

    /// Adds the fragment at `offset`. Returns true if the event is complete.
    pub(super) fn take(&mut self, fragment: &PartialRowData<'_>, offset: u64) -> Result<bool> {
        if !self.order.is_open() {
            match self.bytes.capacity() > MAX_KEPT {
                true => self.bytes = Vec::new(),
                false => self.bytes.clear(),
            }
            self.original_size = fragment.original_size;
            self.offset = offset;
        }
        let is_complete = self.order.take(fragment.seq, fragment.total)?;
        let len = self.bytes.len() as u64 + fragment.chunk.len() as u64;
        let limit = self.original_size.unwrap_or(u64::from(MAX_EVENT_SIZE));
        if len > limit {
            let what = "total size of the fragments";
            return Err(DecodeError::Limit { what, value: len, limit }.into());
        }
        self.bytes.extend_from_slice(fragment.chunk);
        Ok(is_complete)
    }

    /// The offset of the first fragment.
    pub(super) fn offset(&self) -> u64 {
        self.offset
    }

    /// The header and the body of the complete event. It may have its own checksum, or none, like
    /// events in payloads.
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
        // Its size may include the checksum that its fragments have instead.
        let left_out = match (checksum, own) {
            (ChecksumAlgorithm::Crc32, ChecksumAlgorithm::Off) => CHECKSUM_LEN as u64,
            _ => 0,
        };
        let size = u64::from(header.event_size);
        if size != len && size != len + left_out {
            return Err(Error::malformed("the fragments are not as long as their event"));
        }
        Ok((header, own.body(&self.bytes)?))
    }
}

/// The buffer is freed if it is larger.
const MAX_KEPT: usize = 16 << 20;
