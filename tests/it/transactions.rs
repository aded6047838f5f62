//! The rows that are returned, their versions, and the start and end of a read.

use crate::log::{
    Event, Log, SECONDS, T, Table, U, UUID, annotate, anonymous_gtid, begin, commit_time, delete,
    gtid, gtid_list, image, input, insert, mariadb_gtid, mariadb_xa_gtid, not_last, payload,
    payload_of, previous_gtids, query, query_with, rotate, rows_event, stop, table_map,
    transaction, update, v1, xa, xa_prepare, xid,
};
use crate::rows::{Outcome, between, decode, emitting, from, options, read, segments_of, up_to};
use binarrow::ErrorKind;
use binarrow::position::Position;
use binarrow::reader::{ReadOptions, Reader};
use binarrow::source::{InputFile, LogOptions, Start, Stop};

/// Decodes the log in one segment and in as many segments as possible; both results must be equal.
pub(crate) fn run(log: &Log) -> Outcome {
    run_with(log, options())
}

pub(crate) fn run_with(log: &Log, options: ReadOptions) -> Outcome {
    run_all(|| log.clone().inputs(), &options)
}

fn run_all(files: impl Fn() -> Vec<InputFile>, options: &ReadOptions) -> Outcome {
    let complete = decode(files(), options);
    for segment in [1, 300] {
        let cut = LogOptions { segment_bytes: segment, ..options.cut.clone() };
        let outcome = decode(files(), &ReadOptions { cut, ..options.clone() });
        assert_eq!(outcome.changes(), complete.changes());
        let error = |outcome: &Outcome| outcome.error.as_ref().map(ToString::to_string);
        assert_eq!(error(&outcome), error(&complete));
        if complete.error.is_none() {
            let position = |outcome: &Outcome| outcome.position.as_deref().cloned();
            assert_eq!(position(&outcome), position(&complete));
            assert_eq!(outcome.stats.dropped_rows_events, complete.stats.dropped_rows_events);
            assert_eq!(outcome.stats.transactions, complete.stats.transactions);
        }
    }
    complete
}

fn statement(table: Table, ids: impl IntoIterator<Item = i32>) -> [Event; 2] {
    [table_map(table), insert(table, ids)]
}

/// The GTIDs of the position at the end.
fn gtids(outcome: &Outcome) -> String {
    outcome.position.as_ref().unwrap().gtid_set.as_ref().unwrap().to_string()
}

const NOTHING: [&str; 0] = [];

// ---- how groups end

#[test]
fn xid_and_commit_end_a_transaction() {
    for end in [xid(), query("COMMIT")] {
        let log =
            Log::mysql().with([gtid(1), begin()]).with(statement(T, [1, 2])).with([end, stop()]);
        let outcome = run(&log).ok();
        assert_eq!(outcome.inserted(), [1, 2]);
        assert_eq!(outcome.stats.transactions, 1);
        let row = &outcome.rows[1];
        assert_eq!((row.version, row.ordinal), (1 << 40 | log.starts[1] as i64, 2));
        assert_eq!(row.timestamp, commit_time(1), "the GTID event's, not the header's");
        assert_eq!(row.position, log.starts[4] as i64);
        assert_eq!(outcome.offset(), log.end());
    }
}

#[test]
fn without_a_gtid_begin_opens_it() {
    let log = Log::mysql().with([begin()]).with(statement(T, [1])).with([xid()]);
    let log = log.with([anonymous_gtid(), begin()]).with(statement(T, [2])).with([xid(), stop()]);
    let outcome = run(&log).ok();
    assert_eq!(outcome.inserted(), [1, 2]);
    assert_eq!(outcome.rows[0].version, 1 << 40 | log.starts[1] as i64);
    assert_eq!(outcome.rows[0].timestamp, i64::from(SECONDS) * 1_000_000);
    assert_eq!(outcome.rows[1].version, 1 << 40 | log.starts[5] as i64);
}

#[test]
fn rollback_gives_nothing() {
    let rolled_back = |gno, id| {
        let events = [gtid(gno), begin(), table_map(T), insert(T, [id]), query("ROLLBACK")];
        events.into_iter()
    };
    let log = Log::mysql()
        .with(rolled_back(1, 1))
        .with(transaction(2, [2]))
        .with(rolled_back(3, 3))
        .with([stop()]);
    let outcome = run(&log).ok();
    assert_eq!(outcome.inserted(), [2]);
    assert_eq!(outcome.stats.dropped_rows_events, 2);
    assert_eq!(outcome.stats.transactions, 1);
    assert_eq!(outcome.offset(), log.end());
    let outcome = run_with(&log, emitting(options())).ok();
    assert_eq!(outcome.inserted(), [1, 2, 3]);
}

#[test]
fn rollback_to_a_savepoint_undoes_what_came_after() {
    let log = Log::mysql()
        .with([gtid(1), begin()])
        .with(statement(T, [1]))
        .with([query("SAVEPOINT `a`")])
        .with(statement(T, [2]))
        .with([query("SAVEPOINT `B``c`")])
        .with(statement(U, [3]))
        .with([query("ROLLBACK TO `b``C`")])
        .with(statement(T, [4]))
        .with([query("ROLLBACK TO `a`")])
        .with(statement(U, [5]))
        .with([query("SAVEPOINT `a`")])
        .with(statement(T, [6]))
        .with([query("ROLLBACK TO `a`"), query("ROLLBACK TO `a`")])
        .with(statement(T, [7]))
        .with([xid(), stop()]);
    let outcome = run(&log).ok();
    assert_eq!(outcome.inserted(), [1, 5, 7]);
    let ordinals: Vec<i64> =
        outcome.by_table().values().flatten().map(|row| row.ordinal >> 32).collect();
    assert_eq!(ordinals, [0, 6, 4], "all rows events count, those undone too");
    let outcome = run_with(&log, emitting(options())).ok();
    assert_eq!(outcome.inserted(), [1, 2, 3, 4, 5, 6, 7]);
}

