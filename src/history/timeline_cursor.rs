//! A position in a history, and the steps from one entry to the next.

mod compare;

use self::compare::{is_same, summary};
use super::catalog::{Catalog, Followed};
use super::catalog_text::CatalogText;
use super::entry::{Entry, EntryBody};
use super::history_index::{CheckpointAge, HistoryIndex, PAGE};
use super::logged_ddl::{LoggedDdl, ParsedDdl};
use super::shared_index::SharedIndex;
use super::store::{EntryKey, EntryRange};
use super::timeline::{Timeline, stored_position};
use crate::error::{Error, Result};
use crate::position::{Position, file_number};
use std::cmp::Ordering;
use std::collections::VecDeque;
use std::sync::Arc;

/// The position of a view in its history.
#[derive(Debug, Clone)]
pub(super) struct TimelineCursor {
    pub(super) shared: Arc<SharedIndex>,
    pub(super) timeline: Timeline,
    pub(super) position: Position,
    /// All entries up to here are applied.
    pub(super) at: EntryKey,
    /// All entries of the history up to here were read.
    taken: EntryKey,
    /// The next entries of the history.
    next: VecDeque<Entry>,
    /// Up to here, `next` contains all entries of the history.
    horizon: EntryKey,
    /// The history has no baselines or checkpoints ahead before here.
    given: EntryKey,
    age: CheckpointAge,
    generation: u64,
    /// The file that is read, and the time when it was created.
    file: Option<(Arc<str>, u32)>,
}

impl TimelineCursor {
    /// A cursor at a key, whose entries are applied.
    pub(super) fn new(
        shared: Arc<SharedIndex>,
        timeline: Timeline,
        (position, until): (&Position, EntryKey),
        (age, generation): (CheckpointAge, u64),
    ) -> Self {
        Self {
            shared,
            timeline,
            position: stored_position(position),
            at: until,
            taken: until,
            next: VecDeque::new(),
            horizon: EntryKey::FIRST,
            given: EntryKey::FIRST,
            age,
            generation,
            file: None,
        }
    }

    /// Moves to a position if no entry of the history is before it. Returns false if this is not known without the store.
    pub(super) fn reach_known(&mut self, position: &Position, until: EntryKey) -> bool {
        if !self.timeline.fits(position) {
            return false;
        }
        if until <= self.at {
            return true;
        }
        let is_known = until <= self.horizon
            && self.generation == self.shared.generation()
            && self.next.front().is_none_or(|next| next.key > until);
        if is_known {
            self.move_to(position, until);
        }
        is_known
    }

    /// True if the history may have a baseline up to a position in its log.
    pub(super) fn is_due(&self, file: &str, offset: u64) -> bool {
        let file = file_number(file).unwrap_or_default();
        self.given <= EntryKey { file, offset, ordinal: u32::MAX }
            || self.generation != self.shared.generation()
    }

    /// The reader is in a file that was created at `timestamp`.
    pub(super) fn enter_file(
        &mut self,
        index: &mut HistoryIndex,
        name: &Arc<str>,
        timestamp: u32,
    ) -> Result<()> {
        self.file = Some((Arc::clone(name), timestamp));
        self.check_file(index)
    }

