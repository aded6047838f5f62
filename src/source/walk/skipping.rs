//! Skips segments of a file that an index describes, if nothing in them has an effect on the read.
//!
//! Segments consist of simple transactions only, so that besides their rows only their GTIDs, their times and their end matter: the
//! position moves past them as if they had been read. Reads that need more than rows, or other bounds, skip nothing.

use super::file_walk::{FileWalk, has_capitals};
use super::log_files::no_file;
use super::step::Step;
use super::{Next, Walk};
use crate::binlog::FormatDescription;
use crate::error::Result;
use crate::index::IndexedSegment;
use crate::position::{GtidState, MariadbGtidPosition};
use crate::schema::NameCase;
use crate::source::options::{Start, Stop};
use crate::source::segment_rule::SkippedTable;
use std::collections::VecDeque;
use std::ops::Range;

/// The segments of the open file that were not passed yet.
#[derive(Default)]
pub(super) struct Skips {
    segments: VecDeque<Skip>,
    /// The tables in segments that were skipped.
    tables: Vec<SkippedTable>,
    /// True if the walk returns a step after each segment that is skipped.
    one_by_one: bool,
}

struct Skip {
    range: Range<u64>,
    times: (i64, i64),
    gtids: Option<GtidState>,
    /// `None` if its rows are needed, unless they are outside the times of the read.
    tables: Option<Vec<SkippedTable>>,
    /// True if names of its tables have capital letters.
    has_capitals: bool,
}

impl Skips {
    /// True if no segments of the open file are skipped from here on.
    pub(super) fn is_empty(&self) -> bool {
        self.segments.is_empty()
    }
}

impl Walk {
    /// Returns to the caller after each segment that is skipped.
    pub(crate) fn skip_one_by_one(&mut self) {
        self.skips.one_by_one = true;
    }

    /// Reads the index of the current file, if segments may be skipped.
    pub(super) fn read_index(&mut self, format: &FormatDescription) {
        self.skips.segments.clear();
        let Some(rule) = self.options.segment_rule.clone().filter(|_| self.may_skip()) else {
            return;
        };
        let (index, warning) = self.files.index_of_current();
        self.warnings.extend(warning);
        let Some(index) = index else { return };
        let skipped = rule.skipped(&index, format);
        let capitals: Vec<bool> = index.maps.iter().map(|map| has_capitals(map, 0)).collect();
        let skip = |(segment, tables): (IndexedSegment, _)| {
            let IndexedSegment { range, times, gtids, tables: maps, .. } = segment;
            let has_capitals =
                maps.iter().any(|table| capitals.get(table.map).is_none_or(|has| *has));
            Skip { range, times, gtids, tables, has_capitals }
        };
        self.skips.segments = index.segments.into_iter().zip(skipped).map(skip).collect();
    }

    /// True if the read is one of those that may skip segments.
    fn may_skip(&self) -> bool {
        let options = &self.options;
        let include = &options.include;
        !self.files.is_live()
            && options.history.is_none()
            && options.limit.is_none()
            && options.goal.is_none()
            && options.max_latency.is_none()
            && !options.emit_uncommitted
            && !(include.transactions || include.heartbeats)
            && !matches!(options.start, Start::Gtids(_))
            && !matches!(options.stop, Stop::Gtids(_))
    }

    /// True if the segment that begins at `offset` is skipped; the walk is not inside a transaction.
    pub(super) fn skips_at(&mut self, offset: u64) -> bool {
        let is_passed = |skip: &Skip| skip.range.start < offset;
        while self.skips.segments.front().is_some_and(is_passed) {
            self.skips.segments.pop_front();
        }
        match self.skips.segments.front() {
            Some(skip) if skip.range.start == offset => self.is_skipped(skip),
            _ => false,
        }
    }

    fn is_skipped(&self, skip: &Skip) -> bool {
        let progress = &self.progress;
        let learns_name_case = skip.has_capitals
            && self.name_case == NameCase::Unknown
            && self.options.include.statements();
        let is_before_start =
            matches!(self.options.start, Start::Time(start) if skip.times.1 < start);
        let is_before_stop = match &self.bounds.stop {
            Stop::End => true,
            Stop::Time(stop) => skip.times.1 <= *stop,
            Stop::Position(_) => {
                let file = (self.files.index(), &*progress.position.file);
                !self.bounds.is_past_stop(file, skip.range.end - 1)
            }
            Stop::Gtids(_) => false,
        };
        (skip.tables.is_some() || is_before_start)
            && is_before_stop
            && !learns_name_case
            && progress.already_read.is_none()
            && !progress.position.by_gtid
            && progress.position.ahead.is_empty()
    }

    /// Skips the segment at the next event, and those after it that are skipped too.
    pub(super) fn skip_segments(&mut self) -> Result<Step> {
        let mut offset = self.open.as_ref().ok_or_else(no_file)?.events.offset();
        while self.skips_at(offset) {
            let Some(skip) = self.skips.segments.pop_front() else { break };
            offset = skip.range.end;
            self.progress.pass_segment(skip.gtids.as_ref(), offset);
            self.bounds.count_transaction();
            let tables = skip.tables.into_iter().flatten();
            for table in tables {
                if !self.skips.tables.contains(&table) {
                    self.skips.tables.push(table);
                }
            }
            if self.skips.one_by_one {
                break;
            }
        }
        let open: &mut FileWalk = self.open.as_mut().ok_or_else(no_file)?;
        open.events.jump(offset);
        self.event = None;
        self.next = Next::Read;
        Ok(Step::Gap(offset))
    }

    /// The tables of which rows were skipped since the last call.
    pub(crate) fn take_skipped_tables(&mut self) -> Vec<SkippedTable> {
        std::mem::take(&mut self.skips.tables)
    }
}

impl super::progress::LogProgress {
    /// Moves past a segment, as past each of its transactions.
    fn pass_segment(&mut self, gtids: Option<&GtidState>, end: u64) {
        match (&mut self.position.gtid_set, gtids) {
            (Some(GtidState::Mysql(set)), Some(GtidState::Mysql(more))) => set.union(more),
            (Some(GtidState::Mariadb(position)), Some(GtidState::Mariadb(more))) => {
                more.iter().for_each(|gtid| position.update(gtid));
            }
            (Some(state), Some(GtidState::Mariadb(more))) if state.is_empty() => {
                let mut position = MariadbGtidPosition::new();
                more.iter().for_each(|gtid| position.update(gtid));
                *state = GtidState::Mariadb(position);
            }
            _ => {}
        }
        self.position.offset = end;
    }
}
