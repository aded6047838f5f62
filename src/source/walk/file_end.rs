//! The end of a file: the decision about an event and a transaction that the file does not complete.
//!
//! | the file | an unfinished transaction |
//! |---|---|
//! | was closed by its server | an error: the file was truncated |
//! | is in use, or its server crashed | is left out, with a warning; with `uncommitted="emit"`, `segments` returns its rows |
//! | of a dump, after a crash of its server | is left out, with a warning: the server rolled it back |

use crate::error::{Error, Result};

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
    /// The end of a file whose last complete event ends at `offset`. `is_cut`: an incomplete event follows. `in_use`: the file's
    /// format description has the flag LOG_EVENT_BINLOG_IN_USE_F, or a server still writes to the file.
    ///
    /// # Errors
    /// It ends in the middle of an event or a transaction, although the server closed it.
    pub(crate) fn of(
        is_cut: bool,
        in_transaction: bool,
        in_use: bool,
        offset: u64,
    ) -> Result<Self> {
        let (end, incomplete) = match is_cut {
            true => (Self::InsideEvent, "an event"),
            false if in_transaction => (Self::InsideTransaction, "a transaction"),
            false => return Ok(Self::AfterTransaction),
        };
        match in_use {
            true => Ok(end),
            false => Err(Error::malformed(format!(
                "the file ends in the middle of {incomplete}, although the server closed it: it was truncated"
            ))
            .at_event(offset, "end of file")),
        }
    }

    /// The warning for a file that may be incomplete. `is_closed`: it ends with a Rotate or Stop event.
    pub(crate) fn warning(
        self,
        (file, offset): (&str, u64),
        in_use: bool,
        is_closed: bool,
    ) -> Option<String> {
        let end = match self {
            Self::InsideEvent => format!("inside the event at offset {offset}"),
            Self::InsideTransaction => format!("inside a transaction, at offset {offset}"),
            Self::AfterTransaction if is_closed => return None,
            Self::AfterTransaction => {
                format!("at offset {offset} without a Rotate or Stop event")
            }
        };
        Some(match in_use {
            true => format!(
                "{file} ends {end}, and is marked as in use: the server still writes to it, or crashed, or the copy is \
                 incomplete. Later changes may be missing: read the file again when the server has closed it"
            ),
            false => {
                format!("{file} ends {end}: if it was truncated there, later changes are missing")
            }
        })
    }
}

/// The warning for a transaction of a dump that the server did not complete.
pub(super) fn rolled_back(file: &str, offset: u64) -> String {
    format!(
        "{file} ends at offset {offset} inside a transaction: the server crashed there, and rolled the transaction back"
    )
}
