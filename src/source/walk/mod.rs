//! A walk over the events of a log: its files in order, its transactions, the position at which to
//! resume, and the end.
//!
//! Input: files, or a server's dump. Output: [`Step`]s. A transaction is returned when its end is
//! known. The position is then before the transaction; [`Walk::pass`] moves the position past it.
//! Called by `segments`, `follower` and `scan`.
//!
//! ```text
//! LogFiles ── FileEvents ── FileWalk (transactions of one file) ── Walk (bounds, position) ──> Step
//! ```

mod bounds;
mod events;
mod file_end;
mod file_walk;
mod files;
mod gtid_range;
mod heads;
mod log_files;
mod passed;
mod progress;
mod skipping;
mod spool;
mod statement;
mod step;
mod temporary;
mod transactions;
mod usual;

use crate::binlog::{EventHeader, EventType};
use crate::cancel::CancelToken;
use crate::change::EventGroup;
use crate::error::{Error, ErrorKind, Result};
use crate::position::{GtidState, Position, PreparedRange, Xid};
use crate::schema::NameCase;
use crate::source::event_source::{Event, NextEvent};
use crate::source::options::LogOptions;
use crate::source::segment::{FileContext, commit_version};
use bounds::Bounds;
pub(crate) use events::FileEvents;
pub(crate) use file_end::FileEnd;
pub(crate) use file_walk::{Ended, FileWalk};
use file_walk::{Rules, Seen};
pub(crate) use log_files::{LogFiles, no_file};
pub(crate) use passed::PassedTransaction;
use progress::LogProgress;
use skipping::Skips;
pub(crate) use statement::{Statement, Target};
use std::sync::Arc;
pub(crate) use step::{FileBegins, FileEnds, LoneStatement, Step, Verdicts};
use temporary::TemporaryTables;

/// A walk over the events of a log.
pub(crate) struct Walk {
    files: LogFiles,
    options: LogOptions,
    rules: Rules,
    bounds: Bounds,
    progress: LogProgress,
    open: Option<FileWalk>,
    /// The offset in the open file from which everything was read.
    complete_from: u64,
    /// The last event that was read.
    event: Option<Event>,
    /// True if bytes are kept until they are taken; otherwise they are dropped.
    keeps_bytes: bool,
    /// Events inside transactions are not returned as steps while fewer bytes than these are kept.
    quiet_bytes: usize,
    /// The first action of the next call.
    next: Next,
    /// True if an event of a transaction was read since the start, or since a gap between files.
    has_transactions: bool,
    /// The temporary tables in the log so far.
    temporary: TemporaryTables,
    /// The meaning of letter case in names of tables.
    name_case: NameCase,
    /// Warnings that were not taken yet.
    warnings: Vec<String>,
    /// The warning for the last file, if it ended without a Rotate or Stop event.
    unclosed: Option<String>,
    /// XA transactions that were prepared before the start, and committed or rolled back after it.
    prepared_elsewhere: Vec<Xid>,
    /// The error to return after the open file.
    incomplete: Option<Error>,
    /// The segments of the open file that an index describes.
    skips: Skips,
}

/// The first action of the next call of [`Walk::next`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Next {
    /// Continues to read.
    Read,
    /// Handles what followed the last event, after [`Step::Pause`].
    AfterPause(NextEvent),
    /// The caller must pass a transaction or statement first.
    AfterPass,
    /// Skips the segments at the next event, after [`Step::Pause`].
    Skip,
    /// Closes the open file.
    CloseFile,
    /// Ends.
    End,
}

impl Walk {
    /// Keeps the bytes of events until they are taken. Events inside transactions are not returned as steps while fewer bytes
    /// than `quiet_bytes` are kept.
    pub(crate) fn keep_bytes(&mut self, quiet_bytes: usize) {
        self.keeps_bytes = true;
        self.quiet_bytes = quiet_bytes;
    }

    /// Decodes statements, for a caller that needs them.
    pub(crate) fn want_statements(&mut self) {
        self.rules.wants_statements = true;
    }

    /// Sets the token that cancels the walk.
    pub(crate) fn cancel_with(&mut self, cancel: &CancelToken) {
        self.files.cancel_with(cancel);
    }

    /// The options of the read.
    pub(crate) fn options(&self) -> &LogOptions {
        &self.options
    }

    /// The files of the log.
    pub(crate) fn files(&self) -> &LogFiles {
        &self.files
    }

    /// The files of the log.
    pub(crate) fn files_mut(&mut self) -> &mut LogFiles {
        &mut self.files
    }

    /// True if a server still writes the log.
    pub(crate) fn is_live(&self) -> bool {
        self.files.is_live()
    }

    /// The end of the last complete transaction that was passed.
    pub(crate) fn position(&self) -> &Position {
        &self.progress.position
    }

