//! The effect of events on the position of a walk: the transactions to read, and the end.

use super::file_walk::{Ended, FileWalk, Seen};
use super::log_files::no_file;
use super::progress::contains;
use super::step::{LoneStatement, Step, Verdicts};
use super::{Next, Walk, gtid_range};
use crate::binlog::EventType;
use crate::change::{EventGroup, LoggedGtid, Transaction, TransactionEnd};
use crate::error::{Error, Result};
use crate::position::Xid;
use crate::source::delivered;
use crate::source::event_source::Event;
use crate::source::options::{Start, Stop};

impl Walk {
    /// Handles all but the usual events: those inside transactions, and the last ones.
    #[cold]
    pub(super) fn on_seen(&mut self, seen: Result<Seen>) -> Result<Option<Step>> {
        let seen = seen.map_err(|error| self.locate(error))?;
        match seen {
            Seen::Statement(mut statement) => {
                let is_mariadb = self.context().is_some_and(|context| context.format.is_mariadb);
                let skips = self.options.skip_statements;
                statement.target =
                    self.temporary.observe(&statement, is_mariadb, self.name_case, skips);
                return Ok(Some(Step::Statement(statement)));
            }
            Seen::Ends => return self.end_transaction().map_err(|error| self.locate(error)),
            Seen::Inside => return Ok(Some(Step::Event)),
            Seen::Outside(event) => return Ok(self.pass_outside(&event)),
            Seen::Rotate(name) => {
                self.files.set_successor(name);
                self.set_closed();
            }
            Seen::Stop => self.set_closed(),
            Seen::GtidsBefore(before) => {
                if !self.files.is_live() && self.files.index() == 0 {
                    let file = &self.progress.position.file;
                    let warning = gtid_range::check_start(&self.options, &before, file)
                        .map_err(|error| self.locate(error))?;
                    self.warnings.extend(warning);
                }
                self.progress.take_gtids_before(before);
                self.pass_event();
                self.end_if_complete();
                return Ok(Some(Step::GtidsBefore));
            }
            Seen::File => {}
        }
        self.pass_event();
        Ok(Some(Step::Event))
    }

    /// Moves the position past an event outside transactions.
    fn pass_event(&mut self) {
        if let Some(open) = &self.open
            && open.transaction().is_none()
        {
            self.progress.position.offset = open.events.offset();
        }
    }

    /// Moves past a part that the server skipped, up to offset `to`.
    pub(super) fn pass_gap(&mut self, to: u64) -> Result<Step> {
        let Some(open) = &mut self.open else { return Err(no_file()) };
        let from = open.events.offset();
        if open.transaction().is_some() {
            return Err(Error::malformed(format!(
                "the server skipped a part of a transaction, from offset {from} on"
            )));
        }
        open.events.jump(to);
        self.bounds.count_to(from);
        self.bounds.count_from(to);
        self.progress.position.offset = to;
        self.complete_from = to;
        Ok(Step::Gap(to))
    }

    /// A transaction is complete: ends the walk if it is not one to pass.
    pub(super) fn end_transaction(&mut self) -> Result<Option<Step>> {
        let Some(open) = &mut self.open else { return Err(no_file()) };
        if open.events.reads_heads()
            && let Some((_, end)) = open.ended()
        {
            open.events.jump(end);
        }
        let ended = self.open.as_ref().and_then(FileWalk::ended);
        let Some((group, end)) = ended else { return Err(no_file()) };
        let (time, gtid) = (group.transaction.commit_timestamp, group.gtid.as_ref());
        let file = (self.files.index(), &*self.progress.position.file);
        if self.bounds.is_past_stop(file, end.saturating_sub(1)) || self.bounds.exceeds_limit(end) {
            self.next = Next::End;
            return Ok(None);
        }
        if !self.files.is_live() {
            gtid_range::check_comparable(&self.options, group, &self.progress.position.file)?;
        }
        if self.is_gap(group)? {
            let warning = self.gap_warning(group);
            self.warnings.extend(warning);
            self.next = Next::End;
            return Ok(None);
        }
        self.bounds.count_transaction();
        if matches!(self.bounds.stop, Stop::Time(stop) if time > stop) {
            self.next = Next::End;
            return Ok(None);
        }
        delivered::check(&self.progress.position.ahead, group.transaction.start..end, gtid)?;
        let is_wanted = self.is_wanted(gtid, time);
        let was_read = self.progress.was_read(gtid);
        self.progress.reach_last_read(gtid);
        self.next = Next::AfterPass;
        Ok(Some(Step::Transaction(Verdicts { is_wanted, was_read })))
    }

    /// The transaction that is complete.
    pub(crate) fn take_transaction(&mut self) -> Result<Ended> {
        self.open.as_mut().and_then(FileWalk::take_ended).ok_or_else(no_file)
    }