#[test]
fn a_savepoint_that_the_log_does_not_name_is_an_error() {
    let log = Log::mysql()
        .with(transaction(1, [1]))
        .with([gtid(2), begin()])
        .with(statement(T, [2]))
        .with([query("ROLLBACK TO `x`"), xid(), stop()]);
    let outcome = run(&log);
    assert_eq!(outcome.inserted(), [1]);
    let error = outcome.failure();
    assert_eq!((error.kind(), error.event()), (ErrorKind::Malformed, Some("Query")));
    assert_eq!(error.offset(), Some(log.starts[10]));
}

#[test]
fn rows_of_a_file_that_begins_in_a_transaction_end_with_their_statement() {
    let first = not_last(insert(T, [1]));
    let log = Log::mysql()
        .with([table_map(T), first, insert(T, [2])])
        .with(statement(U, [3]))
        .with([xid()])
        .with(transaction(9, [4]))
        .with([stop()]);
    let outcome = run(&log).ok();
    assert_eq!(outcome.inserted(), [1, 2, 3, 4]);
    assert_eq!(outcome.stats.transactions, 3);
}

#[test]
fn create_table_select() {
    // MySQL logs it as one transaction whose first statement is the CREATE.
    let create = "CREATE TABLE `t` (`id` int NOT NULL) START TRANSACTION";
    let log = Log::mysql()
        .with([gtid(1), query(create)])
        .with(statement(T, [1, 2]))
        .with([xid()])
        .with([gtid(2), begin(), query(create)])
        .with(statement(T, [3]))
        .with([xid()])
        .with([query(create)])
        .with(statement(T, [4]))
        .with([xid(), stop()]);
    let outcome = run(&log).ok();
    assert_eq!(outcome.inserted(), [1, 2, 3, 4]);
    assert_eq!(outcome.stats.transactions, 3);
}

#[test]
fn statements_that_are_alone() {
    let log = Log::mysql()
        .with([gtid(1), query("CREATE TABLE `t` (id INT)")])
        .with(transaction(2, [1]))
        .with([gtid(3), query("DROP TABLE `x`"), query("ALTER TABLE no_gtid ADD x INT")])
        .with(transaction(4, [2]))
        .with([stop()]);
    let outcome = run(&log).ok();
    assert_eq!(outcome.inserted(), [1, 2]);
    assert_eq!(outcome.stats.transactions, 2, "those with rows");
    assert_eq!(outcome.offset(), log.end());
}

/// H19
#[test]
fn status_variables_that_overrun_do_not_hide_the_statement() {
    for variables in [&[5, 200][..], &[12, 254], &[99, 1, 2], &[12, 3, b'a'], &[0, 1]] {
        let log = Log::mysql()
            .with([gtid(1), query_with(variables, "BEGIN")])
            .with(statement(T, [1]))
            .with([query_with(variables, "ROLLBACK")])
            .with(transaction(2, [2]))
            .with([stop()]);
        assert_eq!(run(&log).ok().inserted(), [2]);
    }
}

#[test]
fn mariadb_groups() {
    // Without STANDALONE, a transaction begins without a BEGIN. Statements inside it do not end it.
    let rows =
        |id: i32| statement(T, [id]).map(|event| if event.code == 30 { v1(event) } else { event });
    let log = Log::mariadb()
        .with([gtid_list(0), mariadb_gtid(1, 1), query("CREATE TABLE t (id INT)")])
        .with([mariadb_gtid(2, 12), annotate("INSERT INTO t VALUES (1)")])
        .with(rows(1))
        .with([query("CREATE TEMPORARY TABLE x (id INT)")])
        .with(rows(2))
        .with([xid()])
        .with([mariadb_gtid(3, 0)])
        .with(rows(3))
        .with([query("COMMIT")])
        .with([mariadb_gtid(4, 12)])
        .with(rows(4))
        .with([query("CREATE TEMPORARY TABLE y (id INT)")])
        .with(rows(5))
        .with([query("ROLLBACK")])
        .with([mariadb_gtid(5, 12)])
        .with(rows(6))
        .with([xid(), stop()]);
    let outcome = run(&log).ok();
    assert_eq!(outcome.inserted(), [1, 2, 3, 6]);
    assert_eq!(outcome.stats.dropped_rows_events, 2);
    assert_eq!(gtids(&outcome), "0-1-5");
    assert_eq!(outcome.rows[0].timestamp, (i64::from(SECONDS) + 2) * 1_000_000);
}

#[test]
fn a_transaction_that_does_not_end_before_the_next_is_an_error() {
    let log = Log::mysql()
        .with(transaction(1, [1]))
        .with([gtid(2), begin()])
        .with(statement(T, [2]))
        .with(transaction(3, [3]))
        .with([stop()]);
    let outcome = run(&log);
    assert_eq!(outcome.inserted(), [1]);
    assert_eq!(outcome.failure().kind(), ErrorKind::Malformed);
    assert_eq!(outcome.failure().offset(), Some(log.starts[10]));
}

// ---- XA

