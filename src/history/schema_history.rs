//! The structures of a source's tables over time.

use super::baseline::{Baseline, Scope};
use super::catalog::{Catalog, Followed, TableDefinition, TableState};
use super::catalog_text::CatalogText;
use super::entry::{Entry, EntryBody};
use super::history_index::HistoryIndex;
use super::logged_ddl::LoggedDdl;
use super::schema_snapshot::SchemaSnapshot;
use super::shared_index::SharedIndex;
use super::store::{EntryKey, EntryRange, Store, StoreWrite};
use super::timeline::{Timeline, stored_position};
use super::view::HistoryView;
use crate::cancel::CancelToken;
use crate::ddl::TableName;
use crate::error::{Error, Result};
use crate::position::Position;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The structures of a source's tables at each position of its log: baselines, the statements after them and checkpoints, in a
/// [`Store`]. Threads share it. One process writes it; each other process follows the log in its own memory until the writer has
/// stored the statements.
///
/// A position outside the covered ranges is an [`ErrorKind::Schema`](crate::ErrorKind::Schema), never a guess.
pub struct SchemaHistory {
    own_tables: Vec<TableName>,
    index: Arc<SharedIndex>,
}

impl SchemaHistory {
    /// Opens the history of a source in a store. A new history is empty. The store is locked and changed only when there is
    /// something to write.
    ///
    /// # Errors
    /// `source` is not a name: an [`ErrorKind::Config`](crate::ErrorKind::Config). The store is damaged: an
    /// [`ErrorKind::Malformed`](crate::ErrorKind::Malformed).
    pub fn open(store: Box<dyn Store>, source: &str) -> Result<Arc<Self>> {
        let is_name = !source.is_empty()
            && source.chars().count() <= MAX_SOURCE
            && source.trim() == source
            && !source.chars().any(char::is_control);
        if !is_name {
            return Err(Error::config(format!(
                "{source:?} is not a name of a source: use 1 to {MAX_SOURCE} printable characters"
            )));
        }
        let own_tables = store.own_tables();
        Ok(Arc::new(Self { own_tables, index: SharedIndex::open(store, source)? }))
    }

    /// The name of the source.
    pub fn source(&self) -> &str {
        self.index.source()
    }

    /// The place of its store, for messages.
    pub fn place(&self) -> &str {
        self.index.place()
    }

    /// The tables of its store, if the store is a database of a server.
    pub fn own_tables(&self) -> &[TableName] {
        &self.own_tables
    }

    /// True if it has no entries yet.
    pub fn is_empty(&self) -> Result<bool> {
        Ok(self.covered()?.is_empty())
    }

    /// The covered ranges of logs, in the order of their creation.
    pub fn covered(&self) -> Result<Vec<Timeline>> {
        self.index.with(|index| {
            index.refresh()?;
            Ok(index.timelines().to_vec())
        })
    }

    /// The end of the range that was created last; `None` if the history is empty.
    pub fn end(&self) -> Result<Option<Position>> {
        Ok(self.covered()?.pop().map(|timeline| timeline.reached))
    }

    /// Adds structures that do not come from the log. They apply from `position` on, after all statements that end there.
    /// `timestamp` is in microseconds since 1970 UTC.
    ///
    /// A baseline of all tables may be anywhere: outside all covered ranges it begins a new range. A baseline of some tables
    /// must be inside a covered range.
    ///
    /// # Errors
    /// The script is not valid, the position is outside, or another process is the writer: an
    /// [`ErrorKind::Config`](crate::ErrorKind::Config).
    pub fn baseline(&self, baseline: Baseline, position: &Position, timestamp: i64) -> Result<()> {
        self.index.with(HistoryIndex::become_writer)?;
        self.begin_with(baseline, position, timestamp)
    }

