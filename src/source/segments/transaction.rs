//! The end of a transaction: its rows are kept, dropped, or wait for the XA COMMIT or XA ROLLBACK.

use super::Segments;
use crate::change::{EventGroup, LoggedGtid, MarkKind, Transaction, TransactionEnd, XaState};
use crate::error::Result;
use crate::position::{Position, PreparedRange, Xid};
use crate::source::delivered::Delivered;
use crate::source::follower::Catalogs;
use crate::source::markers::{Ending, MarkerAt, PendingMarker};
use crate::source::segment::{CarriedStatement, Span, SpanDetails};
use crate::source::walk::{Ended, PassedTransaction, Verdicts};
use std::ops::Range;
use std::sync::Arc;

/// An XA COMMIT whose rows come after the current segment.
pub(super) struct PendingXaCommit {
    pub(super) transaction: Transaction,
    pub(super) gtid: Option<LoggedGtid>,
    /// The place of its rows.
    pub(super) prepared: PreparedRange,
    /// The position before it.
    pub(super) before: Position,
    pub(super) markers: Vec<MarkerAt>,
    /// The catalogs in force at its XA PREPARE.
    pub(super) catalogs: Option<Catalogs>,
    /// The part of it that is left out.
    pub(super) delivered: Option<Arc<Delivered>>,
}

/// The rows of an XA transaction that is committed.
pub(super) enum PreparedRows {
    /// Their place, and the catalogs in force there.
    At(PreparedRange, Option<Catalogs>),
    /// They were not found; with the reason, if there is one.
    Unknown(Option<String>),
}

impl Segments {
    /// Takes usual transactions without a step of the walk, until the segment is full. Returns false if there are none.
    pub(super) fn take_passed(&mut self) -> bool {
        if !self.passes_without_steps() {
            return false;
        }
        let has_gtids = self.walk.position().gtid_set.is_some();
        let mut is_any = false;
        while let Some(passed) = self.walk.pass_without_step() {
            let PassedTransaction { extent, rows, commit_timestamp, gtid } = passed;
            is_any = true;
            if has_gtids {
                self.draft.add_transaction(extent.start, gtid.as_ref());
            }
            if let Some(rows) = rows {
                self.push_spans((extent, commit_timestamp), &[(rows.start, rows.end, 0)], || None);
            }
        }
        is_any
    }

    /// True if the segment needs only the rows, the time and the GTID of a usual transaction.
    fn passes_without_steps(&self) -> bool {
        let options = self.walk.options();
        self.walk.passes_without_steps()
            && !self.follower.has_catalogs()
            && !self.markers.are_due()
            && !options.cut_at_commit
            && !options.with_commit_details
            && options.max_latency.is_none()
            && self.range.is_none()
            && self.pending_xa_commit.is_none()
    }

    /// Takes the transaction that has ended, and passes it. Returns true if it was larger than a segment.
    pub(super) fn end_transaction(&mut self, verdicts: Verdicts) -> Result<bool> {
        let ended = self.walk.take_transaction()?;
        let result = self.end_taken(&ended, verdicts);
        self.follower.forget_pending();
        result
    }

    fn end_taken(&mut self, ended: &Ended, verdicts: Verdicts) -> Result<bool> {
        let Ended { group, outcome, end, .. } = ended;
        let start = group.transaction.start;
        let mut pending = self.markers.take_pending();
        if group.without_effect {
            pending.clear();
        }
        let delivered = self.delivered_of(start, group.gtid.as_ref());
        let has_markers = self.markers.has_some(&pending);
        let is_xa_commit = matches!(outcome, TransactionEnd::XaCommitted(_));
        let before = (has_markers || is_xa_commit || self.follower.has_pending())
            .then(|| self.walk.position().clone());
        self.follower.begin_transaction(ended, verdicts.was_read, &self.walk)?;
        let emits = self.walk.options().emit_uncommitted;
        let prepared = match outcome {
            TransactionEnd::XaCommitted(xid) if !emits => {
                Some(self.prepared_rows(xid, start, verdicts.is_wanted)?)
            }
            _ => None,
        };
        if self.walk.position().gtid_set.is_some() {
            self.draft.add_transaction(start, group.gtid.as_ref());
        }
        self.walk.pass(ended, verdicts)?;
        self.follower.commit(ended, (verdicts.was_read, before.as_ref()), &mut self.walk)?;
        if verdicts.is_wanted {
            self.draft.skip_statements(group.statements_skipped);
        }
        let is_large = self.is_dropped(start);
        let ending = match prepared {
            Some(rows) => {
                let before = before.clone().unwrap_or_default();
                self.commit_prepared(ended, rows, (before, verdicts.is_wanted), delivered.clone())
            }
            None => self.end_rows(ended, verdicts.is_wanted, &pending, &delivered),
        };
        if has_markers && let (Some(ending), Some(before)) = (ending, before) {
            let around = (before, &self.walk);
            let markers = self.markers.of_transaction((group, *end), &ending, pending, around);
            match &mut self.pending_xa_commit {
                Some(commit) => {
                    commit.markers = markers.into_iter().map(|one| one.around(start)).collect();
                }
                None => self.draft.markers.extend(markers),
            }
        }
        if is_large && !self.draft.spans.is_empty() {
            self.start_large((group, *end), delivered);
        }
        Ok(is_large)
    }

