//! The cutter: reads files in order, follows transactions by headers and small events, and cuts segments.
//!
//! No row leaves before its transaction's end is known: a group stays out of a segment until it is committed. One that
//! is larger than a segment is looked through by headers to its end first, then cut between its events.

mod events;
mod files;
mod first_baseline;
mod follow;
mod groups;
mod gtid_range;
mod items;
mod limit;
mod options;
mod pieces;
mod prepared_before;
mod structures;
mod temporary;

pub(crate) use files::no_format;
pub use options::{CutterOptions, Start, Stop};
pub use structures::TableHistory;

use super::classify::Skips;
use super::delivered::{Delivered, Turn};
use super::feed::{Begin, FileFeed};
use super::file_list::InputFile;
use super::input::{Input, StoppableInput};
use super::log_name::name_logs;
use super::range_cutter::RangeCutter;
use super::segment::{FileContext, GtidPlaces, PlacedItem, Segment, Span};
use super::window::Window;
use crate::baseline::Baseline;
use crate::binlog::FIRST_EVENT_AT;
use crate::change::{AlteredTables, GroupGtid, GroupTracker, OnlineChanges, Transaction};
use crate::error::{Error, Result};
use crate::position::{Ahead, GtidState, Position, PreparedRange, Xid};
use crate::schema::NameCase;
pub(super) use files::read_format;
use files::{Successor, called_as_files, check_number};
use items::{AtOffset, Met};
use limit::Gone;
use prepared_before::Earlier;
use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Instant;
use structures::{Catalogs, Structures};
use temporary::TemporaryTables;

/// Cuts files into segments, in log order.
pub struct Cutter {
    files: Vec<InputFile>,
    options: CutterOptions,
    skips: Box<Skips>,
    /// Index of the file at hand, or of the next one to open.
    current: usize,
    /// Gives files that are not in the list yet.
    feed: Option<Box<dyn FileFeed>>,
    /// When the first whole transaction of the segment at hand came.
    waiting_since: Option<Instant>,
    /// The clock: tests have one of their own.
    clock: Clock,
    open: Option<OpenFile>,
    tracker: GroupTracker,
    /// Spans of the segment at hand; their `bytes` count from the file's start.
    spans: Vec<Span>,
    /// Items of the segment at hand.
    items: Vec<AtOffset>,
    /// Items of the group that is open.
    met: Vec<Met>,
    /// The marks of online schema-change tools in the log so far.
    online: OnlineChanges,
    /// The statements so far that may change values of columns.
    altered: AlteredTables,
    /// The temporary tables in the log so far.
    temporary: TemporaryTables,
    /// The meaning of letter case in names of tables, as far as the caller, the server or the log shows it.
    name_case: NameCase,
    /// From where on the file at hand was read whole.
    whole_from: u64,
    /// What a history says, where one is given.
    structures: Option<Structures>,
    /// What a history that is empty begins with.
    first_baseline: Option<Box<Baseline>>,
    /// Where to resume: the end of the last whole group.
    position: Position,
    segment_start: Arc<Position>,
    range: Option<Range>,
    /// XA COMMIT of a transaction whose rows are due once the segment at hand is out.
    due: Option<Due>,
    /// What ends the read once the segment before it is out.
    failure: Option<Error>,
    /// What the file before this one says its successor is.
    expected_next: Option<Successor>,
    /// By GTID, what was read already although it may stand in the log at hand: from another server's.
    passed: Option<GtidState>,
    /// A shared copy of the position's `ahead`, if it is up to date.
    ahead: Option<Arc<Vec<Ahead>>>,
    /// The part of the last group that is left out.
    delivered: Option<Arc<Delivered>>,
    /// The transactions since the start of the current segment.
    gtids: GtidPlaces,
    /// XA transactions decided here and prepared before the start.
    foreign: Vec<Xid>,
    /// Whether the next event is the one that a caller's start names.
    resumed: bool,
    finished: bool,
    stopping: Arc<AtomicBool>,
    /// Where a live read began in the log at hand, unless it was by GTID.
    began_at: Option<(String, u64)>,
    /// What the log before that tells of XA transactions.
    earlier: Option<Earlier>,
    /// An XA transaction that is looked for, and whether its decision was met.
    sought: Option<(Xid, bool)>,
    /// The warning for the current file, if it ended without a last event.
    unclosed: Option<String>,
    /// How much of the log was gone through.
    gone: Gone,
    counts: Counts,
}

