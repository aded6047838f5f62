//! Logs of old servers are read correctly, or refused with an error that contains advice.
//!
//! There are separate tests with live servers of MySQL 5.6 and 5.7; the formats here are those that
//! no available server writes any more.

use crate::log::{Event, Log, TABLE_MAP, begin, mariadb_post_headers, mysql_post_headers, xid};
use crate::rows::{Outcome, decode, options};
use binarrow::columnar::ColumnNames;
use binarrow::reader::ReadOptions;
use binarrow::{Error, ErrorKind};

const WRITE_ROWS_V1: u8 = 23;

/// The post-header lengths of MySQL 5.1 and 5.5: 27 types, rows with 8 bytes.
const POST_HEADERS_5_5: [u8; 27] =
    [56, 13, 0, 8, 0, 18, 0, 4, 4, 4, 4, 18, 0, 0, 84, 0, 4, 26, 8, 0, 0, 0, 8, 8, 8, 2, 0];

/// A Table_map of `d.old` with these types and metadata; all columns are nullable; `tail` follows
/// the nullable bits.
fn old_table(id: &[u8], types: &[u8], metadata: &[u8], tail: &[u8]) -> Event {
    let mut body = id.to_vec();
    body.extend(b"\x01\x00\x01d\0\x03old\0");
    body.push(types.len() as u8);
    body.extend(types);
    body.push(metadata.len() as u8);
    body.extend(metadata);
    body.push(0xff);
    body.extend(tail);
    Event::new(TABLE_MAP, body)
}

/// A Write_rows_v1 with one row that contains no NULL.
fn old_row(id: &[u8], columns: u8, cells: &[u8]) -> Event {
    let mut body = id.to_vec();
    body.extend([1, 0, columns, 0xff, 0]);
    body.extend(cells);
    Event::new(WRITE_ROWS_V1, body)
}

const ID: &[u8] = &[7, 0, 0, 0, 0, 0];

/// A table of one VARCHAR(20) column, with a row: the bytes after the map must have no effect.
fn one_word(log: Log, tail: &[u8]) -> Outcome {
    let events =
        [begin(), old_table(ID, &[15], &[20, 0], tail), old_row(ID, 1, b"\x05apple"), xid()];
    decode(log.with(events).inputs(), &options())
}

fn failure_of(log: Log, events: impl IntoIterator<Item = Event>, options: &ReadOptions) -> Error {
    let outcome = decode(log.with(events).inputs(), options);
    assert_eq!(outcome.rows, []);
    outcome.error.unwrap()
}

// ---- table maps

#[test]
fn junk_after_a_table_map_means_nothing_where_no_metadata_was() {
    // An unknown field, one that is longer than the rest, a count that matches no column.
    for junk in [&[0x63, 2, 1, 2][..], &[4, 200, 1], &[1, 1, 0xff, 8, 1, 9], &[0xff], &[0; 9]] {
        for version in ["5.5.40-log", "5.6.24-log", "5.7.29", "8.0.0-dmr"] {
            let log = match version.starts_with("5.5") {
                true => Log::before_checksums(version, &POST_HEADERS_5_5),
                false => Log::of(version, &mysql_post_headers(), true),
            };
            let outcome = one_word(log, junk).ok();
            assert_eq!(outcome.rows[0].cells, [Some("6170706c65".to_owned())], "{version}");
        }
        let log = Log::of("10.4.32-MariaDB-log", &mariadb_post_headers(), true);
        assert_eq!(one_word(log, junk).ok().rows.len(), 1);
    }
}

#[test]
fn the_same_is_damage_where_metadata_is() {
    for (version, lengths) in [
        ("8.0.1-dmr", mysql_post_headers()),
        ("9.7.4", mysql_post_headers()),
        ("10.5.0-MariaDB", mariadb_post_headers()),
    ] {
        let outcome = one_word(Log::of(version, &lengths, true), &[4, 200, 1]);
        assert_eq!(outcome.rows, [], "{version}");
        assert_eq!(outcome.failure().kind(), ErrorKind::Malformed, "{version}");
    }
}

#[test]
fn table_ids_of_four_bytes() {
    let mut lengths = POST_HEADERS_5_5;
    for code in [TABLE_MAP, WRITE_ROWS_V1] {
        lengths[usize::from(code) - 1] = 6;
    }
    let id = &ID[..4];
    let log = Log::before_checksums("5.1.20-beta", &lengths).with([
        begin(),
        old_table(id, &[15], &[20, 0], &[]),
        old_row(id, 1, b"\x05apple"),
        xid(),
    ]);
    let outcome = decode(log.inputs(), &options()).ok();
    assert_eq!(outcome.rows[0].cells, [Some("6170706c65".to_owned())]);
}

