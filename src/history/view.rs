//! The tables at a reader's position in a log, and the history that they come from.

use super::catalog::{Catalog, Followed};
use super::catalog_text::CatalogText;
use super::entry::EntryBody;
use super::history_index::HistoryIndex;
use super::logged_ddl::{LoggedDdl, ParsedDdl};
use super::schema_snapshot::SchemaSnapshot;
use super::shared_index::SharedIndex;
use super::store::EntryKey;
use super::timeline_cursor::TimelineCursor;
use crate::error::Result;
use crate::position::Position;
use std::sync::Arc;

/// The tables at a reader's position. The view applies the statements that the reader finds in the log.
///
/// Inside the range that the history covers, the log must be the one that the history was made from: [`apply`](Self::apply)
/// compares the statements, and [`reach`](Self::reach) finds statements that were left out. After that range, the view continues
/// the history: in the store, or, if another process is the writer, in the memory of this process.
#[derive(Debug, Clone)]
pub struct HistoryView {
    catalog: Arc<Catalog>,
    /// `None` for a view without a history.
    cursor: Option<TimelineCursor>,
}

impl HistoryView {
    /// A view without a history, for a range of the log whose first catalog is known.
    pub fn detached(catalog: Arc<Catalog>) -> Self {
        Self { catalog, cursor: None }
    }

    /// A view of the tables in a snapshot, without a history.
    pub fn of_snapshot(snapshot: &SchemaSnapshot) -> Result<Self> {
        Ok(Self::detached(Arc::new(snapshot.catalog()?)))
    }

    /// The view at a position that the history covers.
    pub(super) fn load(
        shared: &Arc<SharedIndex>,
        index: &mut HistoryIndex,
        timeline: u64,
        until: EntryKey,
        position: &Position,
    ) -> Result<Self> {
        let loaded = index.load(timeline, until)?;
        let cursor = TimelineCursor::new(
            Arc::clone(shared),
            index.timeline(timeline)?.clone(),
            (position, until),
            (loaded.age, index.generation),
        );
        Ok(Self { catalog: loaded.catalog, cursor: Some(cursor) })
    }

    /// The tables at the reader's position.
    pub fn catalog(&self) -> &Arc<Catalog> {
        &self.catalog
    }

    /// The last position that the reader reported; `None` without a history.
    pub fn position(&self) -> Option<&Position> {
        self.cursor.as_ref().map(|cursor| &cursor.position)
    }

    /// Applies the next statement of the log. If it is after the range that the history covers, it is stored first. A statement
    /// before the view's position changes nothing if the history contains it.
    ///
    /// # Errors
    /// The history has another statement at this position, or none: an [`ErrorKind::Schema`](crate::ErrorKind::Schema) that names
    /// both. Another process writes the history: an [`ErrorKind::Config`](crate::ErrorKind::Config) that names it.
    pub fn apply(&mut self, ddl: &LoggedDdl) -> Result<Followed> {
        self.apply_as(&ParsedDdl::from(ddl.clone()), HistoryIndex::become_writer)
    }

    /// Like [`Self::apply`], for a reader of the log: if another process writes the history, this one follows the log in its own
    /// memory.
    ///
    /// # Errors
    /// Those of [`Self::apply`], except the error for another writer.
    pub fn follow(&mut self, ddl: &ParsedDdl) -> Result<Followed> {
        self.apply_as(ddl, HistoryIndex::lead_or_follow)
    }

    fn apply_as(
        &mut self,
        ddl: &ParsedDdl,
        lead: impl Fn(&mut HistoryIndex) -> Result<()>,
    ) -> Result<Followed> {
        let Self { catalog, cursor } = self;
        let Some(cursor) = cursor else { return Ok(Arc::make_mut(catalog).apply_parsed(ddl)) };
        if !ddl.parsed.changes_structures() {
            return Ok(Followed::default());
        }
        let shared = Arc::clone(&cursor.shared);
        shared.with(|index| cursor.apply(index, catalog, ddl, lead))
    }

    /// The log up to `position` was read, and contained no statements except those that were applied.
    ///
    /// # Errors
    /// The history has a statement there that was not applied: an [`ErrorKind::Schema`](crate::ErrorKind::Schema).
    pub fn reach(&mut self, position: &Position) -> Result<()> {
        let Self { catalog, cursor } = self;
        let Some(cursor) = cursor else { return Ok(()) };
        let until = EntryKey::end_of(position);
        if cursor.reach_known(position, until) {
            return Ok(());
        }
        let shared = Arc::clone(&cursor.shared);
        shared.with(|index| cursor.reach(index, catalog, position))
    }

    /// True if the history may have a baseline for the view up to a place in its log. [`Self::reach`] applies it. The check is
    /// cheap.
    pub fn is_due(&self, file: &str, offset: u64) -> bool {
        self.cursor.as_ref().is_some_and(|cursor| cursor.is_due(file, offset))
    }

    /// The reader is in a file that was created at `timestamp`, in seconds since 1970 UTC.
    ///
    /// # Errors
    /// The history was made from another file of the same name: an [`ErrorKind::Schema`](crate::ErrorKind::Schema).
    pub fn enter_file(&mut self, name: &Arc<str>, timestamp: u32) -> Result<()> {
        let Some(cursor) = &mut self.cursor else { return Ok(()) };
        let shared = Arc::clone(&cursor.shared);
        shared.with(|index| cursor.enter_file(index, name, timestamp))
    }

    /// The reader continues in another server's log: `position` is the place there that corresponds to the one that was reached.
    /// If the history covers that log already, the view continues there; otherwise a new range begins with the current tables.
    ///
    /// # Errors
    /// Another process writes the history: an [`ErrorKind::Config`](crate::ErrorKind::Config) that names it.
    pub fn move_to(&mut self, position: &Position) -> Result<()> {
        let Self { catalog, cursor } = self;
        let Some(cursor) = cursor else { return Ok(()) };
        if cursor.timeline.fits(position) {
            return self.reach(position);
        }
        let shared = Arc::clone(&cursor.shared);
        *self = shared.with(|index| {
            index.refresh()?;
            let known = index.timelines().iter().rev().find(|timeline| timeline.contains(position));
            let id = match known.map(|timeline| timeline.id) {
                Some(id) => id,
                None => {
                    index.lead_or_follow()?;
                    let timestamp =
                        index.time_at(index.current_id(cursor.timeline.id), cursor.at)?;
                    let text = EntryBody::Checkpoint(CatalogText::of(catalog));
                    index.begin_timeline(position, timestamp, text)?
                }
            };
            Self::load(&shared, index, id, EntryKey::end_of(position), position)
        })?;
        Ok(())
    }
}
