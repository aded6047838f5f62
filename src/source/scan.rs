//! A server's log gone through without a look at rows: where a part of it ends, and what changes tables on the way.
//!
//! In: a position, and how far to go. Out: the position of the last transaction's end there. Called by who plans reads of a log
//! that others carry out.

use super::feed::ResumePoint;
use super::follower::{SchemaFollower, follow};
use super::live::{LiveControl, LiveFeed, LiveOptions, LiveStart, file_start};
use super::options::{LogOptions, Stop};
use super::table_history::TableHistory;
use super::walk::Walk;
use crate::error::Result;
use crate::history::SchemaHistory;
use crate::position::{GtidState, Position};
use std::sync::Arc;

/// What is gone through.
#[derive(Debug)]
pub struct RangeBounds {
    /// The start position. One of GTIDs alone starts at its place in the log.
    pub start: Position,
    /// What it does not go beyond; by default where the log ends now. On a server that it is not of its GTID set counts.
    pub stop: Option<Position>,
    /// Bytes of the log that it does not go beyond, unless the first transaction is larger.
    pub max_bytes: Option<u64>,
    /// The structures of tables, to be followed; where it is empty, it gets its first baseline.
    pub history: Option<Arc<SchemaHistory>>,
    /// Event codes that may be passed over although they cannot be decoded.
    pub skip_events: Vec<u8>,
}

/// What was found.
#[derive(Debug)]
pub struct RangeEnd {
    /// The end of the last whole transaction.
    pub position: Position,
    /// What the caller is to be told.
    pub warnings: Vec<String>,
}

/// Goes through a part of a server's log; finds the last transaction's end in it.
///
/// # Errors
/// As of any live read; and those of a history that does not fit the log.
pub fn range_end(
    what: RangeBounds,
    live: LiveOptions,
    control: &Arc<LiveControl>,
) -> Result<RangeEnd> {
    let mut start = resolved(what.start.clone(), &live, control)?;
    // The place of a set is asked for with the set as both. A read after the set leaves out the rest of it as well.
    let is_place = what.stop.as_ref() == Some(&what.start);
    if let (false, Some(done), Some(read)) = (is_place, what.start.gtids_alone(), &start.gtid_set)
        && !start.file.is_empty()
        && !read.covers(done)
    {
        (start.gtid_set, start.by_gtid) = (Some(done.clone()), true);
    }
    pass(RangeBounds { start, ..what }, live, control)
}

/// The place in a server's log of a position that is a GTID set alone: the end of the longest prefix of the log whose
/// transactions are all in the set. A set may have later transactions too: MySQL commits out of order under
/// `binlog_order_commits=0`.
fn resolved(
    position: Position,
    live: &LiveOptions,
    control: &Arc<LiveControl>,
) -> Result<Position> {
    let Some(GtidState::Mysql(_)) = position.gtids_alone() else { return Ok(position) };
    let start = LiveStart::Position(Box::new(position.clone()));
    let (feed, begin) = LiveFeed::start(None, &start, live.clone(), Arc::clone(control))?;
    drop(feed);
    // At another server it continues by GTID.
    if position.server.is_some() && position.server != begin.position.server {
        return Ok(position);
    }
    // The server starts with the last file before which all transactions are in the set.
    let first = file_start(&begin.position.file, live.clone(), control)?;
    let start = Position { version_shift: position.version_shift, ..first };
    let what = RangeBounds {
        start,
        stop: Some(position),
        max_bytes: None,
        history: None,
        skip_events: Vec::new(),
    };
    Ok(pass(what, live.clone(), control)?.position)
}

fn pass(what: RangeBounds, live: LiveOptions, control: &Arc<LiveControl>) -> Result<RangeEnd> {
    let RangeBounds { start, stop, max_bytes, history, skip_events } = what;
    let start = LiveStart::Position(Box::new(start));
    let (feed, begin) = LiveFeed::start(None, &start, live, Arc::clone(control))?;
    let server = begin.position.server.clone();
    let of_gtids = |stop: &Position| {
        stop.gtids_alone().is_some() && (stop.server.is_none() || stop.server == server)
    };
    let options = LogOptions {
        stops_at_gap: stop.as_ref().is_some_and(of_gtids),
        stop: stop.map_or(Ok(Stop::End), |stop| Stop::at(&stop, server.as_deref()))?,
        history: history.map(TableHistory::Shared),
        // Without rows nothing is missed.
        skip_statements: true,
        limit: max_bytes,
        skip_events,
        ..LogOptions::default()
    };
    let begin = ResumePoint { position: Position { ahead: Vec::new(), ..begin.position }, ..begin };
    let mut walk = Walk::live(Box::new(feed), begin, options)?;
    let mut follower = SchemaFollower::new(&mut walk)?;
    follow(&mut walk, &mut follower, &mut || true)?;
    let warnings = walk.take_warnings();
    Ok(RangeEnd { position: walk.position().clone(), warnings })
}
