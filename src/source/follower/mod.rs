//! The schema follower: determines the structures of tables that are in force, by the statements in the log.
//!
//! Input: the steps of a [`Walk`] over a log, and a history. Output: the catalogs in force, so that
//! a segment can be decoded alone.
//! Called by `segments` and `scan`.
//!
//! | file | does |
//! |---|---|
//! | `in_force.rs` | the catalogs along the log, and the statements of the open transaction |
//! | `cover.rs` | follows the log between the end of a history and the start of a read |
//! | `first_baseline.rs` | the first baseline of an empty history |
//! | `follow.rs` | loops over a log for its statements, without rows |

mod cover;
mod first_baseline;
mod follow;
mod in_force;

use super::table_history::TableHistory;
use super::walk::{Ended, FileBegins, LoneStatement, Statement, Step, Target, Walk};
use crate::baseline::Baseline;
use crate::binlog::FIRST_EVENT_AT;
use crate::change::TransactionEnd;
use crate::error::Result;
use crate::history::Catalog;
use crate::position::{Position, PreparedRange, Xid};
use crate::source::segment::Span;
pub(crate) use follow::follow;
pub(crate) use in_force::Catalogs;
use in_force::{InForce, PendingDdl};
use std::sync::Arc;

/// Follows the structures of tables through a log.
#[derive(Default)]
pub(crate) struct SchemaFollower {
    history: Option<TableHistory>,
    /// The structures in force; set shortly before the first transaction.
    in_force: Option<InForce>,
    pending: PendingDdl,
    /// The first baseline of an empty history.
    first_baseline: Option<Box<Baseline>>,
}

impl SchemaFollower {
    /// Follows the log of a walk that has not started, with the history in its options.
    pub(crate) fn new(walk: &mut Walk) -> Result<Self> {
        let history = walk.options().history.clone();
        Self::by(history, walk)
    }

    /// Follows the log of a walk that has not started, with another history.
    pub(crate) fn by(history: Option<TableHistory>, walk: &mut Walk) -> Result<Self> {
        let mut follower = Self { history, ..Self::default() };
        if follower.history.is_some() {
            walk.want_statements();
            follower.take_first_baseline(walk)?;
        }
        Ok(follower)
    }

    /// Takes a step, for a caller that needs no catalogs: passes the walk's transactions too.
    pub(crate) fn take(&mut self, step: Step, walk: &mut Walk) -> Result<()> {
        match step {
            Step::FileBegins(begins) => self.begin_file(&begins, walk)?,
            Step::TransactionsBegin(offset) => self.begin(offset, walk)?,
            Step::Statement(statement) => self.observe(&statement),
            Step::LoneStatement(statement) => {
                walk.pass_statement(&statement);
                let committed = self.commit_statement(&statement, walk);
                committed.map_err(|error| walk.locate(error))?;
            }
            Step::Transaction(verdicts) => {
                let ended = walk.take_transaction()?;
                let before = self.has_pending().then(|| walk.position().clone());
                let started = self.begin_transaction(&ended, verdicts.was_read, walk);
                started.map_err(|error| walk.locate(error))?;
                walk.pass(&ended, verdicts)?;
                self.commit(&ended, (verdicts.was_read, before.as_ref()), walk)
                    .map_err(|error| walk.locate(error))?;
            }
            Step::FileEnds(ends) => {
                self.forget_pending();
                self.reach(walk.position())?;
                if let Some(next) = &ends.next {
                    self.reach_file(next, walk)?;
                }
            }
            Step::GtidsBefore
            | Step::Event
            | Step::Gap(_)
            | Step::Heartbeat(_)
            | Step::Pending
            | Step::Pause => {}
        }
        Ok(())
    }

    /// The catalog before the open transaction, if a history is given.
    pub(crate) fn catalog(&self) -> Option<&Catalog> {
        self.in_force.as_ref().map(|in_force| &**in_force.view.catalog())
    }

