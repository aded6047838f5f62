//! The envelope columns with the details of a commit and of its statements, for segments of any
//! size.

use crate::log::{
    Event, Log, T, U, UUID, annotate, begin, commit_time, gtid, insert, mariadb_gtid,
    mariadb_xa_gtid, not_last, payload, query, query_with, rows_query, stop, table_map, thread, xa,
    xa_prepare, xid,
};
use crate::rows::{DETAILS, decode, emitting, options};
use binarrow::columnar::EnvelopeColumn;
use binarrow::reader::ReadOptions;
use binarrow::source::LogOptions;

fn asking() -> ReadOptions {
    let mut options = options();
    let columns = DETAILS.iter().map(|name| EnvelopeColumn::parse(name).unwrap());
    options.decode.plan.envelope.columns.extend(columns);
    options.carry_what_is_asked_for();
    options
}

type Details = (Option<String>, Option<String>, Option<String>, Option<String>);

/// The id of each row with its GTID, connection, Xid and statement: the same for segments of any
/// size.
fn details(log: &Log, options: &ReadOptions) -> Vec<(String, Details)> {
    let of = |segment_bytes| {
        let cut = LogOptions { segment_bytes, ..options.cut.clone() };
        let options = ReadOptions { cut, ..options.clone() };
        let mut rows = decode(log.clone().inputs(), &options).ok().rows;
        rows.sort();
        let id = |row: &crate::rows::Row| row.cells[0].clone().unwrap();
        let taken = |row: &crate::rows::Row, index: usize| row.details[index].clone();
        let all = |row| (taken(row, 0), taken(row, 2), taken(row, 3), taken(row, 4));
        rows.iter().map(|row| (id(row), all(row))).collect::<Vec<_>>()
    };
    let expected = of(1 << 20);
    for segment_bytes in [1, 150, 300, 700] {
        assert_eq!(of(segment_bytes), expected, "{segment_bytes}");
    }
    expected
}

/// A row as the tests write it: id, GTID, connection, Xid, statement; "" means NULL.
fn row(id: i32, gtid: &str, thread: &str, xid: &str, query: &str) -> (String, Details) {
    let cell = |text: &str| (!text.is_empty()).then(|| text.to_owned());
    (id.to_string(), (cell(gtid), cell(thread), cell(xid), cell(query)))
}

fn mysql_gtid(gno: i64) -> String {
    format!("{UUID}:{gno}")
}

/// Two statements, the second with rows of two tables, and one that is not in the log.
fn statements(first: i32) -> Vec<Event> {
    vec![
        rows_query("one"),
        table_map(T),
        not_last(insert(T, [first])),
        insert(T, [first + 1]),
        rows_query("two"),
        table_map(T),
        table_map(U),
        not_last(insert(U, [first + 2])),
        insert(T, [first + 3]),
        table_map(T),
        insert(T, [first + 4]),
    ]
}

fn rows_of(first: i32, gtid: &str, xid: &str) -> Vec<(String, Details)> {
    ["one", "one", "two", "two", ""]
        .iter()
        .zip(first..)
        .map(|(query, id)| row(id, gtid, "9", xid, query))
        .collect()
}

#[test]
fn of_a_transaction() {
    let log = Log::mysql()
        .with([gtid(1), begin()])
        .with(statements(1))
        .with([xid()])
        .with([begin()])
        .with(statements(6))
        .with([query("COMMIT"), stop()]);
    let expected = [rows_of(1, &mysql_gtid(1), "77"), rows_of(6, "", "")].concat();
    assert_eq!(details(&log, &asking()), expected);
    // a table that is not selected also has statements
    let mut only = asking();
    only.decode.tables = binarrow::change::TableFilter::try_new(&["d.t"], &[]).unwrap();
    let rows = details(&log, &only);
    let kept = |row: &&(String, Details)| !["3", "8"].contains(&row.0.as_str());
    assert_eq!(rows, expected.iter().filter(kept).cloned().collect::<Vec<_>>());
}

#[test]
fn of_a_transaction_with_parts_that_were_undone() {
    let gbk = &[4, 28, 0, 28, 0, 28, 0];
    let log = Log::mysql()
        .with([gtid(1), query_with(gbk, "BEGIN"), rows_query("ģ"), table_map(T), insert(T, [1])])
        .with([query("SAVEPOINT a"), rows_query("lost"), table_map(T), insert(T, [2])])
        .with([query("ROLLBACK TO a"), table_map(T), insert(T, [3])])
        .with([rows_query("next"), table_map(T), insert(T, [4]), xid(), stop()]);
    let row = |id, query| row(id, &mysql_gtid(1), "9", "77", query);
    // in the client's character set, gbk
    assert_eq!(details(&log, &asking()), [row(1, "模"), row(3, ""), row(4, "next")]);
}

