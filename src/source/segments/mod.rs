//! Segments: a log cut into runs of complete events that can be decoded alone.
//!
//! Input: the steps of a [`Walk`]. Output: [`Segment`]s in log order. Called by `reader`. Only this
//! module keeps bytes.
//!
//! No row is returned before the end of its transaction is known. A transaction that is larger than a segment is read to its
//! end by the beginnings of its events first, and then cut between its events.
//!
//! | file | does |
//! |---|---|
//! | `draft.rs` | the segment that is being filled |
//! | `transaction.rs` | the end of a transaction: its rows are kept, dropped, or wait for the decision about an XA transaction |
//! | `large.rs` | transactions that are returned in pieces |
//! | `pieces.rs` | cuts one transaction between its events |
//! | `xa_search.rs` | finds XA transactions that were prepared before a live read began |

mod draft;
mod large;
mod pieces;
mod transaction;
mod xa_search;

use super::delivered::Delivered;
use super::feed::{FileFeed, ResumePoint};
use super::file_list::InputFile;
use super::follower::SchemaFollower;
use super::logged_statement::LoggedStatement;
use super::markers::Markers;
use super::options::LogOptions;
use super::replaced_tables::{OnReplaced, ReplacedTables};
use super::segment::{Segment, SpentSegment};
use super::walk::{FileEnds, LoneStatement, Step, Walk};
use crate::cancel::CancelToken;
use crate::error::{Error, Result};
use crate::position::{Ahead, Position};
use draft::{Clock, Draft};
use large::LargeRange;
use std::sync::Arc;
use std::time::Instant;
use transaction::PendingXaCommit;
use xa_search::XaSearch;

/// Cuts a log into segments, in log order.
pub struct Segments {
    walk: Walk,
    follower: SchemaFollower,
    markers: Markers,
    draft: Draft,
    /// A transaction that is returned in pieces.
    range: Option<LargeRange>,
    /// An XA COMMIT whose rows come after the current segment.
    pending_xa_commit: Option<PendingXaCommit>,
    /// The error that ends the read after the current segment.
    failure: Option<Error>,
    xa_search: XaSearch,
    /// A shared copy of the position's `ahead`.
    ahead: Arc<Vec<Ahead>>,
    /// Changes the progress of an initial load after statements that replace tables.
    on_replaced: Option<OnReplaced>,
    /// The clock: tests use their own.
    clock: Clock,
}

impl Segments {
    /// The segments of `files` in log order.
    pub fn try_new(files: Vec<InputFile>, options: LogOptions) -> Result<Self> {
        Self::of_walk(Walk::over_files(files, options)?, XaSearch::default())
    }

    /// The segments of files as `feed` provides them, the first of which `begin` names.
    pub fn live(feed: Box<dyn FileFeed>, begin: ResumePoint, options: LogOptions) -> Result<Self> {
        let xa_search = XaSearch::before(&begin.position);
        Self::of_walk(Walk::live(feed, begin, options)?, xa_search)
    }

    fn of_walk(mut walk: Walk, xa_search: XaSearch) -> Result<Self> {
        // With a maximum latency, the time is checked after each event.
        let options = walk.options();
        let is_timed = options.max_latency.is_some();
        walk.keep_bytes(if is_timed { 0 } else { options.segment_bytes });
        let follower = SchemaFollower::new(&mut walk)?;
        Ok(Self {
            follower,
            markers: Markers::new(walk.options().include.clone()),
            draft: Draft::new(walk.position().clone()),
            walk,
            range: None,
            pending_xa_commit: None,
            failure: None,
            xa_search,
            ahead: Arc::default(),
            on_replaced: None,
            clock: Box::new(Instant::now),
        })
    }

    /// The sum of the files' sizes, if all are known.
    pub fn total_bytes(&self) -> Option<u64> {
        self.walk.files().list().iter().map(InputFile::known_len).sum()
    }

    /// The end of the last complete transaction that was read.
    pub fn position(&self) -> &Position {
        self.walk.position()
    }

    /// Sets the token that cancels the reading of inputs, in the middle of a segment too.
    pub fn cancel_with(&mut self, cancel: &CancelToken) {
        self.walk.cancel_with(cancel);
    }

    /// Changes the progress of an initial load in positions from a statement on that replaces tables. `on_replaced` returns the
    /// new progress, or `None` if it is the same.
    pub fn observe_replaced_tables(&mut self, on_replaced: OnReplaced) {
        self.on_replaced = Some(on_replaced);
        self.walk.want_statements();
    }

    fn observe_replaced(&mut self, statement: &LoggedStatement) {
        let (Some(on_replaced), Some(load)) = (&self.on_replaced, &self.walk.position().load)
        else {
            return;
        };
        if let Some(load) = on_replaced(load, &ReplacedTables::of(statement)) {
            let position = Position { load: Some(Arc::new(load)), ..self.walk.position().clone() };
            self.walk.return_to(position);
        }
    }

    /// Takes the time from `clock` instead of the system.
    pub fn set_clock(&mut self, clock: Box<dyn Fn() -> Instant + Send>) {
        self.clock = clock;
    }