fn prepared(gno: i64, gtrid: &str, id: i32) -> Vec<Event> {
    let rows = statement(T, [id]);
    let mut events = vec![gtid(gno), xa("START", gtrid)];
    events.extend(rows);
    events.extend([xa("END", gtrid), xa_prepare(gtrid, false)]);
    events
}

/// A prepared transaction of MySQL 9.7 with `binlog_transaction_compression`: the decision is
/// outside of the payload.
fn prepared_packed(gno: i64, gtrid: &str, id: i32) -> Vec<Event> {
    let mut events = prepared(gno, gtrid, id);
    let inside = events.split_off(1);
    events.push(payload(true, inside));
    events
}

#[test]
fn xa_rows_are_returned_at_the_commit_under_its_version() {
    for prepare in [prepared, prepared_packed] {
        let log = Log::mysql()
            .with(prepare(1, "a", 1))
            .with(transaction(2, [2]))
            .with(prepare(3, "b", 3))
            .with([gtid(4), xa("ROLLBACK", "b")])
            .with(transaction(5, [5]));
        let commit = log.end();
        let log = log.with([gtid(6), xa("COMMIT", "a")]).with(transaction(7, [7])).with([stop()]);
        let outcome = run(&log).ok();
        assert_eq!(outcome.inserted(), [2, 5, 1, 7]);
        let row = outcome.rows.iter().find(|row| row.cells[0].as_deref() == Some("1")).unwrap();
        assert_eq!(row.version, 1 << 40 | commit as i64);
        assert_eq!(row.timestamp, commit_time(6), "when it was committed");
        assert_eq!(row.ordinal, 0);
        assert_eq!(outcome.position.as_ref().unwrap().prepared, []);
        assert_eq!(outcome.warnings, NOTHING);
    }
}

#[test]
fn xa_decided_in_a_later_file() {
    for prepare in [prepared, prepared_packed] {
        let first = Log::mysql()
            .with(prepare(1, "a", 1))
            .with(prepare(2, "b", 2))
            .with(prepare(3, "left", 3))
            .with([rotate("binlog.000002")]);
        let second = Log::mysql().with(transaction(4, [4])).with([rotate("binlog.000003")]);
        let third = Log::mysql()
            .with([gtid(5), xa("COMMIT", "b"), gtid(6), xa("ROLLBACK", "a")])
            .with(transaction(7, [7]))
            .with([stop()]);
        let files = || {
            vec![
                first.clone().input("binlog.000001"),
                second.clone().input("binlog.000002"),
                third.clone().input("binlog.000003"),
            ]
        };
        let outcome = run_all(files, &options()).ok();
        assert_eq!(outcome.inserted(), [4, 2, 7]);
        assert!(outcome.rows.iter().any(|row| row.version == 3 << 40 | third.starts[1] as i64));
        let position = outcome.position.as_ref().unwrap();
        let left: Vec<String> =
            position.prepared.iter().map(|range| range.xid.to_string()).collect();
        assert_eq!(left, ["X'6c656674',X'',1"]);
        assert_eq!(position.prepared[0].file, "binlog.000001");
    }
}

#[test]
fn xa_after_a_resume_between_prepare_and_decision() {
    for prepare in [prepared, prepared_packed] {
        let log = Log::mysql()
            .with(prepare(1, "a", 1))
            .with(prepare(2, "b", 2))
            .with(transaction(3, [3]));
        let middle = log.end();
        let log = log.with(transaction(4, [4])).with([
            gtid(5),
            xa("COMMIT", "a"),
            gtid(6),
            xa("ROLLBACK", "b"),
            stop(),
        ]);
        let until = Stop::Position(Box::new(Position::in_file("binlog.000001", middle)));
        let first = run_with(&log, between(options(), Start::Earliest, until)).ok();
        assert_eq!(first.inserted(), [3]);
        let position = first.position.unwrap();
        assert_eq!((position.offset, position.prepared.len()), (middle, 2));
        let stored = Position::from_json(&position.to_json().unwrap()).unwrap();
        let rest = run_with(&log, between(options(), from(&stored), Stop::End)).ok();
        assert_eq!(rest.inserted(), [4, 1]);
        assert_eq!(rest.warnings, NOTHING);
        assert_eq!(rest.position.unwrap().prepared, []);

        // A position without the prepared transactions: the reader reports the rows that it cannot
        // return.
        let bare = Position::in_file("binlog.000001", middle);
        let rest = run_with(&log, between(options(), from(&bare), Stop::End)).ok();
        assert_eq!(rest.inserted(), [4]);
        let [warning] = rest.warnings.as_slice() else { panic!("{:?}", rest.warnings) };
        assert!(warning.contains("prepared before the start"), "{warning}");
    }
}

#[test]
fn xa_whose_file_is_not_there() {
    let first = Log::mysql().with(prepared(1, "a", 1)).with([rotate("binlog.000002")]);
    let second = Log::mysql().with(transaction(2, [2])).with([gtid(3), xa("COMMIT", "a"), stop()]);
    let outcome = decode(vec![first.clone().input("binlog.000001")], &options()).ok();
    let mut position = (*outcome.position.unwrap()).clone();
    (position.file, position.offset) = ("binlog.000002".to_owned(), 4);
    let rest = between(options(), from(&position), Stop::End);
    let outcome = decode(vec![second.clone().input("binlog.000002")], &rest);
    assert_eq!(outcome.inserted(), [2]);
    assert_eq!(outcome.failure().kind(), ErrorKind::Config);
    assert!(outcome.failure().message().contains("binlog.000001"), "{:?}", outcome.failure());
    let both = vec![first.input("binlog.000001"), second.input("binlog.000002")];
    assert_eq!(decode(both, &rest).ok().inserted(), [2, 1]);
}

