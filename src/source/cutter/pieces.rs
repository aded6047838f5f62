//! Transactions that go out in pieces: those larger than a segment, and prepared ones that are committed now.

use super::events::name_case;
use super::files::{file_index, no_file, read_format};
use super::items::{self, AtOffset, Statements};
use super::structures::Catalogs;
use super::temporary::Target;
use super::{Cutter, Due, OpenFile, Range};
use crate::change::{Group, GroupTracker, Outcome, Transaction};
use crate::error::{Error, Result};
use crate::position::PreparedRange;
use crate::source::lookahead::look_ahead;
use crate::source::range_cutter::{Committed, CutSize, RangeCutter};
use crate::source::segment::{FileContext, Segment, Span};
use crate::source::window::Window;
use std::sync::Arc;

/// The parts of a transaction with the number of rows events before each; what stands along them; what is in force there.
type Along = (Vec<(u64, u64, u32)>, Vec<AtOffset>, Option<Catalogs>);

impl Cutter {
    /// The group at `start` is larger than a segment: finds its end, then hands it out in pieces.
    pub(super) fn start_large(&mut self, start: u64) -> Result<()> {
        let Some(mut open) = self.open.take() else { return Ok(()) };
        let context = Arc::clone(&open.context);
        open.window.give_back()?;
        let mut met = Vec::new();
        // Those that were met before come again.
        self.forget_met_ddl();
        let mut unread = None;
        let catalog = self.structures.as_ref().map(|structures| Arc::clone(structures.catalog()));
        let takes_effect = !self.tracker.group().is_some_and(|group| group.without_effect);
        let name_case = name_case(self.name_case, self.structures.as_ref());
        let skips = self.options.skip_statements;
        let found = look_ahead(
            open.window.input(),
            start,
            &context.format,
            &self.skips,
            self.options.verify_checksum,
            &mut |event, place, is_skipped| {
                let target = match self.temporary.meet(event, &context.format, name_case, skips) {
                    Ok(target) => target,
                    Err(error) => {
                        unread.get_or_insert(error.at_event(place.0, event.0.event_type.name()));
                        return;
                    }
                };
                let context = &context;
                let mut statements = Statements {
                    include: &self.options.include,
                    online: &mut self.online,
                    altered: &mut self.altered,
                    catalog: catalog.as_deref(),
                    takes_effect,
                    context,
                    is_live: false,
                    name_case,
                    target,
                };
                let out = (&mut met, &mut self.counts.warnings);
                if is_skipped {
                    statements.pass_over(event, place, out);
                    return;
                }
                if target == Target::Temporary {
                    return;
                }
                statements.meet(event, place, out);
                if let Some(structures) = &mut self.structures
                    && let Err(error) = structures.meet(event, place, context)
                {
                    unread.get_or_insert(error.at_event(place.0, event.0.event_type.name()));
                }
            },
        );
        let found = match found.and_then(|found| unread.map_or(Ok(found), Err)) {
            Ok(found) => found,
            Err(error) => {
                self.open = Some(open);
                return Err(error);
            }
        };
        // A compressed transaction is one event: it stays whole, and only its inside says whether it is an XA transaction.
        if found.group.as_ref().is_some_and(|group| group.has_payload) {
            self.open = Some(open);
            return Ok(());
        }
        self.tracker.take();
        let Some(group) = found.group else {
            self.open = Some(open);
            return Ok(());
        };
        // Its statements that were met before are among them.
        self.met = met;
        open.window.jump(found.end);
        let Some(outcome) = found.outcome else {
            // The input ends first: what is there of the group is dealt with as at any end of a file.
            self.open = Some(open);
            return self.large_unfinished(group, found.end);
        };
        self.open = Some(open);
        let mut committed = Committed::of(&group, found.end);
        self.tracker = GroupTracker::of(group);
        self.end_group(outcome, found.end)?;
        // A committed group left one span or more; they go out by the range instead.
        if self.spans.is_empty() {
            return Ok(());
        }
        committed.delivered = self.delivered.take();
        let part = |span: &Span| (span.bytes.start as u64, span.bytes.end as u64, span.rows_before);
        let parts = self.spans.drain(..).map(|span| part(&span)).collect();
        let items = std::mem::take(&mut self.items);
        let catalogs = self.take_catalogs();
        self.start_range(committed, (parts, items, catalogs), found.end, None)
    }

    pub(super) fn large_unfinished(&mut self, group: Group, end: u64) -> Result<()> {
        // One that goes on at another server comes there again, whole.
        let is_left = self.open.as_mut().is_some_and(|open| open.window.input().is_left());
        if !self.options.emit_uncommitted || is_left {
            self.tracker = GroupTracker::of(group);
            return Ok(());
        }
        let transaction = group.transaction;
        let committed =
            Committed { delivered: self.delivered_of(&group), ..Committed::of(&group, end) };
        self.note_unfinished(&group);
        self.position.offset = end;
        self.note_time(transaction.commit_timestamp);
        let items = std::mem::take(&mut self.items);
        let parts = vec![(transaction.start, end, 0)];
        let catalogs = self.take_catalogs();
        self.start_range(committed, (parts, items, catalogs), end, None)
    }