    /// Keeps or drops the rows of a transaction; returns the end that its markers report, if it has markers.
    fn end_rows(
        &mut self,
        ended: &Ended,
        is_wanted: bool,
        pending: &[PendingMarker],
        delivered: &Option<Arc<Delivered>>,
    ) -> Option<Ending> {
        let Ended { group, outcome, end, dropped_rows_events } = ended;
        let emits = self.walk.options().emit_uncommitted;
        if !emits {
            self.draft.drop_rows_events(*dropped_rows_events);
        }
        match outcome {
            TransactionEnd::Committed if is_wanted => {
                self.keep_rows(group, *end, pending, delivered);
                let xa = group.xa.clone().map(|xid| (XaState::Committed, xid));
                Some(Ending::of(MarkKind::End, xa))
            }
            TransactionEnd::Committed => None,
            TransactionEnd::RolledBack if emits => {
                self.keep_rows(group, *end, pending, delivered);
                Some(Ending::of(MarkKind::Rollback, None))
            }
            TransactionEnd::RolledBack => {
                self.draft.drop_rows_events(u64::from(group.rows_events));
                None
            }
            TransactionEnd::Prepared(xid) if emits => {
                self.keep_rows(group, *end, pending, delivered);
                Some(Ending::of(MarkKind::Prepare, Some((XaState::Prepared, xid.clone()))))
            }
            TransactionEnd::Prepared(xid) => {
                self.follower.keep_for_prepared(xid);
                is_wanted.then(|| Ending::alone(MarkKind::Prepare, XaState::Prepared, xid.clone()))
            }
            TransactionEnd::XaCommitted(xid) => is_wanted
                .then(|| Ending::of(MarkKind::End, Some((XaState::Committed, xid.clone())))),
            TransactionEnd::XaRolledBack(xid) => {
                self.follower.forget_prepared(xid);
                is_wanted
                    .then(|| Ending::alone(MarkKind::Rollback, XaState::RolledBack, xid.clone()))
            }
        }
    }

    /// An XA transaction is committed: its rows come after the current segment.
    fn commit_prepared(
        &mut self,
        ended: &Ended,
        rows: PreparedRows,
        (before, is_wanted): (Position, bool),
        delivered: Option<Arc<Delivered>>,
    ) -> Option<Ending> {
        let Ended { group, outcome: TransactionEnd::XaCommitted(xid), .. } = ended else {
            return None;
        };
        match rows {
            PreparedRows::At(prepared, catalogs) if is_wanted => {
                self.pending_xa_commit = Some(PendingXaCommit {
                    transaction: group.transaction,
                    gtid: group.gtid.clone(),
                    prepared,
                    before,
                    markers: Vec::new(),
                    catalogs,
                    delivered,
                });
                Some(Ending::of(MarkKind::End, Some((XaState::Committed, xid.clone()))))
            }
            PreparedRows::At(..) => None,
            PreparedRows::Unknown(why) => {
                let why = match why {
                    Some(why) => format!(": {why}"),
                    None if self.walk.is_live() => String::new(),
                    None => ", in an older file that is not given or before the start position"
                        .to_owned(),
                };
                let (file, start) = (&self.walk.position().file, group.transaction.start);
                let message = format!(
                    "XA COMMIT at {file}:{start}: the rows of the XA transaction {xid} are missing, because it was prepared before \
                     the start of the input{why}"
                );
                self.walk.warn(message);
                None
            }
        }
    }