#[test]
fn of_a_compressed_transaction() {
    for zstd in [true, false] {
        let inside = [vec![begin()], statements(1), vec![xid()]].concat();
        let log = Log::mysql().with([gtid(1), payload(zstd, inside), stop()]);
        assert_eq!(details(&log, &asking()), rows_of(1, &mysql_gtid(1), "77"));
    }
}

#[test]
fn of_an_xa_transaction() {
    let prepare = [vec![xa("START", "x")], statements(1), vec![xa("END", "x")]].concat();
    let prepare = [prepare, vec![xa_prepare("x", false)]].concat();
    // the GTID is that of XA COMMIT, the connection is the one that made the changes; there is no
    // Xid event
    let commit = [gtid(3), thread(xa("COMMIT", "x"), 5), stop()];
    let between = [gtid(2), begin(), table_map(T), insert(T, [9]), xid()];
    let log = Log::mysql()
        .with([gtid(1)])
        .with(prepare.clone())
        .with(between.clone())
        .with(commit.clone());
    let expected =
        [vec![row(9, &mysql_gtid(2), "9", "77", "")], rows_of(1, &mysql_gtid(3), "")].concat();
    assert_eq!(details(&log, &asking()), expected);
    let log =
        Log::mysql().with([gtid(1), payload(true, prepare.clone())]).with(between).with(commit);
    assert_eq!(details(&log, &asking()), expected);
    let one_phase = [prepare[..prepare.len() - 1].to_vec(), vec![xa_prepare("x", true)]].concat();
    let log = Log::mysql().with([gtid(1)]).with(one_phase).with([stop()]);
    assert_eq!(details(&log, &asking()), rows_of(1, &mysql_gtid(1), ""));
    let unfinished = Log::mysql().with([gtid(1)]).with(prepare).with([stop()]);
    assert_eq!(details(&unfinished, &emitting(asking())), rows_of(1, &mysql_gtid(1), ""));
}

#[test]
fn of_mariadb() {
    let annotated = |id| [annotate("one \u{e9}"), table_map(T), insert(T, [id])];
    let mut threaded = mariadb_gtid(2, 0);
    threaded.body.truncate(13);
    threaded.body.extend([0x10, 44, 0, 0, 0]);
    let log = Log::mariadb()
        .with([mariadb_gtid(1, 0)])
        .with(annotated(1))
        .with([xid(), threaded])
        .with(annotated(2))
        .with([xid(), mariadb_gtid(3, 0)])
        .with(annotated(3))
        .with([query("COMMIT")])
        .with([mariadb_xa_gtid(4, 0x40, "x")])
        .with(annotated(4))
        .with([xa("END", "x"), xa_prepare("x", false)])
        .with([mariadb_xa_gtid(5, 0x80, "x"), thread(xa("COMMIT", "x"), 5), stop()]);
    let expected = [
        row(1, "0-1-1", "", "77", "one \u{e9}"),
        row(2, "0-1-2", "44", "77", "one \u{e9}"),
        row(3, "0-1-3", "9", "", "one \u{e9}"),
        row(4, "0-1-5", "9", "", "one \u{e9}"),
    ];
    assert_eq!(details(&log, &asking()), expected);
}

#[test]
fn the_time_of_the_first_commit() {
    let mut replicated = gtid(2);
    let at = replicated.body.len() - 12;
    let own = (commit_time(2) | 1 << 55).to_le_bytes();
    replicated.body.splice(
        at..at + 7,
        own[..7].iter().copied().chain(commit_time(1).to_le_bytes()[..7].iter().copied()),
    );
    let log = Log::mysql()
        .with([gtid(3), begin(), table_map(T), insert(T, [1]), xid()])
        .with([replicated, begin(), table_map(T), insert(T, [2]), xid()])
        .with([begin(), table_map(T), insert(T, [3]), xid(), stop()]);
    let rows = decode(log.inputs(), &asking()).ok().rows;
    let original: Vec<_> = rows.iter().map(|row| row.details[1].clone()).collect();
    let times: Vec<i64> = rows.iter().map(|row| row.timestamp).collect();
    assert_eq!(times[..2], [commit_time(3), commit_time(2)]);
    assert_eq!(original[0], Some(commit_time(3).to_string()));
    assert_eq!(original[1], Some(commit_time(1).to_string()));
    assert_eq!(original[2], None);
}

#[test]
fn rows_without_a_statement_are_counted_where_it_is_asked_for() {
    let log = Log::mysql().with([gtid(1), begin()]).with(statements(1)).with([xid(), stop()]);
    let count = |options: &ReadOptions| {
        decode(log.clone().inputs(), options).ok().stats.unstated_rows_events
    };
    assert_eq!(count(&asking()), 1);
    assert_eq!(count(&options()), 0);
}