    pub(super) fn apply(
        &mut self,
        index: &mut HistoryIndex,
        catalog: &mut Arc<Catalog>,
        statement: &ParsedDdl,
        lead: impl Fn(&mut HistoryIndex) -> Result<()>,
    ) -> Result<Followed> {
        let ddl = &statement.logged;
        self.check_log(&ddl.position)?;
        self.reload(index, catalog)?;
        let first = EntryKey::of(&ddl.position, 0);
        self.switch_timeline(index, catalog, first.previous().unwrap_or(first))?;
        let end = EntryKey::end_of(&ddl.position);
        if end <= self.at {
            return self.compare_past(index, ddl);
        }
        // A process that is not yet the writer may not know the last entries of another one.
        for _ in 0..2 {
            if let Some(followed) = self.take(index, catalog, end, Some(statement))? {
                return Ok(followed);
            }
            if index.is_writer() {
                break;
            }
            let reached = EntryKey::of(&index.timeline(self.timeline.id)?.reached, 0);
            if first < reached {
                break;
            }
            lead(index)?;
            // This process or another one may have stored entries meanwhile.
            self.reload(index, catalog)?;
            self.horizon = EntryKey::FIRST;
        }
        let reached = index.timeline(self.timeline.id)?.reached.clone();
        let is_covered = match first.cmp(&EntryKey::of(&reached, 0)) {
            Ordering::Less => true,
            // Several statements may end with one transaction.
            Ordering::Equal => index.next_key(self.timeline.id, &reached)?.ordinal == 0,
            Ordering::Greater => false,
        };
        if is_covered {
            return Err(self.foreign(&format!(
                "it has a statement at {} ({}) where the history, which reaches to {reached}, has none",
                ddl.position,
                summary(ddl)
            )));
        }
        self.write(index, catalog, statement)
    }

    /// Stores a statement after all entries of the history, then applies it.
    fn write(
        &mut self,
        index: &mut HistoryIndex,
        catalog: &mut Arc<Catalog>,
        statement: &ParsedDdl,
    ) -> Result<Followed> {
        let ddl = &statement.logged;
        let position = stored_position(&ddl.position);
        let key = index.next_key(self.timeline.id, &position)?;
        let body = EntryBody::Ddl(LoggedDdl { position: position.clone(), ..ddl.clone() });
        let timestamp = ddl.timestamp;
        let mut entry = Entry { timeline: self.timeline.id, key, position, timestamp, body };
        index.append(&entry)?;
        let followed = Arc::make_mut(catalog).apply_parsed(statement);
        self.move_to(&ddl.position, key);
        self.horizon = key;
        self.age.take(&entry);
        if self.age.is_old(timestamp) {
            entry.key.ordinal = key.ordinal.saturating_add(1);
            entry.body = EntryBody::Checkpoint(CatalogText::of(catalog));
            index.append(&entry)?;
            self.age = CheckpointAge { statements: 0, timestamp };
        }
        Ok(followed)
    }

    pub(super) fn reach(
        &mut self,
        index: &mut HistoryIndex,
        catalog: &mut Arc<Catalog>,
        position: &Position,
    ) -> Result<()> {
        self.check_log(position)?;
        self.reload(index, catalog)?;
        let end = EntryKey::end_of(position);
        self.switch_timeline(index, catalog, end)?;
        if end <= self.at {
            return Ok(());
        }
        let is_beyond = |index: &HistoryIndex, place: &Self| {
            let reached = &index.timeline(place.timeline.id)?.reached;
            Ok::<_, Error>(EntryKey::of(position, 0) > EntryKey::of(reached, 0))
        };
        if is_beyond(index, self)? && !index.is_writer() {
            index.lead_or_follow()?;
            self.reload(index, catalog)?;
        }
        self.take(index, catalog, end, None)?;
        let is_beyond = is_beyond(index, self)?;
        self.move_to(position, end);
        if is_beyond {
            index.reach(self.timeline.id, position)?;
            self.check_file(index)?;
            self.horizon = end;
        }
        Ok(())
    }

    fn move_to(&mut self, position: &Position, at: EntryKey) {
        self.position.server.clone_from(&position.server);
        self.position.file.clone_from(&position.file);
        self.position.offset = position.offset;
        self.position.gtid_set.clone_from(&position.gtid_set);
        self.at = at;
        self.taken = at;
    }