    /// Finds the rows of a transaction that is committed at `offset` of the open file.
    fn prepared_rows(&mut self, xid: &Xid, offset: u64, is_wanted: bool) -> Result<PreparedRows> {
        let prepared = match self.walk.prepared(xid) {
            Some(prepared) => prepared.clone(),
            None if is_wanted && self.walk.is_live() => {
                match self.xa_search.find(xid, offset, &mut self.walk)? {
                    Ok(prepared) => prepared,
                    Err(why) => return Ok(PreparedRows::Unknown(Some(why))),
                }
            }
            None => return Ok(PreparedRows::Unknown(None)),
        };
        let here = self.walk.position();
        let catalogs = match is_wanted {
            true => self.follower.take_prepared(&prepared, here)?,
            false => None,
        };
        Ok(PreparedRows::At(prepared, catalogs))
    }

    /// Keeps the rows of a transaction for the next segment. `pending`: the markers between them.
    fn keep_rows(
        &mut self,
        group: &EventGroup,
        end: u64,
        pending: &[PendingMarker],
        delivered: &Option<Arc<Delivered>>,
    ) {
        if !group.has_rows() {
            return;
        }
        let emits = self.walk.options().emit_uncommitted;
        let (from, to) = group.part_with_rows(end);
        let all = (from, to, 0);
        let markers = pending.iter().filter(|marker| marker.rows_before > 0);
        let markers = markers.map(|marker| (marker.offset, marker.rows_before));
        let mut cuts = markers.chain(self.follower.cuts()).peekable();
        let is_kept_completely = emits || !group.has_undone_rows();
        if is_kept_completely && cuts.peek().is_none() {
            drop(cuts);
            return self.push_group(group, end, &[all], delivered);
        }
        let mut parts: Vec<_> = match is_kept_completely {
            true => vec![all],
            false => group.kept(end).filter(|(start, end, _)| start < end).collect(),
        };
        for (offset, rows_before) in cuts {
            divide(&mut parts, offset, rows_before);
        }
        self.push_group(group, end, &parts, delivered);
    }

    /// Keeps the rows of a transaction in which the input ends.
    pub(super) fn keep_unfinished(&mut self, group: &EventGroup, end: u64) {
        let delivered = self.delivered_of(group.transaction.start, group.gtid.as_ref());
        let is_large = self.is_dropped(group.transaction.start);
        if group.has_rows() || is_large {
            let all = (group.transaction.start, end, 0);
            self.push_group(group, end, &[all], &delivered);
        }
        self.walk.pass_unfinished(end);
        if is_large {
            self.start_large((group, end), delivered);
        }
    }

    /// Adds parts of a transaction to the segment: each has its first offset, its end, and the number of rows events before it.
    fn push_spans(
        &mut self,
        (extent, commit_timestamp): (Range<u64>, i64),
        parts: &[(u64, u64, u32)],
        details: impl Fn() -> Option<Box<SpanDetails>>,
    ) {
        let Some(file) = self.walk.context().map(|file| self.draft.file_index(file)) else {
            return;
        };
        let commit_version = self.walk.commit_version(extent.start);
        self.draft.add_time(commit_timestamp);
        for (index, &(start, part_end, rows_before)) in parts.iter().enumerate() {
            self.draft.spans.push(Span {
                bytes: start as usize..part_end as usize,
                offset: start,
                file,
                commit_timestamp,
                commit_version,
                extent: extent.clone(),
                rows_before,
                more: details(),
                was_prepared: false,
                ends_transaction: index + 1 == parts.len(),
            });
        }
    }

    fn push_group(
        &mut self,
        group: &EventGroup,
        end: u64,
        parts: &[(u64, u64, u32)],
        delivered: &Option<Arc<Delivered>>,
    ) {
        let EventGroup { transaction, gtid, .. } = group;
        let has_details = self.walk.options().with_commit_details || delivered.is_some();
        let commit = (transaction.start..end, transaction.commit_timestamp);
        self.push_spans(commit, parts, || {
            has_details.then(|| {
                Box::new(SpanDetails {
                    transaction: *transaction,
                    gtid: gtid.clone(),
                    table_maps: Vec::new(),
                    statement: CarriedStatement::default(),
                    delivered: delivered.clone(),
                })
            })
        });
    }

    /// True if the bytes from an offset of the open file on are no longer kept.
    fn is_dropped(&mut self, offset: u64) -> bool {
        self.walk.events().is_some_and(|events| events.start() > offset)
    }
}

/// Divides the part around an offset there. `rows_before`: the number of rows events of the transaction before the offset.
fn divide(parts: &mut Vec<(u64, u64, u32)>, offset: u64, rows_before: u32) {
    let around = parts.iter_mut().enumerate().find(|(_, part)| part.0 < offset && offset < part.1);
    if let Some((index, part)) = around {
        let after = (offset, part.1, rows_before);
        part.1 = offset;
        parts.insert(index + 1, after);
    }
}