    /// Returns to a position after a failure, so that a read can resume there.
    pub(crate) fn return_to(&mut self, position: Position) {
        self.progress.position = position;
    }

    /// The transactions, by GTID, that were read already and may be sent again.
    pub(crate) fn already_read(&self) -> Option<&GtidState> {
        self.progress.already_read.as_ref()
    }

    /// The offset in the open file from which everything was read.
    pub(crate) fn complete_from(&self) -> u64 {
        self.complete_from
    }

    /// The open file.
    pub(crate) fn context(&self) -> Option<&Arc<FileContext>> {
        self.open.as_ref().map(|open| open.events.context())
    }

    /// The events of the open file.
    pub(crate) fn events(&mut self) -> Option<&mut FileEvents> {
        self.open.as_mut().map(|open| &mut open.events)
    }

    /// The meaning of letter case in names of tables.
    pub(crate) fn name_case(&self) -> NameCase {
        self.name_case
    }

    /// Takes the meaning of letter case from a history, unless it is known.
    pub(crate) fn learn_name_case(&mut self, name_case: NameCase) {
        if self.name_case == NameCase::Unknown {
            self.name_case = name_case;
        }
    }

    /// The transaction that is open.
    pub(crate) fn transaction(&self) -> Option<&EventGroup> {
        self.open.as_ref().and_then(FileWalk::transaction)
    }

    /// Number of bytes that are kept, up to the next event.
    pub(crate) fn kept(&self) -> usize {
        self.open.as_ref().map_or(0, |open| open.events.kept())
    }

    /// Ends the walk here.
    pub(crate) fn end(&mut self) {
        self.next = Next::End;
    }

    /// Checks that a walk that has ended has reached its goal, if it has one.
    pub(crate) fn check_goal(&self) -> Result<()> {
        match &self.options.goal {
            Some(goal) => self.bounds.check_goal(&self.progress.position, goal),
            None => Ok(()),
        }
    }

    /// True if the walk has ended at its stop, its limit, or the end of the log.
    pub(crate) fn has_ended(&self) -> bool {
        self.next == Next::End
    }

    /// `_commit_version` of a transaction of the open file.
    pub(crate) fn commit_version(&self, offset: u64) -> i64 {
        let number = self.files.current().map_or(0, |file| file.number);
        let number = number + u64::from(self.progress.position.version_shift);
        commit_version(number, offset)
    }

    /// Adds a warning.
    pub(crate) fn warn(&mut self, message: String) {
        self.warnings.push(message);
    }

    /// Adds a warning, unless it is there already.
    pub(crate) fn warn_once(&mut self, message: String) {
        if !self.warnings.contains(&message) {
            self.warnings.push(message);
        }
    }

    /// The warnings since the last call.
    pub(crate) fn take_warnings(&mut self) -> Vec<String> {
        std::mem::take(&mut self.warnings)
    }

    /// True if there are warnings to take.
    pub(crate) fn has_warnings(&self) -> bool {
        !self.warnings.is_empty()
    }

    /// The warning for the last file that ended without a Rotate or Stop event, since the last call.
    pub(crate) fn take_unclosed(&mut self) -> Option<String> {
        self.unclosed.take()
    }

    /// XA transactions that were committed or rolled back since the last call, and prepared before the start.
    pub(crate) fn take_prepared_elsewhere(&mut self) -> Vec<Xid> {
        std::mem::take(&mut self.prepared_elsewhere)
    }

    /// The prepared transaction that an XA COMMIT commits.
    pub(crate) fn prepared(&self, xid: &Xid) -> Option<&PreparedRange> {
        self.progress.position.prepared.iter().find(|prepared| prepared.xid == *xid)
    }

    /// The transaction at `offset` of another file.
    pub(crate) fn transaction_at(&self, file: &mut FileWalk, offset: u64) -> Result<Option<Ended>> {
        file.transaction_at(offset, &self.rules)
    }

    /// The transaction at `offset` of the open file, read a second time. The caller restores the offset of the events.
    pub(crate) fn read_again(&mut self, offset: u64) -> Result<Option<Ended>> {
        let Some(open) = &mut self.open else { return Ok(None) };
        let found = open.transaction_at(offset, &self.rules);
        open.take_unfinished();
        found
    }

    /// Adds the place of the last event to an error.
    pub(crate) fn locate(&self, error: Error) -> Error {
        match &self.event {
            Some(event) => event.locate(error),
            None => error,
        }
    }

    /// Adds the name of the open file to an error.
    pub(crate) fn name_file(&self, error: Error) -> Error {
        match self.files.current() {
            Some(file) => error.in_file(&file.label),
            None => error,
        }
    }

    /// The next step; `None` at the end. With `may_wait`, waits for events that are not written yet.
    pub(crate) fn next(&mut self, may_wait: bool) -> Result<Option<Step>> {
        let step = self.try_next(may_wait);
        if step.is_err() {
            self.next = Next::End;
        }
        step
    }