    /// Like [`Self::baseline`], if another process may be the writer. Then only this process gets the structures.
    pub(crate) fn begin_with(
        &self,
        baseline: Baseline,
        position: &Position,
        timestamp: i64,
    ) -> Result<()> {
        baseline.catalog()?;
        if position.file.is_empty() {
            return Err(Error::config("a baseline needs a position with a file and an offset"));
        }
        self.index.with(|index| {
            let inside = index.timelines().iter().rev().find(|timeline| timeline.contains(position));
            let Some(timeline) = inside.map(|timeline| timeline.id) else {
                if baseline.scope != Scope::AllTables {
                    let not_covered = index.locate(position).err();
                    let message = not_covered.map(|e| e.message().to_owned()).unwrap_or_default();
                    return Err(Error::config(format!(
                        "a baseline of some tables needs a position that the history covers: {message}"
                    )));
                }
                let body = EntryBody::Baseline(baseline);
                return index.begin_timeline(position, timestamp, body).map(drop);
            };
            let key = index.next_key(timeline, position)?;
            let position = stored_position(position);
            let body = EntryBody::Baseline(baseline);
            index.insert(&Entry { timeline, key, position, timestamp, body })
        })
    }

    /// True if this process must create the history, which is empty. Waits while another process is creating it; if that
    /// takes too long, this process creates its own. [`Self::publish`] completes it.
    ///
    /// # Errors
    /// The store can only be read: an [`ErrorKind::Config`](crate::ErrorKind::Config).
    pub(crate) fn claim(&self, cancel: &CancelToken) -> Result<bool> {
        let deadline = Instant::now() + BEGINNING;
        loop {
            if let Some(claimed) = self.index.with(HistoryIndex::claim)? {
                return Ok(claimed);
            }
            if Instant::now() >= deadline || cancel.is_cancelled() {
                self.index.with(|index| {
                    index.claim_own();
                    Ok(())
                })?;
                return Ok(true);
            }
            std::thread::sleep(BEGINNING_CHECK);
        }
    }

    /// Completes the history that [`Self::claim`] started: it is stored in one write if no other process is the writer.
    pub(crate) fn publish(&self) -> Result<()> {
        self.index.with(HistoryIndex::publish)
    }

    /// Begins a covered range with a catalog, including its unknown tables.
    ///
    /// # Errors
    /// The store cannot be written.
    pub(crate) fn begin(
        &self,
        catalog: &Catalog,
        position: &Position,
        timestamp: i64,
    ) -> Result<()> {
        if position.file.is_empty() {
            return Err(Error::config(
                "a history must begin at a position with a file and an offset",
            ));
        }
        let body = EntryBody::Checkpoint(CatalogText::of(catalog));
        self.index.with(|index| index.begin_timeline(position, timestamp, body).map(drop))
    }

    /// A view of the tables at a position, which applies later statements.
    ///
    /// # Errors
    /// The position is outside all covered ranges: an [`ErrorKind::Schema`](crate::ErrorKind::Schema) that names the nearest
    /// one.
    pub fn view_at(&self, position: &Position) -> Result<HistoryView> {
        self.index.with(|index| {
            let (timeline, until) = index.locate(position)?;
            HistoryView::load(&self.index, index, timeline, until, position)
        })
    }

    /// A view of the tables at the end of the range that was created last.
    ///
    /// # Errors
    /// The history is empty: an [`ErrorKind::Schema`](crate::ErrorKind::Schema).
    pub fn view_at_end(&self) -> Result<HistoryView> {
        let end = self.end()?;
        self.view_at(&end.unwrap_or_default())
    }

    /// The tables at a position.
    ///
    /// # Errors
    /// As [`Self::view_at`].
    pub fn catalog_at(&self, position: &Position) -> Result<Arc<Catalog>> {
        self.index.with(|index| {
            let (timeline, until) = index.locate(position)?;
            Ok(index.load(timeline, until)?.catalog)
        })
    }

    /// The tables at `start`: those that are wanted, and those that statements up to `end` name. If the history does not reach
    /// `end`, all tables.
    ///
    /// # Errors
    /// As [`Self::view_at`], of `start`.
    pub fn schema_snapshot(
        &self,
        start: &Position,
        end: &Position,
        wants: impl Fn(&str, &str) -> bool,
    ) -> Result<SchemaSnapshot> {
        self.index.with(|index| SchemaSnapshot::load(index, start, end, wants))
    }

