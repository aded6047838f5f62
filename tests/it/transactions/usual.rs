//! Usual transactions are read in one step. The rows, positions, warnings, counts and errors are the same as if they were read
//! event by event, also for damaged transactions.

use crate::log::{
    Event, Log, T, U, anonymous_gtid, begin, gtid, gtid_list, input, insert, mariadb_gtid,
    not_last, previous_gtids, query, rows_query, stop, table_map, transaction, update, xa,
    xa_prepare, xid,
};
use crate::rows::{decode, options};
use binarrow::reader::ReadOptions;
use binarrow::source::{InputFile, LogOptions};
use std::time::Duration;

/// With a maximum latency, the time is checked after each event, so transactions are read event by event.
fn by_event() -> ReadOptions {
    let options = options();
    let cut = LogOptions { max_latency: Some(Duration::MAX), ..options.cut };
    ReadOptions { cut, ..options }
}

/// The results of a read, as text.
fn result(files: Vec<InputFile>, options: &ReadOptions) -> String {
    let outcome = decode(files, options);
    let (rows, position, warnings) = (outcome.rows, outcome.position, outcome.warnings);
    let error = outcome.error.map(|error| error.to_string());
    let (tables, dropped) = (outcome.stats.tables, outcome.stats.dropped_rows_events);
    format!("{rows:?} {position:?} {warnings:?} {tables:?} {dropped} {error:?}")
}

fn mysql_transactions() -> Vec<Vec<Event>> {
    let two_tables = [table_map(T), table_map(U), not_last(insert(T, [5])), insert(U, [6])];
    let rolled_back =
        [query("SAVEPOINT `a`"), table_map(T), insert(T, [8]), query("ROLLBACK TO `a`")];
    let within = |events: &[Event]| [&[gtid(1), begin()], events, &[xid()]].concat();
    vec![
        transaction(1, [1, 2]),
        within(&two_tables),
        within(&rolled_back),
        within(&[rows_query("insert"), table_map(T), insert(T, [1])]),
        within(&[table_map(T), update(T, [(1, 2)]), table_map(T), insert(T, [3])]),
        vec![anonymous_gtid(), begin(), table_map(T), insert(T, [1]), xid()],
        vec![gtid(1), query("begin"), table_map(T), insert(T, [1]), xid()],
        vec![gtid(1), table_map(T), insert(T, [1]), xid()],
        vec![gtid(1), begin(), table_map(T), insert(T, [1]), query("COMMIT")],
        vec![gtid(1), begin(), table_map(T), insert(T, [1]), query("ROLLBACK")],
        vec![gtid(1), begin(), table_map(T), insert(T, [1]), begin(), xid()],
        vec![gtid(1), begin(), xid()],
        vec![gtid(1), xid()],
        vec![
            gtid(1),
            xa("START", "a"),
            table_map(T),
            insert(T, [1]),
            xa("END", "a"),
            xa_prepare("a", true),
        ],
    ]
}

fn logs() -> Vec<Log> {
    let mut logs = Vec::new();
    for events in mysql_transactions() {
        for log in [Log::mysql(), Log::without_checksums()] {
            let log = log.with([previous_gtids(0)]).with(events.clone());
            logs.push(log.with(transaction(2, [7])).with([stop()]));
        }
    }
    let of_mariadb: [&[Event]; 3] = [
        &[mariadb_gtid(1, 0), table_map(T), insert(T, [1]), xid()],
        &[mariadb_gtid(1, 1), begin(), table_map(T), insert(T, [1]), xid()],
        &[mariadb_gtid(1, 0), table_map(T), insert(T, [1]), query("COMMIT")],
    ];
    let next = [mariadb_gtid(2, 0), table_map(T), insert(T, [2]), xid(), stop()];
    let of_mariadb = of_mariadb
        .into_iter()
        .map(|events| Log::mariadb().with([gtid_list(0)]).with(events.to_vec()).with(next.clone()));
    logs.extend(of_mariadb);
    logs
}

#[test]
fn like_event_by_event() {
    let (at_once, by_event) = (options(), by_event());
    for (number, log) in logs().into_iter().enumerate() {
        let complete = log.bytes.clone();
        let check = |bytes: &[u8], case: &str| {
            let files = || vec![input("binlog.000001", 1, bytes.to_vec())];
            let (found, expected) = (result(files(), &at_once), result(files(), &by_event));
            assert_eq!(found, expected, "log {number}, {case}");
        };
        check(&complete, "complete");
        check(&complete[..complete.len() / 2], "cut");
        for place in (4..complete.len()).step_by(3) {
            for bits in [1, 0x82] {
                let mut bytes = complete.clone();
                bytes[place] ^= bits;
                check(&bytes, &format!("byte {place} ^ {bits}"));
            }
        }
    }
}
