//! The ranges that a history covers, and views that read in them.

use super::{SERVER, at, baseline, ddl, tables};
use crate::ddl::DdlSession;
use crate::error::ErrorKind;
use crate::history::{
    Baseline, HistoryView, LoggedDdl, MemoryStore, SchemaHistory, SchemaSnapshot, Scope, TableState,
};
use crate::position::Position;
use std::sync::Arc;

fn history() -> Arc<SchemaHistory> {
    let history = SchemaHistory::open(Box::new(MemoryStore::default()), "s").unwrap();
    assert!(history.is_empty().unwrap());
    history.baseline(baseline(), &at(100), 0).unwrap();
    history
}

#[test]
fn a_log_is_followed_and_read_again() {
    let history = history();
    let log = [
        ddl(200, "CREATE TABLE c (id INT)"),
        ddl(300, "DROP TABLE b"),
        ddl(300, "CREATE TABLE d (id INT)"),
        ddl(500, "CREATE TABLE e (id INT)"),
    ];
    for _ in 0..3 {
        let mut view = history.view_at(&at(100)).unwrap();
        assert_eq!(tables(view.catalog()), "ab");
        for (statement, after) in log.iter().zip(["abc", "ac", "acd", "acde"]) {
            view.apply(statement).unwrap();
            assert_eq!(tables(view.catalog()), after);
        }
        view.reach(&at(600)).unwrap();
    }
    for (offset, expected) in [
        (100, "ab"),
        (199, "ab"),
        (200, "abc"),
        (299, "abc"),
        (300, "acd"),
        (499, "acd"),
        (600, "acde"),
    ] {
        assert_eq!(tables(&history.catalog_at(&at(offset)).unwrap()), expected, "{offset}");
    }
    let covered = history.covered().unwrap();
    assert_eq!(covered.len(), 1);
    assert_eq!((covered[0].from.offset, covered[0].reached.offset), (100, 600));
    assert_eq!(history.changes(None).unwrap().len(), 5);
    assert_eq!(history.position_at(250_000_000).unwrap(), at(200));
    for outside in [at(99), at(601), Position::in_file("other.000001", 200)] {
        let error = history.view_at(&outside).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Schema);
        assert!(
            error.message().contains("covers binlog.000001:100 to binlog.000001:600"),
            "{error}"
        );
    }
}

#[test]
fn a_gap_creates_a_range_and_a_reader_that_closes_it_switches_to_the_range() {
    let history = history();
    let mut view = history.view_at(&at(100)).unwrap();
    view.apply(&ddl(200, "CREATE TABLE c (id INT)")).unwrap();
    // No reader has read from 200 to 1000. There e was created, and c was dropped.
    let script =
        "CREATE DATABASE shop;\nUSE shop;\nCREATE TABLE a (id INT);\nCREATE TABLE e (id INT);";
    let later = Baseline::of_all_tables(script, DdlSession::new(SERVER));
    history.baseline(later, &at(1000), 1_000_000_000).unwrap();
    assert!(history.view_at(&at(500)).is_err());
    assert_eq!(tables(&history.catalog_at(&at(1000)).unwrap()), "ae");
    let mut late = history.view_at(&at(1000)).unwrap();
    late.apply(&ddl(1100, "CREATE TABLE d (id INT)")).unwrap();
    // The first view continues from its position.
    view.apply(&ddl(600, "DROP TABLE b")).unwrap();
    assert_eq!(tables(view.catalog()), "ac");
    view.reach(&at(900)).unwrap();
    assert_eq!(tables(&history.catalog_at(&at(900)).unwrap()), "ac");
    view.reach(&at(1000)).unwrap();
    assert_eq!(tables(view.catalog()), "ae");
    assert!(view.clone().reach(&at(1100)).is_err());
    view.apply(&ddl(1100, "CREATE TABLE d (id INT)")).unwrap();
    assert_eq!(tables(view.catalog()), "ade");
    // The same for a view that skips the start of the range.
    let mut view = history.view_at(&at(900)).unwrap();
    view.apply(&ddl(1100, "CREATE TABLE d (id INT)")).unwrap();
    assert_eq!(tables(view.catalog()), "ade");
    let covered = history.covered().unwrap();
    assert_eq!((covered[0].reached.offset, covered[1].reached.offset), (900, 1100));
}

