//! XA transactions that were prepared before a live read began: they are looked for in the server's log, backwards from where
//! it began.
//!
//! The part of a file before the read's start is gone through first, then the files before it, one by one, rows unread, until
//! the transaction is found or its end is, or no files are left.

use super::{Cutter, CutterOptions, Start, Stop};
use crate::binlog::FIRST_EVENT_AT;
use crate::change::Include;
use crate::error::{ErrorKind, Result};
use crate::position::{Position, PreparedRange, Xid};
use crate::source::feed::Begin;
use crate::source::live::LOG;
use std::collections::HashSet;

/// What the log before a place tells of XA transactions, as far as it was gone through.
pub(super) struct Earlier {
    /// The parts of it that were not gone through, the last one last: files, and where they end.
    files: Vec<(String, u64)>,
    /// Prepared, and not decided before that place.
    open: Vec<PreparedRange>,
    /// Decided in what was gone through, and prepared before that.
    settled: HashSet<Xid>,
}

/// What one file, or a part of it from its beginning, tells.
struct Part {
    prepared: Vec<PreparedRange>,
    foreign: Vec<Xid>,
    /// Whether the transaction that is looked for was decided there.
    is_decided: bool,
}

impl Cutter {
    /// Where the rows stand of a transaction that an XA COMMIT at `offset` of the file at hand commits, and that was not seen
    /// prepared; else why they are not found.
    ///
    /// # Errors
    /// The connection is lost for good, or another server answers.
    pub(super) fn find_prepared(
        &mut self,
        xid: &Xid,
        offset: u64,
    ) -> Result<std::result::Result<PreparedRange, String>> {
        let known = self.earlier.take();
        let found = match known {
            Some(earlier) => Ok(earlier),
            None => self.before(offset),
        };
        let found = found.and_then(|mut earlier| {
            let found = self.search(&mut earlier, xid);
            // By GTID, what stands before the XA COMMIT need not have stood before the read's start.
            if self.began_at.is_some() {
                self.earlier = Some(earlier);
            }
            found
        });
        match found {
            Ok(Some(range)) => {
                log::info!(
                    target: LOG,
                    "an XA transaction that is committed at {}:{offset} was prepared at {}:{}",
                    self.position.file,
                    range.file,
                    range.start
                );
                Ok(Ok(range))
            }
            Ok(None) => Ok(Err("the files that the server still has do not hold it".to_owned())),
            Err(error) => match error.kind() {
                ErrorKind::ConnectionLost | ErrorKind::ServerIdentity | ErrorKind::Io => Err(error),
                _ => Ok(Err(format!("looking for it failed: {error}"))),
            },
        }
    }

    /// The log before the read's start, or before an XA COMMIT at `offset`.
    fn before(&mut self, offset: u64) -> Result<Earlier> {
        let at = self.began_at.clone().unwrap_or_else(|| (self.position.file.clone(), offset));
        let mut files =
            self.feed.as_mut().map(|feed| feed.files()).transpose()?.unwrap_or_default();
        let count = files.iter().position(|(name, _)| *name == at.0).map_or(0, |index| index + 1);
        files.truncate(count);
        if let Some((_, end)) = files.last_mut() {
            *end = at.1;
        }
        Ok(Earlier { files, open: Vec::new(), settled: HashSet::new() })
    }

    fn search(&mut self, earlier: &mut Earlier, xid: &Xid) -> Result<Option<PreparedRange>> {
        loop {
            if let Some(index) = earlier.open.iter().position(|range| range.xid == *xid) {
                return Ok(Some(earlier.open.swap_remove(index)));
            }
            let Some((file, end)) = earlier.files.last().cloned() else { return Ok(None) };
            let part = self.part(&file, end, xid)?;
            earlier.files.pop();
            let is_open = |range: &PreparedRange| !earlier.settled.contains(&range.xid);
            earlier.open.extend(part.prepared.into_iter().filter(is_open));
            earlier.settled.extend(part.foreign);
            let is_prepared = earlier.open.iter().any(|range| range.xid == *xid);
            if part.is_decided && !is_prepared {
                return Ok(None);
            }
        }
    }

    /// Goes through a file up to an offset.
    fn part(&mut self, file: &str, end: u64, xid: &Xid) -> Result<Part> {
        if end <= FIRST_EVENT_AT {
            return Ok(Part { prepared: Vec::new(), foreign: Vec::new(), is_decided: false });
        }
        let server = self.position.server.clone();
        let begin = Position { server, ..Position::in_file(file, FIRST_EVENT_AT) };
        let Some(feed) = &mut self.feed else { return Err(super::files::no_file()) };
        let feed = feed.again(&begin)?;
        let options = CutterOptions {
            start: Start::Earliest,
            stop: Stop::Position(Box::new(Position::in_file(file, end))),
            is_unread: true,
            cut_at_commit: false,
            emit_uncommitted: false,
            max_latency: None,
            include: Include::default(),
            history: None,
            limit: None,
            goal: None,
            ..self.options.clone()
        };
        let mut scan = Self::live(feed, Begin { position: begin, ..Begin::default() }, options)?;
        scan.stop_when(&self.stopping);
        scan.sought = Some((xid.clone(), false));
        scan.follow_all()?;
        Ok(Part {
            foreign: scan.take_foreign(),
            is_decided: scan.sought.is_some_and(|(_, is_decided)| is_decided),
            prepared: scan.position.prepared,
        })
    }
}
