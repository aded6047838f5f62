//! What a document may cost: no byte of it is used more than once.

use crate::error::DecodeError;
use crate::wire::Result;

/// Bytes of a document that no value has used yet. Values that share bytes use it up, so that time and output are linear
/// in the length of the document, whatever its offsets say.
#[derive(Debug)]
pub(super) struct Budget {
    left: usize,
    document_bytes: usize,
}

impl Budget {
    /// For one walk through a document of so many bytes.
    pub(super) const fn new(document_bytes: usize) -> Self {
        Self { left: document_bytes, document_bytes }
    }

    /// Takes `bytes` off.
    #[inline]
    pub(super) fn spend(&mut self, bytes: usize) -> Result<()> {
        match self.left.checked_sub(bytes) {
            Some(left) => {
                self.left = left;
                Ok(())
            }
            None => Err(DecodeError::Limit {
                what: "bytes used by the values of a JSON document",
                value: (self.document_bytes - self.left + bytes) as u64,
                limit: self.document_bytes as u64,
            }),
        }
    }
}