/// Returns the time.
type Clock = Box<dyn Fn() -> Instant + Send>;

/// What the segment at hand will tell besides its rows.
#[derive(Default)]
struct Counts {
    input_from: u64,
    input_bytes: u64,
    dropped_rows_events: u64,
    statements_skipped: u64,
    warnings: Vec<String>,
    time_span: Option<(i64, i64)>,
}

/// An XA COMMIT, and where to resume before it.
struct Due {
    transaction: Transaction,
    gtid: Option<GroupGtid>,
    prepared: PreparedRange,
    before: Position,
    items: Vec<AtOffset>,
    /// In force where it was prepared.
    catalogs: Option<Catalogs>,
    /// The part of it that is left out.
    delivered: Option<Arc<Delivered>>,
}

/// The file at hand.
struct OpenFile {
    window: Window,
    context: Arc<FileContext>,
    closed: bool,
}

/// A transaction that is being handed out in pieces.
struct Range {
    cutter: RangeCutter,
    /// The file whose input the range has; its window goes on at `resume_at` afterwards.
    file: usize,
    resume_at: Option<u64>,
    /// Whether its bytes were passed before: those of a prepared transaction.
    passed_before: bool,
    end: Position,
    /// What stands before, between and after its pieces.
    items: Vec<AtOffset>,
    /// What is in force along them.
    catalogs: Option<Catalogs>,
    /// The GTIDs for all of its pieces.
    gtids: Option<Arc<GtidPlaces>>,
    /// The part of it that is left out.
    delivered: Option<Arc<Delivered>>,
    /// The number of pieces so far.
    pieces: u64,
}

impl Range {
    /// The turn of the next piece.
    fn next_turn(&mut self) -> Option<Turn> {
        let number = self.pieces;
        self.pieces += 1;
        self.delivered.clone().map(|delivered| Turn::new(delivered, number))
    }
}

impl Cutter {
    /// A cutter for `files` in log order.
    pub fn try_new(mut files: Vec<InputFile>, mut options: CutterOptions) -> Result<Self> {
        name_logs(&mut files);
        // A read that returns no rows misses none.
        let skips_statements = options.skip_statements || options.is_unread;
        let skips = Box::new(Skips::new(&options.skip_events, skips_statements));
        files.iter().try_for_each(check_number)?;
        let mut names = HashSet::new();
        if let Some(file) = files.iter().find(|file| !names.insert(&file.name)) {
            return Err(Error::config(format!(
                "two inputs are named {}: their positions and versions could not be told apart",
                file.name
            )));
        }
        let mut position = Position::default();
        let mut current = 0;
        if let Some(first) = files.first() {
            position.file = first.name.to_string();
            position.offset = FIRST_EVENT_AT;
        }
        if let Start::Position(start) = &mut options.start {
            current = called_as_files(start, &files)?;
            position = Position { visible: None, ..(**start).clone() };
        }
        if let Start::Gtids(done) = &options.start {
            (position.gtid_set, position.by_gtid) = (Some(done.clone()), true);
        }
        if options.is_unread {
            position.ahead.clear();
        }
        // After a read by GTID, transactions after the offset may have been read already.
        let passed = position.gtid_set.clone().filter(|_| position.by_gtid);
        if let Stop::Position(stop) = &mut options.stop {
            called_as_files(stop, &files)?;
        }
        let segment_start = Arc::new(position.clone());
        let name_case = options.name_case;
        Ok(Self {
            files,
            options,
            skips,
            current,
            feed: None,
            waiting_since: None,
            clock: Box::new(Instant::now),
            open: None,
            tracker: GroupTracker::default(),
            spans: Vec::new(),
            items: Vec::new(),
            met: Vec::new(),
            online: OnlineChanges::default(),
            altered: AlteredTables::default(),
            temporary: TemporaryTables::default(),
            name_case,
            whole_from: FIRST_EVENT_AT,
            structures: None,
            first_baseline: None,
            position,
            segment_start,
            range: None,
            due: None,
            failure: None,
            expected_next: None,
            passed,
            ahead: None,
            delivered: None,
            gtids: Vec::new(),
            foreign: Vec::new(),
            resumed: false,
            finished: false,
            stopping: Arc::default(),
            began_at: None,
            earlier: None,
            sought: None,
            unclosed: None,
            gone: Gone::default(),
            counts: Counts::default(),
        })
    }

