//! Two processes and one store: the one that is not the writer follows the log in its own memory.

use super::{SERVER, at};
use crate::cancel::CancelToken;
use crate::ddl::DdlSession;
use crate::error::{ErrorKind, Result};
use crate::history::{
    Baseline, EntryKey, EntryRange, EntryRow, LoggedDdl, MemoryStore, SchemaHistory, Store,
    StoreWrite, TimelineRow,
};
use std::sync::{Arc, Mutex};

/// The rows, and the number of the process that has the lock.
type Kept = Arc<Mutex<(MemoryStore, Option<u32>)>>;

/// The store of one process.
struct OfProcess(Kept, u32);

impl Store for OfProcess {
    fn place(&self) -> String {
        "here".into()
    }
    fn sources(&mut self) -> Result<Vec<String>> {
        self.0.lock().unwrap().0.sources()
    }
    fn lock(&mut self, source: &str) -> Result<()> {
        match self.try_lock(source)? {
            None => Ok(()),
            Some(holder) => Err(crate::error::Error::config(format!("written by {holder}"))),
        }
    }
    fn try_lock(&mut self, _: &str) -> Result<Option<String>> {
        let holder = *self.0.lock().unwrap().1.get_or_insert(self.1);
        Ok((holder != self.1).then(|| format!("process {holder}")))
    }
    fn timelines(&mut self, source: &str) -> Result<Vec<TimelineRow>> {
        self.0.lock().unwrap().0.timelines(source)
    }
    fn changes(&mut self, source: &str, range: EntryRange, limit: usize) -> Result<Vec<EntryRow>> {
        self.0.lock().unwrap().0.changes(source, range, limit)
    }
    fn last_entry(
        &mut self,
        source: &str,
        timeline: u64,
        until: EntryKey,
        only_complete: bool,
    ) -> Result<Option<EntryRow>> {
        self.0.lock().unwrap().0.last_entry(source, timeline, until, only_complete)
    }
    fn last_by_time(&mut self, source: &str, timestamp: i64) -> Result<Option<EntryRow>> {
        self.0.lock().unwrap().0.last_by_time(source, timestamp)
    }
    fn write(&mut self, source: &str, writes: &[StoreWrite]) -> Result<()> {
        let mut kept = self.0.lock().unwrap();
        assert_eq!(kept.1, Some(self.1), "written without the lock");
        kept.0.write(source, writes)
    }
}

fn process(kept: &Kept, number: u32) -> Arc<SchemaHistory> {
    SchemaHistory::open(Box::new(OfProcess(Arc::clone(kept), number)), "s").unwrap()
}

fn ddl(offset: u64, table: &str) -> LoggedDdl {
    super::ddl(offset, &format!("CREATE TABLE {table} (id INT)"))
}

fn baseline() -> Baseline {
    let script = "CREATE DATABASE shop;\nUSE shop;\nCREATE TABLE a (id INT);";
    Baseline::of_all_tables(script, DdlSession::new(SERVER))
}

fn tables(history: &SchemaHistory, offset: u64) -> String {
    let catalog = history.catalog_at(&at(offset)).unwrap();
    ["a", "b", "c", "d"]
        .iter()
        .filter(|name| catalog.find("shop", name).is_some())
        .copied()
        .collect()
}

/// A writer and a follower at the beginning of the history.
fn two(kept: &Kept) -> (Arc<SchemaHistory>, Arc<SchemaHistory>) {
    let writer = process(kept, 1);
    writer.baseline(baseline(), &at(100), 0).unwrap();
    (writer, process(kept, 2))
}

