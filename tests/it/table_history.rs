//! Rows of logs without column names, decoded with the structures from the DDL in the log, for all
//! segments and threads.

use crate::fixtures::{Fixture, recorded, recorded_as};
use crate::log::{
    Event, Log, TABLE_MAP, Table, WRITE_ROWS, begin, commit_time, compressed, gtid, mariadb_gtid,
    not_last, payload, query, rotate, stop, v1, xa, xa_prepare, xid,
};
use crate::rows::{Outcome, between, emitting, local, read, split_file};
use binarrow::ErrorKind;
use binarrow::cancel::CancelToken;
use binarrow::change::TableFilter;
use binarrow::columnar::ColumnNames;
use binarrow::ddl::{DdlSession, SqlServer};
use binarrow::history::{Baseline, Catalog, HistoryView, MemoryStore, SchemaHistory};
use binarrow::position::Position;
use binarrow::reader::ReadOptions;
use binarrow::source::{
    InputFile, LogOptions, Start, Stop, TableHistory, add_history, link_splits,
};
use std::collections::BTreeMap;
use std::sync::Arc;

const T: Table = Table { id: 140, name: "t" };
const U: Table = Table { id: 141, name: "u" };

/// A map of `columns` columns of the type `INT`, without other metadata.
fn map(table: Table, columns: usize) -> Event {
    let mut body = table.id.to_le_bytes()[..6].to_vec();
    body.extend([1, 0, 1, b'd', 0, table.name.len() as u8]);
    body.extend(table.name.as_bytes());
    body.extend([0, columns as u8]);
    body.extend(vec![3; columns]);
    body.extend([0, 0xff]);
    Event::new(TABLE_MAP, body)
}

/// A row with this number of columns.
fn insert(table: Table, values: &[i32]) -> Event {
    let mut body = table.id.to_le_bytes()[..6].to_vec();
    body.extend([1, 0, 2, 0, values.len() as u8, 0xff, 0]);
    body.extend(values.iter().flat_map(|value| value.to_le_bytes()));
    Event::new(WRITE_ROWS, body)
}

/// A transaction of one row.
fn row(gno: i64, table: Table, values: &[i32]) -> Vec<Event> {
    vec![gtid(gno), begin(), map(table, values.len()), insert(table, values), xid()]
}

fn ddl(gno: i64, sql: &str) -> Vec<Event> {
    vec![gtid(gno), query(sql)]
}

fn options() -> ReadOptions {
    let view = HistoryView::detached(Arc::new(Catalog::default()));
    let history = Some(TableHistory::View(Box::new(view)));
    let mut options = crate::rows::options();
    options.decode.plan.column_names = ColumnNames::Log;
    ReadOptions { cut: LogOptions { history, ..options.cut }, ..options }
}

/// Rows as `insert d.t a=1 b=2`, read in segments of several sizes and by several threads: all must
/// agree.
fn run_with(log: &Log, options: &ReadOptions) -> (Vec<String>, Option<String>) {
    let mut complete = None;
    for (segment_bytes, threads) in [(8 << 20, 1), (1, 1), (300, 1), (1, 3), (8 << 20, 3)] {
        let cut = LogOptions { segment_bytes, ..options.cut.clone() };
        let outcome = read(log.clone().inputs(), ReadOptions { cut, threads, ..options.clone() });
        let error = outcome.error.as_ref().map(ToString::to_string);
        let read = (lines(&outcome), error);
        assert_eq!(*complete.get_or_insert(read.clone()), read, "{segment_bytes} {threads}");
    }
    complete.unwrap()
}

fn run(log: &Log) -> Vec<String> {
    let (lines, error) = run_with(log, &options());
    assert_eq!(error, None);
    lines
}

fn lines(outcome: &Outcome) -> Vec<String> {
    let mut rows: Vec<_> = outcome.rows.iter().collect();
    rows.sort();
    rows.iter()
        .map(|row| {
            let cells = row.columns.iter().zip(&row.cells);
            let cells =
                cells.map(|(name, cell)| format!(" {name}={}", cell.as_deref().unwrap_or("NULL")));
            format!("{} {}{}", row.change, row.table, cells.collect::<String>())
        })
        .collect()
}

