//! The segment that is being filled.

use crate::change::LoggedGtid;
use crate::position::Position;
use crate::source::gtid_places::GtidPlaces;
use crate::source::markers::{self, MarkerAt};
use crate::source::segment::{FileContext, Segment, Span};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Returns the time.
pub(super) type Clock = Box<dyn Fn() -> Instant + Send>;

/// Spans, and their files.
pub(super) type FileSpans = (Vec<Span>, Vec<Arc<FileContext>>);

/// The contents of the next segment.
#[derive(Default)]
pub(super) struct Draft {
    /// Its spans; their `bytes` count from the start of the file.
    pub(super) spans: Vec<Span>,
    /// The files of its spans.
    files: Vec<Arc<FileContext>>,
    /// A list of spans for reuse.
    spare: Vec<Span>,
    /// Its markers.
    pub(super) markers: Vec<MarkerAt>,
    /// Its transactions.
    gtids: GtidPlaces,
    /// The position at which it begins.
    pub(super) start: Arc<Position>,
    /// The time at which its first complete transaction was read.
    waiting_since: Option<Instant>,
    counts: Counts,
}

/// The figures of a segment.
#[derive(Default)]
struct Counts {
    /// Offset in the file up to which bytes were counted.
    input_from: u64,
    input_bytes: u64,
    dropped_rows_events: u64,
    statements_skipped: u64,
    time_span: Option<(i64, i64)>,
}

impl Draft {
    pub(super) fn new(start: Position) -> Self {
        Self { start: Arc::new(start), ..Self::default() }
    }

    /// Continues in another file that is read from an offset.
    pub(super) fn begin_file(&mut self, start: &Position, from: u64) {
        self.gtids.clear();
        self.start = Arc::new(start.clone());
        self.counts.input_from = from;
    }

    /// Sets the GTIDs before the file, which are now known: the position of a batch may be the
    /// start of the file.
    pub(super) fn take_gtids_before(&mut self, position: &Position) {
        if self.start.gtid_set.is_none() && !self.is_filled() {
            let gtid_set = position.gtid_set.clone();
            self.start = Arc::new(Position { gtid_set, ..Position::clone(&self.start) });
        }
    }

    /// Adds a transaction.
    pub(super) fn add_transaction(&mut self, start: u64, gtid: Option<&LoggedGtid>) {
        self.gtids.push(start, gtid);
    }

    /// Adds the time of a commit.
    pub(super) fn add_time(&mut self, micros: i64) {
        let (from, to) = self.counts.time_span.unwrap_or((micros, micros));
        self.counts.time_span = Some((from.min(micros), to.max(micros)));
    }

    /// Counts rows events of transactions that were not committed.
    pub(super) fn drop_rows_events(&mut self, count: u64) {
        self.counts.dropped_rows_events += count;
    }

    /// Counts skipped statements.
    pub(super) fn skip_statements(&mut self, count: u64) {
        self.counts.statements_skipped += count;
    }

    /// Counts the bytes of the file up to an offset.
    pub(super) fn count_bytes_to(&mut self, offset: u64) {
        let counts = &mut self.counts;
        counts.input_bytes += offset.saturating_sub(counts.input_from);
        counts.input_from = offset;
    }

    /// True if it has rows or markers.
    pub(super) fn is_filled(&self) -> bool {
        !self.spans.is_empty() || !self.markers.is_empty()
    }

    /// True if it has no counts besides those of its rows and markers.
    pub(super) fn counts_nothing(&self) -> bool {
        let counts = &self.counts;
        counts.input_bytes == 0 && counts.dropped_rows_events == 0 && counts.statements_skipped == 0
    }

    /// True if it has waited for at least this time.
    pub(super) fn has_waited(&mut self, limit: Duration, clock: &Clock) -> bool {
        let now = clock();
        now.saturating_duration_since(*self.waiting_since.get_or_insert(now)) >= limit
    }

    /// Restarts the waiting time.
    pub(super) fn end_wait(&mut self) {
        self.waiting_since = None;
    }

    /// The index of the file of the next span.
    pub(super) fn file_index(&mut self, file: &Arc<FileContext>) -> usize {
        if !self.files.last().is_some_and(|last| Arc::ptr_eq(last, file)) {
            self.files.push(Arc::clone(file));
        }
        self.files.len() - 1
    }

    /// Takes its spans and their files. The next segment probably has about as many: room for them is cheaper than a list
    /// that grows.
    pub(super) fn take_spans(&mut self) -> FileSpans {
        let mut room = std::mem::take(&mut self.spare);
        room.reserve(self.spans.len() + self.spans.len() / 8);
        (std::mem::replace(&mut self.spans, room), std::mem::take(&mut self.files))
    }

    /// Takes an empty list of spans back, to be used again.
    pub(super) fn recycle(&mut self, spans: Vec<Span>) {
        if spans.capacity() > self.spare.capacity() {
            self.spare = spans;
        }
    }

    /// The GTIDs of the transactions that start before an offset, if the log has GTIDs.
    pub(super) fn take_gtids(&mut self, end: u64, position: &Position) -> Option<Arc<GtidPlaces>> {
        let count = self.gtids.len();
        let rest = self.gtids.split_off(end, GtidPlaces::with_capacity(count + count / 8));
        let gtids = std::mem::replace(&mut self.gtids, rest);
        position.gtid_set.is_some().then(|| Arc::new(gtids))
    }

    /// Moves its start, and returns the old one.
    pub(super) fn move_start(&mut self, start: &Arc<Position>) -> Arc<Position> {
        std::mem::replace(&mut self.start, Arc::clone(start))
    }

    /// Creates a segment from these spans and markers, with the counts since the last one.
    pub(super) fn finish(
        &mut self,
        bytes: Vec<u8>,
        ((spans, files), markers): (FileSpans, Vec<MarkerAt>),
        (start, end): (Arc<Position>, Arc<Position>),
        warnings: Vec<String>,
    ) -> Segment {
        let counts = std::mem::take(&mut self.counts);
        self.counts.input_from = counts.input_from;
        let items = markers::placed(markers, &spans);
        Segment {
            bytes,
            spans,
            files,
            items,
            catalogs: Vec::new(),
            start,
            end,
            input_bytes: counts.input_bytes,
            dropped_rows_events: counts.dropped_rows_events,
            statements_skipped: counts.statements_skipped,
            warnings,
            time_span: counts.time_span,
            gtids: None,
            skipped_tables: Vec::new(),
            turn: None,
        }
    }
}
