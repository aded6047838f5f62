//! Events with invalid sizes, types and places.

use super::damage::{find_events, seal};
use super::{assert_located, failure, harmless, hostile};
use crate::log::{
    Event, HEADER, INCIDENT, Log, T, TABLE_MAP, WRITE_ROWS, begin, gtid, image, input, insert,
    mariadb_post_headers, mysql_post_headers, query, rows_event, stop, table_map, transaction, xid,
};
use crate::rows::{decode, options, read, segments_of};
use binarrow::ErrorKind;
use binarrow::limits::MAX_EVENT_SIZE;
use binarrow::reader::ReadOptions;

/// H4
#[test]
fn sizes_that_lie() {
    let log = Log::mysql().with(transaction(1, [1])).with(transaction(2, [2])).with([stop()]);
    let rows = log.starts[9] as usize;
    assert_eq!(log.bytes[rows + 4], WRITE_ROWS);
    for at in [log.starts[6] as usize, log.starts[8] as usize, rows, log.starts[10] as usize] {
        for size in [0, 1, 18, 19, 22, 23, 1 << 20, MAX_EVENT_SIZE + 1, u32::MAX] {
            let mut bytes = log.bytes.clone();
            bytes[at + 9..at + 13].copy_from_slice(&u32::to_le_bytes(size));
            for (options, is_exact) in [(options(), true), (segments_of(1), false)] {
                let outcome = decode(vec![input("binlog.000001", 1, bytes.clone())], &options);
                assert_eq!(outcome.inserted(), [1], "{at} {size}");
                let error = outcome.failure();
                // When the reader looks ahead, it reads only the beginnings of events.
                assert!(error.offset() >= Some(at as u64), "{at} {size} {error:?}");
                assert!(!is_exact || error.offset() == Some(at as u64), "{at} {size} {error:?}");
                assert!(error.event().is_some(), "{error:?}");
            }
        }
    }
}

#[test]
fn statements_and_incidents_that_leave_rows_out() {
    let alone = |event: Event, words: &[&str]| {
        let log = Log::mysql().with(transaction(1, [1])).with([gtid(2)]);
        let offset = log.end();
        let code = event.code;
        let log = log.with([event]).with(transaction(3, [3])).with([stop()]);
        let outcome = decode(log.clone().inputs(), &options());
        assert_eq!(outcome.inserted(), [1]);
        let error = outcome.failure();
        assert_eq!(error.kind(), ErrorKind::Unsupported, "{error:?}");
        assert_located(error, offset, binarrow::binlog::EventType(code).name());
        for word in words {
            assert!(error.message().contains(word), "{error}");
        }
        let mut skipping = options();
        match code {
            INCIDENT => skipping.cut.skip_events = vec![code],
            _ => skipping.cut.skip_statements = true,
        }
        let outcome = decode(log.inputs(), &skipping);
        assert_eq!(outcome.stats.statements_skipped, u64::from(code != INCIDENT));
        assert_eq!(outcome.ok().inserted(), [1, 3]);
    };
    for sql in [
        "INSERT INTO t VALUES (1)",
        "-- x\nINSERT INTO t VALUES (1)",
        "update t set id = 1",
        "/* a */ DELETE FROM t",
        "REPLACE t",
        "DO f()",
        "CREATE TABLE u SELECT 1",
        "a statement of a later version",
    ] {
        alone(query(sql), &["binlog_format", "statements=skip"]);
    }
    alone(Event::new(INCIDENT, *b"\x01\0\x04lost"), &["incident"]);
    alone(Event::new(18, [0; 30]), &["LOAD DATA", "statements=skip"]);
}

#[test]
fn rows_events_that_are_not_decoded() {
    let v1_rows = |code| {
        let mut event = insert(T, [2]);
        event.body.drain(8..10);
        event.coded(code)
    };
    for code in [20, 21, 22] {
        assert_eq!(hostile([table_map(T), v1_rows(code)], 1).kind(), ErrorKind::Unsupported);
    }
}

/// H24
#[test]
fn unknown_events() {
    for code in [43, 100, 159, 200, 255, 0] {
        let error = hostile([Event::new(code, [1, 2, 3])], 0);
        assert_eq!(error.kind(), ErrorKind::Unsupported);
        assert!(error.to_string().contains(&format!("skip_events=[{code}]")), "{error}");
        let ignorable = Event::new(code, [1, 2, 3]).flags(0x80);
        assert_eq!(harmless([ignorable, table_map(T), insert(T, [2])]), ["insert d.t 2"]);
        let log = Log::mysql().with([gtid(1), begin(), Event::new(code, []), table_map(T)]);
        let log = log.with([insert(T, [2]), xid(), stop()]);
        let mut skipping = options();
        skipping.cut.skip_events = vec![code];
        assert_eq!(decode(log.inputs(), &skipping).ok().inserted(), [2]);
    }
}

