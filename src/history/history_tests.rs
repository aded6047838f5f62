//! Histories over a store in memory: order, coverage, what is refused.

use super::*;
use crate::error::ErrorKind;
use crate::position::Position;
use std::sync::Arc;

const SERVER: SqlServer = SqlServer { is_mariadb: false, version: (9, 7, 0) };
const BASE: &str =
    "CREATE DATABASE shop;\nUSE shop;\nCREATE TABLE a (id INT);\nCREATE TABLE b (id INT);\n";

fn at(offset: u64) -> Position {
    Position::in_file("binlog.000001", offset)
}

fn ddl(offset: u64, statement: &str) -> LoggedDdl {
    LoggedDdl {
        position: at(offset),
        timestamp: i64::try_from(offset).unwrap() * 1_000_000,
        database: "shop".into(),
        statement: statement.into(),
        session: DdlSession::new(SERVER),
    }
}

fn baseline() -> Baseline {
    Baseline::whole(BASE, DdlSession::new(SERVER))
}

fn history() -> Arc<SchemaHistory> {
    let history = SchemaHistory::open(Box::new(MemoryStore::default()), "s").unwrap();
    assert!(history.is_empty().unwrap());
    history.baseline(baseline(), &at(100), 0).unwrap();
    history
}

fn tables(catalog: &Catalog) -> String {
    let known = |name: &&&str| catalog.find("shop", name).is_some();
    ["a", "b", "c", "d", "e"].iter().filter(known).copied().collect()
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
