//! Finds positions and catalogs in a history.

use super::{CACHED, CheckpointAge, HistoryIndex, Loaded, PAGE};
use crate::error::{Error, Result};
use crate::history::catalog::Catalog;
use crate::history::entry::{Entry, EntryBody};
use crate::history::store::{EntryKey, EntryRange};
use crate::history::timeline::Timeline;
use crate::position::{GtidState, Position};
use std::sync::Arc;

impl HistoryIndex {
    /// The timeline that covers a position, and the key of the position in it.
    pub(in crate::history) fn locate(&mut self, position: &Position) -> Result<(u64, EntryKey)> {
        self.refresh()?;
        let in_file = self.timelines.iter().rev().find(|timeline| timeline.contains(position));
        if let Some(timeline) = in_file {
            return Ok((timeline.id, EntryKey::end_of(position)));
        }
        let by_gtid =
            self.timelines.iter().rev().find(|timeline| timeline.contains_gtids(position));
        if let (Some(timeline), Some(gtids)) = (by_gtid, &position.gtid_set) {
            let id = timeline.id;
            return Ok((id, self.last_covered(id, gtids)?));
        }
        Err(self.not_covered(position))
    }

    /// The last entry of a timeline whose transaction is in a GTID set.
    fn last_covered(&mut self, timeline: u64, gtids: &GtidState) -> Result<EntryKey> {
        let from = EntryKey::end_of(&self.timeline(timeline)?.from);
        let mut range = EntryRange { timeline, after: Some(from), until: EntryKey::LAST };
        let (mut last, mut missing) = (from, None);
        loop {
            let page = self.changes(range)?;
            for entry in &page {
                let covered = entry.position.gtid_set.as_ref().map(|own| gtids.covers(own));
                match (covered, &missing) {
                    (Some(true), None) => last = entry.key,
                    (Some(false), None) => missing = Some(entry.position.clone()),
                    (Some(false), Some(_)) => {}
                    (Some(true), Some(missing)) => {
                        return Err(Error::schema(format!(
                            "the history has the statement at {} before that at {}, and the position has only the second \
                             in its GTID set: take a new baseline where the reader is",
                            missing, entry.position
                        )));
                    }
                    (None, _) => {
                        return Err(Error::schema(format!(
                            "the history's entry at {} has no GTID, so that a position of another server cannot be found \
                             in it: take a new baseline where the reader is",
                            entry.position
                        )));
                    }
                }
            }
            match page.last() {
                Some(entry) if page.len() == PAGE => range.after = Some(entry.key),
                _ => return Ok(last),
            }
        }
    }

    fn not_covered(&self, position: &Position) -> Error {
        let source = &self.source;
        let Some(last) = self.timelines.last() else {
            return Error::schema(format!(
                "the table history (source {source:?} in {}) is empty: take a baseline first",
                self.store.place()
            ));
        };
        let near =
            self.timelines.iter().rev().find(|timeline| timeline.fits(position)).unwrap_or(last);
        let server = near.server.as_ref().map(|id| format!(" of server {id}")).unwrap_or_default();
        Error::schema(format!(
            "the table history (source {source:?}) does not know {position}: it covers {} to {}{server}; read the log \
             from there on with this history, or take a baseline at the position",
            near.from, near.reached
        ))
    }

    /// The next range of the same log that begins after a place in a timeline, of those that were created later.
    pub(in crate::history) fn next_timeline(
        &self,
        timeline: &Timeline,
        at: EntryKey,
    ) -> Option<&Timeline> {
        let later = |other: &&Timeline| {
            other.id > timeline.id
                && timeline.fits(&other.from)
                && EntryKey::end_of(&other.from) > at
        };
        self.timelines.iter().filter(later).min_by_key(|other| EntryKey::of(&other.from, 0))
    }

    /// One page of the entries in a range of a timeline.
    pub(in crate::history) fn changes(&mut self, range: EntryRange) -> Result<Vec<Entry>> {
        let rows = self.store.changes(&self.source, range, PAGE)?;
        rows.into_iter().map(Entry::of_row).collect()
    }

