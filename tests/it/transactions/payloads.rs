//! Compressed transactions.

use super::{run, run_with, statement};
use crate::log::{
    Log, T, begin, gtid, image, insert, payload, payload_of, query, rows_event, stop, table_map,
    transaction, xid,
};
use crate::rows::{emitting, options};
use binarrow::reader::Reader;

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