#[test]
fn each_row_by_the_structure_of_its_place() {
    let log = Log::mysql()
        .with(ddl(1, "CREATE TABLE t (a INT)"))
        .with(row(2, T, &[1]))
        .with(ddl(3, "DROP TABLE t"))
        .with(ddl(4, "CREATE TABLE t (b INT)"))
        .with(row(5, T, &[2]))
        .with(row(6, T, &[3]))
        .with(ddl(7, "CREATE OR REPLACE TABLE t (c INT, d INT)"))
        .with(row(8, T, &[4, 5]))
        .with([stop()]);
    assert_eq!(
        run(&log),
        ["insert d.t a=1", "insert d.t b=2", "insert d.t b=3", "insert d.t c=4 d=5"]
    );
}

#[test]
fn rows_of_a_group_by_the_statements_in_it() {
    // Rows of one group: of MySQL, also larger than a segment; of MariaDB.
    let rows = |count: i32| {
        (1..=count).map(move |number| {
            let event = insert(T, &[number]);
            if number < count { not_last(event) } else { event }
        })
    };
    let create = "CREATE TABLE `t` (\n  `a` int\n) START TRANSACTION";
    let expected: Vec<_> = (1..=20).map(|number| format!("insert d.t a={number}")).collect();
    let mysql = [gtid(1), query(create), map(T, 1)].into_iter().chain(rows(20)).chain([xid()]);
    assert_eq!(run(&Log::mysql().with(mysql.clone()).with([stop()])), expected);
    // Without GTIDs.
    assert_eq!(run(&Log::mysql().with(mysql.skip(1)).with([stop()])), expected);
    let mariadb = [mariadb_gtid(1, 0), query("CREATE TABLE `t` (`a` int)"), map(T, 1)]
        .into_iter()
        .chain(rows(20).map(v1))
        .chain([xid()]);
    assert_eq!(run(&Log::mariadb().with(mariadb).with([stop()])), expected);
}

/// MariaDB's GTID event of a two-phase ALTER TABLE that is started, committed, or rolled back.
fn two_phase(seq: u64, flags: u8, started: u64) -> Event {
    let mut event = mariadb_gtid(seq, 0x21); // standalone, DDL
    event.body.truncate(13);
    event.body.push(flags);
    event.body.extend(started.to_le_bytes());
    event.body.resize(24, 0);
    event
}

#[test]
fn what_does_not_happen_changes_nothing() {
    let other = "CREATE OR REPLACE TABLE t (b INT)";
    let before = ddl(1, "CREATE TABLE t (a INT)");
    let mysql = |middle: Vec<Event>| {
        Log::mysql().with(before.clone()).with(middle).with(row(9, T, &[1])).with([stop()])
    };
    // rolled back; in a group without an end; after a TRUNCATE that changes no structure
    for middle in [
        vec![gtid(2), begin(), query(other), map(T, 1), insert(T, &[7]), query("ROLLBACK")],
        vec![gtid(2), query("TRUNCATE TABLE t")],
        vec![gtid(2), query("CREATE TEMPORARY TABLE t (b INT)")],
        vec![gtid(2), query("ANALYZE TABLE t")],
    ] {
        assert_eq!(run(&mysql(middle)), ["insert d.t a=1"]);
    }
    // MariaDB starts an ALTER TABLE, and rolls it back or completes it.
    let mariadb_row = |seq: u64| [mariadb_gtid(seq, 0), map(T, 1), v1(insert(T, &[1])), xid()];
    for (flags, expected) in [(4, "insert d.t b=1"), (8, "insert d.t a=1")] {
        let log = Log::mariadb()
            .with([mariadb_gtid(1, 1), query("CREATE TABLE t (a INT)")])
            .with([two_phase(2, 2, 0), query(other)])
            .with(mariadb_row(3))
            .with([two_phase(4, flags, 2), query(other)])
            .with(mariadb_row(5))
            .with([stop()]);
        assert_eq!(run(&log), ["insert d.t a=1", expected], "{flags}");
    }
}

#[test]
fn rows_of_an_xa_transaction_by_what_was_when_it_was_prepared() {
    let rows = |count: i32| (1..=count).flat_map(|n| [map(T, 1), insert(T, &[n])]);
    for count in [1, 30] {
        let log = Log::mysql()
            .with(ddl(1, "CREATE TABLE t (a INT)"))
            .with([gtid(2), xa("START", "x")])
            .with(rows(count))
            .with([xa("END", "x"), xa_prepare("x", false)])
            .with(ddl(3, "CREATE OR REPLACE TABLE t (b INT)"))
            .with(row(4, T, &[40]))
            .with([gtid(5), xa("COMMIT", "x")])
            .with(row(6, T, &[60]))
            .with([stop()]);
        let mut expected = vec!["insert d.t b=40".to_owned()];
        expected.extend((1..=count).map(|n| format!("insert d.t a={n}")));
        expected.push("insert d.t b=60".to_owned());
        assert_eq!(run(&log), expected);
        // In log order.
        expected.swap(0, count as usize);
        let (mut lines, error) = run_with(&log, &emitting(options()));
        assert_eq!(error, None);
        expected.sort();
        lines.sort();
        assert_eq!(lines, expected);
    }
}