    /// Applies the entries of the history up to `until`: baselines, and the given statement.
    fn take(
        &mut self,
        index: &mut HistoryIndex,
        catalog: &mut Arc<Catalog>,
        until: EntryKey,
        statement: Option<&ParsedDdl>,
    ) -> Result<Option<Followed>> {
        let reached = EntryKey::end_of(&index.timeline(self.timeline.id)?.reached);
        loop {
            if self.next.is_empty() && self.horizon < until.min(reached) {
                self.look_ahead(index)?;
            }
            if self.next.front().is_none_or(|entry| entry.key > until) {
                return Ok(None);
            }
            let Some(entry) = self.next.pop_front() else { return Ok(None) };
            self.taken = entry.key;
            match &entry.body {
                EntryBody::Ddl(stored) => {
                    self.age.take(&entry);
                    match statement {
                        Some(statement) if is_same(stored, &statement.logged) => {
                            let followed = Arc::make_mut(catalog).apply_parsed(statement);
                            self.move_to(&statement.logged.position, entry.key);
                            return Ok(Some(followed));
                        }
                        _ if !stored.parse().changes_structures() => {}
                        statement => {
                            return Err(self.contradiction(
                                stored,
                                statement.map(|statement| &statement.logged),
                            ));
                        }
                    }
                }
                _ => {
                    entry.enter(Arc::make_mut(catalog))?;
                    self.given = EntryKey::FIRST;
                }
            }
        }
    }

    /// Loads the next page of entries.
    fn look_ahead(&mut self, index: &mut HistoryIndex) -> Result<()> {
        let timeline = self.timeline.id;
        let range = EntryRange { timeline, after: Some(self.taken), until: EntryKey::LAST };
        let page = index.changes(range)?;
        let is_full = page.len() == PAGE;
        self.horizon = match page.last() {
            Some(last) if is_full => last.key,
            last => {
                let reached = EntryKey::end_of(&index.timeline(timeline)?.reached);
                last.map_or(reached, |last| reached.max(last.key))
            }
        };
        let given = page.iter().find(|entry| !matches!(entry.body, EntryBody::Ddl(_)));
        self.given = match given {
            Some(given) => given.key,
            None if is_full => self.horizon,
            None => EntryKey::LAST,
        };
        // From its start on, another timeline applies.
        if let Some(next) = index.next_timeline(&self.timeline, self.at) {
            let from = EntryKey::of(&next.from, 0);
            self.given = self.given.min(from);
            self.horizon = self.horizon.min(from.previous().unwrap_or_default());
        }
        self.next = page.into();
        Ok(())
    }

    /// Switches to the ranges of the same log that begin after the view's position, up to `until`: they were created later, and
    /// take precedence.
    fn switch_timeline(
        &mut self,
        index: &mut HistoryIndex,
        catalog: &mut Arc<Catalog>,
        until: EntryKey,
    ) -> Result<()> {
        while let Some(next) = index.next_timeline(&self.timeline, self.at).cloned() {
            let from = EntryKey::end_of(&next.from);
            if EntryKey::of(&next.from, 0) > until {
                break;
            }
            self.take(index, catalog, from, None)?;
            let loaded = index.load(next.id, from)?;
            *catalog = loaded.catalog;
            self.age = loaded.age;
            self.move_to(&next.from, from);
            self.timeline = next;
            self.next.clear();
            self.horizon = EntryKey::FIRST;
            self.check_file(index)?;
            self.given = EntryKey::FIRST;
        }
        Ok(())
    }

    /// Loads the catalog again if the history was changed by others.
    fn reload(&mut self, index: &mut HistoryIndex, catalog: &mut Arc<Catalog>) -> Result<()> {
        if self.generation == index.generation {
            return Ok(());
        }
        self.timeline = index.timeline(index.current_id(self.timeline.id))?.clone();
        self.next.clear();
        self.horizon = EntryKey::FIRST;
        self.given = EntryKey::FIRST;
        let loaded = index.load(self.timeline.id, self.at)?;
        *catalog = loaded.catalog;
        self.age = loaded.age;
        self.generation = index.generation;
        Ok(())
    }
}