    /// The structure of a table at a position, or at the end; `None` if there was no such table.
    ///
    /// # Errors
    /// As [`Self::view_at`]. If the structure of the table is unknown, an [`ErrorKind::Schema`](crate::ErrorKind::Schema) with
    /// the reason.
    pub fn find(
        &self,
        database: &str,
        table: &str,
        position: Option<&Position>,
    ) -> Result<Option<Arc<TableDefinition>>> {
        let catalog = match position {
            Some(position) => self.catalog_at(position)?,
            None => self.catalog_at(&self.end()?.unwrap_or_default())?,
        };
        match catalog.find(database, table) {
            None => Ok(None),
            Some(TableState::Known(definition)) => Ok(Some(Arc::clone(definition))),
            Some(TableState::Unknown(why)) => Err(Error::schema(why.to_string())),
        }
    }

    /// Adds the next statement of the log after the end of the range that was created last. A statement that the history
    /// contains already changes nothing.
    ///
    /// # Errors
    /// As [`HistoryView::apply`].
    pub fn apply(&self, ddl: &LoggedDdl) -> Result<Followed> {
        self.view_at_end()?.apply(ddl)
    }

    /// The position of the last entry at or before a time, in microseconds since 1970 UTC. The tables at this time are those at
    /// this position.
    ///
    /// # Errors
    /// All entries are later: an [`ErrorKind::Schema`](crate::ErrorKind::Schema).
    pub fn position_at(&self, timestamp: i64) -> Result<Position> {
        self.index.with(|index| {
            let source = index.source.clone();
            let row = index.store.last_by_time(&source, timestamp)?;
            let row =
                row.ok_or_else(|| Error::schema("the table history begins after this position"))?;
            Position::from_json(&row.position).map_err(|error| error.in_stored("the history"))
        })
    }

    /// A page of the entries without checkpoints, after `after` in the order of timelines and keys. Start with `None`, and
    /// continue with the timeline and key of the last entry until a page is empty.
    pub fn changes(&self, after: Option<(u64, EntryKey)>) -> Result<Vec<Entry>> {
        self.index.with(|index| {
            if after.is_none() {
                index.refresh()?;
            }
            let ids: Vec<u64> = index.timelines().iter().map(|timeline| timeline.id).collect();
            for timeline in ids {
                let after = match after {
                    Some((passed, _)) if timeline < passed => continue,
                    Some((passed, key)) if timeline == passed => Some(key),
                    _ => None,
                };
                let page = index.changes(EntryRange { timeline, after, until: EntryKey::LAST })?;
                if !page.is_empty() {
                    return Ok(page);
                }
            }
            Ok(Vec::new())
        })
    }

