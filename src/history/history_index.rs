//! The index of a history in its store: its timelines, their ends, and the catalogs that were loaded last.
//!
//! The mutex in [`SharedIndex`](super::shared_index::SharedIndex) protects it.

mod find;

use super::catalog::Catalog;
use super::entry::{Entry, EntryBody};
use super::followed_store::FollowedStore;
use super::store::{EntryKey, EntryRange, Store, StoreWrite};
use super::timeline::Timeline;
use crate::error::{Error, ErrorKind, Result};
use crate::position::Position;
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The timelines of a history in its store, and the last catalogs that were loaded.
pub(super) struct HistoryIndex {
    pub(super) store: FollowedStore,
    pub(super) source: String,
    timelines: Vec<Timeline>,
    is_writer: bool,
    /// The time at which another process was found to be the writer.
    refused: Option<Instant>,
    /// True while the first timeline is being created: it is stored when it is complete.
    is_beginning: bool,
    /// The old and the new number of each timeline of this process that got another number when it was stored.
    renumbered: Vec<(u64, u64)>,
    refreshed: Instant,
    /// Timelines whose new end is not stored yet.
    unflushed: BTreeSet<u64>,
    flushed: Instant,
    /// Incremented when catalogs that were returned may be outdated.
    pub(super) generation: u64,
    cache: Vec<Loaded>,
}

/// A catalog, and the key of the last entry in it.
#[derive(Clone)]
pub(super) struct Loaded {
    timeline: u64,
    until: EntryKey,
    pub(super) catalog: Arc<Catalog>,
    pub(super) age: CheckpointAge,
}

/// The age of the last stored catalog: a baseline or a checkpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct CheckpointAge {
    /// The number of statements after it.
    pub(super) statements: u32,
    /// Its time.
    pub(super) timestamp: i64,
}

impl HistoryIndex {
    pub(super) fn open(store: Box<dyn Store>, source: &str) -> Result<Self> {
        let mut index = Self {
            store: FollowedStore::new(store),
            source: source.to_owned(),
            timelines: Vec::new(),
            is_writer: false,
            refused: None,
            is_beginning: false,
            renumbered: Vec::new(),
            refreshed: Instant::now(),
            unflushed: BTreeSet::new(),
            flushed: Instant::now(),
            generation: 0,
            cache: Vec::new(),
        };
        index.refresh()?;
        Ok(index)
    }

    pub(super) fn timelines(&self) -> &[Timeline] {
        &self.timelines
    }

    pub(super) fn timeline(&self, id: u64) -> Result<&Timeline> {
        let found = self.timelines.iter().find(|timeline| timeline.id == id);
        found.ok_or_else(|| {
            Error::schema("this part of the history was pruned: open the history again")
        })
    }

    pub(super) fn is_writer(&self) -> bool {
        self.is_writer
    }

    /// The current number of a timeline.
    pub(super) fn current_id(&self, id: u64) -> u64 {
        let found = self.renumbered.iter().find(|(from, _)| *from == id);
        found.map_or(id, |(_, to)| *to)
    }

    /// Reads the changes of other processes. The writer knows all of them.
    pub(super) fn refresh(&mut self) -> Result<()> {
        self.refreshed = Instant::now();
        if self.is_writer {
            return Ok(());
        }
        // Stores, in its own memory, how far this process followed the log.
        self.flush()?;
        let rows = self.store.timelines(&self.source)?;
        let timelines: Vec<Timeline> =
            rows.into_iter().map(Timeline::of_row).collect::<Result<_>>()?;
        let stays = |old: &Timeline| {
            timelines.iter().any(|new| (new.id, new.revision) == (old.id, old.revision))
        };
        if !self.timelines.iter().all(stays) || timelines.len() != self.timelines.len() {
            self.forget();
        }
        self.timelines = timelines;
        Ok(())
    }

    /// The results of earlier reads may be outdated.
    fn forget(&mut self) {
        self.generation += 1;
        self.cache.clear();
    }

    /// Becomes the only writer of the source.
    pub(super) fn become_writer(&mut self) -> Result<()> {
        if !self.is_writer {
            self.store.lock(&self.source)?;
            self.lead()?;
        }
        Ok(())
    }

