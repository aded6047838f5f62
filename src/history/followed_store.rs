//! A store, and the structures that this process follows in its own memory while another process is the store's writer.
//!
//! One process writes a source. Any number of others read the same log at their own pace, and may be ahead of what the writer
//! stored. They keep the additional rows in memory, in the same form, and reads return both together. A process that becomes
//! the writer later stores its rows with the next step.

use super::memory_store::MemoryStore;
use super::store::{EntryKey, EntryRange, EntryRow, Store, StoreWrite, TimelineRow};
use crate::error::{Error, Result};
use crate::position::Position;
use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

/// A store, and the rows of one source that this process keeps in memory.
pub(super) struct FollowedStore {
    base: Box<dyn Store>,
    /// Rows of this process that are not in the store.
    own: MemoryStore,
    /// The end of each timeline of the store at its last read: rows of `own` are beyond it.
    seen: BTreeMap<u64, EntryKey>,
    is_writer: bool,
}

impl FollowedStore {
    pub(super) fn new(base: Box<dyn Store>) -> Self {
        Self { base, own: MemoryStore::default(), seen: BTreeMap::new(), is_writer: false }
    }

    /// See [`Store::place`].
    pub(super) fn place(&self) -> String {
        self.base.place()
    }

    /// See [`Store::lock`].
    pub(super) fn lock(&mut self, source: &str) -> Result<()> {
        self.base.lock(source)
    }

    /// See [`Store::try_lock`].
    pub(super) fn try_lock(&mut self, source: &str) -> Result<Option<String>> {
        self.base.try_lock(source)
    }

    /// See [`Store::copy_to`].
    pub(super) fn copy_to(&mut self, path: &Path) -> Result<()> {
        self.base.copy_to(path)
    }

    /// See [`Store::flush_interval`].
    pub(super) fn flush_interval(&self, server: Option<&str>) -> Duration {
        self.base.flush_interval(server)
    }

    /// The number of a new timeline. A timeline that is not stored yet must not get the number of a timeline that the writer
    /// creates.
    pub(super) fn next_id(&self, last: Option<u64>) -> u64 {
        let next = last.map_or(1, |last| last + 1);
        if self.is_writer { next } else { next.max(FIRST_OWN) }
    }

    /// The timelines of the source, each up to the end that this process knows.
    ///
    /// # Errors
    /// The writer stored another log than this process follows: an [`ErrorKind::Schema`](crate::ErrorKind::Schema).
    pub(super) fn timelines(&mut self, source: &str) -> Result<Vec<TimelineRow>> {
        let mut rows = self.base.timelines(source)?;
        if self.is_writer {
            return Ok(rows);
        }
        let stored: BTreeMap<u64, EntryKey> =
            rows.iter().map(|row| Ok((row.id, end_of(row)?))).collect::<Result<_>>()?;
        for own in self.own.timelines(source)? {
            match rows.iter_mut().find(|row| row.id == own.id) {
                Some(row) if self.is_ahead(source, row, &own)? => {
                    row.reached = own.reached;
                    row.reached_file_time = own.reached_file_time;
                    row.server = row.server.take().or(own.server);
                }
                None if own.id >= FIRST_OWN => rows.push(own),
                // The store reaches as far, or the timeline was pruned.
                _ => self.own.write(source, &[StoreWrite::RemoveTimeline(own.id)])?,
            }
        }
        self.seen = stored;
        Ok(rows)
    }

    /// True if this process followed a timeline beyond the end in the store. Removes the rows that the store contains now.
    fn is_ahead(&mut self, source: &str, row: &TimelineRow, own: &TimelineRow) -> Result<bool> {
        let stored = end_of(row)?;
        if self.seen.get(&row.id).is_some_and(|seen| stored < *seen) {
            return Err(Error::schema(
                "another process cut the table history back while this one followed it: open it again",
            ));
        }
        let range = EntryRange { timeline: row.id, after: None, until: stored };
        for entry in self.own.changes(source, range, usize::MAX)? {
            if !self.is_stored(source, &entry)? {
                return Err(Error::schema(format!(
                    "another process writes the table history (source {source:?}) from a different log: this process read a \
                     statement at {} that is not in the history; use a different ⟦source⟧ for each log",
                    Position::from_json(&entry.position)?
                )));
            }
        }
        self.own.write(source, &[StoreWrite::RemoveEntries(range, None)])?;
        Ok(stored < end_of(own)?)
    }

