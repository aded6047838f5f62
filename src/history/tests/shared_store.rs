//! A store that remains after a history is closed, like one on a disk, and that several processes open.

use crate::error::{Error, Result};
use crate::history::{
    EntryKey, EntryRange, EntryRow, MemoryStore, SchemaHistory, Store, StoreWrite, TimelineRow,
};
use std::sync::{Arc, Mutex};

/// The rows that all processes see.
#[derive(Clone, Default)]
pub(super) struct SharedStore(Arc<Mutex<Contents>>);

#[derive(Default)]
struct Contents {
    rows: MemoryStore,
    /// The number of the process that has the lock.
    writer: Option<u32>,
}

impl SharedStore {
    /// Opens the history `s` in a process.
    pub(super) fn open(&self, process: u32) -> Arc<SchemaHistory> {
        self.try_open(process).unwrap()
    }

    pub(super) fn try_open(&self, process: u32) -> Result<Arc<SchemaHistory>> {
        SchemaHistory::open(Box::new(OfProcess { store: self.clone(), process }), "s")
    }

    /// Removes the lock: its process ends.
    pub(super) fn unlock(&self) {
        self.0.lock().unwrap().writer = None;
    }

    /// Reads or changes the rows, outside of all processes.
    pub(super) fn rows<T>(&self, work: impl FnOnce(&mut MemoryStore) -> Result<T>) -> T {
        work(&mut self.0.lock().unwrap().rows).unwrap()
    }
}

/// The store as a process sees it.
struct OfProcess {
    store: SharedStore,
    process: u32,
}

impl Store for OfProcess {
    fn place(&self) -> String {
        "here".into()
    }
    fn sources(&mut self) -> Result<Vec<String>> {
        Ok(self.store.rows(Store::sources))
    }
    fn lock(&mut self, source: &str) -> Result<()> {
        match self.try_lock(source)? {
            None => Ok(()),
            Some(holder) => Err(Error::config(format!("written by {holder}"))),
        }
    }
    fn try_lock(&mut self, _: &str) -> Result<Option<String>> {
        let holder = *self.store.0.lock().unwrap().writer.get_or_insert(self.process);
        Ok((holder != self.process).then(|| format!("process {holder}")))
    }
    fn timelines(&mut self, source: &str) -> Result<Vec<TimelineRow>> {
        Ok(self.store.rows(|rows| rows.timelines(source)))
    }
    fn changes(&mut self, source: &str, range: EntryRange, limit: usize) -> Result<Vec<EntryRow>> {
        Ok(self.store.rows(|rows| rows.changes(source, range, limit)))
    }
    fn last_entry(
        &mut self,
        source: &str,
        timeline: u64,
        until: EntryKey,
        only_complete: bool,
    ) -> Result<Option<EntryRow>> {
        Ok(self.store.rows(|rows| rows.last_entry(source, timeline, until, only_complete)))
    }
    fn last_by_time(&mut self, source: &str, timestamp: i64) -> Result<Option<EntryRow>> {
        Ok(self.store.rows(|rows| rows.last_by_time(source, timestamp)))
    }
    fn write(&mut self, source: &str, writes: &[StoreWrite]) -> Result<()> {
        let writer = self.store.0.lock().unwrap().writer;
        assert_eq!(writer, Some(self.process), "written without the lock");
        self.store.rows(|rows| rows.write(source, writes));
        Ok(())
    }
}