    /// A cutter for files as they come, the first of which `begin` names.
    pub fn live(feed: Box<dyn FileFeed>, begin: Begin, options: CutterOptions) -> Result<Self> {
        let Begin { position, passed, name_case } = begin;
        let mut position = Position { visible: None, ..position };
        let mut options = options;
        if options.is_unread {
            position.ahead.clear();
        }
        if let Some(goal) = &options.goal {
            options.stop = Stop::at(goal, position.server.as_deref())?;
        } else if let Stop::Position(stop) = &options.stop {
            options.stop = Stop::at(stop, position.server.as_deref())?;
        }
        if matches!(options.stop, Stop::Gtids(_))
            && position.gtid_set.is_none()
            && position.offset > FIRST_EVENT_AT
        {
            return Err(Error::config(format!(
                "the GTIDs before {position} are not known, so nothing tells when a GTID set to stop at is complete: start at a \
                 file's beginning (offset 4), by GTID, or at a position of an earlier read"
            )));
        }
        let mut cutter = Self::try_new(
            Vec::new(),
            CutterOptions { start: Start::Earliest, stop: Stop::End, ..options.clone() },
        )?;
        cutter.segment_start = Arc::new(position.clone());
        cutter.position = position.clone();
        cutter.passed = passed;
        cutter.take_name_case(name_case);
        let is_by_file = !position.by_gtid && !position.file.is_empty();
        cutter.began_at = is_by_file.then(|| (position.file.clone(), position.offset));
        cutter.options = options;
        if !matches!(cutter.options.start, Start::Time(_)) {
            cutter.options.start = Start::Position(Box::new(position));
        }
        cutter.feed = Some(feed);
        cutter.finished = cutter.has_read_all();
        cutter.take_first_baseline()?;
        Ok(cutter)
    }

    /// The sum of the files' sizes, where all are known.
    pub fn total_bytes(&mut self) -> Option<u64> {
        self.files.iter().map(InputFile::known_len).sum()
    }

    /// Where the last whole transaction ends.
    pub fn position(&self) -> &Position {
        &self.position
    }

    /// XA transactions prepared so far and not decided yet.
    pub fn prepared(&self) -> &[PreparedRange] {
        &self.position.prepared
    }

    /// The file that follows the last one, where its Rotate event says so.
    pub fn successor(&self) -> Option<&str> {
        match &self.expected_next {
            Some(Successor::Named(name)) => Some(name),
            _ => None,
        }
    }

    /// The warning for the last file that ended without a Rotate or Stop event, since the last call.
    pub fn take_unclosed(&mut self) -> Option<String> {
        self.unclosed.take()
    }

    /// XA transactions that were decided since the last call but prepared before the start of the input.
    pub fn take_foreign(&mut self) -> Vec<Xid> {
        std::mem::take(&mut self.foreign)
    }

    /// Ends the reading of inputs once `stopping` is set, in the middle of a segment too.
    pub fn stop_when(&mut self, stopping: &Arc<AtomicBool>) {
        self.stopping = Arc::clone(stopping);
    }

    /// Takes the time from `clock` instead of the system.
    pub fn set_clock(&mut self, clock: Clock) {
        self.clock = clock;
    }

    /// Opens a file of the list.
    fn open_input(&mut self, index: usize) -> Result<Box<dyn Input>> {
        let file = self.files.get_mut(index).ok_or_else(files::no_file)?;
        let input = file.open()?;
        Ok(Box::new(StoppableInput { input, stopping: Arc::clone(&self.stopping) }))
    }

    /// Gives an input back that may be needed again; a feed opens its own anew.
    fn put_back(&mut self, index: usize, window: Window) {
        if self.feed.is_none()
            && let Some(file) = self.files.get_mut(index)
        {
            file.put_back(window.into_input());
        }
    }

    /// Takes the bytes of a decoded segment back, to be used again.
    pub fn recycle(&mut self, buffer: Vec<u8>) {
        match (&mut self.open, &mut self.range) {
            (Some(open), _) => open.window.recycle(buffer),
            (None, Some(range)) => range.cutter.recycle(buffer),
            (None, None) => {}
        }
    }

    /// The next segment; `None` at the end.
    pub fn next_segment(&mut self) -> Result<Option<Segment>> {
        let result = self.cut();
        if result.is_err() {
            self.finished = true;
        }
        let name = self.files.get(self.current).map(|file| Arc::clone(&file.label));
        result.map_err(|error| match &name {
            Some(name) => error.in_file(name),
            None => error,
        })
    }

