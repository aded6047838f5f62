//! Table histories in a file: the structures that are read at any place are those that follow from
//! the statements before it, whatever happened to the history in between.

use binarrow::ErrorKind;
use binarrow::ddl::{DdlSession, SqlServer};
use binarrow::history::{Baseline, Catalog, LoggedDdl, SchemaHistory, Store};
use binarrow::position::Position;
use binarrow::store::SqliteStore;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

const SERVER: SqlServer = SqlServer { is_mariadb: false, version: (9, 7, 0) };

/// Numbers that are the same in each run.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }
}

fn session() -> DdlSession {
    DdlSession::new(SERVER)
}

fn at(number: u64) -> Position {
    Position::in_file(format!("binlog.{:06}", 1 + number / 1000), 200 + number % 1000 * 100)
}

fn baseline(tables: u64) -> Baseline {
    let mut script =
        "CREATE DATABASE d0 DEFAULT CHARACTER SET utf8mb4;\nCREATE DATABASE d1;\n".to_owned();
    for table in 0..tables {
        script += &format!(
            "CREATE TABLE d{}.t{table} (id BIGINT NOT NULL AUTO_INCREMENT, name VARCHAR(40) NOT NULL, price DECIMAL(10,2), \
             state ENUM('new','paid','sent'), PRIMARY KEY (id), KEY by_name (name)) ENGINE=InnoDB CHARSET=utf8mb4;\n",
            table % 2
        );
    }
    Baseline::of_all_tables(script, session())
}

/// A log of statements on some tables; a few statements cannot be applied.
fn log(statements: u64, tables: u64, seed: u64) -> Vec<LoggedDdl> {
    let mut random = Random(seed);
    let mut time = 1_700_000_000_000_000;
    (1..=statements)
        .map(|number| {
            let table = random.below(tables);
            let (database, name) = (format!("d{}", table % 2), format!("t{table}"));
            let statement = match random.below(40) {
                0 => format!("DROP TABLE IF EXISTS {name}"),
                1 => format!("RENAME TABLE {name} TO {name}_old, {name}_old TO {name}"),
                2 => format!("ALTER TABLE {name} DROP COLUMN name"),
                3 => format!("CREATE TABLE IF NOT EXISTS {name} LIKE t{}", (table + 2) % tables),
                4 => format!("ALTER TABLE {name} FROBNICATE"),
                5 => format!("ALTER DATABASE {database} DEFAULT CHARACTER SET latin1"),
                6..10 => format!(
                    "CREATE TABLE IF NOT EXISTS {name} (id INT UNSIGNED PRIMARY KEY, name VARCHAR(20) CHARACTER SET latin1, \
                     UNIQUE KEY u (name))"
                ),
                10..15 => format!("ALTER TABLE {name} MODIFY COLUMN name VARCHAR({}) FIRST", 20 + number % 80),
                15..20 => format!("ALTER TABLE {name} ADD KEY k{number} (name)"),
                20..25 => format!("ALTER TABLE {name} DROP COLUMN IF EXISTS c{}", number.saturating_sub(70)),
                _ => format!("ALTER TABLE {name} ADD COLUMN c{number} INT COMMENT 'of {number}' AFTER name"),
            };
            time += 1_000_000 * i64::try_from(random.below(100)).unwrap();
            LoggedDdl { position: at(number), timestamp: time, database, statement, session: session() }
        })
        .collect()
}

/// A folder in memory if there is one: storing statements on disk one by one is slow.
fn folder() -> tempfile::TempDir {
    tempfile::tempdir_in("/dev/shm").unwrap_or_else(|_| tempfile::tempdir().unwrap())
}

fn open(path: &Path) -> Arc<SchemaHistory> {
    SchemaHistory::open(Box::new(SqliteStore::open(path).unwrap()), "shop").unwrap()
}

/// The catalog that follows from the statements only.
fn fresh(tables: u64, log: &[LoggedDdl]) -> Catalog {
    let mut catalog = baseline(tables).catalog().unwrap();
    log.iter().for_each(|ddl| drop(catalog.apply(ddl)));
    catalog
}

