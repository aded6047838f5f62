//! A segment: the bytes of complete events, and the context to decode them alone.

use super::delivered::{Delivered, Turn};
use super::gtid_places::GtidPlaces;
use super::segment_rule::SkippedTable;
use super::window::MAX_SPARE_BYTES;
use crate::binlog::{FormatDescription, RowsKind};
use crate::change::{Item, LoggedGtid, Transaction};
use crate::charset::Charset;
use crate::history::Catalog;
use crate::position::Position;
use std::cmp::Reverse;
use std::ops::Range;
use std::sync::Arc;

/// The properties that the events of one file share.
#[derive(Debug)]
pub struct FileContext {
    /// The file's name.
    pub name: Arc<str>,
    /// Its name in messages.
    pub label: Arc<str>,
    /// The format of its events.
    pub format: FormatDescription,
}

/// A Table_map event that is in force at a span that starts in the middle of a transaction.
#[derive(Debug, Clone)]
pub struct CarriedMap {
    /// Its body.
    pub body: Arc<[u8]>,
    /// The rows events of the table in the statement so far.
    pub rows: RowsSeen,
    /// True if the statement has mapped the table before.
    pub is_repeated: bool,
}

/// The kinds of rows events of a table in a statement.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RowsSeen(u8);

impl RowsSeen {
    /// Adds a rows event.
    pub fn add(&mut self, kind: RowsKind) {
        self.0 |= bit(kind);
    }

    /// True if there are no rows events.
    pub fn is_none(self) -> bool {
        self.0 == 0
    }

    /// True if there are rows events of this kind.
    pub fn has(self, kind: RowsKind) -> bool {
        self.0 & bit(kind) != 0
    }
}

const fn bit(kind: RowsKind) -> u8 {
    match kind {
        RowsKind::Write => 1,
        RowsKind::Update => 2,
        RowsKind::Delete => 4,
    }
}

/// The statement that changed the rows, for a span that starts in the middle of a transaction. It
/// is stored only if it is requested.
#[derive(Debug, Clone, Default)]
pub struct CarriedStatement {
    /// Its text, in the client's character set.
    pub sql: Option<Arc<[u8]>>,
    /// The client's character set, from the BEGIN of the transaction.
    pub client: Option<Charset>,
}

/// A run of events of one transaction whose rows were all committed.
#[derive(Debug)]
pub struct Span {
    /// The place of its events in the segment's bytes.
    pub bytes: Range<usize>,
    /// The offset of its first event in the file.
    pub offset: u64,
    /// The index of its file in the segment's files.
    pub file: usize,
    /// Microseconds since 1970 UTC of its transaction's commit.
    pub commit_timestamp: i64,
    /// `_commit_version` of its rows.
    pub commit_version: i64,
    /// The offsets from the start of the transaction's first event to the end of its last, in its
    /// file.
    pub extent: Range<u64>,
    /// The number of rows events of the transaction before it.
    pub rows_before: u32,
    /// Details that most spans do not need: if each row is a transaction, there are as many spans
    /// as rows.
    pub more: Option<Box<SpanDetails>>,
    /// True if it was an XA transaction that is now known to be committed.
    pub was_prepared: bool,
    /// True if the transaction ends with it.
    pub ends_transaction: bool,
}

/// Details of a span: if they are requested, or if the span starts in the middle of a transaction.
#[derive(Debug)]
pub struct SpanDetails {
    /// Its transaction.
    pub transaction: Transaction,
    /// The GTID with which it was committed.
    pub gtid: Option<LoggedGtid>,
    /// Table maps in force at its start.
    pub table_maps: Vec<CarriedMap>,
    /// The statement in force at its start.
    pub statement: CarriedStatement,
    /// The part of it that is left out, if the read was resumed.
    pub delivered: Option<Arc<Delivered>>,
}

impl Span {
    /// The offset of the first event of its transaction; for an XA transaction, of its XA COMMIT.
    pub fn transaction_start(&self) -> u64 {
        start_of(self.commit_version)
    }
}

/// Offset of the first event of the transaction that has this version.
pub(crate) const fn start_of(commit_version: i64) -> u64 {
    commit_version as u64 & ((1 << FILE_NUMBER_SHIFT) - 1)
}

/// `_commit_version` of a transaction at an offset of a file.
pub(crate) const fn commit_version(file_number: u64, offset: u64) -> i64 {
    (file_number as i64) << FILE_NUMBER_SHIFT | offset as i64
}