    /// True if structures are in force, which may change at each transaction.
    pub(crate) fn has_catalogs(&self) -> bool {
        self.in_force.is_some()
    }

    /// Takes a statement of the open transaction, or one without a transaction.
    pub(crate) fn observe(&mut self, statement: &Statement) {
        let is_followed = !statement.is_skipped && statement.target != Target::Temporary;
        if self.in_force.is_some() && is_followed {
            self.pending.observe(statement);
        }
    }

    /// True if statements of the open transaction change tables.
    pub(crate) fn has_pending(&self) -> bool {
        !self.pending.is_empty()
    }

    /// The statements of the open transaction will not be committed.
    pub(crate) fn forget_pending(&mut self) {
        self.pending.clear();
    }

    /// The offsets of statements between the rows of the open transaction, each with the number of rows events before it.
    pub(crate) fn cuts(&self) -> impl Iterator<Item = (u64, u32)> {
        self.pending.cuts()
    }

    /// A file is open.
    pub(crate) fn begin_file(&mut self, begins: &FileBegins, walk: &mut Walk) -> Result<()> {
        if begins.has_moved
            && let Some(in_force) = &mut self.in_force
        {
            // The log continues on another server, or in another order.
            in_force.is_elsewhere = true;
            in_force.by_gtid = true;
        }
        if !begins.follows {
            // Statements in the missing files may have changed tables.
            if matches!(self.history, Some(TableHistory::Shared(_))) {
                self.in_force = None;
            }
        } else if !begins.resumes
            && let Some(file) = walk.context().map(|context| Arc::clone(&context.name))
        {
            self.reach_file(&file, walk)?;
        }
        self.enter_file(walk)?;
        // A live read may wait for a long time until an event arrives. The log before it may be purged by then.
        if walk.is_live()
            && self.in_force.is_none()
            && walk.complete_from() > FIRST_EVENT_AT
            && !walk.position().by_gtid
        {
            self.begin(walk.complete_from(), walk)?;
        }
        Ok(())
    }

    /// Checks whether the history describes the log of the open file.
    fn enter_file(&mut self, walk: &Walk) -> Result<()> {
        match (&mut self.in_force, walk.context()) {
            (Some(in_force), Some(context)) if !in_force.is_elsewhere => {
                in_force.view.enter_file(&context.name, context.format.timestamp)
            }
            _ => Ok(()),
        }
    }

    /// A transaction that has ended begins where the position of the walk is: structures that the history contains for a place
    /// before it are in force there.
    pub(crate) fn begin_transaction(
        &mut self,
        ended: &Ended,
        was_read: bool,
        walk: &Walk,
    ) -> Result<()> {
        let Some(in_force) = &mut self.in_force else { return Ok(()) };
        let start = ended.group.transaction.start;
        let is_first = in_force.is_elsewhere && !was_read;
        if is_first {
            // The first transaction that was not read from another server.
            in_force.is_elsewhere = false;
            let place = Position { offset: start, ..walk.position().clone() };
            in_force.view.move_to(&place)?;
            self.enter_file(walk)?;
        }
        match &mut self.in_force {
            Some(in_force)
                if !in_force.is_elsewhere && in_force.view.is_due(&walk.position().file, start) =>
            {
                let prepared = Vec::new();
                let place = Position { offset: start, prepared, ..walk.position().clone() };
                in_force.reach(&place)
            }
            _ => Ok(()),
        }
    }