#[test]
fn any_place_is_what_follows_from_the_statements() {
    let folder = folder();
    let path = folder.path().join("history.db");
    let log = log(1_600, 60, 7);
    let catalogs: Vec<Catalog> = std::iter::once(fresh(60, &[]))
        .chain(log.iter().scan(fresh(60, &[]), |catalog, ddl| {
            catalog.apply(ddl);
            Some(catalog.clone())
        }))
        .collect();
    {
        let history = open(&path);
        history.baseline(baseline(60), &at(0), 1_699_999_999_000_000).unwrap();
        let mut view = history.view_at(&at(0)).unwrap();
        for ddl in &log {
            view.apply(ddl).unwrap();
            view.reach(&ddl.position).unwrap();
        }
        assert_eq!(**view.catalog(), catalogs[log.len()]);
    }
    // For the store, this is another process.
    let history = open(&path);
    let mut random = Random(11);
    for _ in 0..1_000 {
        let number = random.below(log.len() as u64 + 1);
        let mut view = history.view_at(&at(number)).unwrap();
        let start = usize::try_from(number).unwrap();
        assert_eq!(**view.catalog(), catalogs[start], "at {number}");
        // The same statements again.
        for (index, ddl) in log.iter().enumerate().skip(start).take(3) {
            view.apply(ddl).unwrap();
            view.reach(&ddl.position).unwrap();
            assert_eq!(**view.catalog(), catalogs[index + 1], "at {number}, then {index}");
        }
    }
    // None of them was written.
    assert_eq!(history.changes(None).unwrap().len(), 256);
    let mut after = None;
    let mut count = 0;
    while let Some(last) = {
        let page = history.changes(after).unwrap();
        count += page.len();
        page.last().map(|last| (last.timeline, last.key))
    } {
        after = Some(last);
    }
    assert_eq!(count, log.len() + 1);
    let time = log[700].timestamp;
    let position = history.position_at(time).unwrap();
    let last = log.iter().rev().find(|ddl| ddl.timestamp <= time).unwrap();
    assert_eq!(position, last.position);
}

#[test]
fn another_statement_at_a_place_is_another_log() {
    let folder = folder();
    let history = open(&folder.path().join("history.db"));
    history.baseline(baseline(4), &at(0), 0).unwrap();
    let log = log(20, 4, 3);
    let mut view = history.view_at(&at(0)).unwrap();
    log.iter().for_each(|ddl| drop(view.apply(ddl).unwrap()));
    for start in [0, 9, 19] {
        let mut view = history.view_at(&at(start)).unwrap();
        let ddl = &log[usize::try_from(start).unwrap()];
        let other =
            LoggedDdl { statement: "DROP TABLE t0".into(), database: "d0".into(), ..ddl.clone() };
        let error = view.apply(&other).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Schema);
        let place = ddl.position.to_string();
        assert!(error.message().matches(&place).count() == 2, "{error}");
        assert!(error.message().contains("drop of d0.t0"), "{error}");
        // Skips statements.
        let mut view = history.view_at(&at(start)).unwrap();
        let error = view.reach(&at(start + 1)).unwrap_err();
        assert!(
            error.message().contains(&place) && error.message().contains("the log does not have"),
            "{error}"
        );
        // A position at which no statement is.
        let mut view = history.view_at(&at(start)).unwrap();
        let mut between = ddl.clone();
        between.position.offset -= 1;
        let error = view.apply(&between).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Schema, "{error}");
    }
    let mut view = history.view_at(&at(20)).unwrap();
    // A statement that the view has already applied.
    assert!(view.apply(&log[5]).unwrap().changed.is_empty());
    let other = LoggedDdl { statement: "DROP TABLE t1".into(), ..log[5].clone() };
    let error = view.apply(&other).unwrap_err();
    assert!(error.message().contains("has another statement"), "{error}");
    // Also at the very end.
    let other = LoggedDdl { statement: "DROP TABLE t1".into(), ..log[19].clone() };
    assert!(view.apply(&other).is_err());
    assert!(view.apply(&log[19]).unwrap().changed.is_empty());
}

#[test]
fn a_cut_history_continues() {
    let folder = folder();
    let history = open(&folder.path().join("history.db"));
    history.baseline(baseline(30), &at(0), 0).unwrap();
    let log = log(1_200, 30, 5);
    let mut view = history.view_at(&at(0)).unwrap();
    log.iter().for_each(|ddl| drop(view.apply(ddl).unwrap()));
    history.prune(&at(700)).unwrap();
    assert!(
        history.view_at(&at(699)).unwrap_err().message().contains("covers binlog.000001:70200 to")
    );
    for number in [700, 701, 950, 1_200] {
        assert_eq!(
            *history.catalog_at(&at(number)).unwrap(),
            fresh(30, &log[..usize::try_from(number).unwrap()])
        );
    }
    // The existing view continues.
    let next = LoggedDdl { position: at(1_201), ..log[3].clone() };
    view.apply(&next).unwrap();
    history.prune_after(&at(1_000)).unwrap();
    assert!(history.catalog_at(&at(1_001)).is_err());
    let mut view = history.view_at(&at(1_000)).unwrap();
    let other = LoggedDdl {
        statement: "DROP TABLE t1".into(),
        database: "d1".into(),
        ..log[1_000].clone()
    };
    view.apply(&other).unwrap();
    let mut expected = fresh(30, &log[..1_000]);
    expected.apply(&other);
    drop(view);
    drop(history);
    let history = open(&folder.path().join("history.db"));
    assert_eq!(*history.catalog_at(&at(1_001)).unwrap(), expected);
}

