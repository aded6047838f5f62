//! What happens where a group of events ends: rows are kept, dropped, or wait for the decision about their XA transaction.

use super::items::{Ending, Met};
use super::structures::{Catalogs, Structures};
use super::{Cutter, Due, Start, Stop};
use crate::change::{Group, GroupGtid, MarkKind, Outcome, XaState};
use crate::error::{Error, ErrorKind, Result};
use crate::position::{GtidSet, GtidState, MariadbGtidPosition, Position, PreparedRange, Xid};
use crate::source::delivered::{self, Delivered};
use crate::source::feed::Begin;
use crate::source::segment::{CarriedStatement, FILE_NUMBER_SHIFT, Span, SpanDetails};
use std::sync::Arc;

impl Cutter {
    pub(super) fn end_group(&mut self, outcome: Outcome, end: u64) -> Result<()> {
        let Some(group) = self.tracker.take() else { return Ok(()) };
        let met = std::mem::take(&mut self.met);
        let result = self.end_taken(&group, outcome, end, met);
        self.forget_met_ddl();
        result
    }

    fn end_taken(
        &mut self,
        group: &Group,
        outcome: Outcome,
        end: u64,
        mut met: Vec<Met>,
    ) -> Result<()> {
        if group.without_effect {
            met.clear();
        }
        if self.is_past_stop(end.saturating_sub(1)) || self.exceeds_limit(end) {
            self.finished = true;
            return Ok(());
        }
        self.check_comparable(group)?;
        if self.options.stops_at_gap && self.is_gap(group)? {
            self.finished = true;
            return Ok(());
        }
        self.count_transaction();
        if let Stop::Time(stop) = self.options.stop
            && group.transaction.commit_timestamp > stop
        {
            self.finished = true;
            return Ok(());
        }
        let wanted = self.is_wanted(group) && !self.options.is_unread;
        delivered::check(&self.position.ahead, group.transaction.start..end, group.gtid.as_ref())?;
        self.delivered = self.delivered_of(group);
        let was_read = contains_in(self.passed.as_ref(), group.gtid.as_ref());
        self.meets_last_passed(group);
        let has_items = self.options.include.transactions || !met.is_empty();
        let before = (has_items || matches!(outcome, Outcome::XaCommitted(_)))
            .then(|| self.position.clone());
        let again = matches!(outcome, Outcome::Prepared(_)).then(|| self.again(group)).flatten();
        if !was_read {
            self.settle_structures(group.transaction.start)?;
        }
        self.take_given(group.transaction.start)?;
        let resume = self.has_met_ddl().then(|| self.position.clone());
        self.executed(group, was_read)?;
        self.position.offset = end;
        self.pass_delivered(group);
        if let Some(resume) = resume
            && let Err(error) = self.commit_ddl(group, &outcome, was_read)
        {
            self.position = resume;
            return Err(error);
        }
        self.finished |= self.has_read_all();
        if wanted {
            self.counts.statements_skipped += group.statements_skipped;
        }
        let emits = self.options.emit_uncommitted;
        let ending = match outcome {
            Outcome::Committed if wanted => {
                self.push_spans(group, end, &met);
                let xa = group.xa.clone().map(|xid| (XaState::Committed, xid));
                Some(Ending::of(MarkKind::End, xa))
            }
            Outcome::Committed => None,
            Outcome::RolledBack if emits => {
                self.push_spans(group, end, &met);
                Some(Ending::of(MarkKind::Rollback, None))
            }
            Outcome::Prepared(xid) if emits => {
                self.push_spans(group, end, &met);
                Some(Ending::of(MarkKind::Prepare, Some((XaState::Prepared, xid))))
            }
            Outcome::XaCommitted(xid) if emits => {
                wanted.then(|| Ending::of(MarkKind::End, Some((XaState::Committed, xid))))
            }
            Outcome::RolledBack => {
                self.counts.dropped_rows_events += u64::from(group.rows_events);
                None
            }
            Outcome::Prepared(xid) => {
                self.prepare(xid.clone(), group.transaction.start, end, again);
                wanted.then(|| Ending::alone(MarkKind::Prepare, XaState::Prepared, xid))
            }
            Outcome::XaCommitted(xid) => {
                match (self.prepared_of(&xid, group, wanted), &before) {
                    (Err(error), before) => {
                        if let Some(before) = before {
                            self.position = before.clone();
                        }
                        return Err(error);
                    }
                    (Ok(Ok((prepared, catalogs))), Some(before)) if wanted => {
                        self.due = Some(Due {
                            transaction: group.transaction,
                            gtid: group.gtid.clone(),
                            prepared,
                            before: before.clone(),
                            items: Vec::new(),
                            catalogs,
                            delivered: self.delivered.take(),
                        });
                        Some(Ending::of(MarkKind::End, Some((XaState::Committed, xid))))
                    }
                    (Ok(Ok(_)), _) => None,
                    (Ok(Err(why)), _) => {
                        let message = format!(
                        "XA COMMIT at {}:{}: the rows of the XA transaction {xid} are missing, because it was prepared before \
                         the start of the input{}",
                        self.position.file,
                        group.transaction.start,
                        match self.feed {
                            Some(_) => why,
                            None => ", in an older file that is not given or before the start position".to_owned(),
                        }
                    );
                        self.foreign.push(xid);
                        if self.options.is_unread {
                            return Ok(());
                        }
                        self.warn(message);
                        None
                    }
                }
            }
            Outcome::XaRolledBack(xid) => {
                self.forget_prepared(&xid);
                if !emits && self.decide(&xid).is_none() {
                    self.foreign.push(xid.clone());
                }
                wanted.then(|| Ending::alone(MarkKind::Rollback, XaState::RolledBack, xid))
            }
        };
        if let (true, Some(ending), Some(before)) = (has_items, ending, before) {
            let items = self.items_of(group, (ending, end), met, before);
            match &mut self.due {
                Some(due) => {
                    let start = group.transaction.start;
                    due.items = items.into_iter().map(|item| item.around(start)).collect();
                }
                None => self.items.extend(items),
            }
        }
        Ok(())
    }