#[test]
fn xa_in_one_phase() {
    let plain = |id| {
        let mut events = vec![gtid(1), xa("START", "o")];
        events.extend(statement(T, [id]));
        events.extend([xa("END", "o"), xa_prepare("o", true)]);
        events
    };
    let mut packed = plain(2);
    let inside = packed.split_off(1);
    let log = Log::mysql().with(plain(1)).with(packed).with([payload(true, inside), stop()]);
    let outcome = run(&log).ok();
    assert_eq!(outcome.inserted(), [1, 2]);
    assert_eq!(outcome.position.unwrap().prepared, []);
}

#[test]
fn xa_of_mariadb() {
    let prepared = |seq, gtrid: &'static str, id| {
        let [map, rows] = statement(T, [id]);
        let gtid = mariadb_xa_gtid(seq, 0x40 | 12, gtrid);
        [gtid, xa("START", gtrid), map, v1(rows), xa("END", gtrid), xa_prepare(gtrid, false)]
    };
    let decided = |seq, verb, gtrid| [mariadb_xa_gtid(seq, 0x80 | 12, gtrid), xa(verb, gtrid)];
    let log = Log::mariadb()
        .with([gtid_list(0)])
        .with(prepared(1, "a", 1))
        .with(prepared(2, "b", 2))
        .with(decided(3, "COMMIT", "b"))
        .with(decided(4, "ROLLBACK", "a"))
        .with([stop()]);
    let outcome = run(&log).ok();
    assert_eq!(outcome.inserted(), [2]);
    assert_eq!(gtids(&outcome), "0-1-4");
}

#[test]
fn xa_uncommitted() {
    for prepare in [prepared, prepared_packed] {
        let log = Log::mysql()
            .with(prepare(1, "a", 1))
            .with(transaction(2, [2]))
            .with([gtid(3), xa("COMMIT", "a")])
            .with(prepare(4, "b", 4))
            .with([gtid(5), xa("ROLLBACK", "b"), stop()]);
        // At their place in the log, once.
        assert_eq!(run_with(&log, emitting(options())).ok().inserted(), [1, 2, 4]);
    }
}

#[test]
fn a_large_xa_transaction() {
    let many = (0..400).flat_map(|id| statement(T, [id])).collect::<Vec<_>>();
    for packed in [false, true] {
        let mut prepared = vec![xa("START", "large")];
        prepared.extend(many.clone());
        prepared.push(query("SAVEPOINT `s`"));
        prepared.extend(statement(U, [1000]));
        prepared.push(query("ROLLBACK TO `s`"));
        prepared.extend(statement(U, [2000]));
        prepared.extend([xa("END", "large"), xa_prepare("large", false)]);
        if packed {
            prepared = vec![payload(true, prepared)];
        }
        let log = Log::mysql()
            .with([gtid(1)])
            .with(prepared)
            .with(transaction(2, [3000]))
            .with([gtid(3), xa("COMMIT", "large")])
            .with(transaction(4, [4000]))
            .with([stop()]);
        let expected: Vec<i32> = [3000].into_iter().chain(0..400).chain([2000, 4000]).collect();
        assert_eq!(run(&log).ok().inserted(), expected);
        for threads in [1, 4] {
            let options = ReadOptions { threads, ..segments_of(4096) };
            assert_eq!(read(log.clone().inputs(), options).ok().inserted(), expected);
        }
    }
}

// ---- tails

#[test]
fn an_unfinished_tail_ends_cleanly_while_the_file_is_in_use() {
    let log = Log::mysql().in_use().with(transaction(1, [1]));
    let complete = log.end();
    let tail = |events: Vec<Event>| log.clone().with(events);
    let tails = [
        tail(vec![]),
        tail(vec![gtid(2)]),
        tail(vec![gtid(2), begin(), table_map(T)]),
        tail(vec![gtid(2), begin(), table_map(T), not_last(insert(T, [2])), insert(T, [3])]),
        tail(vec![begin(), table_map(T), insert(T, [2])]),
        tail(prepared(2, "a", 2)[..5].to_vec()),
    ];
    for log in tails {
        let outcome = run(&log).ok();
        assert_eq!(outcome.inserted(), [1]);
        assert_eq!(outcome.offset(), complete);
        let [warning] = outcome.warnings.as_slice() else { panic!("{:?}", outcome.warnings) };
        let end = format!("at offset {}", log.end());
        assert!(warning.contains(&end) && warning.contains("in use"), "{warning}");
        // They are read again when the rest of the file exists.
        let position = outcome.position.unwrap();
        let resumed = Log::mysql().in_use().with(transaction(1, [1])).with(transaction(2, [7]));
        let rest = decode(resumed.inputs(), &between(options(), from(&position), Stop::End)).ok();
        assert_eq!(rest.inserted(), [7]);
    }
}

#[test]
fn an_unfinished_tail_is_an_error_where_the_file_is_closed() {
    let log = Log::mysql().with(transaction(1, [1]));
    let complete = log.end();
    let tail = log.with([gtid(2), begin(), table_map(T), insert(T, [2])]);
    let outcome = run(&tail);
    assert_eq!(outcome.inserted(), [1], "the complete transaction is returned first");
    let error = outcome.failure();
    assert_eq!(error.kind(), ErrorKind::Malformed);
    assert!(error.message().contains("middle of a transaction"), "{error}");
    assert_eq!(error.offset(), Some(tail.end()));
    assert_eq!(error.file(), Some("binlog.000001"));
    assert_eq!(outcome.offset(), complete);
}

