//! XA transactions: their rows are returned at the decision.

use super::{NOTHING, gtids, run, run_all, run_with, statement};
use crate::log::{
    Event, Log, T, U, commit_time, gtid, gtid_list, mariadb_xa_gtid, payload, query, rotate, stop,
    transaction, v1, xa, xa_prepare,
};
use crate::rows::{between, decode, emitting, from, options, read, segments_of};
use binarrow::ErrorKind;
use binarrow::position::Position;
use binarrow::reader::ReadOptions;
use binarrow::source::{Start, Stop};

pub(super) fn prepared(gno: i64, gtrid: &str, id: i32) -> Vec<Event> {
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
