//! Transactions that are returned in pieces: transactions larger than a segment, and prepared transactions that are now
//! committed.

use super::Segments;
use super::pieces::{Committed, CutSize, Pieces};
use super::transaction::PendingXaCommit;
use crate::change::{EventGroup, Transaction, TransactionEnd};
use crate::error::{Error, Result};
use crate::position::{Position, PreparedRange};
use crate::source::delivered::{Delivered, Turn};
use crate::source::event_source::EventSource;
use crate::source::follower::Catalogs;
use crate::source::gtid_places::GtidPlaces;
use crate::source::markers::MarkerAt;
use crate::source::segment::{Segment, Span};
use crate::source::walk::{FileEvents, FileWalk, no_file};
use std::sync::Arc;

/// A transaction that is being returned in pieces.
pub(super) struct LargeRange {
    pieces: Pieces,
    /// Its file, if it is not the open file.
    other_file: Option<OtherFile>,
    /// The offset at which the open file continues after it.
    resume_at: u64,
    end: Position,
    /// The markers before, between and after its pieces.
    markers: Vec<MarkerAt>,
    /// The catalogs in force along the pieces.
    catalogs: Option<Catalogs>,
    /// The GTIDs for all of its pieces.
    gtids: Option<Arc<GtidPlaces>>,
    /// The part of it that is left out.
    delivered: Option<Arc<Delivered>>,
    /// The number of pieces so far.
    count: u64,
}

/// A file that is not the open one.
struct OtherFile {
    /// Its index in the list of files, if there is one.
    index: Option<usize>,
    walk: FileWalk,
}

impl LargeRange {
    /// The turn of the next piece.
    fn next_turn(&mut self) -> Option<Turn> {
        let number = self.count;
        self.count += 1;
        self.delivered.clone().map(|delivered| Turn::new(delivered, number))
    }
}

impl Segments {
    /// The open transaction is larger than a segment: reads to its end without its rows.
    pub(super) fn read_to_its_end(&mut self) -> Result<()> {
        match self.walk.events() {
            Some(events) if !events.reads_heads() => events.read_heads(),
            _ => Ok(()),
        }
    }

    /// Returns the rows of the current transaction, whose bytes were not kept, in pieces.
    pub(super) fn start_large(
        &mut self,
        (group, end): (&EventGroup, u64),
        delivered: Option<Arc<Delivered>>,
    ) {
        let part = |span: &Span| (span.bytes.start as u64, span.bytes.end as u64, span.rows_before);
        let parts = self.draft.take_spans().0.iter().map(part).collect();
        let markers = std::mem::take(&mut self.draft.markers);
        let catalogs = self.follower.take_catalogs();
        let committed = Committed { delivered, ..Committed::of(group, end) };
        self.start_range(committed, parts, (markers, catalogs), (end, None));
    }

    /// Returns the rows of an XA transaction that was prepared before and is committed now.
    pub(super) fn start_prepared(&mut self, commit: PendingXaCommit) -> Result<()> {
        let PendingXaCommit { transaction, gtid, prepared, markers, catalogs, delivered, .. } =
            commit;
        let mut other = self.other_file(&prepared)?;
        let found = match &mut other {
            Some(other) => self.walk.transaction_at(&mut other.walk, prepared.start)?,
            None => self.walk.read_again(prepared.start)?,
        };
        let is_prepared = |outcome: &TransactionEnd| matches!(outcome, TransactionEnd::Prepared(_));
        let Some(found) =
            found.filter(|found| found.group.has_payload || is_prepared(&found.outcome))
        else {
            return Err(Error::malformed(format!(
                "there is no prepared XA transaction at {}:{}",
                prepared.file, prepared.start
            )));
        };
        let parts = found.group.kept(found.end).collect();
        self.draft.add_time(transaction.commit_timestamp);
        let resume_at = self.walk.position().offset;
        // All values are those of the XA COMMIT, except the connection, which is the one that made the changes.
        let thread_id = found.group.transaction.thread_id;
        let transaction = Transaction { thread_id, ..transaction };
        let extent = prepared.start..found.end;
        let committed = Committed { transaction, gtid, was_prepared: true, extent, delivered };
        self.start_range(committed, parts, (markers, catalogs), (resume_at, other));
        Ok(())
    }