    fn cut(&mut self) -> Result<Option<Segment>> {
        loop {
            if let Some(segment) = self.next_of_range()? {
                return Ok(Some(segment));
            }
            if let Some(due) = self.due.take() {
                self.start_prepared(due)?;
                continue;
            }
            if let Some(failure) = self.failure.take() {
                return Err(failure);
            }
            if self.finished {
                return self.check_goal().map(|()| None);
            }
            if self.open.is_none() && !self.open_next()? {
                self.finished = true;
                continue;
            }
            let segment = match self.step() {
                Ok(segment) => segment,
                // The whole transactions before it come out first.
                Err(error) => {
                    self.failure = Some(error);
                    self.flush(self.position.offset)
                }
            };
            if segment.is_some() {
                return Ok(segment);
            }
        }
    }

    /// A segment of what is kept up to `offset`, or nothing where there is nothing to decode.
    fn flush(&mut self, offset: u64) -> Option<Segment> {
        self.flush_to(offset, self.position.clone())
    }

    fn flush_to(&mut self, offset: u64, end: Position) -> Option<Segment> {
        if let Err(error) = self.reach(&end) {
            // What was cut since the last place that is known to be right may be of other structures.
            self.failure.get_or_insert(error);
            return None;
        }
        let open = self.open.as_mut()?;
        let from = open.window.start();
        let upto = offset.clamp(from, open.window.offset());
        let bytes = open.window.take_until((upto - from) as usize);
        open.window.release();
        self.waiting_since = None;
        self.counts.input_bytes += upto.saturating_sub(self.counts.input_from.min(upto));
        self.counts.input_from = upto;
        let mut spans = std::mem::take(&mut self.spans);
        for span in &mut spans {
            span.bytes = span.bytes.start - from as usize..span.bytes.end - from as usize;
        }
        let end = Arc::new(end);
        let start = std::mem::replace(&mut self.segment_start, Arc::clone(&end));
        if spans.is_empty() && self.items.is_empty() && *start == *end && self.counts.is_empty() {
            return None;
        }
        let items = items::placed(std::mem::take(&mut self.items), &spans);
        let catalogs = self.structures.as_mut().map(|own| own.catalogs.placed(&spans));
        let gtids = self.take_gtids(end.offset);
        let mut segment = self.segment(bytes, (spans, items), start, end);
        segment.catalogs = catalogs.unwrap_or_default();
        segment.gtids = gtids;
        Some(segment)
    }

    /// The GTIDs of the transactions that start before an offset.
    fn take_gtids(&mut self, end: u64) -> Option<Arc<GtidPlaces>> {
        let count = self.gtids.partition_point(|(start, _)| *start < end);
        let rest = self.gtids.split_off(count);
        let gtids = std::mem::replace(&mut self.gtids, rest);
        self.position.gtid_set.is_some().then(|| Arc::new(gtids))
    }

    fn flush_all(&mut self) -> Option<Segment> {
        let offset = self.open.as_ref()?.window.offset();
        self.flush(offset)
    }

    fn segment(
        &mut self,
        bytes: Vec<u8>,
        (spans, items): (Vec<Span>, Vec<PlacedItem>),
        start: Arc<Position>,
        end: Arc<Position>,
    ) -> Segment {
        let counts = std::mem::take(&mut self.counts);
        self.counts.input_from = counts.input_from;
        Segment {
            bytes,
            spans,
            items,
            catalogs: Vec::new(),
            start,
            end,
            input_bytes: counts.input_bytes,
            dropped_rows_events: counts.dropped_rows_events,
            statements_skipped: counts.statements_skipped,
            warnings: counts.warnings,
            time_span: counts.time_span,
            gtids: None,
            turn: None,
        }
    }

    /// How much is read at a time.
    fn chunk(&self) -> usize {
        self.options.segment_bytes.clamp(MIN_CHUNK, MAX_CHUNK)
    }
}

impl Counts {
    fn is_empty(&self) -> bool {
        self.input_bytes == 0
            && self.dropped_rows_events == 0
            && self.statements_skipped == 0
            && self.warnings.is_empty()
    }
}

const MIN_CHUNK: usize = 64 << 10;
const MAX_CHUNK: usize = 1 << 20;
