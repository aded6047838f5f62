//! Items that are not rows: their places between the rows, for all segments and threads.

use crate::log::{
    Event, Log, SECONDS, T, Table, anonymous_gtid, begin, gtid, insert, mysql_post_headers,
    payload, query, stop, table_map, transaction, xa, xa_prepare, xid,
};
use crate::rows::{emitting, options};
use binarrow::change::{Include, Item, MarkKind};
use binarrow::position::Position;
use binarrow::reader::{Poll, ReadOptions, Reader};
use binarrow::source::{LogOptions, Start, Stop};
use std::sync::Arc;
use std::time::Duration;

#[derive(Debug, Default, PartialEq)]
struct Read {
    /// The items, and the rows, with those between two items added up.
    lines: Vec<String>,
    positions: Vec<Arc<Position>>,
    warnings: Vec<String>,
    dropped_rows_events: u64,
}

fn all() -> ReadOptions {
    let include = Include {
        schema_changes: true,
        truncates: true,
        transactions: true,
        heartbeats: true,
        ..Include::default()
    };
    ReadOptions { cut: LogOptions { include, ..LogOptions::default() }, ..options() }
}

/// Reads the log in one segment, in many and on several threads: all must agree.
fn run(log: &Log, options: &ReadOptions) -> Read {
    let expected = read(log, options.clone());
    for (segment_bytes, threads) in [(1, 1), (300, 1), (1, 3), (8 << 20, 3)] {
        let cut = LogOptions { segment_bytes, ..options.cut.clone() };
        let again = read(log, ReadOptions { cut, threads, ..options.clone() });
        assert_eq!(again, expected, "segments of {segment_bytes}, {threads} threads");
    }
    expected
}

fn read(log: &Log, options: ReadOptions) -> Read {
    let mut reader = Reader::try_new(log.clone().inputs(), options).unwrap();
    let mut read = Read::default();
    let mut rows = 0;
    let mut version = 0;
    loop {
        let polled = reader.poll(Duration::from_secs(10)).unwrap();
        if let Poll::Batch(batch) = &polled {
            rows += batch.batch.num_rows();
            continue;
        }
        if rows > 0 {
            read.lines.push(format!("rows {}", std::mem::take(&mut rows)));
        }
        let Poll::Item(found) = polled else { break };
        assert!(found.commit_version.unwrap() >= version);
        version = found.commit_version.unwrap();
        read.lines.push(match found.item {
            Item::SchemaChange(change) => {
                let tables: Vec<_> = change.tables.iter().map(ToString::to_string).collect();
                format!("{} {}", change.kind.name(), tables.join(" "))
            }
            Item::Truncate(name) => format!("truncate {name}"),
            Item::Transaction(mark) => match mark.kind {
                MarkKind::Begin => "begin".to_owned(),
                kind => format!("{kind:?} {:?}", mark.rows).to_lowercase(),
            },
            Item::Emptied(emptied) => format!("emptied by {}", emptied.by),
            Item::SkippedStatement(skipped) => format!("skipped {}", skipped.statement),
            Item::UnloggedChange(_) => "unlogged change".to_owned(),
            Item::Heartbeat => "heartbeat".to_owned(),
        });
        read.positions.push(found.position);
    }
    read.warnings = reader.take_warnings();
    read.dropped_rows_events = reader.stats().dropped_rows_events;
    read
}

fn statement(table: Table, ids: impl IntoIterator<Item = i32>) -> [Event; 2] {
    [table_map(table), insert(table, ids)]
}

#[test]
fn statements_between_the_rows_of_one_transaction() {
    let log = Log::mysql()
        .with([gtid(1), begin(), query("CREATE TABLE d.x (a INT)")])
        .with(statement(T, [1, 2]))
        .with([query("ALTER TABLE d.x ADD b INT")])
        .with(statement(T, [3]))
        .with([query("TRUNCATE d.x"), xid(), stop()]);
    let read = run(&log, &all());
    assert_eq!(
        read.lines,
        ["begin", "create d.x", "rows 2", "alter d.x", "rows 1", "truncate d.x", "end some(3)"]
    );
    let offsets: Vec<u64> = read.positions.iter().map(|position| position.offset).collect();
    let start = offsets[0];
    assert_eq!(offsets[..4], [start; 4]);
    assert!(offsets[4] > start);
}