    /// Takes the memory of a decoded segment back, to be used again.
    pub fn recycle(&mut self, spent: SpentSegment) {
        self.draft.recycle(spent.spans);
        if let Some(events) = self.walk.events() {
            events.recycle(spent.bytes);
        }
    }

    /// The next segment; `None` at the end.
    pub fn next_segment(&mut self) -> Result<Option<Segment>> {
        self.next_or_error().map_err(|error| {
            self.walk.end();
            self.walk.name_file(error)
        })
    }

    fn next_or_error(&mut self) -> Result<Option<Segment>> {
        loop {
            if self.range.is_some()
                && let Some(segment) = self.next_piece()?
            {
                return Ok(Some(segment));
            }
            if self.pending_xa_commit.is_some()
                && let Some(pending) = self.pending_xa_commit.take()
            {
                self.start_prepared(pending)?;
                continue;
            }
            if let Some(failure) = self.failure.take() {
                return Err(failure);
            }
            let segment = if self.take_passed() {
                self.after_event()
            } else {
                let may_wait = !self.must_not_wait();
                // Most steps are events that complete no segment: nothing large is moved for them.
                match self.walk.next(may_wait) {
                    Ok(Some(Step::Event)) => self.after_event(),
                    Ok(Some(step)) => self.take(step),
                    Ok(None) => match self.flush_all() {
                        None if self.failure.is_none() => {
                            return self.walk.check_goal().map(|()| None);
                        }
                        segment => Ok(segment),
                    },
                    Err(error) => Err(error),
                }
            };
            match segment {
                Ok(None) => {}
                Ok(segment) => return Ok(segment),
                Err(error) => {
                    // The complete transactions before it are returned first.
                    self.walk.end();
                    self.failure = Some(error);
                    if let Some(segment) = self.flush_here() {
                        return Ok(Some(segment));
                    }
                }
            }
        }
    }

    /// Takes a step of the walk; returns a segment if one is complete.
    fn take(&mut self, step: Step) -> Result<Option<Segment>> {
        match step {
            Step::FileBegins(begins) => {
                if begins.has_moved {
                    self.xa_search = XaSearch::default();
                }
                self.draft.begin_file(self.walk.position(), begins.from);
                self.follower.begin_file(&begins, &mut self.walk)?;
                return Ok(None);
            }
            Step::GtidsBefore => self.draft.take_gtids_before(self.walk.position()),
            Step::TransactionsBegin(offset) => {
                self.follower.begin(offset, &mut self.walk)?;
                return Ok(None);
            }
            Step::Statement(statement) => {
                self.markers.observe(&statement, self.follower.catalog(), &mut self.walk);
                self.follower.observe(&statement);
                self.observe_replaced(&statement.logged);
                return Ok(None);
            }
            Step::LoneStatement(statement) => {
                self.end_statement(&statement).map_err(|error| self.walk.locate(error))?;
            }
            Step::Transaction(verdicts) => {
                let is_large = self.end_transaction(verdicts);
                if is_large.map_err(|error| self.walk.locate(error))? {
                    return Ok(None);
                }
            }
            Step::Gap(offset) => return Ok(self.flush(offset)),
            Step::Heartbeat(offset) => {
                self.draft.markers.extend(self.markers.of_heartbeat(offset, &self.walk));
                return Ok(self.flush_here());
            }
            // It is not known when more events arrive.
            Step::Pending => return Ok(self.flush_here()),
            Step::Pause if self.draft.is_filled() => return Ok(self.flush_here()),
            Step::FileEnds(ends) => return Ok(self.end_file(*ends)),
            Step::Event | Step::Pause => {}
        }
        self.after_event()
    }

    /// Returns a segment if it is full, or if its transactions have waited for long enough.
    fn after_event(&mut self) -> Result<Option<Segment>> {
        if self.walk.events().is_some_and(|events| events.reads_heads()) {
            return Ok(None);
        }
        if let Some(pending) = &self.pending_xa_commit {
            let before = pending.before.clone();
            let end = self.offset();
            return Ok(self.flush_to(end, before));
        }
        if self.walk.has_ended() {
            return Ok(self.flush_all());
        }
        let is_full = self.walk.kept() >= self.walk.options().segment_bytes;
        let has_results = self.draft.is_filled() || self.has_moved();
        let is_due = has_results && (self.is_due() || self.draft.markers.len() >= MAX_MARKERS);
        if !(is_full || is_due) {
            return Ok(None);
        }
        match self.walk.transaction().map(|group| group.transaction.start) {
            None => {
                let end = self.offset();
                Ok(self.flush(end))
            }
            Some(start) if has_results => Ok(self.flush(start)),
            Some(_) => {
                self.read_to_its_end()?;
                Ok(None)
            }
        }
    }

