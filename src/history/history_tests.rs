//! Histories over a store in memory: order, coverage, what is refused.

use super::*;
use crate::ddl::{DdlSession, SqlServer};
use crate::error::{ErrorKind, Result};
use crate::position::Position;
use std::sync::{Arc, Mutex};

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

/// A store that outlives a history, as one on a disk does.
#[derive(Clone, Default)]
struct Shared(Arc<Mutex<MemoryStore>>);

impl Shared {
    fn open(&self) -> Arc<SchemaHistory> {
        SchemaHistory::open(Box::new(self.clone()), "s").unwrap()
    }

    /// Puts another row in the place of the last one that a catalog can begin with, or of the last of all.
    fn tamper(&self, only_whole: bool, change: impl FnOnce(&mut EntryRow)) {
        let mut store = self.0.lock().unwrap();
        let mut row = store.last_entry("s", 1, EntryKey::LAST, only_whole).unwrap().unwrap();
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
        whole: bool,
    ) -> Result<Option<EntryRow>> {
        self.0.lock().unwrap().last_entry(source, timeline, until, whole)
    }
    fn last_by_time(&mut self, source: &str, timestamp: i64) -> Result<Option<EntryRow>> {
        self.0.lock().unwrap().last_by_time(source, timestamp)
    }
    fn write(&mut self, source: &str, writes: &[StoreWrite]) -> Result<()> {
        self.0.lock().unwrap().write(source, writes)
    }
}

#[test]
fn a_gap_begins_a_range_and_a_reader_that_closes_it_goes_over() {
    let history = history();
    let mut view = history.view_at(&at(100)).unwrap();
    view.apply(&ddl(200, "CREATE TABLE c (id INT)")).unwrap();
    // Nobody read from 200 to 1000; there the table e is, and c is not.
    let script =
        "CREATE DATABASE shop;\nUSE shop;\nCREATE TABLE a (id INT);\nCREATE TABLE e (id INT);";
    let later = Baseline::whole(script, DdlSession::new(SERVER));
    history.baseline(later, &at(1000), 1_000_000_000).unwrap();
    assert!(history.view_at(&at(500)).is_err());
    assert_eq!(tables(&history.catalog_at(&at(1000)).unwrap()), "ae");
    let mut late = history.view_at(&at(1000)).unwrap();
    late.apply(&ddl(1100, "CREATE TABLE d (id INT)")).unwrap();
    // The first view reads on from where it was.
    view.apply(&ddl(600, "DROP TABLE b")).unwrap();
    assert_eq!(tables(view.catalog()), "ac");
    view.reach(&at(900)).unwrap();
    assert_eq!(tables(&history.catalog_at(&at(900)).unwrap()), "ac");
    view.reach(&at(1000)).unwrap();
    assert_eq!(tables(view.catalog()), "ae");
    assert!(view.clone().reach(&at(1100)).is_err());
    view.apply(&ddl(1100, "CREATE TABLE d (id INT)")).unwrap();
    assert_eq!(tables(view.catalog()), "ade");
    // The same for one that jumps over the beginning of the range.
    let mut view = history.view_at(&at(900)).unwrap();
    view.apply(&ddl(1100, "CREATE TABLE d (id INT)")).unwrap();
    assert_eq!(tables(view.catalog()), "ade");
    let covered = history.covered().unwrap();
    assert_eq!((covered[0].reached.offset, covered[1].reached.offset), (900, 1100));
}

#[test]
fn some_tables_are_mended_where_they_were_lost() {
    let history = history();
    let mut view = history.view_at(&at(100)).unwrap();
    let followed = view.apply(&ddl(200, "ALTER TABLE a FROBNICATE")).unwrap();
    assert_eq!(followed.lost.len(), 1);
    view.apply(&ddl(300, "CREATE TABLE c (id INT)")).unwrap();
    history.checkpoint().unwrap();
    assert!(history.find("shop", "a", None).is_err());
    let mend = |position: &Position| {
        let script = "CREATE DATABASE shop;\nUSE shop;\nCREATE TABLE a (id BIGINT);\nCREATE TABLE x (id INT);";
        let scope = Scope::Tables(vec![("shop".into(), "a".into()), ("shop".into(), "b".into())]);
        let baseline = Baseline { scope, ..Baseline::whole(script, DdlSession::new(SERVER)) };
        history.baseline(baseline, position, 0)
    };
    let error = mend(&at(500)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Config);
    assert!(error.message().contains("for a place that the history covers"), "{error}");
    mend(&at(200)).unwrap();
    assert!(history.find("shop", "a", Some(&at(199))).unwrap().is_some());
    for offset in [200, 250, 300] {
        let catalog = history.catalog_at(&at(offset)).unwrap();
        assert!(matches!(catalog.find("shop", "a"), Some(TableState::Known(_))), "{offset}");
        assert_eq!(tables(&catalog), if offset < 300 { "a" } else { "ac" });
        assert!(catalog.find("shop", "x").is_none());
    }
    // A view that was there already learns of it, and one that reads from before too.
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
    // The same file of another server is none of it.
    let foreign = on("b", "binlog.000001", 250, 15);
    let at_b = history.catalog_at(&foreign).unwrap();
    assert_eq!(tables(&at_b), "abcd");
    assert_eq!(tables(&history.catalog_at(&b(5000, 11)).unwrap()), "abc");
    assert!(history.view_at(&b(5000, 9)).is_err());
    assert!(history.view_at(&b(5000, 21)).is_err());
    // A position that is by GTID alone.
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
    // Again: what is known of its log is gone on with.
    let mut view = history.view_at(&a(200, 11)).unwrap();
    view.move_to(&b(5000, 11)).unwrap();
    assert_eq!(tables(view.catalog()), "abc");
    view.apply(&statement(b(5100, 12), "CREATE TABLE d (id INT)")).unwrap();
    assert_eq!(history.covered().unwrap().len(), 2);
    assert_eq!(tables(&history.catalog_at(&a(400, 20)).unwrap()), "abcd");
}

