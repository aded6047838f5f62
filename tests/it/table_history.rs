//! Rows of logs that name no columns, by the structures that DDL in the log leaves behind, whatever the segments and threads.

use crate::log::{
    Event, Log, TABLE_MAP, Table, WRITE_ROWS, begin, gtid, mariadb_gtid, not_last, query, stop, xid,
};
use crate::rows::{Outcome, read};
use binarrow::columnar::ColumnNames;
use binarrow::history::{Catalog, HistoryView};
use binarrow::reader::ReadOptions;
use binarrow::source::CutterOptions;
use std::sync::Arc;

const T: Table = Table { id: 140, name: "t" };

/// A map of `columns` columns `INT`, of which it tells no more.
fn map(table: Table, columns: usize) -> Event {
    let mut body = table.id.to_le_bytes()[..6].to_vec();
    body.extend([1, 0, 1, b'd', 0, table.name.len() as u8]);
    body.extend(table.name.as_bytes());
    body.extend([0, columns as u8]);
    body.extend(vec![3; columns]);
    body.extend([0, 0xff]);
    Event::new(TABLE_MAP, body)
}

/// A row of as many columns.
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
    let history = Some(HistoryView::detached(Arc::new(Catalog::default())));
    let mut options = crate::rows::options();
    options.decode.plan.column_names = ColumnNames::Log;
    ReadOptions { cut: CutterOptions { history, ..options.cut }, ..options }
}

/// Rows as `insert d.t a=1 b=2`, by segments of several sizes and by several threads: all must agree.
fn run_with(log: &Log, options: &ReadOptions) -> (Vec<String>, Option<String>) {
    let mut whole = None;
    for (segment_bytes, threads) in [(8 << 20, 1), (1, 1), (300, 1), (1, 3), (8 << 20, 3)] {
        let cut = CutterOptions { segment_bytes, ..options.cut.clone() };
        let outcome = read(log.clone().inputs(), ReadOptions { cut, threads, ..options.clone() });
        let error = outcome.error.as_ref().map(ToString::to_string);
        let read = (lines(&outcome), error);
        assert_eq!(*whole.get_or_insert(read.clone()), read, "{segment_bytes} {threads}");
    }
    whole.unwrap()
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
            let cells = cells.map(|(name, cell)| format!(" {name}={}", cell.as_deref().unwrap()));
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
    // Of one group: MySQL's, larger than a segment too; MariaDB's.
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
        .chain(rows(20).map(crate::log::v1))
        .chain([xid()]);
    assert_eq!(run(&Log::mariadb().with(mariadb).with([stop()])), expected);
}
