//! What a walk returns.

use super::statement::Statement;
use crate::change::{EventGroup, Transaction};

/// What comes next in a log.
pub(crate) enum Step {
    /// A file is open.
    FileBegins(FileBegins),
    /// The GTIDs before the file were read.
    GtidsBefore,
    /// The next event, at this offset, is the first of a transaction since the start, or since a gap between files.
    TransactionsBegin(u64),
    /// A statement. The transaction that it is in may not have ended yet.
    Statement(Box<Statement>),
    /// A statement without a transaction is complete, in a log without GTIDs. [`Walk::pass_statement`](super::Walk::pass_statement) is called next.
    LoneStatement(LoneStatement),
    /// A transaction is complete: [`Walk::take_transaction`](super::Walk::take_transaction) returns it, and [`Walk::pass`](super::Walk::pass) moves past it.
    Transaction(Verdicts),
    /// Another event was read.
    Event,
    /// The server passed over a part of the log, up to this offset.
    Gap(u64),
    /// The server reported that it is alive.
    Heartbeat(u64),
    /// What is next may not be waited for.
    Pending,
    /// No event is next in a live log, but a gap, a heartbeat, or the end of the file.
    Pause,
    /// The end of a file.
    FileEnds(Box<FileEnds>),
}

/// A file that is open.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FileBegins {
    /// False if files before it are missing.
    pub(crate) follows: bool,
    /// True if it is the file of the start position.
    pub(crate) resumes: bool,
    /// True if the log continues here after another one: at another server, or by GTID.
    pub(crate) has_moved: bool,
    /// The offset from which it is read.
    pub(crate) from: u64,
}

/// The end of a file.
pub(crate) struct FileEnds {
    /// The transaction that the input ends in, unless it comes again in another file.
    pub(crate) unfinished: Option<EventGroup>,
    /// Offset after the last complete event.
    pub(crate) offset: u64,
    /// The next file, if this one is complete.
    pub(crate) next: Option<String>,
}

/// A statement without a transaction.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LoneStatement {
    /// What is known of it as a transaction.
    pub(crate) transaction: Transaction,
    /// The offset after it.
    pub(crate) end: u64,
    /// True if it is after the stop.
    pub(crate) is_after_stop: bool,
    /// True if it is one of those to read.
    pub(crate) is_wanted: bool,
}

/// What the bounds of a walk say about a transaction.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Verdicts {
    /// True if it is one of those to read.
    pub(crate) is_wanted: bool,
    /// True if it was read before, from another server.
    pub(crate) was_read: bool,
}
