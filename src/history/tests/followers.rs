//! Two processes and one store: the one that is not the writer follows the log in its own memory.

use super::shared_store::SharedStore;
use super::{SERVER, at};
use crate::cancel::CancelToken;
use crate::ddl::DdlSession;
use crate::error::ErrorKind;
use crate::history::{Baseline, LoggedDdl, SchemaHistory};
use std::sync::Arc;

fn ddl(offset: u64, table: &str) -> LoggedDdl {
    super::ddl(offset, &format!("CREATE TABLE {table} (id INT)"))
}

fn baseline() -> Baseline {
    let script = "CREATE DATABASE shop;\nUSE shop;\nCREATE TABLE a (id INT);";
    Baseline::of_all_tables(script, DdlSession::new(SERVER))
}

fn tables(history: &SchemaHistory, offset: u64) -> String {
    super::tables(&history.catalog_at(&at(offset)).unwrap())
}

/// A writer and a follower at the beginning of the history.
fn two(store: &SharedStore) -> (Arc<SchemaHistory>, Arc<SchemaHistory>) {
    let writer = store.open(1);
    writer.baseline(baseline(), &at(100), 0).unwrap();
    (writer, store.open(2))
}

#[test]
fn a_follower_is_ahead_and_the_writer_stores_the_same_later() {
    let store = SharedStore::default();
    let (writer, follower) = two(&store);
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
    let store = SharedStore::default();
    let (_writer, follower) = two(&store);
    let mut view = follower.view_at(&at(100)).unwrap();
    view.follow(&ddl(200, "b").into()).unwrap();
    store.unlock(); // the writer ends
    follower.publish().unwrap();
    view.follow(&ddl(300, "c").into()).unwrap();
    drop((view, follower));
    let later = store.open(3);
    assert_eq!((tables(&later, 200), tables(&later, 300)), ("ab".into(), "abc".into()));
}

#[test]
fn another_log_is_noticed() {
    let store = SharedStore::default();
    let (writer, follower) = two(&store);
    let mut view = follower.view_at(&at(100)).unwrap();
    view.follow(&ddl(200, "b").into()).unwrap();
    writer.view_at(&at(100)).unwrap().apply(&ddl(200, "c")).unwrap();
    let error = follower.covered().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Schema);
    assert!(error.message().contains("read a statement at binlog.000001:200"), "{error}");
}

#[test]
fn a_history_that_is_cut_back_is_noticed() {
    let store = SharedStore::default();
    let (writer, follower) = two(&store);
    let mut slow = writer.view_at(&at(100)).unwrap();
    slow.apply(&ddl(200, "b")).unwrap();
    let mut view = follower.view_at(&at(200)).unwrap();
    view.follow(&ddl(300, "c").into()).unwrap();
    writer.prune_after(&at(150)).unwrap();
    assert!(follower.covered().unwrap_err().message().contains("cut the table history back"));
}

#[test]
fn the_first_baseline_is_stored_in_one_write_and_that_of_another_process_gets_a_new_number() {
    let store = SharedStore::default();
    let cancelled = CancelToken::default();
    cancelled.cancel(); // no wait
    let (first, second) = (store.open(1), store.open(2));
    assert!(first.claim(&cancelled).unwrap());
    first.begin_with(baseline(), &at(100), 0).unwrap();
    let mut view = first.view_at(&at(100)).unwrap();
    view.follow(&ddl(200, "b").into()).unwrap();
    // No other process reads a part of it. A process that does not wait creates its own.
    assert!(store.open(3).is_empty().unwrap());
    assert!(second.claim(&cancelled).unwrap());
    second.begin_with(baseline(), &at(50), 0).unwrap();
    second.publish().unwrap();
    let mut own = second.view_at(&at(50)).unwrap();
    own.follow(&ddl(200, "b").into()).unwrap();
    first.publish().unwrap();
    view.follow(&ddl(300, "c").into()).unwrap();
    assert_eq!(tables(&store.open(3), 300), "abc");
    assert!(!store.open(3).claim(&cancelled).unwrap());
    own.follow(&ddl(300, "c").into()).unwrap();
    store.unlock();
    second.publish().unwrap();
    own.follow(&ddl(400, "d").into()).unwrap();
    let ids: Vec<u64> =
        store.open(3).covered().unwrap().iter().map(|timeline| timeline.id).collect();
    assert_eq!(ids, [1, 2]);
    assert_eq!(tables(&store.open(3), 60), "a");
    assert_eq!(tables(&store.open(3), 400), "abcd");
}
