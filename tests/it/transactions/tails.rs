//! Logs whose last transaction has no end.

use super::xa::prepared;
use super::{run, run_all, run_with};
use crate::log::{Event, Log, T, begin, gtid, insert, not_last, stop, table_map, transaction};
use crate::rows::{between, decode, emitting, from, options};
use binarrow::ErrorKind;
use binarrow::source::Stop;

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