#[test]
fn a_baseline_of_some_tables_makes_them_known_again() {
    let history = history();
    let mut view = history.view_at(&at(100)).unwrap();
    let followed = view.apply(&ddl(200, "ALTER TABLE a FROBNICATE")).unwrap();
    assert_eq!(followed.lost.len(), 1);
    view.apply(&ddl(300, "CREATE TABLE c (id INT)")).unwrap();
    history.checkpoint().unwrap();
    assert!(history.find("shop", "a", None).is_err());
    let add = |position: &Position| {
        let script = "CREATE DATABASE shop;\nUSE shop;\nCREATE TABLE a (id BIGINT);\nCREATE TABLE x (id INT);";
        let scope = Scope::Tables(vec![("shop".into(), "a".into()), ("shop".into(), "b".into())]);
        let baseline =
            Baseline { scope, ..Baseline::of_all_tables(script, DdlSession::new(SERVER)) };
        history.baseline(baseline, position, 0)
    };
    let error = add(&at(500)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Config);
    assert!(error.message().contains("needs a position that the history covers"), "{error}");
    add(&at(200)).unwrap();
    assert!(history.find("shop", "a", Some(&at(199))).unwrap().is_some());
    for offset in [200, 250, 300] {
        let catalog = history.catalog_at(&at(offset)).unwrap();
        assert!(matches!(catalog.find("shop", "a"), Some(TableState::Known(_))), "{offset}");
        assert_eq!(tables(&catalog), if offset < 300 { "a" } else { "ac" });
        assert!(catalog.find("shop", "x").is_none());
    }
    // The baseline also reaches a view that exists already, and a view that starts before it.
    view.reach(&at(400)).unwrap();
    assert_eq!(tables(view.catalog()), "ac");
    let mut view = history.view_at(&at(100)).unwrap();
    view.apply(&ddl(200, "ALTER TABLE a FROBNICATE")).unwrap();
    view.reach(&at(250)).unwrap();
    assert_eq!(tables(view.catalog()), "a");
    assert_eq!(history.changes(None).unwrap().len(), 4);
}

const UUID: &str = "55778904-0299-11f1-b1b8-4ef0c4956feb";

fn on(server: &str, file: &str, offset: u64, gtids: u64) -> Position {
    Position {
        server: Some(server.into()),
        gtid_set: Some(format!("{UUID}:1-{gtids}").parse().unwrap()),
        ..Position::in_file(file, offset)
    }
}

#[test]
fn another_server_is_another_range() {
    let history = SchemaHistory::open(Box::new(MemoryStore::default()), "s").unwrap();
    let a = |offset, gtids| on("a", "binlog.000001", offset, gtids);
    let b = |offset, gtids| on("b", "binlog.000007", offset, gtids);
    let statement =
        |position: Position, statement: &str| LoggedDdl { position, ..ddl(0, statement) };
    history.baseline(baseline(), &a(100, 10), 0).unwrap();
    let mut view = history.view_at(&a(100, 10)).unwrap();
    view.apply(&statement(a(200, 11), "CREATE TABLE c (id INT)")).unwrap();
    view.apply(&statement(a(300, 12), "CREATE TABLE d (id INT)")).unwrap();
    view.reach(&a(400, 20)).unwrap();
    // A file of the same name of another server is not covered.
    let foreign = on("b", "binlog.000001", 250, 15);
    let at_b = history.catalog_at(&foreign).unwrap();
    assert_eq!(tables(&at_b), "abcd");
    assert_eq!(tables(&history.catalog_at(&b(5000, 11)).unwrap()), "abc");
    assert!(history.view_at(&b(5000, 9)).is_err());
    assert!(history.view_at(&b(5000, 21)).is_err());
    // A position with GTIDs only.
    let alone = Position { file: String::new(), offset: 0, server: None, ..a(0, 10) };
    assert_eq!(tables(&history.catalog_at(&alone).unwrap()), "ab");
    // A stream moves.
    let mut view = history.view_at(&b(5000, 11)).unwrap();
    let error = view.apply(&statement(b(5100, 12), "CREATE TABLE d (id INT)")).unwrap_err();
    assert!(error.message().contains("is not of the log"), "{error}");
    view.move_to(&b(5000, 11)).unwrap();
    view.apply(&statement(b(5100, 12), "CREATE TABLE d (id INT)")).unwrap();
    view.apply(&statement(b(5900, 21), "DROP TABLE b")).unwrap();
    assert_eq!(tables(view.catalog()), "acd");
    assert_eq!(history.covered().unwrap().len(), 2);
    // Again: the view continues with the stored entries of that log.
    let mut view = history.view_at(&a(200, 11)).unwrap();
    view.move_to(&b(5000, 11)).unwrap();
    assert_eq!(tables(view.catalog()), "abc");
    view.apply(&statement(b(5100, 12), "CREATE TABLE d (id INT)")).unwrap();
    assert_eq!(history.covered().unwrap().len(), 2);
    assert_eq!(tables(&history.catalog_at(&a(400, 20)).unwrap()), "abcd");
}

#[test]
fn statements_in_another_order_by_gtid() {
    let history = SchemaHistory::open(Box::new(MemoryStore::default()), "s").unwrap();
    let gtids = |offset, set: &str| Position {
        server: Some("a".into()),
        gtid_set: Some(set.parse().unwrap()),
        ..Position::in_file("binlog.000001", offset)
    };
    history.baseline(baseline(), &gtids(100, &format!("{UUID}:1-10")), 0).unwrap();
    let mut view = history.view_at(&gtids(100, &format!("{UUID}:1-10"))).unwrap();
    let first = gtids(200, &format!("{UUID}:1-10:12"));
    view.apply(&LoggedDdl { position: first, ..ddl(0, "CREATE TABLE c (id INT)") }).unwrap();
    let second = gtids(300, &format!("{UUID}:1-12"));
    view.apply(&LoggedDdl { position: second, ..ddl(0, "CREATE TABLE d (id INT)") }).unwrap();
    let elsewhere = |set: String| Position { server: Some("b".into()), ..gtids(7, &set) };
    assert_eq!(tables(&history.catalog_at(&elsewhere(format!("{UUID}:1-11"))).unwrap()), "ab");
    assert_eq!(tables(&history.catalog_at(&elsewhere(format!("{UUID}:1-12"))).unwrap()), "abcd");
}