#[test]
fn a_statement_in_another_order_by_gtid_is_no_guess() {
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
fn what_is_damaged_is_told_or_made_up_for() {
    let store = Shared::default();
    let history = store.open();
    history.baseline(baseline(), &at(100), 0).unwrap();
    let mut view = history.view_at(&at(100)).unwrap();
    view.apply(&ddl(200, "CREATE TABLE c (id INT)")).unwrap();
    history.checkpoint().unwrap();
    view.apply(&ddl(300, "CREATE TABLE d (id INT)")).unwrap();
    // A checkpoint follows from what stands before it.
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
    // A statement does not.
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
        let whole =
            store.0.lock().unwrap().last_entry("s", 1, EntryKey::LAST, false).unwrap().unwrap();
        store.tamper(false, change);
        let error = store.open().catalog_at(&at(300)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Malformed);
        assert!(error.message().contains("ddl at 1:300 of timeline 1"), "{error}");
        assert_eq!(tables(&store.open().catalog_at(&at(200)).unwrap()), "abc");
        store.tamper(false, |row| *row = whole);
    }
    assert_eq!(tables(&store.open().catalog_at(&at(300)).unwrap()), "abcd");
    let mut rows = store.0.lock().unwrap().timelines("s").unwrap();
    rows[0].reached = rows[0].reached.replace("300", "99");
    store.0.lock().unwrap().write("s", &[StoreWrite::Timeline(rows.remove(0))]).unwrap();
    let error = SchemaHistory::open(Box::new(store), "s").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Malformed, "{error}");
}

#[test]
fn checkpoints_are_taken_by_count_and_by_time() {
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
    // Those of earlier runs count.
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

#[test]
fn a_part_is_what_a_range_needs() {
    let history = history();
    let mut view = history.view_at(&at(100)).unwrap();
    view.apply(&ddl(200, "CREATE TABLE c (id INT)")).unwrap();
    view.apply(&ddl(300, "CREATE TABLE d LIKE b")).unwrap();
    view.apply(&ddl(400, "RENAME TABLE c TO e")).unwrap();
    view.reach(&at(900)).unwrap();
    let part = |start, end, wanted: &[&str]| {
        let part = history
            .part(&at(start), &at(end), |database, table| {
                wanted.is_empty() || wanted.contains(&format!("{database}.{table}").as_str())
            })
            .unwrap();
        let text = part.to_text().unwrap();
        assert!(!text.contains(['\n', ' ']));
        HistoryPart::from_text(&text).unwrap()
    };
    let begins_with = |part: &HistoryPart| tables(&part.catalog().unwrap());
    assert_eq!(begins_with(&part(100, 200, &["shop.a"])), "a");
    assert_eq!(begins_with(&part(100, 300, &["shop.d"])), "b");
    assert_eq!(begins_with(&part(200, 900, &["shop.e"])), "bc");
    assert_eq!(begins_with(&part(300, 350, &["none.*"])), "");
    // Beyond what is covered, nobody knows what is needed.
    assert_eq!(begins_with(&part(400, 901, &["shop.e"])), "abde");
    let mut view = HistoryView::of_part(&part(100, 900, &["shop.e"])).unwrap();
    for statement in [ddl(200, "CREATE TABLE c (id INT)"), ddl(400, "RENAME TABLE c TO e")] {
        view.apply(&statement).unwrap();
        view.reach(&statement.position).unwrap();
    }
    assert_eq!(tables(view.catalog()), "be");
    assert!(history.part(&at(99), &at(200), |_, _| true).is_err());
    let text = part(100, 900, &[]).to_text().unwrap();
    for wrong in
        [&text[1..], &text[..text.len() - 1], &text[..text.len() - 2], "", "1:", "2:00", "1:zz"]
    {
        assert_eq!(HistoryPart::from_text(wrong).unwrap_err().kind(), ErrorKind::Config);
    }
}

#[test]
fn a_closed_history_is_told_from_an_empty_one() {
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