    fn is_stored(&mut self, source: &str, entry: &EntryRow) -> Result<bool> {
        let at = |ordinal| EntryKey { ordinal, ..entry.key };
        let range =
            EntryRange { timeline: entry.timeline, after: at(0).previous(), until: at(u32::MAX) };
        let is_same = |row: &EntryRow| {
            row.kind == entry.kind
                && row.database == entry.database
                && row.details == entry.details
                && row.body == entry.body
        };
        Ok(self.base.changes(source, range, usize::MAX)?.iter().any(is_same))
    }

    fn has_rows(&self, source: &str) -> bool {
        !self.is_writer && self.own.has_timelines(source)
    }

    /// See [`Store::changes`].
    pub(super) fn changes(
        &mut self,
        source: &str,
        range: EntryRange,
        limit: usize,
    ) -> Result<Vec<EntryRow>> {
        let mut rows = self.base.changes(source, range, limit)?;
        if self.has_rows(source) {
            let own = self.own.changes(source, self.beyond(range), limit)?;
            rows.retain(|row| own.iter().all(|other| other.key != row.key));
            rows.extend(own);
            rows.sort_by_key(|row| row.key);
            rows.truncate(limit);
        }
        Ok(rows)
    }

    /// The part of a range that the store did not contain at its last read.
    fn beyond(&self, range: EntryRange) -> EntryRange {
        let after = range.after.max(self.seen.get(&range.timeline).copied());
        EntryRange { after, ..range }
    }

    /// See [`Store::last_entry`].
    pub(super) fn last_entry(
        &mut self,
        source: &str,
        timeline: u64,
        until: EntryKey,
        only_complete: bool,
    ) -> Result<Option<EntryRow>> {
        let stored = self.base.last_entry(source, timeline, until, only_complete)?;
        if !self.has_rows(source) {
            return Ok(stored);
        }
        let own = self.own.last_entry(source, timeline, until, only_complete)?;
        Ok([stored, own].into_iter().flatten().max_by_key(|row| row.key))
    }

    /// See [`Store::last_by_time`].
    pub(super) fn last_by_time(
        &mut self,
        source: &str,
        timestamp: i64,
    ) -> Result<Option<EntryRow>> {
        let stored = self.base.last_by_time(source, timestamp)?;
        if !self.has_rows(source) {
            return Ok(stored);
        }
        let own = self.own.last_by_time(source, timestamp)?;
        Ok([stored, own].into_iter().flatten().max_by_key(|row| (row.timeline, row.key)))
    }

    /// Writes to the store, or, if another process is its writer, to the rows of this process.
    pub(super) fn write(&mut self, source: &str, writes: &[StoreWrite]) -> Result<()> {
        if self.is_writer {
            self.base.write(source, writes)
        } else {
            self.own.write(source, writes)
        }
    }

    /// Stores the rows of this process in one write; requires the lock. Returns the old and the new number of each timeline whose
    /// number changed.
    ///
    /// # Errors
    /// Those of [`Self::timelines`] and of the store.
    pub(super) fn become_writer(&mut self, source: &str) -> Result<Vec<(u64, u64)>> {
        // It compares them with the rows of the last writer, and drops those that are stored.
        self.timelines(source)?;
        let stored = self.base.timelines(source)?;
        let mut last = stored.last().map(|row| row.id);
        let (mut writes, mut renumbered) = (Vec::new(), Vec::new());
        for own in self.own.timelines(source)? {
            let timeline = match stored.iter().find(|row| row.id == own.id) {
                Some(row) => TimelineRow {
                    reached: own.reached,
                    reached_file_time: own.reached_file_time,
                    server: row.server.clone().or(own.server),
                    ..row.clone()
                },
                None => {
                    let id = last.map_or(1, |last| last + 1);
                    last = Some(id);
                    renumbered.push((own.id, id));
                    TimelineRow { id, ..own.clone() }
                }
            };
            for entry in self.own.entries(source, own.id) {
                let mut entry = EntryRow { timeline: timeline.id, ..entry.clone() };
                entry.checksum = entry.sum();
                writes.push(StoreWrite::Entry(entry));
            }
            writes.push(StoreWrite::Timeline(timeline));
        }
        if !writes.is_empty() {
            self.base.write(source, &writes)?;
        }
        self.own = MemoryStore::default();
        self.is_writer = true;
        Ok(renumbered)
    }
}

fn end_of(row: &TimelineRow) -> Result<EntryKey> {
    let reached = Position::from_json(&row.reached)
        .map_err(|error| error.in_stored(format!("the history's timeline {}", row.id)))?;
    Ok(EntryKey::end_of(&reached))
}

/// The first number of timelines that are not stored: no store has so many timelines.
const FIRST_OWN: u64 = 1 << 40;