    /// Stores what this process followed before; requires the lock.
    fn lead(&mut self) -> Result<()> {
        self.flush()?;
        let renumbered = self.store.become_writer(&self.source)?;
        self.refresh()?;
        self.is_writer = true;
        if !renumbered.is_empty() {
            self.renumbered.extend(renumbered);
            self.forget();
        }
        Ok(())
    }

    /// Becomes the writer if there is no other. Otherwise this process follows the log in its own memory. At most once per
    /// second it tries again, and reads what the writer wrote.
    pub(super) fn lead_or_follow(&mut self) -> Result<()> {
        let is_early = self.refused.is_some_and(|refused| refused.elapsed() < RETRY);
        if self.is_writer || self.is_beginning || is_early {
            return Ok(());
        }
        match self.store.try_lock(&self.source) {
            Ok(None) => return self.lead(),
            Ok(Some(holder)) => self.note_follower(&format!("is written by {holder}")),
            Err(error) if error.kind() == ErrorKind::Config => {
                self.note_follower(error.message());
            }
            Err(error) => return Err(error),
        }
        self.refresh()
    }

    fn note_follower(&mut self, why: &str) {
        if self.refused.replace(Instant::now()).is_none() {
            let source = &self.source;
            log::info!(
                "the table history (source {source:?}) {why}: this process follows the log in its own memory"
            );
        }
    }

    /// True if this process must create the history, which is empty; `None` while another process may be creating it.
    /// [`Self::publish`] stores the new history.
    pub(super) fn claim(&mut self) -> Result<Option<bool>> {
        if self.is_beginning {
            return Ok(None);
        }
        self.refresh()?;
        if !self.timelines.is_empty() {
            return Ok(Some(false));
        }
        if !self.is_writer && self.store.try_lock(&self.source)?.is_some() {
            return Ok(None);
        }
        // Another process may have created it and ended meanwhile.
        self.refresh()?;
        self.is_beginning = self.timelines.is_empty();
        Ok(Some(self.is_beginning))
    }

    /// Creates the history without the lock, for this process only.
    pub(super) fn claim_own(&mut self) {
        self.is_beginning = true;
    }

    /// The new history is complete.
    pub(super) fn publish(&mut self) -> Result<()> {
        self.is_beginning = false;
        self.refused = None;
        self.lead_or_follow()
    }

    /// Writes an entry, and the new end of its timeline.
    pub(super) fn append(&mut self, entry: &Entry) -> Result<()> {
        let mut timeline = self.timeline(entry.timeline)?.clone();
        let mut writes = vec![StoreWrite::Entry(entry.to_row()?)];
        if EntryKey::of(&entry.position, 0) > EntryKey::of(&timeline.reached, 0) {
            timeline.reach(&entry.position);
            writes.push(StoreWrite::Timeline(timeline.to_row()?));
        }
        self.store.write(&self.source, &writes)?;
        self.put(timeline);
        Ok(())
    }

    /// Begins a timeline with an entry that contains all tables.
    pub(super) fn begin_timeline(
        &mut self,
        position: &Position,
        timestamp: i64,
        body: EntryBody,
    ) -> Result<u64> {
        let id = self.store.next_id(self.timelines.last().map(|last| last.id));
        let timeline = Timeline::new(id, position);
        let key = EntryKey::of(position, 0);
        let position = timeline.from.clone();
        let entry = Entry { timeline: id, key, position, timestamp, body };
        let writes = [StoreWrite::Timeline(timeline.to_row()?), StoreWrite::Entry(entry.to_row()?)];
        self.store.write(&self.source, &writes)?;
        self.put(timeline);
        self.generation += 1;
        Ok(id)
    }

    /// Inserts an entry between others, and removes the checkpoints after it.
    pub(super) fn insert(&mut self, entry: &Entry) -> Result<()> {
        let mut timeline = self.timeline(entry.timeline)?.clone();
        timeline.revision += 1;
        let later =
            EntryRange { timeline: timeline.id, after: Some(entry.key), until: EntryKey::LAST };
        let writes = [
            StoreWrite::RemoveEntries(later, Some(super::store::EntryKind::Checkpoint)),
            StoreWrite::Entry(entry.to_row()?),
            StoreWrite::Timeline(timeline.to_row()?),
        ];
        self.store.write(&self.source, &writes)?;
        self.put(timeline);
        self.forget();
        Ok(())
    }

