//! A segment: bytes of whole events and the context to decode them alone.

use super::delivered::{Delivered, Turn};
use crate::binlog::{FormatDescription, RowsKind};
use crate::change::{Item, LoggedGtid, Transaction};
use crate::charset::Charset;
use crate::history::Catalog;
use crate::position::Position;
use std::ops::Range;
use std::sync::Arc;

/// What the events of one file have in common.
#[derive(Debug)]
pub struct FileContext {
    /// The file's name.
    pub name: Arc<str>,
    /// Its name in messages.
    pub label: Arc<str>,
    /// How its events are laid out.
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

    /// True if there are none.
    pub fn is_none(self) -> bool {
        self.0 == 0
    }

    /// True if there are some of this kind.
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

/// What is known of the statement that rows come from, where a span starts in the middle of a transaction. Kept only where
/// it is asked for.
#[derive(Debug, Clone, Default)]
pub struct CarriedStatement {
    /// Its text, in the client's character set.
    pub sql: Option<Arc<[u8]>>,
    /// The client's character set, as the transaction's BEGIN tells it.
    pub client: Option<Charset>,
}

/// A run of events of one transaction, all of whose rows happened.
#[derive(Debug)]
pub struct Span {
    /// Where its events stand in the segment's bytes.
    pub bytes: Range<usize>,
    /// Offset of the first in its file.
    pub offset: u64,
    /// Its file.
    pub file: Arc<FileContext>,
    /// Microseconds since 1970 UTC of its transaction's commit.
    pub commit_timestamp: i64,
    /// `_commit_version` of its rows.
    pub commit_version: i64,
    /// From the first event of its transaction to the end of the last, in its file.
    pub extent: Range<u64>,
    /// How many rows events the transaction has before it.
    pub rows_before: u32,
    /// What most have no need of: where every row is a transaction, there are as many spans as rows.
    pub more: Option<Box<SpanDetails>>,
    /// Whether it was an XA transaction that is known to be committed by now.
    pub was_prepared: bool,
    /// Whether the transaction ends with it.
    pub ends_transaction: bool,
}

/// What a span has besides: where it is asked for, or where it starts in the middle of a transaction.
#[derive(Debug)]
pub struct SpanDetails {
    /// Its transaction.
    pub transaction: Transaction,
    /// The GTID under which it was committed.
    pub gtid: Option<LoggedGtid>,
    /// Table maps in force at its start.
    pub table_maps: Vec<CarriedMap>,
    /// The statement in force at its start.
    pub statement: CarriedStatement,
    /// The part of it that is left out, if the read was resumed.
    pub delivered: Option<Arc<Delivered>>,
}

impl Span {
    /// Offset of the first event of its transaction; of XA transactions, of their XA COMMIT.
    pub fn transaction_start(&self) -> u64 {
        start_of(self.commit_version)
    }
}

/// Offset of the first event of the transaction that has this version.
pub(crate) const fn start_of(commit_version: i64) -> u64 {
    commit_version as u64 & ((1 << FILE_NUMBER_SHIFT) - 1)
}

/// `_commit_version` has the file's number above the offset's 40 bits.
pub(super) const FILE_NUMBER_SHIFT: u32 = 40;

/// The transactions of a segment: the offset of each one's first event, and its GTID if it has one.
pub type GtidPlaces = Vec<(u64, Option<LoggedGtid>)>;

/// Something that is not a row, in its place.
#[derive(Debug, Clone)]
pub struct LogItem {
    /// What it is.
    pub item: Item,
    /// `_commit_version` of its transaction, if it is of one.
    pub commit_version: Option<i64>,
    /// Microseconds since 1970 UTC of that transaction's commit.
    pub commit_timestamp: Option<i64>,
    /// Where to resume before it: behind all rows and items before it.
    pub before: Arc<Position>,
    /// Where to resume after it. Within a transaction that is before the transaction's first row.
    pub position: Arc<Position>,
}

/// An item of a segment.
#[derive(Debug)]
pub struct PlacedItem {
    /// How many of the segment's spans stand before it.
    pub spans_before: usize,
    /// The item.
    pub item: LogItem,
}

/// How large a transaction is, and where it stands.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct LargeTransaction {
    /// Its bytes in the log, from its first event to its last.
    pub bytes: u64,
    /// Name of its file.
    pub file: Arc<str>,
    /// Offset of its first event.
    pub offset: u64,
    /// Microseconds since 1970 UTC.
    pub commit_timestamp: i64,
}

impl LargeTransaction {
    /// How many are told of.
    pub const KEPT: usize = 10;

    /// Adds one to a list that is kept short, the largest first.
    pub fn note(self, largest: &mut Vec<Self>) {
        if largest.len() == Self::KEPT && largest.last().is_some_and(|least| *least >= self) {
            return;
        }
        let place = largest.partition_point(|other| *other > self);
        // Every piece of a transaction adds it.
        if largest.get(place) != Some(&self) {
            largest.insert(place, self);
        }
        largest.truncate(Self::KEPT);
    }
}

/// Bytes of whole events, and what is needed to decode them without their neighbours.
#[derive(Debug)]
pub struct Segment {
    /// The events.
    pub bytes: Vec<u8>,
    /// The runs of them to decode, in order.
    pub spans: Vec<Span>,
    /// What stands between them, in order.
    pub items: Vec<PlacedItem>,
    /// Where a history is given: the structures of tables, each with how many of the spans stand before the first that it is of.
    pub catalogs: Vec<(usize, Arc<Catalog>)>,
    /// Where to resume before it.
    pub start: Arc<Position>,
    /// Where to resume after it.
    pub end: Arc<Position>,
    /// Bytes of input that it stands for, those passed over included.
    pub input_bytes: u64,
    /// Rows events that are left out: of transactions that never happened.
    pub dropped_rows_events: u64,
    /// Statements that are skipped: logged as text, they may change rows.
    pub statements_skipped: u64,
    /// What the reader should be told.
    pub warnings: Vec<String>,
    /// The earliest and latest commit in it, in microseconds since 1970 UTC.
    pub time_span: Option<(i64, i64)>,
    /// The GTIDs of its transactions, and of those without rows; `None` if the log has none.
    pub gtids: Option<Arc<GtidPlaces>>,
    /// Set for a piece of a transaction of which a resumed read leaves out a part.
    pub turn: Option<Turn>,
}