#[test]
fn a_follower_is_ahead_and_the_writer_stores_the_same_later() {
    let kept = Kept::default();
    let (writer, follower) = two(&kept);
    let mut ahead = follower.view_at(&at(100)).unwrap();
    ahead.follow(&ddl(200, "b").into()).unwrap();
    ahead.follow(&ddl(300, "c").into()).unwrap();
    ahead.reach(&at(350)).unwrap();
    // `apply` and baselines require the writer.
    assert_eq!(ahead.apply(&ddl(400, "d")).unwrap_err().kind(), ErrorKind::Config);
    assert!(follower.baseline(baseline(), &at(350), 0).is_err());
    assert_eq!((tables(&follower, 250), tables(&follower, 350)), ("ab".into(), "abc".into()));
    assert!(writer.catalog_at(&at(250)).is_err());
    let mut slow = writer.view_at(&at(100)).unwrap();
    slow.apply(&ddl(200, "b")).unwrap();
    for _ in 0..2 {
        assert_eq!((tables(&follower, 250), tables(&follower, 350)), ("ab".into(), "abc".into()));
        slow.reach(&at(210)).unwrap();
        writer.flush().unwrap();
    }
    slow.apply(&ddl(300, "c")).unwrap();
    slow.apply(&ddl(400, "d")).unwrap();
    writer.flush().unwrap();
    assert_eq!(tables(&follower, 400), "abcd");
    ahead.follow(&ddl(400, "d").into()).unwrap();
    assert_eq!(follower.changes(None).unwrap().len(), 4);
}

#[test]
fn a_follower_becomes_the_writer_and_stores_what_it_followed() {
    let kept = Kept::default();
    let (_writer, follower) = two(&kept);
    let mut view = follower.view_at(&at(100)).unwrap();
    view.follow(&ddl(200, "b").into()).unwrap();
    kept.lock().unwrap().1 = None; // the writer ends
    follower.publish().unwrap();
    view.follow(&ddl(300, "c").into()).unwrap();
    drop((view, follower));
    let later = process(&kept, 3);
    assert_eq!((tables(&later, 200), tables(&later, 300)), ("ab".into(), "abc".into()));
}

#[test]
fn another_log_is_noticed() {
    let kept = Kept::default();
    let (writer, follower) = two(&kept);
    let mut view = follower.view_at(&at(100)).unwrap();
    view.follow(&ddl(200, "b").into()).unwrap();
    writer.view_at(&at(100)).unwrap().apply(&ddl(200, "c")).unwrap();
    let error = follower.covered().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Schema);
    assert!(error.message().contains("read a statement at binlog.000001:200"), "{error}");
}

#[test]
fn a_history_that_is_cut_back_is_noticed() {
    let kept = Kept::default();
    let (writer, follower) = two(&kept);
    let mut slow = writer.view_at(&at(100)).unwrap();
    slow.apply(&ddl(200, "b")).unwrap();
    let mut view = follower.view_at(&at(200)).unwrap();
    view.follow(&ddl(300, "c").into()).unwrap();
    writer.prune_after(&at(150)).unwrap();
    assert!(follower.covered().unwrap_err().message().contains("cut the table history back"));
}

#[test]
fn the_first_baseline_is_stored_in_one_write_and_that_of_another_process_gets_a_new_number() {
    let kept = Kept::default();
    let cancelled = CancelToken::default();
    cancelled.cancel(); // no wait
    let (first, second) = (process(&kept, 1), process(&kept, 2));
    assert!(first.claim(&cancelled).unwrap());
    first.begin_with(baseline(), &at(100), 0).unwrap();
    let mut view = first.view_at(&at(100)).unwrap();
    view.follow(&ddl(200, "b").into()).unwrap();
    // No other process reads a part of it. A process that does not wait creates its own.
    assert!(process(&kept, 3).is_empty().unwrap());
    assert!(second.claim(&cancelled).unwrap());
    second.begin_with(baseline(), &at(50), 0).unwrap();
    second.publish().unwrap();
    let mut own = second.view_at(&at(50)).unwrap();
    own.follow(&ddl(200, "b").into()).unwrap();
    first.publish().unwrap();
    view.follow(&ddl(300, "c").into()).unwrap();
    assert_eq!(tables(&process(&kept, 3), 300), "abc");
    assert!(!process(&kept, 3).claim(&cancelled).unwrap());
    own.follow(&ddl(300, "c").into()).unwrap();
    kept.lock().unwrap().1 = None;
    second.publish().unwrap();
    own.follow(&ddl(400, "d").into()).unwrap();
    let ids: Vec<u64> =
        process(&kept, 3).covered().unwrap().iter().map(|timeline| timeline.id).collect();
    assert_eq!(ids, [1, 2]);
    assert_eq!(tables(&process(&kept, 3), 60), "a");
    assert_eq!(tables(&process(&kept, 3), 400), "abcd");
}