    /// Removes timelines, and changes one of them before its end.
    pub(super) fn rewrite(
        &mut self,
        mut timeline: Timeline,
        mut writes: Vec<StoreWrite>,
        is_removed: impl Fn(&Timeline) -> bool,
    ) -> Result<()> {
        timeline.revision += 1;
        writes.push(StoreWrite::Timeline(timeline.to_row()?));
        let removed = self.timelines.iter().filter(|timeline| is_removed(timeline));
        writes.extend(removed.map(|timeline| StoreWrite::RemoveTimeline(timeline.id)));
        self.store.write(&self.source, &writes)?;
        self.timelines.retain(|timeline| !is_removed(timeline));
        self.put(timeline);
        self.forget();
        Ok(())
    }

    fn put(&mut self, timeline: Timeline) {
        self.unflushed.remove(&timeline.id);
        match self.timelines.iter_mut().find(|old| old.id == timeline.id) {
            Some(old) => *old = timeline,
            None => self.timelines.push(timeline),
        }
    }

    /// The log of a timeline was read up to a position after its end.
    pub(super) fn reach(&mut self, id: u64, position: &Position) -> Result<()> {
        let found = self.timelines.iter_mut().find(|timeline| timeline.id == id);
        let Some(timeline) = found else { return self.timeline(id).map(drop) };
        timeline.reach(position);
        let interval = self.store.flush_interval(timeline.server.as_deref());
        self.unflushed.insert(id);
        if self.flushed.elapsed() >= interval {
            self.flush()?;
        }
        Ok(())
    }

    /// A file of a timeline's log was created at `timestamp`.
    ///
    /// # Errors
    /// The creation time of the file of that name in the history, if it is another one.
    pub(super) fn note_file(
        &mut self,
        id: u64,
        file: &str,
        timestamp: u32,
    ) -> std::result::Result<(), u32> {
        let found = self.timelines.iter_mut().find(|timeline| timeline.id == id);
        let is_news = found.map_or(Ok(false), |timeline| timeline.note_file(file, timestamp))?;
        if is_news && self.is_writer {
            self.unflushed.insert(id);
        }
        Ok(())
    }

    /// Writes a copy of the store into a new file.
    pub(super) fn copy_to(&mut self, path: &Path) -> Result<()> {
        self.store.copy_to(path)
    }

    /// Stores how far the timelines reach.
    pub(super) fn flush(&mut self) -> Result<()> {
        self.flushed = Instant::now();
        if self.unflushed.is_empty() {
            return Ok(());
        }
        let moved = self.timelines.iter().filter(|timeline| self.unflushed.contains(&timeline.id));
        let writes = moved.map(|timeline| Ok(StoreWrite::Timeline(timeline.to_row()?)));
        let writes: Vec<StoreWrite> = writes.collect::<Result<_>>()?;
        self.store.write(&self.source, &writes)?;
        self.unflushed.clear();
        Ok(())
    }
}

impl CheckpointAge {
    /// Counts an entry.
    pub(super) fn take(&mut self, entry: &Entry) {
        if matches!(entry.body, EntryBody::Ddl(_)) {
            self.statements = self.statements.saturating_add(1);
        }
    }

    /// True if it is time for a checkpoint.
    pub(super) fn is_old(&self, now: i64) -> bool {
        self.statements >= MAX_STATEMENTS || now.saturating_sub(self.timestamp) >= MAX_AGE
    }
}

/// The number of statements after which a checkpoint is stored. They are applied in a tenth of a second.
const MAX_STATEMENTS: u32 = 500;
/// The time after which a checkpoint is stored, in microseconds of the log.
const MAX_AGE: i64 = 24 * 3600 * 1_000_000;
/// The number of entries that are read at once.
pub(super) const PAGE: usize = 256;
/// The number of catalogs that are kept. They share their equal parts.
const CACHED: usize = 4;
/// The interval between two attempts to become the writer.
const RETRY: Duration = Duration::from_secs(1);
