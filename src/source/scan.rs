//! Reads a server's log without rows, to find the end of a part of it, and the statements that change tables.
//!
//! Input: a position, and bounds. Output: the end of the last transaction within them. Called by
//! code that plans reads of a log for other readers.

use super::feed::ResumePoint;
use super::follower::{SchemaFollower, follow};
use super::live::{LiveFeed, LiveOptions, LiveStart, file_start};
use super::options::{LogOptions, Stop};
use super::replaced_tables::ReplacedTables;
use super::table_history::TableHistory;
use super::walk::{Step, Target, Walk};
use crate::error::Result;
use crate::history::SchemaHistory;
use crate::position::{GtidState, Position};
use std::sync::Arc;

/// The part of the log to read.
#[derive(Debug)]
pub struct RangeBounds {
    /// The start position. A position with only a GTID set starts at the place of the set in the
    /// log.
    pub start: Position,
    /// The end of the part at the latest; by default the current end of the log. On another server, its GTID set applies.
    pub stop: Option<Position>,
    /// The maximum size of the part in bytes, unless the first transaction is larger.
    pub max_bytes: Option<u64>,
    /// The history that is followed; an empty one gets its first baseline.
    pub history: Option<Arc<SchemaHistory>>,
    /// Event codes that may be skipped although they cannot be decoded.
    pub skip_events: Vec<u8>,
}

/// The result of a scan.
#[derive(Debug)]
pub struct RangeEnd {
    /// The end of the last complete transaction.
    pub position: Position,
    /// Warnings for the caller.
    pub warnings: Vec<String>,
}

/// Reads a part of a server's log without rows, and returns the end of the last transaction in it.
///
/// # Errors
/// Those of any live read; and those of a history that does not match the log.
pub fn range_end(what: RangeBounds, live: LiveOptions) -> Result<RangeEnd> {
    let mut start = resolved(what.start.clone(), &live)?;
    // A caller that wants the place of a set passes the set as start and stop. A read after the set also skips the rest of the
    // set.
    let is_place = what.stop.as_ref() == Some(&what.start);
    if let (false, Some(done), Some(read)) = (is_place, what.start.gtids_alone(), &start.gtid_set)
        && !start.file.is_empty()
        && !read.covers(done)
    {
        (start.gtid_set, start.by_gtid) = (Some(done.clone()), true);
    }
    pass(RangeBounds { start, ..what }, live)
}

/// The place of a position with only a GTID set in a server's log: the end of the longest prefix of
/// the log whose transactions are all in the set. A set may contain later transactions too: MySQL
/// commits out of order with `binlog_order_commits=0`.
fn resolved(position: Position, live: &LiveOptions) -> Result<Position> {
    let Some(GtidState::Mysql(_)) = position.gtids_alone() else { return Ok(position) };
    let start = LiveStart::Position(Box::new(position.clone()));
    let (feed, begin) = LiveFeed::start(None, &start, live.clone())?;
    drop(feed);
    // On another server it continues by GTID.
    if position.server.is_some() && position.server != begin.position.server {
        return Ok(position);
    }
    // The server starts with the last file before which all transactions are in the set.
    let first = file_start(&begin.position.file, live.clone())?;
    let start = Position { version_shift: position.version_shift, ..first };
    let what = RangeBounds {
        start,
        stop: Some(position),
        max_bytes: None,
        history: None,
        skip_events: Vec::new(),
    };
    Ok(pass(what, live.clone())?.position)
}

/// Reads a part of a server's log without rows, and returns the tables of each statement that replaces some.
///
/// # Errors
/// Those of any live read.
pub fn replaced_tables(what: RangeBounds, live: LiveOptions) -> Result<Vec<ReplacedTables>> {
    let mut walk = walk_of(what, live)?;
    walk.want_statements();
    let mut replaced = Vec::new();
    let mut read = |walk: &mut Walk| -> Result<()> {
        while let Some(step) = walk.next(true)? {
            match step {
                Step::Statement(statement) if statement.target != Target::Temporary => {
                    replaced.push(ReplacedTables::of(&statement.logged));
                }
                Step::LoneStatement(statement) => walk.pass_statement(&statement),
                Step::Transaction(verdicts) => {
                    let ended = walk.take_transaction()?;
                    walk.pass(&ended, verdicts)?;
                }
                _ => {}
            }
        }
        Ok(())
    };
    read(&mut walk).map_err(|error| walk.name_file(error))?;
    Ok(replaced)
}

fn pass(what: RangeBounds, live: LiveOptions) -> Result<RangeEnd> {
    let mut walk = walk_of(what, live)?;
    let mut follower = SchemaFollower::new(&mut walk)?;
    follow(&mut walk, &mut follower)?;
    let warnings = walk.take_warnings();
    Ok(RangeEnd { position: walk.position().clone(), warnings })
}

/// A walk over a part of a server's log, without rows.
fn walk_of(what: RangeBounds, live: LiveOptions) -> Result<Walk> {
    let RangeBounds { start, stop, max_bytes, history, skip_events } = what;
    let start = LiveStart::Position(Box::new(start));
    let cancel = live.cancel.clone();
    let (feed, begin) = LiveFeed::start(None, &start, live)?;
    let server = begin.position.server.clone();
    let of_gtids = |stop: &Position| {
        stop.gtids_alone().is_some() && (stop.server.is_none() || stop.server == server)
    };
    let options = LogOptions {
        stops_at_gap: stop.as_ref().is_some_and(of_gtids),
        stop: stop.map_or(Ok(Stop::End), |stop| Stop::at(&stop, server.as_deref()))?,
        history: history.map(TableHistory::Shared),
        // Rows are not read, so no row is missed.
        skip_statements: true,
        limit: max_bytes,
        skip_events,
        ..LogOptions::default()
    };
    let begin = ResumePoint { position: Position { ahead: Vec::new(), ..begin.position }, ..begin };
    let mut walk = Walk::live(Box::new(feed), begin, options)?;
    walk.cancel_with(&cancel);
    Ok(walk)
}