    /// The file of a prepared transaction, if it is not the open one.
    fn other_file(&mut self, prepared: &PreparedRange) -> Result<Option<OtherFile>> {
        let (chunk, verify_checksum) = (self.walk.chunk(), self.walk.options().verify_checksum);
        let is_open = self.walk.context().is_some();
        let files = self.walk.files_mut();
        let (index, names, source) = match files.feed() {
            Some(feed) => {
                let name: Arc<str> = prepared.file.as_str().into();
                let events = feed.reopen(&prepared.file, prepared.start)?;
                (None, (Arc::clone(&name), name), EventSource::Live(events))
            }
            None => {
                let index = files.index_of(&prepared.file).map_err(|error| {
                    Error::config(format!(
                        "the rows of the XA transaction {} are in an older file that is not given: it was prepared at {}:{} and is \
                         committed here. Add that file: {error}",
                        prepared.xid, prepared.file, prepared.start
                    ))
                })?;
                if is_open && index == files.index() {
                    return Ok(None);
                }
                let source = files.open(index)?;
                let file = files.list().get(index).ok_or_else(no_file)?;
                (Some(index), (Arc::clone(&file.name), Arc::clone(&file.label)), source)
            }
        };
        let (events, _) = FileEvents::open(source, names, chunk, verify_checksum)?;
        Ok(Some(OtherFile { index, walk: FileWalk::new(events, false) }))
    }

    fn start_range(
        &mut self,
        committed: Committed,
        parts: Vec<(u64, u64, u32)>,
        (markers, catalogs): (Vec<MarkerAt>, Option<Catalogs>),
        (resume_at, mut other_file): (u64, Option<OtherFile>),
    ) {
        let gtids = self.draft.take_gtids(u64::MAX, self.walk.position());
        let delivered = committed.delivered.clone();
        let commit_version = self.walk.commit_version(committed.transaction.start);
        let options = self.walk.options();
        let size = CutSize {
            bytes: options.segment_bytes,
            carries_statements: options.carries_statements,
        };
        let end = self.walk.position().clone();
        let events = match &mut other_file {
            Some(other) => Some(&mut other.walk.events),
            None => self.walk.events(),
        };
        let Some(events) = events else { return };
        let pieces = Pieces::new(events, commit_version, committed, parts, size);
        self.range = Some(LargeRange {
            pieces,
            other_file,
            resume_at,
            end,
            markers,
            catalogs,
            gtids,
            delivered,
            count: 0,
        });
    }

    /// The next piece of the transaction that is returned in pieces.
    pub(super) fn next_piece(&mut self) -> Result<Option<Segment>> {
        let Some(range) = &mut self.range else { return Ok(None) };
        let events = match &mut range.other_file {
            Some(other) => &mut other.walk.events,
            None => self.walk.events().ok_or_else(no_file)?,
        };
        let Some((bytes, span)) = range.pieces.next_span(events)? else {
            return Ok(self.end_range());
        };
        let upto = events.offset();
        if !range.pieces.was_prepared() {
            self.draft.count_bytes_to(upto);
        }
        let start = Arc::clone(&self.draft.start);
        // Only its last piece advances the position.
        let is_last = span.ends_transaction;
        let end = match is_last {
            true => Arc::new(range.end.clone()),
            false => Arc::clone(&start),
        };
        self.draft.move_start(&end);
        let upto = if is_last { u64::MAX } else { span.offset };
        let count = range.markers.partition_point(|marker| marker.offset <= upto);
        let markers = range.markers.drain(..count).collect();
        let (from, file) = (span.offset, Arc::clone(range.pieces.file()));
        let catalogs = range.catalogs.as_mut().map(|catalogs| catalogs.placed_up_to(from));
        let (gtids, turn) = (range.gtids.clone(), range.next_turn());
        if is_last {
            self.follower.reach(&end)?;
        }
        let warnings = self.walk.take_warnings();
        let spans = (vec![span], vec![file]);
        let mut segment = self.draft.finish(bytes, (spans, markers), (start, end), warnings);
        segment.catalogs = catalogs.unwrap_or_default();
        (segment.gtids, segment.turn) = (gtids, turn);
        Ok(Some(segment))
    }

    /// Continues in the open file, after the transaction that was returned in pieces.
    fn end_range(&mut self) -> Option<Segment> {
        let LargeRange { other_file, resume_at, markers, end, .. } = self.range.take()?;
        match other_file {
            Some(OtherFile { index: Some(index), walk }) => {
                self.walk.files_mut().put_back(index, walk.events.into_source());
            }
            Some(OtherFile { index: None, .. }) => {}
            None => {
                let events = self.walk.events()?;
                events.jump(resume_at);
                events.release();
            }
        }
        if markers.is_empty() {
            return None;
        }
        // The transaction had no events to decode.
        let end = Arc::new(end);
        let start = self.draft.move_start(&end);
        let warnings = self.walk.take_warnings();
        let spans = (Vec::new(), Vec::new());
        Some(self.draft.finish(Vec::new(), (spans, markers), (start, end), warnings))
    }
}