    /// The number of the range whose own log contains a position, the key of the position in it, and the tables there. `None` if
    /// there is no such range.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn place_of(&self, position: &Position) -> Result<Option<(u64, EntryKey, Arc<Catalog>)>> {
        self.index.with(|index| {
            index.refresh()?;
            let mut timelines = index.timelines().iter().rev();
            let Some(id) = timelines.find(|one| one.contains(position)).map(|one| one.id) else {
                return Ok(None);
            };
            let key = EntryKey::end_of(position);
            Ok(Some((id, key, index.load(id, key)?.catalog)))
        })
    }

    /// Stores all tables at the end, so that later loads are fast. Readers do this by themselves.
    ///
    /// # Errors
    /// The history is empty.
    pub fn checkpoint(&self) -> Result<()> {
        self.index.with(|index| {
            index.become_writer()?;
            index.flush()?;
            let end = index
                .timelines()
                .last()
                .map(|timeline| timeline.reached.clone())
                .unwrap_or_default();
            let (timeline, until) = index.locate(&end)?;
            let catalog = index.load(timeline, until)?.catalog;
            let key = index.next_key(timeline, &end)?;
            let timestamp = index.time_at(timeline, until)?;
            let body = EntryBody::Checkpoint(CatalogText::of(&catalog));
            index.append(&Entry { timeline, key, position: end, timestamp, body })
        })
    }

    /// Removes all entries before a covered position: the history begins there.
    pub fn prune(&self, before: &Position) -> Result<()> {
        self.index.with(|index| {
            index.become_writer()?;
            let (id, until) = index.locate(before)?;
            let mut timeline = index.timeline(id)?.clone();
            let catalog = index.load(id, until)?.catalog;
            // A position that is covered by its GTIDs may be in the log of another server.
            let from = match timeline.contains(before) {
                true => stored_position(before),
                false => {
                    return Err(Error::config(
                        "a history can be cut only at a file and an offset of its own log",
                    ));
                }
            };
            let key = index.next_key(id, &from)?;
            let timestamp = index.time_at(id, until)?;
            let body = EntryBody::Checkpoint(CatalogText::of(&catalog));
            let entry = Entry { timeline: id, key, position: from.clone(), timestamp, body };
            let old = EntryRange { timeline: id, after: None, until: key };
            let writes =
                vec![StoreWrite::RemoveEntries(old, None), StoreWrite::Entry(entry.to_row()?)];
            let reached = timeline.reached.clone();
            timeline.cut(&from, &reached);
            index.rewrite(timeline, writes, |other| other.id < id)
        })
    }

    /// Removes all entries after a covered position: they come from another log, or will be read again.
    pub fn prune_after(&self, position: &Position) -> Result<()> {
        self.index.with(|index| {
            index.become_writer()?;
            let (id, until) = index.locate(position)?;
            let mut timeline = index.timeline(id)?.clone();
            if !timeline.contains(position) {
                return Err(Error::config(
                    "a history can be cut only at a file and an offset of its own log",
                ));
            }
            let from = timeline.from.clone();
            timeline.cut(&from, position);
            let later = EntryRange { timeline: id, after: Some(until), until: EntryKey::LAST };
            let writes = vec![StoreWrite::RemoveEntries(later, None)];
            index.rewrite(timeline, writes, |other| other.id > id)
        })
    }

    /// Moves the end of the range that was created last forward to a position in its log. The caller knows that no statement is
    /// between the two. A position inside the range, or in another log, changes nothing.
    ///
    /// # Errors
    /// Another process is the writer: an [`ErrorKind::Config`](crate::ErrorKind::Config).
    pub fn extend(&self, position: &Position) -> Result<()> {
        self.index.with(|index| {
            index.become_writer()?;
            let later = index.timelines().last().filter(|last| {
                last.fits(position) && EntryKey::of(position, 0) > EntryKey::of(&last.reached, 0)
            });
            if let Some(id) = later.map(|last| last.id) {
                index.reach(id, position)?;
            }
            index.flush()
        })
    }

    /// Writes a copy of the stored history into a new file.
    ///
    /// # Errors
    /// The history is not in a file, or the copy cannot be written.
    pub fn copy_to(&self, path: &Path) -> Result<()> {
        self.index.with(|index| index.copy_to(path))
    }

    /// Stores how far the log was read.
    pub fn flush(&self) -> Result<()> {
        self.index.with(HistoryIndex::flush)
    }

    /// Stores how far the log was read, and closes the store. The views cannot continue after that.
    pub fn close(&self) -> Result<()> {
        self.index.close()
    }
}

impl std::fmt::Debug for SchemaHistory {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "SchemaHistory({:?} in {})", self.source(), self.place())
    }
}

/// The time that another process may take to create a history before this one creates its own. Usually it takes less than a
/// second, and longer if much of the log is followed first.
const BEGINNING: Duration = Duration::from_secs(10);
/// The interval at which it checks whether the other process has finished.
const BEGINNING_CHECK: Duration = Duration::from_millis(20);

/// The maximum number of characters in the name of a source. It fits into a key of a table on every server.
const MAX_SOURCE: usize = 128;