    /// The statements of a transaction that was passed are in force from now on, if they took effect. After a failure the walk
    /// returns to the position before it.
    pub(crate) fn commit(
        &mut self,
        ended: &Ended,
        (was_read, before): (bool, Option<&Position>),
        walk: &mut Walk,
    ) -> Result<()> {
        let takes_effect =
            matches!(ended.outcome, TransactionEnd::Committed) && !ended.group.without_effect;
        let Some(in_force) = &mut self.in_force else { return Ok(()) };
        if self.pending.is_empty() {
            return Ok(());
        }
        if !takes_effect || was_read && in_force.by_gtid {
            self.pending.clear();
            return Ok(());
        }
        let transaction = &ended.group.transaction;
        let (start, time) = (transaction.start, transaction.commit_timestamp);
        let committed = self.commit_at(start, time, walk.position());
        if let (Err(_), Some(before)) = (&committed, before) {
            walk.return_to(before.clone());
        }
        committed
    }

    /// A statement without a transaction was passed.
    pub(crate) fn commit_statement(
        &mut self,
        statement: &LoneStatement,
        walk: &Walk,
    ) -> Result<()> {
        if statement.is_after_stop {
            self.pending.clear();
            return Ok(());
        }
        let transaction = &statement.transaction;
        self.commit_at(transaction.start, transaction.commit_timestamp, walk.position())
    }

    fn commit_at(&mut self, start: u64, timestamp: i64, position: &Position) -> Result<()> {
        let Some(in_force) = &mut self.in_force else { return Ok(()) };
        for (from, ddl) in self.pending.commit(start, timestamp, position) {
            in_force.follow(from, &ddl)?;
        }
        Ok(())
    }

    /// Everything before `position` was read.
    pub(crate) fn reach(&mut self, position: &Position) -> Result<()> {
        match &mut self.in_force {
            // Before the first new transaction the place in the other log is not known.
            Some(in_force) if !in_force.is_elsewhere => in_force.reach(position),
            _ => Ok(()),
        }
    }

    /// The open file was read to its end: the known structures continue in the next file.
    pub(crate) fn reach_file(&mut self, name: &str, walk: &Walk) -> Result<()> {
        if self.in_force.is_none() {
            return Ok(());
        }
        let begin = Position {
            file: name.to_owned(),
            offset: FIRST_EVENT_AT,
            file_created: None,
            prepared: Vec::new(),
            ..walk.position().clone()
        };
        self.reach(&begin).map_err(|error| cover::with_name_advice(error, walk.files()))
    }

    /// Keeps the catalog in force for the rows of an XA transaction, which is prepared.
    pub(crate) fn keep_for_prepared(&mut self, xid: &Xid) {
        let Some(in_force) = &mut self.in_force else { return };
        in_force.prepared.retain(|(other, _)| other != xid);
        in_force.prepared.push((xid.clone(), Arc::clone(in_force.view.catalog())));
    }

    /// An XA transaction was rolled back.
    pub(crate) fn forget_prepared(&mut self, xid: &Xid) {
        if let Some(in_force) = &mut self.in_force {
            in_force.prepared.retain(|(other, _)| other != xid);
        }
    }

    /// The catalogs for the rows of an XA transaction that was prepared before.
    pub(crate) fn take_prepared(
        &mut self,
        range: &PreparedRange,
        here: &Position,
    ) -> Result<Option<Catalogs>> {
        let Some(in_force) = &mut self.in_force else { return Ok(None) };
        let index = in_force.prepared.iter().position(|(xid, _)| *xid == range.xid);
        let catalog = match index {
            Some(index) => in_force.prepared.swap_remove(index).1,
            None => in_force.catalog_of_prepared(&Position {
                server: here.server.clone(),
                ..Position::in_file(range.file.as_str(), range.start)
            })?,
        };
        Ok(Some(Catalogs::of(catalog)))
    }

    /// The catalogs of the spans of a segment.
    pub(crate) fn placed(&mut self, spans: &[Span]) -> Vec<(usize, Arc<Catalog>)> {
        self.in_force.as_mut().map(|own| own.catalogs.placed(spans)).unwrap_or_default()
    }

    /// The catalogs of a transaction that is returned in pieces.
    pub(crate) fn take_catalogs(&mut self) -> Option<Catalogs> {
        self.in_force.as_mut().map(|in_force| in_force.catalogs.take())
    }
}