#[test]
fn a_closed_file_without_its_last_event_is_warned_of() {
    let outcome = run(&Log::mysql().with(transaction(1, [1]))).ok();
    let [warning] = outcome.warnings.as_slice() else { panic!("{:?}", outcome.warnings) };
    assert!(warning.contains("without a Rotate or Stop event"), "{warning}");
}

#[test]
fn uncommitted_gives_the_tail_too() {
    let log = Log::mysql().in_use().with(transaction(1, [1]));
    let log =
        log.with([gtid(2), begin(), table_map(T), insert(T, [2]), table_map(T), insert(T, [3])]);
    assert_eq!(run_with(&log, emitting(options())).ok().inserted(), [1, 2, 3]);
}

#[test]
fn a_file_that_a_crash_cut_is_followed_by_the_next() {
    // After a crash the server starts a new file; no Rotate event contains its name.
    let first = Log::mysql().in_use().with(transaction(1, [1]));
    let first = first.with([gtid(2), begin(), table_map(T), insert(T, [2])]);
    let second = Log::mysql().with(transaction(2, [3])).with([stop()]);
    let files =
        || vec![first.clone().input("binlog.000001"), second.clone().input("binlog.000002")];
    let outcome = run_all(files, &options()).ok();
    assert_eq!(outcome.inserted(), [1, 3]);
    assert_eq!(outcome.stats.dropped_rows_events, 1);
}

// ---- large transactions

/// Rows events of about 8 KiB over two tables.
fn large(first: i32, events: i32) -> Vec<Event> {
    let text = "x".repeat(400);
    let mut all = Vec::new();
    for event in 0..events {
        let ids = first + event * 40..first + event * 40 + 20;
        let images: Vec<u8> = ids.clone().flat_map(|id| image(id, Some(&text))).collect();
        // One statement over both tables, with all table maps first.
        all.extend([table_map(T), table_map(U), not_last(rows_event(30, T, &images))]);
        all.push(insert(U, ids.map(|id| id + 20)));
    }
    all
}

#[test]
fn transactions_larger_than_a_segment() {
    let log = Log::mysql()
        .with(transaction(1, [-1]))
        .with([gtid(2), begin()])
        .with(large(0, 100))
        .with([xid()])
        .with([gtid(3), begin()])
        .with(large(4000, 100))
        .with([query("ROLLBACK")])
        .with([gtid(4), begin()])
        .with(large(8000, 30))
        .with([query("SAVEPOINT `s`")])
        .with(large(9200, 30))
        .with([query("ROLLBACK TO `s`")])
        .with(large(10_400, 30))
        .with([xid()])
        .with(transaction(5, [-2]))
        .with([stop()]);
    let expected: Vec<i32> = [-1]
        .into_iter()
        .chain(0..4000)
        .chain(8000..9200)
        .chain(10_400..11_600)
        .chain([-2])
        .collect();
    let complete = decode(log.clone().inputs(), &segments_of(64 << 20)).ok();
    assert_eq!(complete.inserted(), expected);
    for segment in [1, 64 << 10, 100_000, 1 << 20] {
        for threads in [1, 4] {
            let options = ReadOptions { threads, ..segments_of(segment) };
            let outcome = read(log.clone().inputs(), options).ok();
            assert_eq!(outcome.by_table(), complete.by_table(), "{segment} {threads}");
            assert_eq!(outcome.position, complete.position);
            assert_eq!(outcome.stats.transactions, 4);
            assert_eq!(outcome.stats.dropped_rows_events, 200);
        }
    }
    let emitted = decode(log.inputs(), &emitting(segments_of(64 << 10))).ok();
    assert_eq!(emitted.inserted().len(), 2 + 11_600);
}

#[test]
fn a_large_transaction_without_an_end() {
    for (in_use, emits) in [(true, false), (true, true), (false, false)] {
        let log = if in_use { Log::mysql().in_use() } else { Log::mysql() };
        let log = log.with(transaction(1, [-1]));
        let complete = log.end();
        let log = log.with([gtid(2), begin()]).with(large(0, 100));
        let options = if emits { emitting(segments_of(64 << 10)) } else { segments_of(64 << 10) };
        let outcome = decode(log.inputs(), &options);
        let rows = if emits { 4001 } else { 1 };
        assert_eq!(outcome.rows.len(), rows);
        assert_eq!(outcome.error.is_some(), !in_use);
        if in_use && !emits {
            assert_eq!(outcome.offset(), complete);
            assert_eq!(outcome.stats.dropped_rows_events, 200);
        }
    }
}

#[test]
fn a_table_map_is_forgotten_at_its_statements_end() {
    // A large transaction, in which maps are carried from segment to segment.
    let log = Log::mysql().with([gtid(1), begin()]).with(large(0, 20)).with([
        insert(Table { id: 9999, ..T }, [1]),
        xid(),
        stop(),
    ]);
    for segment in [64 << 10, 64 << 20] {
        let outcome = decode(log.clone().inputs(), &segments_of(segment));
        assert_eq!(outcome.failure().kind(), ErrorKind::Malformed);
        assert_eq!(outcome.failure().event(), Some("Write_rows"));
    }
}

// ---- compressed transactions

