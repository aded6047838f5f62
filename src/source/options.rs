//! Options for reading a log: start and end, checks, the size of segments.

use super::segment_rule::SegmentRule;
use super::table_history::TableHistory;
use crate::change::Include;
use crate::error::{Error, ErrorKind, Result};
use crate::position::{GtidState, Position};
use crate::schema::NameCase;
use std::sync::Arc;
use std::time::Duration;

/// The start of a read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Start {
    /// At the first event of the first file.
    Earliest,
    /// At the end of a transaction in one of the files.
    Position(Box<Position>),
    /// After the transactions of a GTID set.
    Gtids(GtidState),
    /// At the first transaction committed at or after a time, in microseconds since 1970 UTC.
    Time(i64),
}

/// The end of a read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Stop {
    /// At the end of the last file.
    End,
    /// After the last transaction that ends at or before a position.
    Position(Box<Position>),
    /// When all transactions of a GTID set were read; see [`LogOptions::stops_at_gap`].
    Gtids(GtidState),
    /// Before the first transaction committed after a time, in microseconds since 1970 UTC.
    Time(i64),
}

/// The options of reading a log.
#[derive(Debug, Clone)]
pub struct LogOptions {
    /// The start.
    pub start: Start,
    /// The end.
    pub stop: Stop,
    /// The approximate size of a segment, in bytes.
    pub segment_bytes: usize,
    /// True if a segment ends at each commit, so that each commit has its own position.
    pub cut_at_commit: bool,
    /// True if rows of transactions that did not commit are returned too, in log order.
    pub emit_uncommitted: bool,
    /// True if files may be missing between others.
    pub allow_gaps: bool,
    /// True if CRC32s are checked.
    pub verify_checksum: bool,
    /// The maximum time that complete transactions wait for their segment to fill, while more arrive: for live logs.
    pub max_latency: Option<Duration>,
    /// True if each piece of a large transaction contains the statement of its first rows.
    pub carries_statements: bool,
    /// True if each run of events has the properties of its commit in the log: GTID, connection, Xid.
    pub with_commit_details: bool,
    /// Event codes that may be skipped although they cannot be decoded.
    pub skip_events: Vec<u8>,
    /// True if statements that were logged as text and may change rows are skipped.
    pub skip_statements: bool,
    /// The meaning of letter case in names of tables, if the caller knows it.
    pub name_case: NameCase,
    /// The items to return besides rows.
    pub include: Include,
    /// The source of the structures of tables, which are followed from the start of the read.
    pub history: Option<TableHistory>,
    /// The maximum number of bytes to read. The read ends at the end of a transaction, and reads at least one.
    pub limit: Option<u64>,
    /// True if a read that stops at a GTID set ends before the first transaction that is not in the
    /// set: this is the place of the set in the log. Otherwise the read continues without that
    /// transaction until it has the complete set.
    pub stops_at_gap: bool,
    /// The position that a live read must reach, and at which it ends, instead of `stop`. It
    /// applies to each server on which the read continues.
    pub goal: Option<Box<Position>>,
    /// Decides which segments of files with an index are skipped; all files are read completely if `None`.
    pub segment_rule: Option<Arc<dyn SegmentRule>>,
}

impl Default for LogOptions {
    fn default() -> Self {
        Self {
            start: Start::Earliest,
            stop: Stop::End,
            segment_bytes: DEFAULT_SEGMENT_BYTES,
            cut_at_commit: false,
            emit_uncommitted: false,
            allow_gaps: false,
            verify_checksum: true,
            max_latency: None,
            carries_statements: false,
            with_commit_details: false,
            skip_events: Vec::new(),
            skip_statements: false,
            name_case: NameCase::Unknown,
            include: Include::default(),
            history: None,
            limit: None,
            stops_at_gap: false,
            goal: None,
            segment_rule: None,
        }
    }
}

impl LogOptions {
    /// Returns options for the same log from `start` to `stop`, for its positions and statements:
    /// without rows, without markers, and not live.
    pub(super) fn without_rows(&self, start: Start, stop: Stop) -> Self {
        Self {
            start,
            stop,
            cut_at_commit: false,
            emit_uncommitted: false,
            max_latency: None,
            include: Include::default(),
            history: None,
            limit: None,
            goal: None,
            segment_rule: None,
            skip_statements: true,
            ..self.clone()
        }
    }
}

impl Stop {
    /// The stop at a position, for a read of the log of `server`: a file and offset are valid on
    /// their own server only.
    ///
    /// # Errors
    /// The position is in another server's log, and has no GTIDs: an [`ErrorKind::ServerIdentity`].
    pub fn at(place: &Position, server: Option<&str>) -> Result<Self> {
        let is_here = place.server.is_none() || place.server.as_deref() == server;
        if is_here && place.gtids_alone().is_none() {
            return Ok(Self::Position(Box::new(place.clone())));
        }
        match place.gtid_set.as_ref().filter(|set| !set.is_empty()) {
            Some(gtids) => Ok(Self::Gtids(gtids.clone())),
            None => Err(Error::new(
                ErrorKind::ServerIdentity,
                format!(
                    "{place} is a position in the log of the server {}, this is {}, and there are no GTIDs to find it here: set \
                     gtid_mode=ON on both",
                    place.server.as_deref().unwrap_or("of another"),
                    server.unwrap_or("another")
                ),
            )),
        }
    }
}

/// Large enough to keep a thread busy for a millisecond. With larger segments, their bytes and the columns built from them
/// leave the cache of a core, and the allocator returns the memory of columns to the system after each batch.
const DEFAULT_SEGMENT_BYTES: usize = 2 << 20;