// ---- metadata that the log does not contain

#[test]
fn errors_say_what_this_server_can_do() {
    let unnamed = [begin(), old_table(ID, &[3], &[], &[]), old_row(ID, 1, &[1, 0, 0, 0]), xid()];
    let by_name = ReadOptions::default();
    let by_place = options();
    assert_eq!(by_place.decode.plan.column_names, ColumnNames::Positional);

    for (log, server) in [
        (Log::before_checksums("5.5.40-log", &POST_HEADERS_5_5), "MySQL 5.5.40 has no option"),
        (Log::of("5.7.29-log", &mysql_post_headers(), true), "MySQL 5.7.29 has no option"),
        (Log::of("10.4.2-MariaDB", &mariadb_post_headers(), true), "MariaDB 10.4.2 has no option"),
        (Log::mysql(), "set binlog_row_metadata=FULL on the server"),
        (Log::mariadb(), "set binlog_row_metadata=FULL on the server"),
    ] {
        let error = failure_of(log.clone(), unnamed.clone(), &by_name);
        assert_eq!(error.kind(), ErrorKind::Schema);
        for words in ["table d.old", "names of columns", server, "schemas=", "'positional'"] {
            assert!(error.to_string().contains(words), "{words}: {error}");
        }
        let error = failure_of(log, unnamed.clone(), &by_place);
        assert_eq!(error.kind(), ErrorKind::Schema);
        for words in ["column @1", "the sign of the column", server, "schemas="] {
            assert!(error.to_string().contains(words), "{words}: {error}");
        }
        assert!(!error.message().contains("positional"), "that was done already: {error}");
        let sets = error.message().contains("binlog_row_metadata");
        assert_eq!(sets, server.contains("binlog_row_metadata"), "{error}");
    }
}

// ---- times without fractions

/// TIMESTAMP, TIME, DATETIME before MySQL 5.6, and DATE.
const OLD_TIMES: [u8; 4] = [7, 11, 12, 10];

fn old_times() -> Vec<u8> {
    let mut cells = 1_u32.to_le_bytes().to_vec();
    cells.extend([0x25, 0xd8, 0xff]);
    cells.extend(20_101_017_192_730_u64.to_le_bytes());
    cells.extend([0x75, 0xd5, 0x0f]);
    cells
}

#[test]
fn old_times_of_mysql() {
    let log = Log::of("5.6.24-log", &mysql_post_headers(), true).with([
        begin(),
        old_table(ID, &OLD_TIMES, &[], &[]),
        old_row(ID, 4, &old_times()),
        xid(),
    ]);
    let outcome = decode(log.inputs(), &options()).ok();
    let expected = ["1000000", "-PT3723S", "2010-10-17T19:27:30", "2026-11-21"];
    assert_eq!(outcome.rows[0].cells, expected.map(|cell| Some(cell.to_owned())));
}

#[test]
fn old_times_of_mariadb_are_refused_by_name() {
    for code in [7, 11, 12] {
        let events =
            [begin(), old_table(ID, &[code], &[], &[]), old_row(ID, 1, &old_times()), xid()];
        let error = failure_of(Log::mariadb(), events, &options());
        assert_eq!(error.kind(), ErrorKind::Unsupported);
        for words in ["table d.old", "column @1", "mysql56_temporal_format", "ALTER TABLE"] {
            assert!(error.message().contains(words), "{words}: {error}");
        }
    }
}

// ---- rows before MySQL 5.1.18

#[test]
fn rows_before_the_release_are_refused_by_name() {
    for (code, name) in
        [(20, "Write_rows_event_old"), (21, "Update_rows_event_old"), (22, "Delete_rows_event_old")]
    {
        let log = Log::before_checksums("5.1.15-beta", &POST_HEADERS_5_5);
        let events = [
            begin(),
            old_table(ID, &[15], &[20, 0], &[]),
            old_row(ID, 1, b"\x05apple").coded(code),
            xid(),
        ];
        let error = failure_of(log, events, &options());
        assert_eq!(error.kind(), ErrorKind::Unsupported);
        assert!(error.message().contains("MySQL 5.1.5 to 5.1.17"), "{error}");
        assert_eq!(error.event(), Some(name));
        assert!(error.offset().is_some() && error.file().is_some(), "{error}");
    }
}