    /// The catalog of a timeline with its entries up to `until`.
    pub(in crate::history) fn load(&mut self, timeline: u64, until: EntryKey) -> Result<Loaded> {
        loop {
            let loaded = self.load_once(timeline, until);
            let generation = self.generation;
            // The writer may have changed entries between two pages.
            self.refresh()?;
            if self.generation == generation {
                return loaded;
            }
        }
    }

    fn load_once(&mut self, timeline: u64, until: EntryKey) -> Result<Loaded> {
        self.timeline(timeline)?;
        let cached = self.cache.iter().filter(|c| c.timeline == timeline && c.until <= until);
        let cached = cached.max_by_key(|cached| cached.until).cloned();
        let mut loaded = self.load_complete(timeline, until, cached)?;
        let mut range = EntryRange { timeline, after: Some(loaded.until), until };
        loop {
            let page = self.changes(range)?;
            let catalog = Arc::make_mut(&mut loaded.catalog);
            for entry in &page {
                entry.enter(catalog)?;
                loaded.age.take(entry);
            }
            match page.last() {
                Some(entry) if page.len() == PAGE => range.after = Some(entry.key),
                _ => break,
            }
        }
        loaded.until = until;
        self.cache.retain(|cached| (cached.timeline, cached.until) != (timeline, until));
        self.cache.truncate(CACHED - 1);
        self.cache.insert(0, loaded.clone());
        Ok(loaded)
    }

    /// The last complete catalog: the one in memory, or a later one of the store.
    fn load_complete(
        &mut self,
        timeline: u64,
        mut until: EntryKey,
        cached: Option<Loaded>,
    ) -> Result<Loaded> {
        let mut damaged = None;
        loop {
            let Some(row) = self.store.last_entry(&self.source, timeline, until, true)? else {
                let missing = || {
                    Error::malformed(format!("the history's timeline {timeline} has no beginning"))
                };
                return Err(damaged.unwrap_or_else(missing));
            };
            if let Some(cached) = cached.clone().filter(|cached| cached.until >= row.key) {
                return Ok(cached);
            }
            let (key, is_checkpoint, timestamp) = (row.key, !row.kind.is_given(), row.timestamp);
            let catalog = Entry::of_row(row).and_then(|entry| match &entry.body {
                EntryBody::Checkpoint(text) => text.catalog(),
                _ => {
                    let mut catalog = Catalog::default();
                    entry.enter(&mut catalog)?;
                    Ok(catalog)
                }
            });
            match (catalog, key.previous()) {
                (Ok(catalog), _) => {
                    let age = CheckpointAge { statements: 0, timestamp };
                    return Ok(Loaded { timeline, until: key, catalog: Arc::new(catalog), age });
                }
                // The content of a checkpoint follows from the entries before it.
                (Err(error), Some(previous)) if is_checkpoint => {
                    log::warn!(
                        "{error}; an earlier one and the statements after it are used instead"
                    );
                    damaged = Some(error);
                    until = previous;
                }
                (Err(error), _) => return Err(error),
            }
        }
    }

    /// A key after all entries at a position or before it.
    pub(in crate::history) fn next_key(
        &mut self,
        timeline: u64,
        position: &Position,
    ) -> Result<EntryKey> {
        let first = EntryKey::of(position, 0);
        let last =
            self.store.last_entry(&self.source, timeline, EntryKey::end_of(position), false)?;
        Ok(match last {
            Some(row) if row.key >= first => {
                EntryKey { ordinal: row.key.ordinal.saturating_add(1), ..first }
            }
            _ => first,
        })
    }

    /// The time of the last entry up to a key.
    pub(in crate::history) fn time_at(&mut self, timeline: u64, until: EntryKey) -> Result<i64> {
        let last = self.store.last_entry(&self.source, timeline, until, false)?;
        Ok(last.map(|row| row.timestamp).unwrap_or_default())
    }
}
