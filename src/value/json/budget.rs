//! Limits the cost of a document: no byte of it is used more than once.

use crate::error::DecodeError;
use crate::wire::Result;

/// The number of bytes of a document that no value has used yet. Values that share bytes use up
/// this budget. So time and output are linear in the length of the document, whatever its offsets
/// are.
#[derive(Debug)]
pub(super) struct Budget {
    left: usize,
    document_bytes: usize,
}

impl Budget {
    /// Creates the budget for one pass through a document of this length.
    pub(super) const fn new(document_bytes: usize) -> Self {
        Self { left: document_bytes, document_bytes }
    }

    /// Subtracts `bytes` from the budget.
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
