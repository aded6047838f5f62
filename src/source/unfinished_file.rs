//! The warning for a file that ends without a Rotate or Stop event, and the error for a truncated one.
//!
//! `walk::files` (`end_file`) decides which of them applies. `segments` (`end_file`) then drops the rows of a transaction that
//! the file does not complete.

use crate::error::Error;

/// The place at which a file ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FileEnd {
    /// In the middle of an event.
    InsideEvent,
    /// After an event, in the middle of a transaction.
    InsideTransaction,
    /// After a transaction, or outside one.
    AfterTransaction,
}

impl FileEnd {
    /// The warning for a file that has no last event. `offset`: the end of its last complete event. `in_use`: its format
    /// description has the flag LOG_EVENT_BINLOG_IN_USE_F.
    pub(crate) fn warning(self, file: &str, offset: u64, in_use: bool) -> String {
        let end = match self {
            Self::InsideEvent => format!("inside the event at offset {offset}"),
            Self::InsideTransaction => format!("inside a transaction, at offset {offset}"),
            Self::AfterTransaction => {
                format!("at offset {offset} without a Rotate or Stop event")
            }
        };
        match in_use {
            true => format!(
                "{file} ends {end}, and is marked as in use: the server still writes to it, or crashed, or the copy is \
                 incomplete. Later changes may be missing: read the file again when the server has closed it"
            ),
            false => {
                format!("{file} ends {end}: if it was truncated there, later changes are missing")
            }
        }
    }
}

/// The error for a file that ends in the middle of `what` although the server does not write to it
/// any more.
pub(crate) fn was_cut(what: &str, offset: u64) -> Error {
    Error::malformed(format!(
        "the file ends in the middle of {what}, although the server closed it: it was truncated"
    ))
    .at_event(offset, "end of file")
}