#[test]
fn statements_before_the_start_and_after_the_end() {
    let log = Log::mysql()
        .with(ddl(1, "CREATE TABLE t (a INT)"))
        .with(row(2, T, &[1]))
        .with(ddl(3, "CREATE OR REPLACE TABLE t (b INT)"))
        .with(row(4, T, &[2]))
        .with(ddl(5, "CREATE OR REPLACE TABLE t (c INT)"))
        .with(row(6, T, &[3]))
        .with([stop()]);
    let all = ["insert d.t a=1", "insert d.t b=2", "insert d.t c=3"];
    let read = |start, stop| {
        let (lines, error) = run_with(&log, &between(options(), start, stop));
        assert_eq!(error, None);
        lines
    };
    // The statements of skipped transactions are in force.
    assert_eq!(read(Start::Time(commit_time(4)), Stop::End), all[1..]);
    let done = format!("{}:1-3", crate::log::UUID).parse().unwrap();
    assert_eq!(read(Start::Gtids(done), Stop::End), all[1..]);
    assert_eq!(read(Start::Earliest, Stop::Time(commit_time(5))), all[..2]);
    let wanted = format!("{}:1-2:6", crate::log::UUID).parse().unwrap();
    assert_eq!(read(Start::Earliest, Stop::Gtids(wanted)), [all[0], all[2]]);
}

#[test]
fn statements_of_other_tables_count_whatever_is_wanted() {
    let log = Log::mysql()
        .with(ddl(1, "CREATE TABLE other (a INT)"))
        .with(ddl(2, "RENAME TABLE other TO t"))
        .with(row(3, T, &[1]))
        .with(ddl(4, "CREATE TABLE _t_gho LIKE t"))
        .with(ddl(5, "ALTER TABLE _t_gho ADD b INT"))
        .with(ddl(6, "RENAME TABLE t TO _t_del, _t_gho TO t"))
        .with(row(7, T, &[1, 2]))
        .with([stop()]);
    let mut options = options();
    options.decode.tables = TableFilter::exactly("d", "t");
    assert_eq!(
        run_with(&log, &options),
        (vec!["insert d.t a=1".to_owned(), "insert d.t a=1 b=2".to_owned()], None)
    );
}

#[test]
fn what_is_not_known_is_an_error_where_its_rows_are_wanted() {
    let log = Log::mysql()
        .with(ddl(1, "CREATE TABLE u (a INT, b INT)"))
        .with(row(2, U, &[1, 2]))
        .with(row(3, T, &[3]))
        .with(row(4, U, &[4, 5]))
        .with(row(5, U, &[6]))
        .with([stop()]);
    let (lines, error) = run_with(&log, &options());
    assert_eq!(lines, ["insert d.u a=1 b=2"]);
    let at = log.starts[11];
    let error = error.unwrap();
    assert!(error.contains("d.t") && error.contains(&format!("offset {at}")), "{error}");
    let mut options = options();
    options.decode.tables = TableFilter::exactly("d", "u");
    let (lines, error) = run_with(&log, &options);
    assert_eq!(lines, ["insert d.u a=1 b=2", "insert d.u a=4 b=5"]);
    let error = error.unwrap();
    assert!(error.contains("d.u") && error.contains("1 column") && error.contains('2'), "{error}");
}

#[test]
fn packed_statements_and_transactions() {
    let packed = payload(true, [begin(), map(T, 1), insert(T, &[1]), xid()]);
    let log = Log::mysql()
        .with(ddl(1, "CREATE TABLE t (a INT)"))
        .with([gtid(2), packed.clone()])
        .with(ddl(3, "CREATE OR REPLACE TABLE t (b INT)"))
        .with([gtid(4), packed, stop()]);
    assert_eq!(run(&log), ["insert d.t a=1", "insert d.t b=1"]);
    let create = compressed(query("CREATE TABLE t (a INT COMMENT 'a long one, packed')"));
    let log = Log::mariadb().with([mariadb_gtid(1, 1), create]).with([
        mariadb_gtid(2, 0),
        map(T, 1),
        v1(insert(T, &[1])),
        xid(),
        stop(),
    ]);
    assert_eq!(run(&log), ["insert d.t a=1"]);
}