    /// A statement without a transaction, in logs without GTIDs.
    fn end_statement(&mut self, statement: &LoneStatement) -> Result<()> {
        let pending = self.markers.take_pending();
        if pending.is_empty() && !self.follower.has_pending() {
            self.walk.pass_statement(statement);
            return Ok(());
        }
        let before = self.walk.position().clone();
        self.walk.pass_statement(statement);
        if let Err(error) = self.follower.commit_statement(statement, &self.walk) {
            self.walk.return_to(before);
            return Err(error);
        }
        if statement.is_wanted && !statement.is_after_stop {
            let markers = Markers::of_statement(statement, pending, (before, &self.walk));
            self.draft.markers.extend(markers);
        }
        Ok(())
    }

    /// The open file ends.
    fn end_file(&mut self, ends: FileEnds) -> Option<Segment> {
        let FileEnds { unfinished, offset, next } = ends;
        self.follower.forget_pending();
        match unfinished {
            Some(group) if self.walk.options().emit_uncommitted => {
                let markers = self.markers.of_unfinished(&group, &self.walk);
                self.draft.markers.extend(markers);
                self.keep_unfinished(&group, offset);
            }
            Some(group) => self.draft.drop_rows_events(u64::from(group.rows_events)),
            None => {}
        }
        self.markers.take_pending();
        let segment = if self.range.is_some() { None } else { self.flush_all() };
        if let Some(next) = next
            && let Err(error) = self.follower.reach_file(&next, &self.walk)
        {
            self.failure.get_or_insert(error);
        }
        segment
    }

    /// Offset of the next event.
    fn offset(&mut self) -> u64 {
        self.walk.events().map_or(0, |events| events.offset())
    }

    /// A segment of all that is kept, or nothing if there is nothing to decode.
    fn flush_all(&mut self) -> Option<Segment> {
        self.walk.events()?;
        self.flush(u64::MAX)
    }

    /// A segment of what is kept up to the position.
    fn flush_here(&mut self) -> Option<Segment> {
        self.flush(self.walk.position().offset)
    }

    /// A segment of what is kept up to `offset`.
    fn flush(&mut self, offset: u64) -> Option<Segment> {
        self.flush_to(offset, self.walk.position().clone())
    }

    fn flush_to(&mut self, offset: u64, end: Position) -> Option<Segment> {
        if let Err(error) = self.follower.reach(&end) {
            // Bytes that were kept since the last correct place may belong to other structures.
            self.failure.get_or_insert(error);
            return None;
        }
        let events = self.walk.events()?;
        let from = events.start();
        let (bytes, upto) = events.take_until(offset);
        let draft = &mut self.draft;
        draft.end_wait();
        draft.count_bytes_to(upto);
        let (mut spans, files) = draft.take_spans();
        for span in &mut spans {
            span.bytes = span.bytes.start - from as usize..span.bytes.end - from as usize;
        }
        let end = Arc::new(end);
        let start = draft.move_start(&end);
        let is_nothing = spans.is_empty() && draft.markers.is_empty() && *start == *end;
        if is_nothing && draft.counts_nothing() && !self.walk.has_warnings() {
            draft.recycle(spans);
            return None;
        }
        let markers = std::mem::take(&mut draft.markers);
        let catalogs = self.follower.placed(&spans);
        let gtids = draft.take_gtids(end.offset, self.walk.position());
        let warnings = self.walk.take_warnings();
        let mut segment = draft.finish(bytes, ((spans, files), markers), (start, end), warnings);
        (segment.catalogs, segment.gtids) = (catalogs, gtids);
        segment.skipped_tables = self.walk.take_skipped_tables();
        Some(segment)
    }

    /// True if a live reader gets a new position although there are no rows before it. A file that the old position needs can
    /// then be purged, and a restart does not read the same statements again.
    fn has_moved(&self) -> bool {
        let (here, start) = (self.walk.position(), &self.draft.start);
        self.walk.is_live() && (here.offset != start.offset || here.file != start.file)
    }

    /// True if there are complete transactions that must be returned before more of the log is written.
    fn must_not_wait(&self) -> bool {
        self.walk.options().max_latency.is_some() && (self.draft.is_filled() || self.has_moved())
    }

    /// True if the complete transactions are returned although their segment is not full. Without more of the log they are
    /// returned at once: see [`FileEvents::peek`](crate::source::walk::FileEvents::peek).
    fn is_due(&mut self) -> bool {
        let options = self.walk.options();
        if options.cut_at_commit {
            return self.walk.transaction().is_none();
        }
        let limit = options.max_latency;
        limit.is_some_and(|limit| self.draft.has_waited(limit, &self.clock))
    }

    /// The delivered part of a transaction, if the start position of the read contains one.
    fn delivered_of(
        &mut self,
        start: u64,
        gtid: Option<&crate::change::LoggedGtid>,
    ) -> Option<Arc<Delivered>> {
        let ahead = &self.walk.position().ahead;
        if ahead.is_empty() {
            return None;
        }
        if *self.ahead != *ahead {
            self.ahead = Arc::new(ahead.clone());
        }
        Delivered::of(&self.ahead, start, gtid)
    }
}

/// The number of markers in a segment: each marker has positions, and a position may contain a long GTID set.
const MAX_MARKERS: usize = 512;
