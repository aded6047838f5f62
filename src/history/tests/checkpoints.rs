//! Checkpoints, and damaged entries.

use super::shared_store::SharedStore;
use super::{at, baseline, ddl, tables};
use crate::error::ErrorKind;
use crate::history::{EntryKey, EntryKind, EntryRow, LoggedDdl, SchemaHistory, Store, StoreWrite};
use std::sync::Arc;

/// The last row, or the last one that contains all tables.
fn last(store: &SharedStore, only_complete: bool) -> EntryRow {
    store.rows(|rows| rows.last_entry("s", 1, EntryKey::LAST, only_complete)).unwrap()
}

/// Changes the last row, or the last one that contains all tables.
fn tamper(store: &SharedStore, only_complete: bool, change: impl FnOnce(&mut EntryRow)) {
    let mut row = last(store, only_complete);
    change(&mut row);
    store.rows(|rows| rows.write("s", &[StoreWrite::Entry(row)]));
}

#[test]
fn a_damaged_checkpoint_is_replaced_and_a_damaged_statement_is_an_error() {
    let store = SharedStore::default();
    let history = store.open(1);
    history.baseline(baseline(), &at(100), 0).unwrap();
    let mut view = history.view_at(&at(100)).unwrap();
    view.apply(&ddl(200, "CREATE TABLE c (id INT)")).unwrap();
    history.checkpoint().unwrap();
    view.apply(&ddl(300, "CREATE TABLE d (id INT)")).unwrap();
    // The content of a checkpoint follows from the entries before it.
    for damage in [0, 1, 2] {
        tamper(&store, true, |row| match damage {
            0 => row.body.truncate(row.body.len() / 2),
            1 => row.checksum ^= 1,
            _ => {
                row.body = b"foreign".to_vec();
                row.checksum = row.sum();
            }
        });
        assert_eq!(tables(&store.open(1).catalog_at(&at(300)).unwrap()), "abcd");
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
        let complete = last(&store, false);
        tamper(&store, false, change);
        let error = store.open(1).catalog_at(&at(300)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Malformed);
        assert!(error.message().contains("ddl at 1:300 of timeline 1"), "{error}");
        assert_eq!(tables(&store.open(1).catalog_at(&at(200)).unwrap()), "abc");
        tamper(&store, false, |row| *row = complete);
    }
    assert_eq!(tables(&store.open(1).catalog_at(&at(300)).unwrap()), "abcd");
    let mut timelines = store.rows(|rows| rows.timelines("s"));
    timelines[0].reached = timelines[0].reached.replace("300", "99");
    store.rows(|rows| rows.write("s", &[StoreWrite::Timeline(timelines.remove(0))]));
    let error = store.try_open(1).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Malformed, "{error}");
}

#[test]
fn checkpoints_are_stored_by_count_and_by_time() {
    let store = SharedStore::default();
    let history = store.open(1);
    history.baseline(baseline(), &at(100), 0).unwrap();
    let checkpoint = |history: &Arc<SchemaHistory>| {
        drop(history.clone());
        let row = last(&store, true);
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
    let history = store.open(1);
    let mut view = history.view_at_end().unwrap();
    view.apply(&LoggedDdl { timestamp: 5, ..ddl(600, "DROP TABLE b") }).unwrap();
    assert_eq!(checkpoint(&history), (EntryKind::Checkpoint, 600));
    view.apply(&LoggedDdl { timestamp: 24 * 3_600_000_000, ..ddl(700, "DROP TABLE IF EXISTS c") })
        .unwrap();
    assert_eq!(checkpoint(&history), (EntryKind::Checkpoint, 600));
    view.apply(&LoggedDdl { timestamp: 24 * 3_600_000_005, ..ddl(800, "DROP TABLE IF EXISTS c") })
        .unwrap();
    assert_eq!(checkpoint(&history), (EntryKind::Checkpoint, 800));
    assert_eq!(tables(&store.open(1).catalog_at(&at(800)).unwrap()), "a");
}
