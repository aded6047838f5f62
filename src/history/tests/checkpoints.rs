//! Checkpoints, and damaged entries.

use super::{at, baseline, ddl, tables};
use crate::error::{ErrorKind, Result};
use crate::history::{
    EntryKey, EntryKind, EntryRange, EntryRow, LoggedDdl, MemoryStore, SchemaHistory, Store,
    StoreWrite, TimelineRow,
};
use std::sync::{Arc, Mutex};

/// A store that remains after a history is closed, like one on a disk.
#[derive(Clone, Default)]
struct Shared(Arc<Mutex<MemoryStore>>);

impl Shared {
    fn open(&self) -> Arc<SchemaHistory> {
        SchemaHistory::open(Box::new(self.clone()), "s").unwrap()
    }

    /// Changes the last row, or the last one that contains all tables.
    fn tamper(&self, only_complete: bool, change: impl FnOnce(&mut EntryRow)) {
        let mut store = self.0.lock().unwrap();
        let mut row = store.last_entry("s", 1, EntryKey::LAST, only_complete).unwrap().unwrap();
        change(&mut row);
        store.write("s", &[StoreWrite::Entry(row)]).unwrap();
    }
}

impl Store for Shared {
    fn place(&self) -> String {
        "here".into()
    }
    fn sources(&mut self) -> Result<Vec<String>> {
        self.0.lock().unwrap().sources()
    }
    fn lock(&mut self, _: &str) -> Result<()> {
        Ok(())
    }
    fn try_lock(&mut self, _: &str) -> Result<Option<String>> {
        Ok(None)
    }
    fn timelines(&mut self, source: &str) -> Result<Vec<TimelineRow>> {
        self.0.lock().unwrap().timelines(source)
    }
    fn changes(&mut self, source: &str, range: EntryRange, limit: usize) -> Result<Vec<EntryRow>> {
        self.0.lock().unwrap().changes(source, range, limit)
    }
    fn last_entry(
        &mut self,
        source: &str,
        timeline: u64,
        until: EntryKey,
        only_complete: bool,
    ) -> Result<Option<EntryRow>> {
        self.0.lock().unwrap().last_entry(source, timeline, until, only_complete)
    }
    fn last_by_time(&mut self, source: &str, timestamp: i64) -> Result<Option<EntryRow>> {
        self.0.lock().unwrap().last_by_time(source, timestamp)
    }
    fn write(&mut self, source: &str, writes: &[StoreWrite]) -> Result<()> {
        self.0.lock().unwrap().write(source, writes)
    }
}

#[test]
fn a_damaged_checkpoint_is_replaced_and_a_damaged_statement_is_an_error() {
    let store = Shared::default();
    let history = store.open();
    history.baseline(baseline(), &at(100), 0).unwrap();
    let mut view = history.view_at(&at(100)).unwrap();
    view.apply(&ddl(200, "CREATE TABLE c (id INT)")).unwrap();
    history.checkpoint().unwrap();
    view.apply(&ddl(300, "CREATE TABLE d (id INT)")).unwrap();
    // The content of a checkpoint follows from the entries before it.
    for damage in [0, 1, 2] {
        store.tamper(true, |row| match damage {
            0 => row.body.truncate(row.body.len() / 2),
            1 => row.checksum ^= 1,
            _ => {
                row.body = b"foreign".to_vec();
                row.checksum = row.sum();
            }
        });
        assert_eq!(tables(&store.open().catalog_at(&at(300)).unwrap()), "abcd");
    }
    // A statement does not follow from others.
    let changes: [fn(&mut EntryRow); 8] = [
        |row| row.body = b"CREATE TABLE e (id INT)".to_vec(),
        |row| row.checksum = !row.checksum,
        |row| row.timestamp += 1,
        |row| row.position.truncate(9),
        |row| row.details = "{}".into(),
        |row| row.database.push('x'),
        |row| {
            row.body = vec![0xff];
            row.checksum = row.sum();
        },
        |row| {
            row.position = row.position.replace("300", "301");
            row.checksum = row.sum();
        },
    ];
    for change in changes {
        let complete =
            store.0.lock().unwrap().last_entry("s", 1, EntryKey::LAST, false).unwrap().unwrap();
        store.tamper(false, change);
        let error = store.open().catalog_at(&at(300)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Malformed);
        assert!(error.message().contains("ddl at 1:300 of timeline 1"), "{error}");
        assert_eq!(tables(&store.open().catalog_at(&at(200)).unwrap()), "abc");
        store.tamper(false, |row| *row = complete);
    }
    assert_eq!(tables(&store.open().catalog_at(&at(300)).unwrap()), "abcd");
    let mut rows = store.0.lock().unwrap().timelines("s").unwrap();
    rows[0].reached = rows[0].reached.replace("300", "99");
    store.0.lock().unwrap().write("s", &[StoreWrite::Timeline(rows.remove(0))]).unwrap();
    let error = SchemaHistory::open(Box::new(store), "s").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Malformed, "{error}");
}

#[test]
fn checkpoints_are_stored_by_count_and_by_time() {
    let store = Shared::default();
    let history = store.open();
    history.baseline(baseline(), &at(100), 0).unwrap();
    let checkpoint = |history: &Arc<SchemaHistory>| {
        drop(history.clone());
        let row =
            store.0.lock().unwrap().last_entry("s", 1, EntryKey::LAST, true).unwrap().unwrap();
        (row.kind, row.key.offset)
    };
    let mut view = history.view_at(&at(100)).unwrap();
    for number in 1..=499 {
        view.apply(&LoggedDdl { timestamp: 5, ..ddl(100 + number, "DROP TABLE IF EXISTS c") })
            .unwrap();
    }
    assert_eq!(checkpoint(&history), (EntryKind::Baseline, 100));
    drop((view, history));
    // The statements of earlier runs count.
    let history = store.open();
    let mut view = history.view_at_end().unwrap();
    view.apply(&LoggedDdl { timestamp: 5, ..ddl(600, "DROP TABLE b") }).unwrap();
    assert_eq!(checkpoint(&history), (EntryKind::Checkpoint, 600));
    view.apply(&LoggedDdl { timestamp: 24 * 3_600_000_000, ..ddl(700, "DROP TABLE IF EXISTS c") })
        .unwrap();
    assert_eq!(checkpoint(&history), (EntryKind::Checkpoint, 600));
    view.apply(&LoggedDdl { timestamp: 24 * 3_600_000_005, ..ddl(800, "DROP TABLE IF EXISTS c") })
        .unwrap();
    assert_eq!(checkpoint(&history), (EntryKind::Checkpoint, 800));
    assert_eq!(tables(&store.open().catalog_at(&at(800)).unwrap()), "a");
}