/// A history in memory that begins at the first event of `binlog.000001`, without tables.
fn history() -> Arc<SchemaHistory> {
    history_of(SqlServer { is_mariadb: false, version: (9, 7, 4) })
}

fn history_of(server: SqlServer) -> Arc<SchemaHistory> {
    let history = SchemaHistory::open(Box::new(MemoryStore::default()), "test").unwrap();
    let baseline = Baseline::of_all_tables("CREATE DATABASE other;", DdlSession::new(server));
    history.baseline(baseline, &Position::in_file("binlog.000001", 4), commit_time(0)).unwrap();
    history
}

fn with(history: &Arc<SchemaHistory>) -> ReadOptions {
    let mut options = options();
    options.cut.history = Some(TableHistory::Shared(Arc::clone(history)));
    options
}

fn reached(history: &Arc<SchemaHistory>) -> String {
    history.end().unwrap().unwrap().to_string()
}

/// Two files: `t` is created and changed in the first, and changed again in the second.
fn two_files() -> [Log; 2] {
    let first = Log::mysql()
        .with(ddl(1, "CREATE TABLE t (a INT)"))
        .with(row(2, T, &[1]))
        .with(ddl(3, "CREATE OR REPLACE TABLE t (b INT)"))
        .with(row(4, T, &[2]))
        .with([rotate("binlog.000002")]);
    let second = Log::mysql()
        .with(row(5, T, &[3]))
        .with(ddl(6, "CREATE OR REPLACE TABLE t (c INT)"))
        .with(row(7, T, &[4]))
        .with([stop()]);
    [first, second]
}

fn inputs(files: &[&Log]) -> Vec<InputFile> {
    let numbered = files.iter().map(|log| if log.bytes == two_files()[0].bytes { 1 } else { 2 });
    let named = files.iter().zip(numbered);
    named.map(|(log, number)| (*log).clone().input(&format!("binlog.00000{number}"))).collect()
}

const ALL: [&str; 4] = ["insert d.t a=1", "insert d.t b=2", "insert d.t b=3", "insert d.t c=4"];

#[test]
fn a_history_knows_every_place_that_was_read() {
    let [first, second] = two_files();
    let history = history();
    let complete = read(inputs(&[&first, &second]), with(&history)).ok();
    assert_eq!(lines(&complete), ALL);
    assert_eq!(reached(&history), "binlog.000003:4");
    // From each position, in one piece and in many, with several threads: the structures are those
    // of that position.
    let mut starts: Vec<_> =
        complete.batches.iter().map(|(_, position)| position.clone()).collect();
    for (number, log) in [(1, &first), (2, &second)] {
        let groups = log.starts.iter().filter(|at| is_gtid(log, **at));
        starts.extend(
            groups.map(|at| Arc::new(Position::in_file(format!("binlog.00000{number}"), *at))),
        );
    }
    for start in starts {
        for (segment_bytes, threads) in [(8 << 20, 1), (1, 4)] {
            let mut options = with(&history);
            options.cut.segment_bytes = segment_bytes;
            options.cut.start = Start::Position(Box::new((*start).clone()));
            options.threads = threads;
            let rest = lines(&read(inputs(&[&first, &second]), options).ok());
            assert!(ALL.ends_with(&rest.iter().map(String::as_str).collect::<Vec<_>>()), "{start}");
        }
    }
    // A file alone: the file before it was read already.
    let rest = read(inputs(&[&second]), with(&history)).ok();
    assert_eq!(lines(&rest), ALL[2..]);
}