/// `_commit_version` consists of the file's number and the 40 bits of the offset.
pub(super) const FILE_NUMBER_SHIFT: u32 = 40;

/// An item that is not a row, and its place.
#[derive(Debug, Clone)]
pub struct LogItem {
    /// The item.
    pub item: Item,
    /// `_commit_version` of its transaction, if it belongs to one.
    pub commit_version: Option<i64>,
    /// Microseconds since 1970 UTC of that transaction's commit.
    pub commit_timestamp: Option<i64>,
    /// The position at which to resume before it: after all rows and items before it.
    pub before: Arc<Position>,
    /// The position at which to resume after it. Inside a transaction, it is before the first row
    /// of the transaction.
    pub position: Arc<Position>,
}

/// An item of a segment.
#[derive(Debug)]
pub struct PlacedItem {
    /// The number of the segment's spans before it.
    pub spans_before: usize,
    /// The item.
    pub item: LogItem,
}

/// The size of a transaction, and its place in the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LargeTransaction {
    /// The number of its bytes in the log, from its first event to its last.
    pub bytes: u64,
    /// The name of its file.
    pub file: Arc<str>,
    /// The offset of its first event.
    pub offset: u64,
    /// Microseconds since 1970 UTC.
    pub commit_timestamp: i64,
}

impl LargeTransaction {
    /// The number of transactions in a list of the largest ones.
    pub const KEPT: usize = 10;

    /// Adds the transaction to a list of the largest ones, in descending order. Of transactions of
    /// the same size, those that come first in the log are kept: a log of equal transactions
    /// changes its list ten times, not once per transaction.
    pub fn note(self, largest: &mut Vec<Self>) {
        let is_full = largest.len() == Self::KEPT;
        if is_full && largest.last().is_some_and(|least| least.rank() >= self.rank()) {
            return;
        }
        let place = largest.partition_point(|other| other.rank() > self.rank());
        // Every piece of a transaction adds it.
        if largest.get(place) != Some(&self) {
            largest.insert(place, self);
        }
        largest.truncate(Self::KEPT);
    }

    fn rank(&self) -> (u64, Reverse<(&str, u64)>) {
        (self.bytes, Reverse((&self.file, self.offset)))
    }
}

/// The memory of a decoded segment, to be used again: new memory costs more.
#[derive(Debug, Default)]
pub struct SpentSegment {
    /// The buffer of its bytes.
    pub bytes: Vec<u8>,
    /// The list of its spans, which is empty.
    pub spans: Vec<Span>,
}

/// Bytes of complete events, and everything that is needed to decode them without other segments.
#[derive(Debug)]
pub struct Segment {
    /// The events.
    pub bytes: Vec<u8>,
    /// The runs of them to decode, in order.
    pub spans: Vec<Span>,
    /// The files of the spans: usually one. A relay log changes its format in its middle.
    pub files: Vec<Arc<FileContext>>,
    /// The items between them, in order.
    pub items: Vec<PlacedItem>,
    /// If a history is given: the structures of tables, each with the number of spans before the
    /// first span to which it applies.
    pub catalogs: Vec<(usize, Arc<Catalog>)>,
    /// The position at which to resume before it.
    pub start: Arc<Position>,
    /// The position at which to resume after it.
    pub end: Arc<Position>,
    /// The number of bytes of input that it covers, including skipped ones.
    pub input_bytes: u64,
    /// The number of rows events that are left out, because their transactions were not committed.
    pub dropped_rows_events: u64,
    /// The number of skipped statements: logged as text, they may change rows.
    pub statements_skipped: u64,
    /// Warnings for the reader.
    pub warnings: Vec<String>,
    /// The earliest and latest commit in it, in microseconds since 1970 UTC.
    pub time_span: Option<(i64, i64)>,
    /// The GTIDs of its transactions, and of those without rows; `None` if the log has none.
    pub gtids: Option<Arc<GtidPlaces>>,
    /// The tables of which rows were skipped without reading them.
    pub skipped_tables: Vec<SkippedTable>,
    /// Set for a piece of a transaction of which a resumed read leaves out a part.
    pub turn: Option<Turn>,
}

impl Segment {
    /// The memory of a segment that is no longer needed; that of a large event is freed.
    pub fn spent(mut self) -> SpentSegment {
        self.spans.clear();
        let is_kept = self.bytes.capacity() <= MAX_SPARE_BYTES;
        SpentSegment { bytes: if is_kept { self.bytes } else { Vec::new() }, spans: self.spans }
    }
}