    /// Where the rows of a transaction that is committed stand, and what is in force there; else a word on why that is unknown.
    fn prepared_of(
        &mut self,
        xid: &Xid,
        group: &Group,
        wanted: bool,
    ) -> Result<std::result::Result<(PreparedRange, Option<Catalogs>), String>> {
        let prepared = match self.decide(xid) {
            Some(prepared) => prepared,
            None if wanted && self.feed.is_some() => {
                match self.find_prepared(xid, group.transaction.start)? {
                    Ok(prepared) => prepared,
                    Err(why) => return Ok(Err(format!(": {why}"))),
                }
            }
            None => return Ok(Err(String::new())),
        };
        let catalogs = if wanted { self.take_prepared(&prepared)? } else { None };
        Ok(Ok((prepared, catalogs)))
    }

    fn prepare(&mut self, xid: Xid, start: u64, end: u64, again: Option<GtidState>) {
        let file = self.position.file.clone();
        self.position.prepared.retain(|prepared| prepared.xid != xid);
        self.note_prepared(&xid);
        self.position.prepared.push(PreparedRange { xid, file, start, end, again });
    }

    /// See [`PreparedRange::again`].
    fn again(&self, group: &Group) -> Option<GtidState> {
        match (&group.gtid, &self.position.gtid_set) {
            (Some(GroupGtid::Mysql(gtid)), Some(_)) => {
                let mut set = GtidSet::default();
                set.add(&gtid.tsid, gtid.gno).ok()?;
                Some(GtidState::Mysql(set))
            }
            (Some(GroupGtid::Mariadb(_)), Some(before)) => Some(before.clone()),
            _ => None,
        }
    }

    pub(super) fn decide(&mut self, xid: &Xid) -> Option<PreparedRange> {
        if let Some((sought, is_decided)) = &mut self.sought {
            *is_decided |= sought == xid;
        }
        let index = self.position.prepared.iter().position(|prepared| prepared.xid == *xid)?;
        Some(self.position.prepared.remove(index))
    }

    /// `met` stands between its rows.
    pub(super) fn push_spans(&mut self, group: &Group, end: u64, met: &[Met]) {
        if !group.has_rows() {
            return;
        }
        let Some(open) = &self.open else { return };
        let file = Arc::clone(&open.context);
        let commit_version = self.commit_version(group.transaction.start);
        self.note_time(group.transaction.commit_timestamp);
        let all = [(group.transaction.start, end, 0)];
        let mut kept: Vec<_> = match self.options.emit_uncommitted || group.undone.is_empty() {
            true => all.to_vec(),
            false => group.kept(end).filter(|(start, end, _)| start < end).collect(),
        };
        let ddl = self.structures.iter().flat_map(Structures::cuts);
        let met = met.iter().filter(|met| met.rows_before > 0);
        for (offset, rows_before) in met.map(|met| (met.offset, met.rows_before)).chain(ddl) {
            let around =
                kept.iter_mut().enumerate().find(|(_, part)| part.0 < offset && offset < part.1);
            if let Some((index, part)) = around {
                let behind = (offset, part.1, rows_before);
                part.1 = offset;
                kept.insert(index + 1, behind);
            }
        }
        let (last, extent) = (kept.len(), group.transaction.start..end);
        for (index, (start, end, rows_before)) in kept.into_iter().enumerate() {
            self.spans.push(Span {
                bytes: start as usize..end as usize,
                offset: start,
                file: Arc::clone(&file),
                commit_timestamp: group.transaction.commit_timestamp,
                commit_version,
                extent: extent.clone(),
                rows_before,
                more: (self.options.tells_commits || self.delivered.is_some()).then(|| {
                    Box::new(SpanDetails {
                        transaction: group.transaction,
                        gtid: group.gtid.clone(),
                        table_maps: Vec::new(),
                        statement: CarriedStatement::default(),
                        delivered: self.delivered.clone(),
                    })
                }),
                was_prepared: false,
                ends_transaction: index + 1 == last,
            });
        }
    }

