//! Finds XA transactions that were prepared before a live read began, by a search of the server's log, backwards from the
//! start of the read.
//!
//! The part of a file before the read's start is read first, then the files before it, one by one, without their rows, until
//! the transaction or its end is found, or no files are left.

use crate::binlog::FIRST_EVENT_AT;
use crate::change::TransactionEnd;
use crate::error::{ErrorKind, Result};
use crate::position::{Position, PreparedRange, Xid};
use crate::source::live::LOG;
use crate::source::options::{Start, Stop};
use crate::source::walk::{Step, Walk};
use std::collections::HashSet;

/// Searches the log before a read for XA transactions.
#[derive(Default)]
pub(super) struct XaSearch {
    /// The place in the server's log at which the read began, unless the read is by GTID.
    began_at: Option<(String, u64)>,
    /// The results of the search so far.
    earlier: Option<EarlierLog>,
}

/// The XA transactions in the log before a place, as far as it was read.
struct EarlierLog {
    /// The parts that were not read, in log order: files, and the offsets at which they end.
    files: Vec<(String, u64)>,
    /// Transactions that are still prepared at that place.
    open: Vec<PreparedRange>,
    /// Transactions that were committed or rolled back in the part that was read, and prepared before it.
    decided: HashSet<Xid>,
}

/// The XA transactions in one file, or in a part of it from its beginning.
#[derive(Default)]
struct Part {
    prepared: Vec<PreparedRange>,
    prepared_elsewhere: Vec<Xid>,
    /// True if the transaction was committed or rolled back there.
    is_decided: bool,
}

impl XaSearch {
    /// Starts a search before the position at which a live read begins.
    pub(super) fn before(position: &Position) -> Self {
        let is_by_file = !position.by_gtid && !position.file.is_empty();
        let began_at = is_by_file.then(|| (position.file.clone(), position.offset));
        Self { began_at, earlier: None }
    }

    /// Finds the rows of a transaction that an XA COMMIT at `offset` of the open file commits, and whose XA PREPARE was not
    /// read; otherwise returns the reason why they are not found.
    ///
    /// # Errors
    /// The connection is lost permanently, or another server answers.
    pub(super) fn find(
        &mut self,
        xid: &Xid,
        offset: u64,
        walk: &mut Walk,
    ) -> Result<std::result::Result<PreparedRange, String>> {
        match self.search(xid, offset, walk) {
            Ok(Some(range)) => {
                log::info!(
                    target: LOG,
                    "an XA transaction that is committed at {}:{offset} was prepared at {}:{}",
                    walk.position().file,
                    range.file,
                    range.start
                );
                Ok(Ok(range))
            }
            Ok(None) => Ok(Err("the files that the server still has do not contain it".to_owned())),
            Err(error) => match error.kind() {
                ErrorKind::ConnectionLost
                | ErrorKind::ServerIdentity
                | ErrorKind::Io
                | ErrorKind::Cancelled => Err(error),
                _ => Ok(Err(format!("the search for it failed: {error}"))),
            },
        }
    }

    fn search(&mut self, xid: &Xid, offset: u64, walk: &mut Walk) -> Result<Option<PreparedRange>> {
        let mut earlier = match self.earlier.take() {
            Some(earlier) => earlier,
            None => self.log_before(offset, walk)?,
        };
        let found = earlier.search(xid, walk);
        // In a read by GTID, events before the XA COMMIT need not be before the start of the read.
        if self.began_at.is_some() {
            self.earlier = Some(earlier);
        }
        found
    }

    /// The log before the read's start, or before an XA COMMIT at `offset`.
    fn log_before(&self, offset: u64, walk: &mut Walk) -> Result<EarlierLog> {
        let at = self.began_at.clone();
        let (file, end) = at.unwrap_or_else(|| (walk.position().file.clone(), offset));
        let feed = walk.files_mut().feed();
        let mut files = feed.map(|feed| feed.files()).transpose()?.unwrap_or_default();
        let count = files.iter().position(|(name, _)| *name == file).map_or(0, |index| index + 1);
        files.truncate(count);
        if let Some((_, size)) = files.last_mut() {
            *size = end;
        }
        Ok(EarlierLog { files, open: Vec::new(), decided: HashSet::new() })
    }
}

impl EarlierLog {
    fn search(&mut self, xid: &Xid, walk: &mut Walk) -> Result<Option<PreparedRange>> {
        loop {
            if let Some(index) = self.open.iter().position(|range| range.xid == *xid) {
                return Ok(Some(self.open.swap_remove(index)));
            }
            let Some((file, end)) = self.files.last() else { return Ok(None) };
            let part = read_part(walk, (file, *end), xid)?;
            self.files.pop();
            let is_open = |range: &PreparedRange| !self.decided.contains(&range.xid);
            self.open.extend(part.prepared.into_iter().filter(is_open));
            self.decided.extend(part.prepared_elsewhere);
            let is_prepared = self.open.iter().any(|range| range.xid == *xid);
            if part.is_decided && !is_prepared {
                return Ok(None);
            }
        }
    }
}

/// Reads a file up to an offset.
fn read_part(walk: &mut Walk, (file, end): (&str, u64), xid: &Xid) -> Result<Part> {
    if end <= FIRST_EVENT_AT {
        return Ok(Part::default());
    }
    let server = walk.position().server.clone();
    let begin = Position { server, ..Position::in_file(file, FIRST_EVENT_AT) };
    let stop = Stop::Position(Box::new(Position::in_file(file, end)));
    let options = walk.options().without_rows(Start::Earliest, stop);
    let mut second = walk.second(&begin, options)?;
    let mut is_decided = false;
    let mut read = |second: &mut Walk| -> Result<()> {
        while let Some(step) = second.next(true)? {
            match step {
                Step::Transaction(verdicts) => {
                    let ended = second.take_transaction()?;
                    is_decided |= match &ended.outcome {
                        TransactionEnd::XaCommitted(decided)
                        | TransactionEnd::XaRolledBack(decided) => **decided == *xid,
                        _ => false,
                    };
                    second.pass(&ended, verdicts)?;
                }
                Step::LoneStatement(statement) => second.pass_statement(&statement),
                _ => {}
            }
        }
        Ok(())
    };
    let read = read(&mut second).map_err(|error| second.name_file(error));
    let prepared_elsewhere = second.take_prepared_elsewhere();
    let prepared = second.position().prepared.clone();
    walk.end_second(second);
    read.map(|()| Part { prepared, prepared_elsewhere, is_decided })
}