/// H25
#[test]
fn format_descriptions() {
    // Fewer post-header lengths than types that are used.
    for count in [0, 1, 19, 29] {
        let mut lengths = mysql_post_headers();
        lengths.truncate(count);
        let log = Log::of("9.7.4", &lengths, true).with(transaction(1, [1])).with([stop()]);
        assert_eq!(decode(log.inputs(), &options()).ok().inserted(), [1]);
    }
    // Table ids of four bytes.
    let mut lengths = mysql_post_headers();
    for code in [19, 30, 31, 32] {
        lengths[code - 1] = 6;
    }
    let short = transaction(1, [1]).into_iter().map(|mut event| {
        if event.code == TABLE_MAP || event.code == WRITE_ROWS {
            event.body.drain(4..6);
        }
        event
    });
    let log = Log::of("9.7.4", &lengths, true).with(short).with([stop()]);
    assert_eq!(decode(log.inputs(), &options()).ok().inserted(), [1]);

    let good = Log::mysql().with(transaction(1, [1])).with([stop()]);
    let found = find_events(&good.bytes)[0];
    let changed = |at: usize, value: u8| {
        let mut bytes = good.bytes.clone();
        bytes[4 + HEADER + at] = value;
        seal(&mut bytes, found);
        failure(bytes)
    };
    for (at, value) in [(0, 3), (0, 5), (56, 18), (56, 20), (56, 0)] {
        assert_located(&changed(at, value), 4, "Format_desc");
    }
    let algorithm = mysql_post_headers().len() + 57;
    assert_located(&changed(algorithm, 2), 4, "Format_desc");
    // It is not the first event.
    let mut bytes = good.bytes.clone();
    bytes.drain(found.start as usize..found.end as usize);
    let error = failure(bytes);
    assert_located(&error, 4, "Gtid");
    assert!(error.message().contains("format description"), "{error}");
    // That of MariaDB is longer.
    let log = Log::of("10.11.1-MariaDB", &mariadb_post_headers(), false);
    let log = log.with(transaction(1, [1])).with([stop()]);
    assert_eq!(decode(log.inputs(), &options()).ok().inserted(), [1]);
}

#[test]
fn errors_keep_their_place_in_the_order() {
    let text = "z".repeat(1000);
    let row = |id| rows_event(WRITE_ROWS, T, &image(id, Some(&text)));
    let good = |id: i32| [gtid(i64::from(id)), begin(), table_map(T), row(id), xid()];
    let mut log = Log::mysql();
    for id in 1..=400 {
        log = log.with(good(id));
    }
    let log = log.with([stop()]);
    // A rows event, whose damage a worker finds, and a commit, whose damage the walk finds.
    for event in [4 + 5 * 249, 5 + 5 * 249] {
        let mut bytes = log.bytes.clone();
        let offset = log.starts[event];
        bytes[offset as usize + HEADER] ^= 1;
        for threads in [1, 4] {
            for segment in [1, 10_000, 64 << 20] {
                let options = ReadOptions { threads, ..segments_of(segment) };
                let input = input("binlog.000001", 1, bytes.clone());
                let outcome = read(vec![input], options);
                assert_eq!(outcome.inserted(), (1..=249).collect::<Vec<i32>>());
                assert_eq!(outcome.failure().kind(), ErrorKind::Checksum);
                assert_eq!(outcome.failure().offset(), Some(offset));
                assert!(outcome.offset() <= log.starts[1 + 5 * 249], "{}", outcome.offset());
            }
        }
    }
}

#[test]
fn garbage_between_events() {
    let log = Log::mysql().with(transaction(1, [1])).with(transaction(2, [2])).with([stop()]);
    for (index, start) in log.starts.iter().enumerate().skip(1) {
        for garbage in [&[0][..], &[0; 19], &[0xff; 40], b"\xfebin"] {
            let mut bytes = log.bytes.clone();
            let at = *start as usize;
            bytes.splice(at..at, garbage.iter().copied());
            let outcome = decode(vec![input("binlog.000001", 1, bytes)], &options());
            let expected = if index > 10 {
                vec![1, 2]
            } else if index > 5 {
                vec![1]
            } else {
                vec![]
            };
            assert_eq!(outcome.inserted(), expected, "{index}");
            assert!(outcome.error.is_some(), "{index} {garbage:?}");
        }
    }
    // Zeros up to the end, as a file system leaves them after a power failure.
    let mut bytes = Log::mysql().in_use().with(transaction(1, [1])).bytes;
    let end = bytes.len() as u64;
    bytes.resize(bytes.len() + 4096, 0);
    let outcome = decode(vec![input("binlog.000001", 1, bytes)], &options());
    assert_eq!(outcome.inserted(), [1]);
    assert_eq!(outcome.failure().offset(), Some(end));
}