    /// Moves past a transaction.
    pub(crate) fn pass(&mut self, ended: &Ended, verdicts: Verdicts) -> Result<()> {
        let (group, end) = (&ended.group, ended.end);
        let emits = self.options.emit_uncommitted;
        let again = match &ended.outcome {
            TransactionEnd::Prepared(_) if !emits => self.progress.gtids_before(group),
            _ => None,
        };
        let passed = self.progress.pass(group.gtid.as_ref(), end, verdicts.was_read);
        passed.map_err(|error| self.locate(error))?;
        match &ended.outcome {
            TransactionEnd::Prepared(xid) if !emits => {
                self.progress.prepare(Xid::clone(xid), group.transaction.start, end, again);
            }
            TransactionEnd::XaCommitted(xid) | TransactionEnd::XaRolledBack(xid)
                if !emits && !self.progress.decide(xid) =>
            {
                self.prepared_elsewhere.push(Xid::clone(xid));
            }
            _ => {}
        }
        self.next = Next::Read;
        self.end_if_complete();
        Ok(())
    }

    /// Processes an event outside transactions; a statement only if the log has no GTIDs.
    fn pass_outside(&mut self, event: &Event) -> Option<Step> {
        let (end, header) = (event.end(), &event.header);
        if self.bounds.exceeds_limit(end) {
            self.next = Next::End;
            return None;
        }
        self.bounds.count_transaction();
        let is_statement = header.event_type == EventType::QUERY
            || header.event_type == EventType::MARIADB_QUERY_COMPRESSED;
        if !is_statement {
            self.progress.position.offset = end;
            return Some(Step::Event);
        }
        let time = i64::from(header.timestamp) * 1_000_000;
        let file = (self.files.index(), &*self.progress.position.file);
        let is_after_stop = matches!(self.bounds.stop, Stop::Time(stop) if time > stop)
            || self.bounds.is_past_stop(file, end.saturating_sub(1));
        self.next = Next::AfterPass;
        Some(Step::LoneStatement(Box::new(LoneStatement {
            transaction: Transaction::new(event.offset, time, header.server_id),
            end,
            is_after_stop,
            is_wanted: self.is_wanted(None, time),
        })))
    }

    /// Moves past a statement without a transaction.
    pub(crate) fn pass_statement(&mut self, statement: &LoneStatement) {
        self.progress.position.offset = statement.end;
        self.next = Next::Read;
    }

    /// Moves past a transaction in which the input ends.
    pub(crate) fn pass_unfinished(&mut self, offset: u64) {
        self.progress.position.offset = offset;
    }

    /// True if a transaction is to be read.
    fn is_wanted(&self, gtid: Option<&LoggedGtid>, commit_timestamp: i64) -> bool {
        let after_start = match &self.options.start {
            Start::Time(start) => commit_timestamp >= *start,
            Start::Earliest | Start::Gtids(_) | Start::Position(_) => true,
        };
        after_start
            && !self.progress.was_read(gtid)
            && match &self.bounds.stop {
                Stop::Gtids(wanted) => contains(wanted, gtid),
                _ => true,
            }
    }

    /// True if the walk ends before the first transaction that is outside the GTID set to read, and this is one.
    ///
    /// # Errors
    /// The transaction has no GTID.
    fn is_gap(&self, group: &EventGroup) -> Result<bool> {
        let Stop::Gtids(wanted) = &self.bounds.stop else { return Ok(false) };
        let gtid = group.gtid.as_ref();
        if !self.options.stops_at_gap || self.progress.was_read(gtid) || contains(wanted, gtid) {
            return Ok(false);
        }
        match gtid {
            Some(_) => Ok(true),
            None => Err(Error::config(format!(
                "the stop is a GTID set, and the transaction at {}:{} has no GTID: pass the stop as file:offset, or as a Position",
                self.progress.position.file, group.transaction.start
            ))),
        }
    }

    /// The warning for a walk that ends before a transaction that is outside the GTID set to read, unless it has read all of
    /// the set.
    fn gap_warning(&self, group: &EventGroup) -> Option<String> {
        let position = &self.progress.position;
        let Stop::Gtids(wanted) = &self.bounds.stop else { return None };
        let is_complete = position.gtid_set.as_ref().is_some_and(|read| read.covers(wanted));
        (!is_complete).then(|| {
            format!(
                "the read ends before the stop is complete: the transaction at {}:{} is not in the GTID set {wanted}. \
                 Transactions of the set that are logged after it are not read",
                position.file, group.transaction.start
            )
        })
    }

    /// Ends a live walk that has read all of the GTID set at which it stops. In a list of files, later files may contain more
    /// of the set.
    pub(super) fn end_if_complete(&mut self) {
        if self.files.is_live() && self.bounds.has_all_gtids(&self.progress.position) {
            self.next = Next::End;
        }
    }
}