    pub(super) fn is_wanted(&self, group: &Group) -> bool {
        self.is_wanted_of(group.gtid.as_ref(), group.transaction.commit_timestamp)
    }

    pub(super) fn is_wanted_of(&self, gtid: Option<&GroupGtid>, commit_timestamp: i64) -> bool {
        let after_start = match &self.options.start {
            Start::Time(start) => commit_timestamp >= *start,
            Start::Earliest | Start::Gtids(_) | Start::Position(_) => true,
        };
        after_start
            && !contains_in(self.passed.as_ref(), gtid)
            && match &self.options.stop {
                Stop::Gtids(wanted) => contains(wanted, gtid),
                _ => true,
            }
    }

    /// True if a transaction is outside the GTID set that is to be read.
    ///
    /// # Errors
    /// The transaction has no GTID.
    fn is_gap(&mut self, group: &Group) -> Result<bool> {
        let Stop::Gtids(wanted) = &self.options.stop else { return Ok(false) };
        let gtid = group.gtid.as_ref();
        let is_done = contains_in(self.passed.as_ref(), gtid);
        if is_done || contains(wanted, gtid) {
            return Ok(false);
        }
        let place = format!("{}:{}", self.position.file, group.transaction.start);
        if gtid.is_none() {
            return Err(Error::config(format!(
                "the stop is a GTID set, and the transaction at {place} has no GTID: give the stop as file:offset, or as a Position"
            )));
        }
        if !self.position.gtid_set.as_ref().is_some_and(|read| read.covers(wanted)) {
            self.warn(format!(
                "the read ends before the stop is complete: the transaction at {place} is not in the GTID set {wanted}. \
                 Transactions of the set that are logged after it are not read"
            ));
        }
        Ok(true)
    }

    /// MariaDB's numbers need not rise: what comes behind the last of a domain that was read is new, whatever its number.
    fn meets_last_passed(&mut self, group: &Group) {
        if let (Some(GtidState::Mariadb(passed)), Some(GroupGtid::Mariadb(gtid))) =
            (&mut self.passed, &group.gtid)
            && passed.last(gtid.domain_id) == Some(*gtid)
        {
            passed.remove(gtid.domain_id);
        }
    }

    /// The GTIDs before the file at hand, as it says itself.
    ///
    /// # Errors
    /// Transactions between a GTID set to start after and this file are missing.
    pub(super) fn begins_after(&mut self, mut before: GtidState) -> Result<()> {
        self.check_start(&before)?;
        let covers =
            |read: &Option<GtidState>| read.as_ref().is_none_or(|read| before.covers(read));
        if self.position.by_gtid {
            if covers(&self.position.gtid_set) && covers(&self.passed) {
                // All that was read elsewhere stands before this file.
                self.position.by_gtid = false;
                self.passed = None;
            } else if let Some(read) = &self.position.gtid_set {
                before.join(read);
            }
        }
        if before.is_empty() {
            // The stored form of an empty set, because the kind of server is not known.
            before = GtidState::Mysql(GtidSet::default());
        }
        self.position.gtid_set = Some(before);
        // There is nothing between the start of the file and this event: a batch's position may be the start.
        if self.segment_start.gtid_set.is_none() && self.spans.is_empty() && self.items.is_empty() {
            let gtid_set = self.position.gtid_set.clone();
            let start = Position { gtid_set, ..Position::clone(&self.segment_start) };
            self.segment_start = Arc::new(start);
        }
        self.finished |= self.has_read_all();
        Ok(())
    }

    /// Whether a live read has all of the GTID set that it stops at. Of files a later one may hold more of it.
    pub(super) fn has_read_all(&self) -> bool {
        match (&self.options.stop, &self.position.gtid_set) {
            (Stop::Gtids(wanted), Some(read)) => self.feed.is_some() && read.covers(wanted),
            _ => false,
        }
    }

