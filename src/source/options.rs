//! How a log is read: where to begin and end, what is checked, how segments are cut.

use super::table_history::TableHistory;
use crate::change::Include;
use crate::error::{Error, ErrorKind, Result};
use crate::position::{GtidState, Position};
use crate::schema::NameCase;
use std::time::Duration;

/// Where to begin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Start {
    /// At the first event of the first file.
    Earliest,
    /// At a transaction's end in one of the files.
    Position(Box<Position>),
    /// After the transactions of a GTID set.
    Gtids(GtidState),
    /// At the first transaction committed at or after a time, in microseconds since 1970 UTC.
    Time(i64),
}

/// Where to end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Stop {
    /// At the end of the last file.
    End,
    /// After the last transaction that ends at or before a position.
    Position(Box<Position>),
    /// Where a GTID set is complete; see [`LogOptions::stops_at_gap`].
    Gtids(GtidState),
    /// Before the first transaction committed after a time, in microseconds since 1970 UTC.
    Time(i64),
}

/// How a log is read.
#[derive(Debug, Clone)]
pub struct LogOptions {
    /// Where to begin.
    pub start: Start,
    /// Where to end.
    pub stop: Stop,
    /// About how many bytes make a segment.
    pub segment_bytes: usize,
    /// Whether a segment ends at each commit, so that each has its own position.
    pub cut_at_commit: bool,
    /// Whether rows of transactions that did not commit are given too, in log order.
    pub emit_uncommitted: bool,
    /// Whether files may leave gaps between them.
    pub allow_gaps: bool,
    /// Whether CRC32s are checked.
    pub verify_checksum: bool,
    /// How long whole transactions may wait for their segment to fill, while more come: for logs that are read live.
    pub max_latency: Option<Duration>,
    /// Whether a piece of a large transaction carries the statement that its rows come from.
    pub carries_statements: bool,
    /// Whether each run of events comes with what the log tells of its commit: GTID, connection, Xid.
    pub tells_commits: bool,
    /// Event codes that may be passed over although they cannot be decoded.
    pub skip_events: Vec<u8>,
    /// True if statements that were logged as text and may change rows are skipped.
    pub skip_statements: bool,
    /// The meaning of letter case in names of tables, if the caller knows it.
    pub name_case: NameCase,
    /// What is given besides rows.
    pub include: Include,
    /// The structures of tables, to be followed from where the read begins.
    pub history: Option<TableHistory>,
    /// How many bytes of the log are gone through at most, up to a transaction's end; at least one transaction is.
    pub limit: Option<u64>,
    /// True if a read that stops at a GTID set ends before the first transaction that is not in it: this is the place of the
    /// set in the log. Otherwise it continues without that transaction until it has all of the set.
    pub stops_at_gap: bool,
    /// What a live read must reach, and where it ends: in place of `stop`, whichever server it goes on at.
    pub goal: Option<Box<Position>>,
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
            tells_commits: false,
            skip_events: Vec::new(),
            skip_statements: false,
            name_case: NameCase::Unknown,
            include: Include::default(),
            history: None,
            limit: None,
            stops_at_gap: false,
            goal: None,
        }
    }
}

impl LogOptions {
    /// The same log from `start` to `stop`, for its positions and statements: without rows, without markers, and not live.
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
            skip_statements: true,
            ..self.clone()
        }
    }
}

impl Stop {
    /// The stop at a place, for who reads the log of `server`: its file and offset are of its own server alone.
    ///
    /// # Errors
    /// The place is in another server's log, and has no GTIDs: an [`ErrorKind::ServerIdentity`].
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
                    "{place} is a place in the log of the server {}, this is {}, and no GTIDs tell where it is here: with \
                     gtid_mode=ON at both they would",
                    place.server.as_deref().unwrap_or("of another"),
                    server.unwrap_or("another")
                ),
            )),
        }
    }
}

/// Large enough to keep a worker busy for milliseconds, small enough to keep many in flight.
const DEFAULT_SEGMENT_BYTES: usize = 8 << 20;