#[test]
fn payloads() {
    for zstd in [true, false] {
        let inside = |id| {
            let [map, rows] = statement(T, [id]);
            [begin(), map, rows, xid()]
        };
        let mut undone = inside(2);
        undone[3] = query("ROLLBACK");
        let savepoints = [
            begin(),
            table_map(T),
            insert(T, [4]),
            query("SAVEPOINT `s`"),
            table_map(T),
            insert(T, [5]),
            query("ROLLBACK TO `s`"),
            table_map(T),
            insert(T, [6]),
            xid(),
        ];
        let log = Log::mysql()
            .with([gtid(1), payload(zstd, inside(1)), gtid(2), payload(zstd, undone)])
            .with([payload(zstd, inside(3)), gtid(4), payload(zstd, savepoints)])
            .with(transaction(5, [7]))
            .with([stop()]);
        let outcome = run(&log).ok();
        assert_eq!(outcome.inserted(), [1, 3, 4, 6, 7]);
        assert_eq!(outcome.stats.dropped_rows_events, 1);
        let row = &outcome.rows[0];
        assert_eq!(row.version, 1 << 40 | log.starts[1] as i64);
        assert_eq!(row.position, log.starts[2] as i64, "the payload event's");
        assert_eq!(outcome.rows[3].ordinal, 2 << 32);
        assert_eq!(run_with(&log, emitting(options())).ok().inserted(), [1, 2, 3, 4, 5, 6, 7]);
    }
}

#[test]
fn a_payload_that_is_too_large_to_unpack_in_one_piece() {
    let text = "y".repeat(1900);
    let mut inner = begin().bytes(0, false);
    let mut expected = 0;
    while inner.len() < 70 << 20 {
        let images: Vec<u8> =
            (expected..expected + 50).flat_map(|id| image(id, Some(&text))).collect();
        inner.extend(table_map(T).bytes(0, false));
        inner.extend(rows_event(30, T, &images).bytes(0, false));
        expected += 50;
    }
    for (end, rows) in [(xid(), expected), (query("ROLLBACK"), 0)] {
        let mut inner = inner.clone();
        inner.extend(end.bytes(0, false));
        let log = Log::mysql().with([gtid(1), payload_of(true, &inner)]).with(transaction(2, [-1]));
        let mut reader = Reader::try_new(log.with([stop()]).inputs(), options()).unwrap();
        let mut seen = 0;
        while let Some(batch) = reader.next_batch().unwrap() {
            seen += batch.batch.num_rows() as i32;
        }
        assert_eq!(seen, rows + 1);
        assert_eq!(reader.stats().transactions, 1 + u64::from(rows > 0));
    }
}

// ---- keys

#[test]
fn an_update_of_the_key_becomes_a_delete_and_an_insert() {
    let log = Log::mysql()
        .with([gtid(1), begin(), table_map(T), update(T, [(1, 1), (2, 20), (3, 3)])])
        .with([table_map(T), delete(T, [3]), xid(), stop()]);
    let outcome = run(&log).ok();
    assert_eq!(
        outcome.changes(),
        [
            "update_preimage d.t 1",
            "update_postimage d.t 1",
            "delete d.t 2",
            "insert d.t 20",
            "update_preimage d.t 3",
            "update_postimage d.t 3",
            "delete d.t 3",
        ]
    );
    let ordinals: Vec<i64> = outcome.rows.iter().map(|row| row.ordinal).collect();
    assert_eq!(ordinals, [0, 1, 2, 3, 4, 5, 1 << 32]);
    let stats = outcome.stats.tables.values().next().unwrap();
    assert_eq!((stats.inserts, stats.updates, stats.deletes), (0, 3, 1));

    let mut complete = options();
    complete.decode.update_rule.split_key_updates = false;
    let outcome = run_with(&log, complete).ok();
    assert_eq!(outcome.changes()[2..4], ["update_preimage d.t 2", "update_postimage d.t 20"]);
}

// ---- files

#[test]
fn files_must_follow_each_other() {
    let first = Log::mysql().with(transaction(1, [1])).with([rotate("binlog.000002")]);
    let second = Log::mysql().with(transaction(2, [2])).with([rotate("binlog.000003")]);
    let third = Log::mysql().with(transaction(3, [3])).with([stop()]);
    let all = |names: &[&str]| -> Vec<InputFile> {
        names
            .iter()
            .map(|name| match *name {
                "binlog.000001" => first.clone().input(name),
                "binlog.000002" => second.clone().input(name),
                name => third.clone().input(name),
            })
            .collect()
    };
    let outcome =
        decode(all(&["binlog.000001", "binlog.000002", "binlog.000003"]), &options()).ok();
    assert_eq!(outcome.inserted(), [1, 2, 3]);
    let versions: Vec<i64> = outcome.rows.iter().map(|row| row.version >> 40).collect();
    assert_eq!(versions, [1, 2, 3]);

    let outcome = decode(all(&["binlog.000001", "binlog.000003"]), &options());
    assert_eq!(outcome.inserted(), [1]);
    let error = outcome.failure();
    assert_eq!(error.kind(), ErrorKind::Config);
    assert!(error.message().contains("binlog.000002"), "{error}");
    assert!(error.message().contains("gaps"), "{error}");
    assert_eq!(error.file(), Some("binlog.000003"));

    let mut gaps = options();
    gaps.cut.allow_gaps = true;
    let outcome = decode(all(&["binlog.000001", "binlog.000003"]), &gaps).ok();
    assert_eq!(outcome.inserted(), [1, 3]);

    // A file without a number in its name is numbered by its place in the list, and its name does
    // not show that files before it are missing.
    let renamed = [("a.bin", &first), ("b.bin", &second)].into_iter().zip(1..);
    let renamed =
        renamed.map(|((name, log), place)| input(name, place, log.bytes.clone())).collect();
    assert_eq!(decode(renamed, &options()).ok().inserted(), [1, 2]);
}