#[test]
fn one_writer_and_many_readers() {
    let folder = folder();
    let path = folder.path().join("history.db");
    let writer = open(&path);
    let reader = open(&path);
    assert!(reader.is_empty().unwrap() && !path.exists());
    writer.baseline(baseline(10), &at(0), 0).unwrap();
    let log = log(300, 10, 9);
    let mut writing = writer.view_at(&at(0)).unwrap();
    let mut reading = reader.view_at(&at(0)).unwrap();
    std::thread::scope(|scope| {
        let log = &log;
        scope.spawn(move || log.iter().for_each(|ddl| drop(writing.apply(ddl).unwrap())));
        let reader = &reader;
        scope.spawn(move || {
            for (index, ddl) in log.iter().enumerate() {
                while reader.catalog_at(&ddl.position).is_err() {
                    std::thread::yield_now();
                }
                assert_eq!(*reader.catalog_at(&ddl.position).unwrap(), fresh(10, &log[..=index]));
                reading.apply(ddl).unwrap();
                reading.reach(&ddl.position).unwrap();
                assert_eq!(**reading.catalog(), fresh(10, &log[..=index]));
            }
        });
    });
    // A reader that is not the writer continues to read, until a statement that no process has
    // stored.
    let mut view = reader.view_at(&at(300)).unwrap();
    view.reach(&at(310)).unwrap();
    let next = LoggedDdl { position: at(320), ..log[3].clone() };
    let error = view.apply(&next).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Config);
    assert!(
        error.message().contains(&format!("written by process {} on ", std::process::id())),
        "{error}"
    );
    let error = reader.baseline(baseline(1), &at(500), 0).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Config);
    // Other sources have their own writers.
    let other = SchemaHistory::open(Box::new(SqliteStore::open(&path).unwrap()), "other").unwrap();
    other.baseline(baseline(1), &at(0), 0).unwrap();
    let mut store = SqliteStore::open(&path).unwrap();
    assert_eq!(store.sources().unwrap(), ["other", "shop"]);
    drop(writer);
    view.apply(&next).unwrap();
    assert_eq!(reader.end().unwrap(), Some(at(320)));
}

#[test]
fn files_that_are_no_history() {
    let folder = folder();
    let path = folder.path().join("history.db");
    let error = SqliteStore::open(folder.path().join("no/such.db")).err().unwrap();
    assert_eq!(error.kind(), ErrorKind::Config);
    assert!(
        error.message().ends_with("no/such.db: the folder of a table history must exist"),
        "{error}"
    );
    let error = SqliteStore::open(folder.path()).err().unwrap();
    assert!(error.message().ends_with("is not a file"), "{error}");
    std::fs::write(&path, "not a database, but as long as the header of one: ".repeat(10)).unwrap();
    let error = SqliteStore::open(&path).err().unwrap();
    assert_eq!(
        (error.kind(), error.message().ends_with("is not an SQLite database")),
        (ErrorKind::Config, true),
        "{error}"
    );
    // An empty file is treated like a missing one.
    std::fs::write(&path, "").unwrap();
    open(&path).baseline(baseline(2), &at(0), 0).unwrap();
    assert_eq!(open(&path).end().unwrap(), Some(at(0)));
}

/// The limit is one second.
#[test]
fn a_long_history_loads_quickly() {
    let folder = folder();
    let path = folder.path().join("history.db");
    let log = log(10_000, 1_000, 13);
    let history = open(&path);
    history.baseline(baseline(1_000), &at(0), 0).unwrap();
    let mut view = history.view_at(&at(0)).unwrap();
    let started = Instant::now();
    log.iter().for_each(|ddl| drop(view.apply(ddl).unwrap()));
    println!("10 000 statements written in {:?}", started.elapsed());
    drop((view, history));
    for number in [0, 499, 4_321, 9_999] {
        let history = open(&path);
        let started = Instant::now();
        let view = history.view_at(&at(number)).unwrap();
        let took = started.elapsed();
        println!(
            "loaded at {number} in {took:?}: {} bytes of text",
            view.catalog().to_script().len()
        );
        assert!(took.as_secs_f64() < 1.0, "{took:?}");
    }
}
