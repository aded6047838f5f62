//! The steps that a walk returns.

use super::statement::Statement;
use crate::change::{EventGroup, Transaction};

/// The next step in a log.
pub(crate) enum Step {
    /// A file is open.
    FileBegins(FileBegins),
    /// The GTIDs before the file were read.
    GtidsBefore,
    /// The next event, at this offset, is the first of a transaction since the start, or since a gap between files.
    TransactionsBegin(u64),
    /// A statement. Its transaction may not have ended yet.
    Statement(Box<Statement>),
    /// A statement without a transaction is complete, in a log without GTIDs.
    /// [`Walk::pass_statement`](super::Walk::pass_statement) is called next.
    LoneStatement(Box<LoneStatement>),
    /// A transaction is complete: [`Walk::take_transaction`](super::Walk::take_transaction) returns it, and
    /// [`Walk::pass`](super::Walk::pass) moves past it.
    Transaction(Verdicts),
    /// Another event was read.
    Event,
    /// The server skipped a part of the log, up to this offset.
    Gap(u64),
    /// The server reported that it is alive.
    Heartbeat(u64),
    /// There is no next event yet, and the caller does not allow waiting.
    Pending,
    /// In a live log, the next thing is not an event: a gap, a heartbeat, or the end of the file.
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
    /// True if the log continues here after another log: on another server, or by GTID.
    pub(crate) has_moved: bool,
    /// The offset from which it is read.
    pub(crate) from: u64,
}

/// The end of a file.
pub(crate) struct FileEnds {
    /// The transaction in which the input ends, unless another file contains it again.
    pub(crate) unfinished: Option<EventGroup>,
    /// Offset after the last complete event.
    pub(crate) offset: u64,
    /// The next file, if this one is complete.
    pub(crate) next: Option<String>,
}

/// A statement without a transaction.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LoneStatement {
    /// Its properties as a transaction.
    pub(crate) transaction: Transaction,
    /// The offset after it.
    pub(crate) end: u64,
    /// True if it is after the stop.
    pub(crate) is_after_stop: bool,
    /// True if it is one of those to read.
    pub(crate) is_wanted: bool,
}

/// The relation of a transaction to the bounds of a walk.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Verdicts {
    /// True if it is one of those to read.
    pub(crate) is_wanted: bool,
    /// True if it was read before, from another server.
    pub(crate) was_read: bool,
}