#[test]
fn a_stopped_server_continues_in_the_next_number() {
    for in_use in [false, true] {
        let first = if in_use { Log::mysql().in_use() } else { Log::mysql() };
        let first = first.with(transaction(1, [1]));
        let first = if in_use { first } else { first.with([stop()]) };
        let second = Log::mysql().with(transaction(2, [2])).with([stop()]);
        let files = |name| vec![first.clone().input("binlog.000009"), second.clone().input(name)];
        assert_eq!(decode(files("binlog.000010"), &options()).ok().inserted(), [1, 2]);
        for name in ["binlog.000011", "binlog.000008"] {
            let outcome = decode(files(name), &options());
            assert_eq!(outcome.inserted(), [1], "{name}");
            assert_eq!(outcome.failure().kind(), ErrorKind::Config);
            assert!(outcome.failure().message().contains("gaps"), "{:?}", outcome.failure());
        }
    }
}

#[test]
fn no_two_files_of_one_name() {
    let log = Log::mysql().with(transaction(1, [1])).with([stop()]);
    let twice = vec![log.clone().input("binlog.000001"), log.input("binlog.000001")];
    let outcome = decode(twice, &options());
    assert_eq!(outcome.rows, []);
    assert_eq!(outcome.failure().kind(), ErrorKind::Config);
    assert!(outcome.failure().message().contains("binlog.000001"), "{:?}", outcome.failure());
}

#[test]
fn an_artificial_rotate_names_no_file() {
    let log = Log::mysql()
        .with([rotate("other.000009").flags(0x20).at(0)])
        .with(transaction(1, [1]))
        .with([rotate("binlog.000002")]);
    let second = Log::mysql().with(transaction(2, [2])).with([stop()]);
    let files = vec![log.input("binlog.000001"), second.input("binlog.000002")];
    assert_eq!(decode(files, &options()).ok().inserted(), [1, 2]);
}

#[test]
fn a_transaction_does_not_continue_in_the_next_file() {
    let first = Log::mysql()
        .with([gtid(1), begin()])
        .with(statement(T, [1]))
        .with([rotate("binlog.000002")]);
    let second = Log::mysql().with(statement(T, [2])).with([xid(), stop()]);
    let files =
        || vec![first.clone().input("binlog.000001"), second.clone().input("binlog.000002")];
    let outcome = decode(files(), &options());
    assert_eq!(outcome.rows, []);
    assert_eq!(outcome.failure().file(), Some("binlog.000001"));
}

// ---- start and stop

/// Five transactions over two files, with previous GTIDs.
fn five() -> (Vec<InputFile>, [Vec<u64>; 2]) {
    let first = Log::mysql()
        .with([previous_gtids(0)])
        .with(transaction(1, [1]))
        .with(transaction(2, [2]))
        .with(transaction(3, [3]))
        .with([rotate("binlog.000002")]);
    let second = Log::mysql()
        .with([previous_gtids(3)])
        .with(transaction(4, [4]))
        .with(transaction(5, [5]))
        .with([stop()]);
    // Ends of the transactions.
    let ends =
        [[7, 12, 17].map(|index| first.starts[index]), [7, 12, 12].map(|i| second.starts[i])];
    let files = vec![first.input("binlog.000001"), second.input("binlog.000002")];
    (files, ends.map(Vec::from))
}

fn read_five(start: Start, stop: Stop) -> Outcome {
    run_all(|| five().0, &between(options(), start, stop))
}

#[test]
fn between_positions() {
    let (_, [first, second]) = five();
    let at = |file: usize, offset: u64| Position::in_file(format!("binlog.00000{file}"), offset);
    let rows =
        |start: &Position, stop: &Position| read_five(from(start), up_to(stop)).ok().inserted();
    let end = at(2, u64::MAX);
    assert_eq!(rows(&at(1, 4), &end), [1, 2, 3, 4, 5]);
    assert_eq!(rows(&at(1, first[0]), &end), [2, 3, 4, 5]);
    assert_eq!(rows(&at(1, first[2]), &end), [4, 5]);
    assert_eq!(rows(&at(2, 4), &end), [4, 5]);
    assert_eq!(rows(&at(2, second[1]), &end), [0; 0]);
    // A transaction is returned if it ends at or before the stop.
    assert_eq!(rows(&at(1, 4), &at(1, first[1])), [1, 2]);
    assert_eq!(rows(&at(1, 4), &at(1, first[1] - 1)), [1]);
    assert_eq!(rows(&at(1, 4), &at(1, first[1] + 1)), [1, 2]);
    assert_eq!(rows(&at(1, 4), &at(1, 4)), [0; 0]);
    assert_eq!(rows(&at(1, first[0]), &at(2, second[0])), [2, 3, 4]);
    assert_eq!(rows(&at(1, 4), &at(2, 4)), [1, 2, 3]);

    let until = read_five(Start::Earliest, up_to(&at(1, first[1])));
    assert_eq!(until.ok().offset(), first[1]);
    for stop in [first[1] - 1, first[1] + 1] {
        let position = read_five(Start::Earliest, up_to(&at(1, stop))).ok().position.unwrap();
        let rest = read_five(from(&position), Stop::End).ok().inserted();
        let skipped = if stop < first[1] { 1 } else { 2 };
        assert_eq!(rest, (skipped + 1..=5).collect::<Vec<i32>>());
    }
}