    /// Goes on where a feed says, in the log of a server that may be another one.
    pub(super) fn move_to(&mut self, begin: Begin) -> Result<()> {
        let moved = begin.position.server != self.position.server;
        if let Some(goal) = self.options.goal.as_ref().filter(|_| moved) {
            self.options.stop = Stop::at(goal, begin.position.server.as_deref())?;
        } else if moved && matches!(self.options.stop, Stop::Position(_)) {
            return Err(Error::new(
                ErrorKind::ServerIdentity,
                "the log goes on at another server, of which the file and offset to stop at are not known",
            ));
        }
        match (&mut self.passed, begin.passed) {
            (Some(passed), Some(more)) => passed.join(&more),
            (passed, more) => *passed = more.or(passed.take()),
        }
        self.take_name_case(begin.name_case);
        self.expected_next = None;
        (self.began_at, self.earlier) = (None, None);
        (self.position, self.ahead) = (begin.position, None);
        self.move_structures();
        Ok(())
    }

    /// The delivered part of a group, if the start position of the read contains one.
    pub(super) fn delivered_of(&mut self, group: &Group) -> Option<Arc<Delivered>> {
        if self.position.ahead.is_empty() {
            self.ahead = None;
            return None;
        }
        let ahead = self.ahead.get_or_insert_with(|| Arc::new(self.position.ahead.clone()));
        Delivered::of(ahead, group.transaction.start, group.gtid.as_ref())
    }

    /// Updates `ahead` after the position has moved past a group.
    fn pass_delivered(&mut self, group: &Group) {
        let position = &mut self.position;
        if position.ahead.is_empty() {
            return;
        }
        let mut ahead = position.ahead.clone();
        if let Some(gtid) = &group.gtid {
            delivered::pass(&mut ahead, gtid);
        }
        let read = position.gtid_set.as_ref();
        ahead.retain(|each| !delivered::is_passed(each, position.offset, read));
        if ahead != position.ahead {
            (position.ahead, self.ahead) = (ahead, None);
        }
    }

    fn executed(&mut self, group: &Group, was_read: bool) -> Result<()> {
        if self.position.gtid_set.is_some() && !self.options.is_unread {
            self.gtids.push((group.transaction.start, group.gtid.clone()));
        }
        match (&mut self.position.gtid_set, &group.gtid) {
            (Some(GtidState::Mysql(set)), Some(GroupGtid::Mysql(gtid))) => {
                set.add(&gtid.tsid, gtid.gno)?;
            }
            // A transaction that was read before is not after the position.
            (Some(GtidState::Mariadb(position)), Some(GroupGtid::Mariadb(gtid)))
                if was_read && position.contains(*gtid) => {}
            (Some(GtidState::Mariadb(position)), Some(GroupGtid::Mariadb(gtid))) => {
                position.update(*gtid);
            }
            // An empty set that was stored does not say whose it is.
            (Some(state), Some(GroupGtid::Mariadb(gtid))) if state.is_empty() => {
                let mut position = MariadbGtidPosition::default();
                position.update(*gtid);
                *state = GtidState::Mariadb(position);
            }
            _ => {}
        }
        Ok(())
    }

    pub(super) fn commit_version(&self, offset: u64) -> i64 {
        let number = self.files.get(self.current).map_or(0, |file| file.number);
        let number = number + u64::from(self.position.version_shift);
        (number as i64) << FILE_NUMBER_SHIFT | offset as i64
    }

    pub(super) fn note_time(&mut self, micros: i64) {
        let (from, to) = self.counts.time_span.unwrap_or((micros, micros));
        self.counts.time_span = Some((from.min(micros), to.max(micros)));
    }

    pub(super) fn warn(&mut self, message: String) {
        self.counts.warnings.push(message);
    }
}

fn contains_in(state: Option<&GtidState>, gtid: Option<&GroupGtid>) -> bool {
    state.is_some_and(|state| contains(state, gtid))
}

fn contains(state: &GtidState, gtid: Option<&GroupGtid>) -> bool {
    match (state, gtid) {
        (GtidState::Mysql(set), Some(GroupGtid::Mysql(gtid))) => set.contains(&gtid.tsid, gtid.gno),
        (GtidState::Mariadb(position), Some(GroupGtid::Mariadb(gtid))) => position.contains(*gtid),
        _ => false,
    }
}

/// The first number that does not fit above 40 bits of a signed 64-bit number.
pub(super) const MAX_FILE_NUMBER: u64 = 1 << (63 - FILE_NUMBER_SHIFT);