    fn try_next(&mut self, may_wait: bool) -> Result<Option<Step>> {
        loop {
            match self.next {
                Next::Read if self.open.is_some() => return self.step(may_wait),
                Next::Read => {}
                Next::AfterPause(next) => return self.after_events(next).map(Some),
                Next::Skip => return self.skip_segments().map(Some),
                Next::AfterPass => {
                    return Err(Error::new(ErrorKind::Internal, "a transaction was not passed"));
                }
                Next::CloseFile => {
                    self.close_file()?;
                    continue;
                }
                Next::End => return Ok(None),
            }
            match self.open_next()? {
                Some(begins) => return Ok(Some(Step::FileBegins(begins))),
                None => self.next = Next::End,
            }
        }
    }

    /// True if no event needs a step of its own.
    fn reads_usual_transactions(&self) -> bool {
        let learns_name_case =
            self.name_case == NameCase::Unknown && self.options.include.statements();
        self.has_transactions && !learns_name_case
    }

    /// Reads the next transaction in one step, if it is a usual one and no step is returned before its end. False if not.
    fn pass_usual(&mut self) -> bool {
        let Some(open) = &mut self.open else { return false };
        let limit = self.quiet_bytes.saturating_sub(open.events.kept());
        match open.pass_usual(&self.rules, limit) {
            Some(event) => {
                self.event = Some(event);
                true
            }
            None => false,
        }
    }

    /// Reads the next event, or several inside a transaction.
    fn step(&mut self, may_wait: bool) -> Result<Option<Step>> {
        let Some(open) = &mut self.open else { return Ok(None) };
        if open.is_pending() {
            let seen = open.finish(&self.rules);
            return self.on_seen(seen);
        }
        loop {
            let Some(open) = &mut self.open else { return Ok(None) };
            let offset = open.events.offset();
            let in_transaction = open.transaction().is_some();
            let file = (self.files.index(), &*self.progress.position.file);
            if !in_transaction && self.bounds.is_past_stop(file, offset)
                || self.bounds.is_limit_reached(in_transaction, offset)
            {
                self.next = Next::End;
                return Ok(None);
            }
            if !in_transaction && self.skips_at(offset) {
                self.next = Next::Skip;
                return Ok(Some(Step::Pause));
            }
            if !in_transaction && self.reads_usual_transactions() && self.pass_usual() {
                return self.end_transaction().map_err(|error| self.locate(error));
            }
            let Some(open) = &mut self.open else { return Ok(None) };
            // Usually the event is in memory. It is written only once: into `self.event`.
            let event = match open.events.buffered() {
                Some(event) => event,
                None => match open.events.peek(may_wait)? {
                    NextEvent::Event(event) => event,
                    NextEvent::Pending => return Ok(Some(Step::Pending)),
                    next if self.files.is_live() => {
                        self.next = Next::AfterPause(next);
                        return Ok(Some(Step::Pause));
                    }
                    next => return self.after_events(next).map(Some),
                },
            };
            if !self.has_transactions && begins_transaction(&event.header) {
                self.has_transactions = true;
                return Ok(Some(Step::TransactionsBegin(offset)));
            }
            if !may_wait
                && let Some(xid) = open.committed_xid(&event)
                && self.progress.position.prepared.iter().all(|prepared| prepared.xid != xid)
            {
                // The search for that transaction in the log before it takes time.
                return Ok(Some(Step::Pending));
            }
            if self.name_case == NameCase::Unknown
                && self.options.include.statements()
                && open.has_capitals(&event)
            {
                self.name_case = NameCase::Exact;
            }
            let seen = open.pass(self.event.insert(event), &self.rules);
            if !self.keeps_bytes && open.events.kept() >= RELEASED_AT {
                open.events.release();
            }
            return match seen {
                Ok(Seen::Inside) if open.events.kept() < self.quiet_bytes => continue,
                Ok(Seen::Inside) => Ok(Some(Step::Event)),
                Ok(Seen::Ends) => self.end_transaction().map_err(|error| self.locate(error)),
                seen => self.on_seen(seen),
            };
        }
    }
}

/// True for an event that concerns more than its file.
fn begins_transaction(header: &EventHeader) -> bool {
    let of_file = [
        EventType::FORMAT_DESCRIPTION,
        EventType::ROTATE,
        EventType::STOP,
        EventType::PREVIOUS_GTIDS,
        EventType::MARIADB_GTID_LIST,
        EventType::MARIADB_BINLOG_CHECKPOINT,
        EventType::MARIADB_START_ENCRYPTION,
    ];
    !header.event_type.is_heartbeat() && !of_file.contains(&header.event_type)
}

/// The number of bytes after which bytes are dropped that nothing keeps.
const RELEASED_AT: usize = 1 << 20;