#[test]
fn positions_that_cannot_be() {
    let at = |text: &str| Position::parse(text).unwrap();
    for (start, stop) in
        [("binlog.000009:4", "binlog.000002:4"), ("binlog.000001:4", "other.000001:4")]
    {
        let outcome = read_five(from(&at(start)), up_to(&at(stop)));
        assert_eq!(outcome.failure().kind(), ErrorKind::Config);
        assert!(outcome.failure().message().contains("binlog.000001"), "{:?}", outcome.failure());
    }
    let outcome = read_five(from(&at("binlog.000002:99999")), Stop::End);
    assert_eq!(outcome.failure().kind(), ErrorKind::Config);
    // Inside an event.
    let outcome = read_five(from(&at("binlog.000001:200")), Stop::End);
    assert_eq!((outcome.rows.len(), outcome.error.is_some()), (0, true));
    // No transaction is returned that ends before the start.
    let outcome = read_five(from(&at("binlog.000002:4")), up_to(&at("binlog.000001:9999")));
    assert_eq!(outcome.ok().rows, []);
}

#[test]
fn between_times() {
    let between = |start: Option<i64>, stop: Option<i64>| {
        let start = start.map_or(Start::Earliest, Start::Time);
        read_five(start, stop.map_or(Stop::End, Stop::Time)).ok().inserted()
    };
    assert_eq!(between(None, None), [1, 2, 3, 4, 5]);
    assert_eq!(between(Some(commit_time(2)), None), [2, 3, 4, 5]);
    assert_eq!(between(Some(commit_time(2) + 1), None), [3, 4, 5]);
    assert_eq!(between(None, Some(commit_time(4))), [1, 2, 3, 4]);
    assert_eq!(between(None, Some(commit_time(4) - 1)), [1, 2, 3]);
    assert_eq!(between(Some(commit_time(2)), Some(commit_time(2))), [2]);
    assert_eq!(between(Some(commit_time(9)), None), [0; 0]);
}

#[test]
fn by_gtid() {
    let set = |numbers: &str| {
        let set = format!("{UUID}:{numbers}");
        set.parse::<binarrow::position::GtidState>().unwrap()
    };
    // A start is a set of processed transactions, a stop is a set of requested ones.
    let done = |numbers| read_five(Start::Gtids(set(numbers)), Stop::End).ok();
    assert_eq!(done("1-2").inserted(), [3, 4, 5]);
    assert_eq!(done("1:3-4").inserted(), [2, 5]);
    assert_eq!(done("1-9").inserted(), [0; 0]);
    assert_eq!(read_five(Start::Gtids("".parse().unwrap()), Stop::End).ok().inserted().len(), 5);
    let wanted = |numbers| read_five(Start::Earliest, Stop::Gtids(set(numbers))).ok();
    assert_eq!(wanted("2-4").inserted(), [2, 3, 4]);
    let outcome = read_five(Start::Gtids(set("1-2")), Stop::Gtids(set("1-4"))).ok();
    assert_eq!(outcome.inserted(), [3, 4]);
    // The position includes all transactions that were passed.
    assert_eq!(gtids(&done("1-2")), set("1-5").to_string());
}

#[test]
fn by_mariadb_gtid() {
    let log = Log::mariadb().with([gtid_list(4)]).with((5..9).flat_map(|seq| {
        let [map, rows] = statement(T, [seq as i32]);
        [mariadb_gtid(seq, 12), map, v1(rows), xid()]
    }));
    let log = log.with([stop()]);
    let done = "0-1-6".parse().unwrap();
    let outcome = run_with(&log, between(options(), Start::Gtids(done), Stop::End)).ok();
    assert_eq!(outcome.inserted(), [7, 8]);
    let wanted = "0-1-6".parse().unwrap();
    let outcome = run_with(&log, between(options(), Start::Earliest, Stop::Gtids(wanted))).ok();
    assert_eq!(outcome.inserted(), [5, 6]);
}

#[test]
fn the_position_moves_over_what_is_left_out() {
    let log = Log::mysql()
        .with([previous_gtids(0)])
        .with(transaction(1, [1]))
        .with([gtid(2), query("CREATE TABLE x (id INT)")])
        .with([stop()]);
    let outcome = run(&log).ok();
    assert_eq!(outcome.offset(), log.end());
    assert_eq!(gtids(&outcome), format!("{UUID}:1-2"));
}

#[test]
fn batches_that_end_at_commits_move_the_position() {
    let log = Log::mysql()
        .with([previous_gtids(0)])
        .with(transaction(1, [1]))
        .with([gtid(2), begin()])
        .with(statement(T, [2]))
        .with(statement(U, [3]))
        .with([xid()])
        .with(transaction(3, [4]))
        .with([stop()]);
    let ends = [log.starts[7], log.starts[14], log.starts[19]];
    for segment in [64 << 10, 1 << 20] {
        let mut each = segments_of(segment);
        each.cut.cut_at_commit = true;
        let outcome = decode(log.clone().inputs(), &each).ok();
        let positions = outcome.batches.iter().map(|(_, position)| position.offset);
        // A transaction on two tables returns two batches; the second one moves the position.
        assert_eq!(positions.collect::<Vec<_>>(), [ends[0], ends[0], ends[1], ends[2]]);
        let (_, position) = &outcome.batches[2];
        assert_eq!(position.gtid_set.as_ref().unwrap().to_string(), format!("{UUID}:1-2"));
    }
}