#[test]
fn a_snapshot_contains_the_tables_that_a_range_needs() {
    let history = history();
    let mut view = history.view_at(&at(100)).unwrap();
    view.apply(&ddl(200, "CREATE TABLE c (id INT)")).unwrap();
    view.apply(&ddl(300, "CREATE TABLE d LIKE b")).unwrap();
    view.apply(&ddl(400, "RENAME TABLE c TO e")).unwrap();
    view.reach(&at(900)).unwrap();
    let snapshot = |start, end, wanted: &[&str]| {
        let snapshot = history
            .schema_snapshot(&at(start), &at(end), |database, table| {
                wanted.is_empty() || wanted.contains(&format!("{database}.{table}").as_str())
            })
            .unwrap();
        let text = snapshot.to_text().unwrap();
        assert!(!text.contains(['\n', ' ']));
        SchemaSnapshot::from_text(&text).unwrap()
    };
    let begins_with = |snapshot: &SchemaSnapshot| tables(&snapshot.catalog().unwrap());
    assert_eq!(begins_with(&snapshot(100, 200, &["shop.a"])), "a");
    assert_eq!(begins_with(&snapshot(100, 300, &["shop.d"])), "b");
    assert_eq!(begins_with(&snapshot(200, 900, &["shop.e"])), "bc");
    assert_eq!(begins_with(&snapshot(300, 350, &["none.*"])), "");
    // Beyond the covered range, all tables may be needed.
    assert_eq!(begins_with(&snapshot(400, 901, &["shop.e"])), "abde");
    let mut view = HistoryView::of_snapshot(&snapshot(100, 900, &["shop.e"])).unwrap();
    for statement in [ddl(200, "CREATE TABLE c (id INT)"), ddl(400, "RENAME TABLE c TO e")] {
        view.apply(&statement).unwrap();
        view.reach(&statement.position).unwrap();
    }
    assert_eq!(tables(view.catalog()), "be");
    assert!(history.schema_snapshot(&at(99), &at(200), |_, _| true).is_err());
    let text = snapshot(100, 900, &[]).to_text().unwrap();
    let kind = |text: &str| SchemaSnapshot::from_text(text).unwrap_err().kind();
    for wrong in
        [&text[1..], &text[..text.len() - 1], &text[..text.len() - 2], "", "1:", "0:00", "1:zz"]
    {
        assert_eq!(kind(wrong), ErrorKind::Config);
    }
    assert_eq!(kind("2:00"), ErrorKind::LaterVersion);
}

#[test]
fn closed_and_empty_histories_have_different_errors() {
    let history = history();
    let mut view = history.view_at_end().unwrap();
    history.close().unwrap();
    history.close().unwrap();
    assert!(history.view_at(&at(100)).unwrap_err().message().contains("is closed"));
    assert!(view.apply(&ddl(200, "DROP TABLE a")).is_err());
    let empty = SchemaHistory::open(Box::new(MemoryStore::default()), "s").unwrap();
    let error = empty.view_at_end().unwrap_err();
    assert!(error.message().contains("is empty"), "{error}");
    for name in ["", " x", "a\nb", &"x".repeat(129)] {
        let error = SchemaHistory::open(Box::new(MemoryStore::default()), name).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Config, "{name:?}");
    }
}

#[test]
fn an_end_that_is_moved_forward() {
    let history = SchemaHistory::open(Box::new(MemoryStore::default()), "s").unwrap();
    let a = |offset, gtids| on("a", "binlog.000001", offset, gtids);
    history.baseline(baseline(), &a(100, 10), 0).unwrap();
    let create = LoggedDdl { position: a(200, 12), ..ddl(0, "CREATE TABLE c (id INT)") };
    history.apply(&create).unwrap();
    let other = on("b", "binlog.000001", 150, 15);
    assert!(history.view_at(&other).is_err());
    history.extend(&a(400, 20)).unwrap();
    assert_eq!(tables(&history.catalog_at(&other).unwrap()), "abc");
    // It is never moved back, and not by positions of other logs.
    for unchanged in [a(300, 16), on("b", "binlog.000009", 5, 30)] {
        history.extend(&unchanged).unwrap();
        let covered = history.covered().unwrap();
        assert_eq!((covered.len(), covered[0].reached.offset), (1, 400));
    }
    // The statements that the history contains are applied once, in a read that begins before them.
    let mut view = history.view_at(&a(100, 10)).unwrap();
    view.apply(&create).unwrap();
    view.apply(&LoggedDdl { position: a(500, 21), ..ddl(0, "DROP TABLE b") }).unwrap();
    assert_eq!(tables(view.catalog()), "ac");
    assert_eq!(history.changes(None).unwrap().len(), 3);
}