    /// The rows of an XA transaction that was prepared before and is committed now.
    pub(super) fn start_prepared(&mut self, due: Due) -> Result<()> {
        let Due { transaction, gtid, prepared, items, catalogs, delivered, .. } = due;
        let mut own = self.other_file(&prepared)?;
        let open = own.as_mut().map(|(_, open)| open).or(self.open.as_mut()).ok_or_else(no_file)?;
        let context = Arc::clone(&open.context);
        open.window.give_back()?;
        let found = look_ahead(
            open.window.input(),
            prepared.start,
            &context.format,
            &self.skips,
            self.options.verify_checksum,
            &mut |_, _, _| {}, // no statement of an XA transaction changes tables
        )?;
        let is_prepared = |group: &Group| {
            group.has_payload || matches!(found.outcome, Some(Outcome::Prepared(_)))
        };
        let Some(group) = found.group.filter(is_prepared) else {
            return Err(Error::malformed(format!(
                "no prepared XA transaction stands at {}:{}",
                prepared.file, prepared.start
            )));
        };
        let parts = group.kept(found.end).collect();
        self.note_time(transaction.commit_timestamp);
        let resume_at = self.position.offset;
        // All is the XA COMMIT's, but for the connection: that which made the changes.
        let thread_id = group.transaction.thread_id;
        let transaction = Transaction { thread_id, ..transaction };
        let extent = prepared.start..found.end;
        let committed = Committed { transaction, gtid, was_prepared: true, extent, delivered };
        self.start_range(committed, (parts, items, catalogs), resume_at, own)
    }

    /// The file of a prepared transaction, where it is not the one at hand.
    fn other_file(&mut self, prepared: &PreparedRange) -> Result<Option<(usize, OpenFile)>> {
        let (index, name, label, input) = match &mut self.feed {
            Some(feed) => {
                let name: Arc<str> = prepared.file.as_str().into();
                let input = feed.reopen(&prepared.file, prepared.start)?;
                (self.current, Arc::clone(&name), name, input)
            }
            None => {
                let index = file_index(&self.files, &prepared.file).map_err(|error| {
                    Error::config(format!(
                        "the rows of the XA transaction {} are in an older file that is not given: it was prepared at {}:{} and is \
                         committed here. Add that file: {error}",
                        prepared.xid, prepared.file, prepared.start
                    ))
                })?;
                if self.open.is_some() && index == self.current {
                    return Ok(None);
                }
                let input = self.open_input(index)?;
                let file = self.files.get(index).ok_or_else(no_file)?;
                (index, Arc::clone(&file.name), Arc::clone(&file.label), input)
            }
        };
        let mut window = Window::new(input, Arc::clone(&label), 0, self.chunk());
        window.magic()?;
        let (format, _) = read_format(&mut window, self.options.verify_checksum)?;
        let context = Arc::new(FileContext { name, label, format });
        Ok(Some((index, OpenFile { window, context, closed: false })))
    }

    /// `own`: the file of the range where it is not the one at hand.
    pub(super) fn start_range(
        &mut self,
        committed: Committed,
        (parts, items, catalogs): Along,
        resume_at: u64,
        own: Option<(usize, OpenFile)>,
    ) -> Result<()> {
        let passed_before = committed.was_prepared;
        let delivered = committed.delivered.clone();
        let gtids = self.take_gtids(u64::MAX);
        let is_own = own.is_some();
        let (file, open) = match own {
            Some(own) => own,
            None => (self.current, self.open.take().ok_or_else(no_file)?),
        };
        let cutter = RangeCutter::new(
            open.window,
            open.context,
            self.commit_version(committed.transaction.start),
            committed,
            parts.into_iter(),
            CutSize {
                bytes: self.options.segment_bytes,
                carries_statements: self.options.carries_statements,
            },
        );
        let resume_at = (!is_own).then_some(resume_at);
        let end = self.position.clone();
        self.range = Some(Range {
            cutter,
            file,
            resume_at,
            passed_before,
            end,
            items,
            catalogs,
            gtids,
            delivered,
            pieces: 0,
        });
        Ok(())
    }

    pub(super) fn next_of_range(&mut self) -> Result<Option<Segment>> {
        let Some(range) = &mut self.range else { return Ok(None) };
        if let Some((bytes, span)) = range.cutter.next_span()? {
            let start = Arc::clone(&self.segment_start);
            // Only its last piece moves the position on.
            let is_last = span.ends_transaction;
            let end = match is_last {
                true => Arc::new(range.end.clone()),
                false => Arc::clone(&start),
            };
            self.segment_start = Arc::clone(&end);
            if !range.passed_before {
                let upto = range.cutter.offset();
                self.counts.input_bytes += upto.saturating_sub(self.counts.input_from);
                self.counts.input_from = upto;
            }
            let upto = if span.ends_transaction { u64::MAX } else { span.offset };
            let count = range.items.partition_point(|item| item.offset <= upto);
            let items = range.items.drain(..count).collect();
            let spans = vec![span];
            let items = items::placed(items, &spans);
            let from = spans.first().map_or(0, |span| span.offset);
            let catalogs = range.catalogs.as_mut().map(|catalogs| catalogs.placed_up_to(from));
            let (gtids, turn) = (range.gtids.clone(), range.next_turn());
            if is_last {
                self.reach(&end)?;
            }
            let mut segment = self.segment(bytes, (spans, items), start, end);
            segment.catalogs = catalogs.unwrap_or_default();
            (segment.gtids, segment.turn) = (gtids, turn);
            return Ok(Some(segment));
        }
        if let Some(Range { cutter, file, resume_at, items, end, .. }) = self.range.take() {
            let context = cutter.context();
            let mut window = cutter.into_window();
            match resume_at {
                Some(offset) => {
                    window.jump(offset);
                    window.release();
                    self.open = Some(OpenFile { window, context, closed: false });
                }
                None => self.put_back(file, window),
            }
            if !items.is_empty() {
                // It had no events to decode.
                let end = Arc::new(end);
                let start = std::mem::replace(&mut self.segment_start, Arc::clone(&end));
                let items = items::placed(items, &[]);
                return Ok(Some(self.segment(Vec::new(), (Vec::new(), items), start, end)));
            }
        }
        Ok(None)
    }
}