#[test]
fn statements_of_logs_without_gtids() {
    let log = Log::of("5.6.51-log", &mysql_post_headers(), true)
        .with([query("CREATE TABLE d.x (a INT)"), begin()])
        .with([query("COMMIT"), query("DROP TABLE d.x").at(SECONDS + 9), stop()]);
    let lines = ["create d.x", "begin", "end some(0)", "drop d.x"];
    let expected = run(&log, &all());
    assert_eq!(expected.lines, lines);
    for (index, line) in [(0, 1), (2, 3), (3, 4)] {
        let position = Box::new(Position::clone(&expected.positions[index]));
        let cut = |start, stop| LogOptions { start, stop, ..all().cut };
        let from = cut(Start::Position(position.clone()), Stop::End);
        assert_eq!(read(&log, ReadOptions { cut: from, ..all() }).lines, lines[line..]);
        let up_to = cut(Start::Earliest, Stop::Position(position));
        assert_eq!(read(&log, ReadOptions { cut: up_to, ..all() }).lines, lines[..line]);
    }
    let late = i64::from(SECONDS + 5) * 1_000_000;
    let from = LogOptions { start: Start::Time(late), ..all().cut };
    assert_eq!(read(&log, ReadOptions { cut: from, ..all() }).lines, lines[3..]);
    let up_to = LogOptions { stop: Stop::Time(late), ..all().cut };
    assert_eq!(read(&log, ReadOptions { cut: up_to, ..all() }).lines, lines[..3]);
}

#[test]
fn what_never_happened_has_no_items() {
    let undone = || {
        let mut events = vec![begin()];
        events.extend(statement(T, [1]));
        events.push(query("ROLLBACK"));
        events
    };
    let log = Log::mysql()
        .with([gtid(1), payload(true, undone())])
        .with([gtid(2)])
        .with(undone())
        .with(transaction(3, [3]))
        .with([stop()]);
    let read = run(&log, &all());
    assert_eq!(read.lines, ["begin", "rows 1", "end some(1)"]);
    assert_eq!(read.dropped_rows_events, 2);
    let emitted = run(&log, &emitting(all()));
    let rolled_back = ["begin", "rows 1", "rollback some(1)"];
    assert_eq!(
        emitted.lines,
        [rolled_back, rolled_back, ["begin", "rows 1", "end some(1)"]].concat()
    );
    assert_eq!(emitted.dropped_rows_events, 0);
}

#[test]
fn what_the_log_ends_in_begins_and_does_not_end() {
    let log = Log::mysql().in_use().with([gtid(1), begin()]).with(statement(T, [1]));
    assert_eq!(run(&log, &all()).lines, [""; 0]);
    assert_eq!(run(&log, &emitting(all())).lines, ["begin", "rows 1"]);
}

#[test]
fn xa_transactions_without_rows_and_those_of_before() {
    let log = Log::mysql()
        .with([gtid(1), xa("START", "a"), xa("END", "a"), xa_prepare("a", false)])
        .with([anonymous_gtid(), xa("COMMIT", "a")])
        .with([anonymous_gtid(), xa("ROLLBACK", "before"), anonymous_gtid()])
        .with([xa("COMMIT", "before"), stop()]);
    let read = run(&log, &all());
    assert_eq!(read.lines, ["prepare none", "begin", "end some(0)", "rollback none"]);
    assert_eq!(read.warnings.len(), 1, "{:?}", read.warnings);
    assert!(read.warnings[0].contains("prepared before the start"));
    assert_eq!(read.positions[0].prepared.len(), 1);
    assert_eq!(read.positions[1].prepared.len(), 1);
    assert_eq!(read.positions[2].prepared.len(), 0);
}

#[test]
fn a_statement_that_cannot_be_parsed_is_a_warning() {
    let log = Log::mysql().with([gtid(1), query("DROP TABLE 'd.x'")]).with(transaction(2, [1]));
    let read = run(&log.with([stop()]), &all());
    assert_eq!(read.lines, ["begin", "rows 1", "end some(1)"]);
    assert_eq!(read.warnings.len(), 1, "{:?}", read.warnings);
    assert!(read.warnings[0].contains("cannot be parsed"), "{:?}", read.warnings);
    assert!(read.warnings[0].starts_with("binlog.000001:"), "{:?}", read.warnings);
}

#[test]
fn nothing_comes_where_nothing_is_included() {
    let log = Log::mysql()
        .with([gtid(1), query("CREATE TABLE d.x (a INT)")])
        .with(transaction(2, [1]))
        .with([stop()]);
    assert_eq!(run(&log, &options()).lines, ["rows 1"]);
}