#[test]
fn structures_given_for_a_place_in_the_middle() {
    // A statement that cannot be applied: rows after it, and rows after the place of the
    // structures.
    let log = Log::mysql()
        .with(ddl(1, "CREATE TABLE t (a INT)"))
        .with(row(2, T, &[1]))
        .with(ddl(3, "ALTER TABLE t FROBNICATE"))
        .with(row(4, U, &[7]))
        .with(row(5, T, &[2]))
        .with(row(6, T, &[3]))
        .with([rotate("binlog.000002")]);
    let groups: Vec<u64> = log.starts.iter().copied().filter(|at| is_gtid(&log, *at)).collect();
    let session = DdlSession::new(SqlServer { is_mariadb: false, version: (9, 7, 4) });
    let script = "CREATE DATABASE d; USE d; CREATE TABLE t (given INT); CREATE TABLE u (u INT);";
    let expected = ["insert d.t a=1", "insert d.u u=7", "insert d.t given=2", "insert d.t given=3"];
    // As a part of a range that is covered, and as the start of another range.
    for is_covered in [true, false] {
        for segment_bytes in [8 << 20, 1] {
            let history = history();
            let mut options = with(&history);
            options.cut.segment_bytes = segment_bytes;
            let mut first = options.clone();
            first.decode.tables = TableFilter::exactly("d", "none");
            if !is_covered {
                first = between(first, Start::Earliest, stop_at(groups[2]));
            }
            assert_eq!(read(vec![log.clone().input("binlog.000001")], first).ok().stats.rows, 0);
            let given = Baseline::of_all_tables(script, session.clone());
            history.baseline(given, &Position::in_file("binlog.000001", groups[3]), 0).unwrap();
            assert_eq!(history.covered().unwrap().len(), if is_covered { 1 } else { 2 });
            let complete = read(vec![log.clone().input("binlog.000001")], options).ok();
            assert_eq!(lines(&complete), expected, "{is_covered} {segment_bytes}");
        }
    }
}

fn stop_at(offset: u64) -> Stop {
    Stop::Position(Box::new(Position::in_file("binlog.000001", offset)))
}

fn is_gtid(log: &Log, at: u64) -> bool {
    log.bytes[at as usize + 4] == crate::log::GTID
}

#[test]
fn the_log_before_the_start_is_followed_first() {
    let [first, second] = two_files();
    let at_second = Start::Position(Box::new(Position::in_file("binlog.000002", 4)));
    let history = history();
    let from_second = |history: &_| between(with(history), at_second.clone(), Stop::End);
    let rest = read(inputs(&[&first, &second]), from_second(&history)).ok();
    assert_eq!(lines(&rest), ALL[2..]);
    assert_eq!(rest.stats.rows, 2);
    assert_eq!(reached(&history), "binlog.000003:4");
    // If it does not exist, nothing is guessed.
    let history = self::history();
    let nothing = read(inputs(&[&second]), from_second(&history));
    let error = nothing.failure();
    assert_eq!(error.kind(), ErrorKind::Schema);
    let message = error.to_string();
    assert!(
        message.contains("ends at binlog.000001:4") && message.contains("binlog.000001 is not"),
        "{message}"
    );
    assert!(nothing.rows.is_empty());
    assert_eq!(reached(&history), "binlog.000001:4");
    // A gap between files is a gap in the history too.
    let mut gap = two_files();
    gap[0] = Log::mysql().with(ddl(1, "CREATE TABLE t (a INT)")).with([rotate("binlog.000009")]);
    let mut options = with(&history);
    options.cut.allow_gaps = true;
    let files =
        || vec![gap[0].clone().input("binlog.000001"), gap[1].clone().input("binlog.000012")];
    let error = read(files(), options);
    assert!(error.failure().to_string().contains("ends at binlog.000009:4"), "{error:?}");
}

#[test]
fn another_log_than_the_history_s_is_refused() {
    let [first, _] = two_files();
    let history = history();
    read(inputs(&[&first]), with(&history)).ok();
    let other = |middle: &str| {
        Log::mysql()
            .with(ddl(1, "CREATE TABLE t (a INT)"))
            .with(row(2, T, &[1]))
            .with(ddl(3, middle))
            .with(row(4, T, &[2]))
            .with([rotate("binlog.000002")])
            .input("binlog.000001")
    };
    // One statement is different; one is missing, which shows the positions of the rows around it.
    for (middle, before) in
        [("CREATE OR REPLACE TABLE t (x INT)", &ALL[..1]), ("CREATE VIEW v (b) AS SELECT 1", &[])]
    {
        let read = read(vec![other(middle)], with(&history));
        assert_eq!(lines(&read), before, "{middle}");
        assert_eq!(read.failure().kind(), ErrorKind::Schema);
        assert!(read.failure().to_string().contains("not the one"), "{:?}", read.failure());
    }
}

