//! Transactions that are larger than a segment.

use crate::log::{
    Event, Log, T, Table, U, begin, gtid, image, insert, not_last, query, rows_event, stop,
    table_map, transaction, xid,
};
use crate::rows::{decode, emitting, read, segments_of};
use binarrow::ErrorKind;
use binarrow::reader::ReadOptions;

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
