//! A store in the memory of the process.

use super::store::{EntryKey, EntryKind, EntryRange, EntryRow, Store, StoreWrite, TimelineRow};
use crate::error::Result;
use std::collections::BTreeMap;

/// Histories in memory, which end with the process.
#[derive(Debug, Clone, Default)]
pub struct MemoryStore {
    sources: BTreeMap<String, Source>,
}

#[derive(Debug, Clone, Default)]
struct Source {
    timelines: BTreeMap<u64, TimelineRow>,
    entries: BTreeMap<(u64, EntryKey), EntryRow>,
}

impl Store for MemoryStore {
    fn place(&self) -> String {
        "memory".into()
    }

    fn sources(&mut self) -> Result<Vec<String>> {
        Ok(self.sources.keys().cloned().collect())
    }

    fn lock(&mut self, _source: &str) -> Result<()> {
        Ok(())
    }

    fn try_lock(&mut self, _source: &str) -> Result<Option<String>> {
        Ok(None)
    }

    fn timelines(&mut self, source: &str) -> Result<Vec<TimelineRow>> {
        let source = self.sources.get(source);
        Ok(source.map(|source| source.timelines.values().cloned().collect()).unwrap_or_default())
    }

    fn changes(&mut self, source: &str, range: EntryRange, limit: usize) -> Result<Vec<EntryRow>> {
        let rows = self.rows(source, range.timeline, range.until);
        let rows = rows.filter(|row| range.contains(row.key) && row.kind != EntryKind::Checkpoint);
        Ok(rows.take(limit).cloned().collect())
    }

    fn last_entry(
        &mut self,
        source: &str,
        timeline: u64,
        until: EntryKey,
        only_complete: bool,
    ) -> Result<Option<EntryRow>> {
        let mut rows = self.rows(source, timeline, until).rev();
        Ok(rows.find(|row| !only_complete || row.kind.is_complete()).cloned())
    }

    fn last_by_time(&mut self, source: &str, timestamp: i64) -> Result<Option<EntryRow>> {
        let mut rows = self.sources.get(source).into_iter().flat_map(|s| s.entries.values()).rev();
        Ok(rows.find(|row| row.timestamp <= timestamp).cloned())
    }

    fn write(&mut self, source: &str, writes: &[StoreWrite]) -> Result<()> {
        let source = self.sources.entry(source.to_owned()).or_default();
        for write in writes {
            match write {
                StoreWrite::Timeline(row) => drop(source.timelines.insert(row.id, row.clone())),
                StoreWrite::Entry(row) => {
                    source.entries.insert((row.timeline, row.key), row.clone());
                }
                StoreWrite::RemoveEntries(range, kind) => {
                    let goes = |row: &EntryRow| {
                        row.timeline == range.timeline
                            && range.contains(row.key)
                            && kind.is_none_or(|kind: EntryKind| kind == row.kind)
                    };
                    source.entries.retain(|_, row| !goes(row));
                }
                StoreWrite::RemoveTimeline(id) => {
                    source.timelines.remove(id);
                    source.entries.retain(|(timeline, _), _| timeline != id);
                }
            }
        }
        Ok(())
    }
}

impl MemoryStore {
    /// True if a source has entries.
    pub(super) fn has_timelines(&self, source: &str) -> bool {
        self.sources.get(source).is_some_and(|source| !source.timelines.is_empty())
    }

    /// All entries of a timeline with checkpoints.
    pub(super) fn entries(&self, source: &str, timeline: u64) -> impl Iterator<Item = &EntryRow> {
        self.rows(source, timeline, EntryKey::LAST)
    }

    fn rows(
        &self,
        source: &str,
        timeline: u64,
        until: EntryKey,
    ) -> impl DoubleEndedIterator<Item = &EntryRow> {
        let entries = self.sources.get(source).map(|source| &source.entries);
        let range = (timeline, EntryKey::FIRST)..=(timeline, until);
        entries
            .into_iter()
            .flat_map(move |entries| entries.range(range.clone()).map(|(_, row)| row))
    }
}