#[test]
fn rows_prepared_before_the_start() {
    let log = Log::mysql()
        .with(ddl(1, "CREATE TABLE t (a INT)"))
        .with([gtid(2), xa("START", "x"), map(T, 1), insert(T, &[1]), xa("END", "x")])
        .with([xa_prepare("x", false)])
        .with(ddl(3, "CREATE OR REPLACE TABLE t (b INT)"))
        .with(row(4, T, &[2]))
        .with([gtid(5), xa("COMMIT", "x"), stop()]);
    let history = history();
    let complete = read(vec![log.clone().input("binlog.000001")], with(&history)).ok();
    assert_eq!(lines(&complete), ["insert d.t b=2", "insert d.t a=1"]);
    let (_, after_first) = complete.batches[0].clone();
    assert_eq!(after_first.prepared.len(), 1);
    let start = Start::Position(Box::new((*after_first).clone()));
    let options = between(with(&history), start, Stop::End);
    let rest = read(vec![log.input("binlog.000001")], options).ok();
    assert_eq!(lines(&rest), ["insert d.t a=1"]);
}

#[test]
fn rows_prepared_before_the_history() {
    let log = Log::mysql()
        .with(ddl(1, "CREATE TABLE t (a INT)"))
        .with([gtid(2), xa("START", "x"), map(T, 1), insert(T, &[1]), xa("END", "x")])
        .with([xa_prepare("x", false)])
        .with(ddl(3, "CREATE TABLE u (b INT)"))
        .with(row(4, U, &[2]))
        .with([gtid(5), xa("COMMIT", "x"), stop()]);
    let history = history();
    let complete = read(vec![log.clone().input("binlog.000001")], with(&history)).ok();
    let (_, after_first) = complete.batches[0].clone();
    history.prune(&after_first).unwrap();
    let start = Start::Position(Box::new((*after_first).clone()));
    let options = between(with(&history), start, Stop::End);
    let rest = read(vec![log.input("binlog.000001")], options).ok();
    assert_eq!(lines(&rest), ["insert d.t a=1"]);
}

/// The history of a recorded log, from its beginning.
fn history_for(fixture: &Fixture) -> Arc<SchemaHistory> {
    history_of(match fixture.name.split('-').next().unwrap() {
        "mariadb10" => SqlServer { is_mariadb: true, version: (10, 11, 19) },
        "mariadb11" => SqlServer { is_mariadb: true, version: (11, 8, 9) },
        _ => SqlServer { is_mariadb: false, version: (9, 7, 4) },
    })
}

#[test]
fn what_servers_recorded() {
    for fixture in recorded() {
        let history = history_for(&fixture);
        let alone = read(fixture.paths(), crate::rows::options()).ok();
        let mut options = with(&history);
        let followed = read(fixture.paths(), options.clone()).ok();
        // The log contains the same metadata of its tables as the statements.
        assert_eq!(followed.stats.history_mismatches, BTreeMap::new(), "{}", fixture.name);
        assert_eq!(followed.warnings, alone.warnings, "{}", fixture.name);
        let rows = |outcome: &Outcome| outcome.by_table();
        if fixture.name == "mysql-altered" || fixture.name.ends_with("-minimal-metadata") {
            assert_eq!(followed.rows.len(), alone.rows.len(), "{}", fixture.name);
        } else {
            assert_eq!(rows(&followed), rows(&alone), "{}", fixture.name);
        }
        options.cut.segment_bytes = 1;
        options.threads = 4;
        assert_eq!(rows(&read(fixture.paths(), options).ok()), rows(&followed), "{}", fixture.name);
    }
}

#[test]
fn a_table_that_is_another_before_each_of_its_rows() {
    let fixture = recorded_as("mysql-altered");
    let history = history_for(&fixture);
    let expected = [
        "insert d.a id=1 name=one",
        "insert d.a id=2 name=two qty=22",
        "insert d.a id=3 note=three qty=33",
        "insert d.a kind=y id=4 note=four qty=44",
        "insert d.b id=1 note=NULL",
        "insert d.b id=2 note=NULL",
        "insert d.b id=3 note=three",
    ];
    assert_eq!(lines(&read(fixture.paths(), with(&history)).ok()), expected);
    // Ranges between all transactions; their tasks have no history.
    let mut splits = split_file(&fixture.files[0], 1, 1).unwrap();
    link_splits(&mut splits, false).unwrap();
    assert!(splits.len() > 4, "{}", splits.len());
    for history in [history_for(&fixture), history] {
        let (tables, cut) = (TableFilter::default(), LogOptions::default());
        add_history(&mut splits, &history, &tables, &cut, &local, &CancelToken::default()).unwrap();
        let mut rows = Vec::new();
        for split in &splits {
            let (files, start, stop) = split.input(&local).unwrap();
            let mut options = between(options(), start, stop);
            options.cut.history = split.structures().unwrap();
            options.cut.allow_gaps = true;
            rows.extend(lines(&read(files, options).ok()));
        }
        assert_eq!(rows, expected);
    }
}
