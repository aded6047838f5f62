//! Reuse of the memory of parts.

use super::run::Part;
use std::sync::{Arc, Mutex};

/// Empty parts whose memory is reused for other changes. The threads that read the log share them.
#[derive(Debug, Clone, Default)]
pub(super) struct SpareParts(Arc<Mutex<Vec<Part>>>);

impl SpareParts {
    /// Returns an empty part.
    pub(super) fn take(&self) -> Part {
        self.0.lock().ok().and_then(|mut parts| parts.pop()).unwrap_or_default()
    }

    /// Keeps a part, unless there are many or it is large.
    pub(super) fn give(&self, mut part: Part) {
        if let Ok(mut parts) = self.0.lock()
            && part.text.capacity() <= MAX_SPARE
            && parts.len() < MAX_SPARES
        {
            part.clear();
            parts.push(part);
        }
    }
}

/// The memory of larger texts is not used again.
const MAX_SPARE: usize = 16 << 20;

/// The maximum number of parts whose memory is used again.
const MAX_SPARES: usize = 16;
