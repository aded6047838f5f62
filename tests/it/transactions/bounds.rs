//! The start and the stop of a read.

use super::{gtids, run, run_all, run_with, statement};
use crate::log::{
    Log, T, U, UUID, begin, commit_time, gtid, gtid_list, mariadb_gtid, previous_gtids, query,
    rotate, stop, transaction, v1, xid,
};
use crate::rows::{Outcome, between, decode, from, options, segments_of, up_to};
use binarrow::ErrorKind;
use binarrow::position::Position;
use binarrow::source::InputFile;
use binarrow::source::Start;
use binarrow::source::Stop;

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
