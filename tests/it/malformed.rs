//! What is broken is an error that names file, offset and event type; it gives no row, and it never panics.
//!
//! Names such as `H4` are those of the list of hostile input that the project was planned with.

use crate::fixtures::{folder, recorded, recorded_as};
use crate::log::{
    DELETE_ROWS, Event, FORMAT_DESCRIPTION, GTID, HEADER, INCIDENT, Log, MARIADB_GTID, QUERY,
    QUERY_COMPRESSED, T, TABLE_MAP, TRANSACTION_PAYLOAD, Table, UPDATE_ROWS, WRITE_ROWS,
    XA_PREPARE, XID, begin, gtid, image, input, insert, mariadb_post_headers, mysql_post_headers,
    payload, payload_of, payload_packed, query, rows_event, stop, table_map, transaction, xid,
};
use crate::rows::{Outcome, Row, decode, options, read, segments_of};
use binarrow::reader::{EventList, ReadOptions};
use binarrow::source::InputFile;
use binarrow::{Error, ErrorKind};
use std::panic::{AssertUnwindSafe, catch_unwind};

// ---- files that are none

#[test]
fn not_a_binlog() {
    for bytes in [&b"PK\x03\x04"[..], b"\xfe", b"\xfebi", b"\xfebix\0\0\0\0", &[0; 500]] {
        let error = failure(bytes.to_vec());
        assert_eq!(error.kind(), ErrorKind::Malformed);
        assert!(error.message().contains("not a binary log"), "{error}");
        assert_eq!(error.file(), Some("binlog.000001"));
    }
    let error = failure(Vec::new());
    assert_eq!(error.kind(), ErrorKind::Malformed);
    assert!(error.message().contains("the file is empty"), "{error}");
    assert_eq!(error.file(), Some("binlog.000001"));
}

#[test]
fn only_the_magic_bytes() {
    let error = failure(b"\xfebin".to_vec());
    assert!(error.message().contains("format description"), "{error}");
    assert_located(&error, 4, "Format_desc");
}

#[test]
fn encrypted() {
    let mut bytes = b"\xfdbin".to_vec();
    bytes.resize(600, 7);
    let error = failure(bytes);
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    assert!(error.message().contains("encrypted"), "{error}");
    assert!(error.message().contains("read-from-remote-server"), "says what to do: {error}");
    assert_eq!(error.file(), Some("binlog.000001"));

    let start_encryption = Event::new(164, [1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    let error = failure(Log::mariadb().with([start_encryption]).bytes);
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    assert!(error.message().contains("encrypted"), "{error}");
    assert_located(&error, Log::mariadb().end(), "Start_encryption");
    // As it stands in a copy of what the server sent, which it had decrypted.
    let sent = Event::new(164, [1; 17]).flags(0x80);
    let log = Log::mariadb().with([sent]).with(transaction(1, [1])).with([stop()]);
    assert_eq!(decode(log.inputs(), &options()).ok().inserted(), [1]);
}

#[test]
fn files_that_cannot_be_read() {
    let fail = |path: &str| {
        let outcome = decode(vec![InputFile::at_path(path, 1)], &options());
        assert_eq!(outcome.rows, []);
        outcome.error.unwrap()
    };
    let error = fail("/no/such/binlog.000001");
    assert_eq!(error.kind(), ErrorKind::Io);
    assert_eq!(error.io_error().unwrap().kind(), std::io::ErrorKind::NotFound);
    assert_eq!(error.file(), Some("/no/such/binlog.000001"));

    let error = fail(folder().to_str().unwrap());
    assert_eq!(error.kind(), ErrorKind::Config);
    assert!(error.message().contains("is a directory"), "{error}");
    assert!(error.to_string().contains("tests/fixtures"), "{error}");

    // A file that is missing comes after the rows of those before it.
    let first = Log::mysql().with(transaction(1, [1])).with([stop()]);
    let files = vec![first.input("binlog.000001"), InputFile::at_path("/no/such/binlog.000002", 2)];
    let outcome = decode(files, &options());
    assert_eq!(outcome.inserted(), [1]);
    assert_eq!(outcome.failure().kind(), ErrorKind::Io);
    assert_eq!(outcome.failure().file(), Some("/no/such/binlog.000002"));

    for pattern in ["/no/such/*", "/no/such/folder/binlog.[0-9]*"] {
        let error = binarrow::source::expand(pattern).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Io, "{error}");
        assert!(error.message().contains(pattern), "{error}");
    }
    assert!(binarrow::source::expand("/tmp/[").is_err());
    let empty = tempfile::tempdir().unwrap();
    assert!(binarrow::source::expand(empty.path().to_str().unwrap()).is_err());
}

#[test]
fn a_table_pattern_that_is_none() {
    for pattern in ["orders", "", "shop.", ".orders"] {
        let error = binarrow::change::TableFilter::try_new(&[pattern], &[]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Config);
        assert!(error.message().contains("database.table"), "{error}");
    }
}

// ---- every fixture, cut and damaged at every byte

/// In one segment, without the large buffers of a large one.
fn small() -> ReadOptions {
    segments_of(64 << 10)
}

/// A recorded file, what it gives, and where its transactions end by the test's own reading.
struct Subject {
    name: String,
    file: String,
    bytes: Vec<u8>,
    /// In log order.
    rows: Vec<Row>,
    /// Where the transaction of each row ends.
    ends: Vec<u64>,
    events: Vec<Found>,
    in_use: bool,
}

/// An event as the test finds it.
#[derive(Debug, Clone, Copy)]
struct Found {
    start: u64,
    end: u64,
    code: u8,
    /// Whether a group is open after it.
    open: bool,
}

fn subjects() -> Vec<Subject> {
    let mut subjects: Vec<Subject> = recorded()
        .iter()
        .flat_map(|fixture| {
            (0..fixture.files.len()).map(|index| {
                let (file, bytes) = fixture.bytes(index);
                Subject::new(&fixture.name, &file, bytes)
            })
        })
        .collect();
    let seed = std::fs::read(folder().join("seed-001.binlog")).unwrap();
    subjects.push(Subject::new("seed", "seed-001.binlog", seed));
    assert!(subjects.iter().all(|subject| subject.bytes.len() <= 32 << 10));
    subjects
}

impl Subject {
    fn new(name: &str, file: &str, bytes: Vec<u8>) -> Self {
        let events = find_events(&bytes);
        let mut rows = decode(vec![input(file, 1, bytes.clone())], &small()).ok().rows;
        rows.sort();
        let ends = rows.iter().map(|row| {
            let start = (row.version & 0xff_ffff_ffff) as u64;
            let group = events.iter().find(|event| event.start >= start && !event.open);
            group.unwrap().end
        });
        let ends = ends.collect();
        let in_use = bytes[4 + 17] & 1 == 1;
        Self { name: name.into(), file: file.into(), bytes, rows, ends, events, in_use }
    }

    fn input(&self, bytes: Vec<u8>) -> Vec<InputFile> {
        vec![input(&self.file, 1, bytes)]
    }

    /// The rows of transactions that end at or before `offset`.
    fn rows_until(&self, offset: u64) -> usize {
        // By their own order: an XA transaction is where its decision is.
        self.ends.iter().take_while(|end| **end <= offset).count()
    }

    fn event_at(&self, offset: usize) -> Found {
        *self.events.iter().find(|event| event.end > offset as u64).unwrap()
    }
}

/// Walks the events by their sizes, and groups by their first and last events, with none of the library's code.
fn find_events(bytes: &[u8]) -> Vec<Found> {
    let checksum = if has_checksums(bytes) { 4 } else { 0 };
    let mut events = Vec::new();
    // Whether the group has begun with more than its GTID, and whether it ends with its statement.
    let mut open: Option<(bool, bool)> = None;
    let mut start = 4;
    while start < bytes.len() {
        let size = u32::from_le_bytes(bytes[start + 9..start + 13].try_into().unwrap()) as usize;
        let code = bytes[start + 4];
        let body = &bytes[start + HEADER..start + size - checksum];
        match code {
            GTID | 34 | 42 => open = Some((false, false)),
            MARIADB_GTID => open = Some((body[12] & 1 == 0, false)),
            QUERY => {
                let sql = sql(body);
                let ends = |words: &[&str]| words.iter().any(|word| sql.starts_with(word));
                if ends(&["COMMIT", "XA COMMIT", "XA ROLLBACK"]) || sql == "ROLLBACK" {
                    open = None;
                } else if ends(&["BEGIN", "XA START"]) || sql.ends_with(" START TRANSACTION") {
                    open = Some((true, false));
                } else if open == Some((false, false)) {
                    open = None;
                }
            }
            // No statement that ends a transaction is packed.
            QUERY_COMPRESSED if open == Some((false, false)) => open = None,
            XID | XA_PREPARE | TRANSACTION_PAYLOAD => open = None,
            TABLE_MAP if open.is_none() => open = Some((true, true)),
            WRITE_ROWS..=DELETE_ROWS if open == Some((true, true)) && body[6] & 1 == 1 => {
                open = None;
            }
            _ => {}
        }
        let end = (start + size) as u64;
        events.push(Found { start: start as u64, end, code, open: open.is_some() });
        start += size;
    }
    events
}

fn sql(body: &[u8]) -> String {
    let variables = usize::from(u16::from_le_bytes([body[11], body[12]]));
    let text = &body[13 + variables + usize::from(body[8]) + 1..];
    String::from_utf8_lossy(text).into_owned()
}

fn has_checksums(bytes: &[u8]) -> bool {
    let size = u32::from_le_bytes(bytes[13..17].try_into().unwrap()) as usize;
    bytes[4 + size - 5] == 1
}

#[test]
fn cut_at_every_byte() {
    for mut subject in subjects() {
        for len in 0..subject.bytes.len() {
            cut(&subject, subject.in_use, len);
        }
        // The flag is no part of the checksum.
        let in_use = !subject.in_use;
        subject.bytes[4 + 17] = u8::from(in_use);
        for len in (0..subject.bytes.len()).step_by(3) {
            cut(&subject, in_use, len);
        }
        for event in &subject.events {
            cut(&subject, in_use, event.start as usize);
        }
    }
}

fn cut(subject: &Subject, in_use: bool, len: usize) {
    let case = format!("{} {} cut at {len}, in use: {in_use}", subject.name, subject.file);
    let outcome = decoded(subject.input(subject.bytes[..len].to_vec()), &small(), &case);
    let first = subject.events[0].end;
    if (len as u64) < first {
        assert_eq!(outcome.rows, [], "{case}");
        let error = outcome.failure();
        assert_eq!(error.kind(), ErrorKind::Malformed, "{case}");
        assert_eq!(error.file(), Some(&*subject.file), "{case}");
        if len >= 4 {
            assert_located(error, 4, "Format_desc");
        }
        return;
    }
    let expected = subject.rows_until(len as u64);
    let mut rows = outcome.rows.clone();
    rows.sort();
    assert_eq!(rows, subject.rows[..expected], "{case}");

    let whole = subject.events.iter().take_while(|event| event.end <= len as u64);
    let last = *whole.clone().last().unwrap();
    let safe = whole.filter(|event| !event.open).last().unwrap().end;
    let is_whole = last.end == len as u64 && !last.open;
    assert_eq!(outcome.error.is_none(), in_use || is_whole, "{case}: {:?}", outcome.error);
    match &outcome.error {
        Some(error) => {
            assert_eq!(error.kind(), ErrorKind::Malformed, "{case}");
            assert!(error.message().contains("was cut"), "{case}: {error}");
            assert_located(error, last.end, "end of file");
        }
        None => {
            let position = outcome.position.as_ref().map_or(first, |position| position.offset);
            assert_eq!(position, safe, "{case}");
        }
    }
}

#[test]
fn one_bit_flipped_at_every_byte() {
    for subject in subjects() {
        if !has_checksums(&subject.bytes) {
            continue;
        }
        for at in 0..subject.bytes.len() {
            flip(&subject, at, (at * 5 + 3) % 8, &small());
        }
    }
}

#[test]
fn two_bits_flipped_at_every_byte_in_the_smallest_segments() {
    for name in ["mysql-tagged", "mariadb11-unfinished", "mysql-unfinished"] {
        let fixture = recorded_as(name);
        let (file, bytes) = fixture.bytes(0);
        let subject = Subject::new(name, &file, bytes);
        for at in 0..subject.bytes.len() {
            for bit in [at % 8, (at + 4) % 8] {
                flip(&subject, at, bit, &segments_of(1));
            }
        }
    }
}

fn flip(subject: &Subject, at: usize, bit: usize, options: &ReadOptions) {
    let case = format!("{} {} bit {bit} of byte {at}", subject.name, subject.file);
    let mut bytes = subject.bytes.clone();
    bytes[at] ^= 1 << bit;
    let outcome = decoded(subject.input(bytes), options, &case);
    let mut rows = outcome.rows.clone();
    rows.sort();
    if at < 4 {
        assert_eq!((rows.len(), outcome.failure().kind()), (0, ErrorKind::Malformed), "{case}");
        return;
    }
    if (at, bit) == (4 + 17, 0) {
        // The in-use flag, which no checksum covers: says only how the end is taken.
        assert_eq!(rows, subject.rows, "{case}");
        assert!(outcome.error.is_none(), "{case}");
        return;
    }
    let event = subject.event_at(at);
    let field = at as u64 - event.start;
    // What is whole before it comes out, in order; nothing of the event itself does.
    assert_eq!(rows, subject.rows[..rows.len()], "{case}");
    assert!(rows.len() >= subject.rows_until(event.start), "{case}");
    assert!(rows.iter().all(|row| row.position != event.start as i64), "{case}");
    let Some(error) = &outcome.error else {
        // A size beyond the end of a file that is in use, or rows without an end there, cannot be told from an
        // event that is being written. Rows that never happened are not looked at, nor what looks like such rows.
        let is_tail = subject.in_use && [4, 9, 10, 11, 12, HEADER as u64 + 6].contains(&field);
        let is_dropped = (is_rows(event.code) || field == 4)
            && subject.rows.iter().all(|row| row.position != event.start as i64);
        assert!(is_tail || (is_dropped && rows == subject.rows), "{case}: no error");
        return;
    };
    assert_eq!(error.file(), Some(&*subject.file), "{case}");
    assert!(error.event().is_some(), "{case}: {error:?}");
    match field {
        // Rows under another size or type are found out by what follows: they are checked when they are decoded.
        4 => assert!(error.offset() >= Some(event.start), "{case}: {error:?}"),
        9..13 if is_rows(event.code) => {
            assert!(error.offset() >= Some(event.start), "{case}: {error:?}");
        }
        9..13 => assert_eq!(error.offset(), Some(event.start), "{case}: {error:?}"),
        _ if event.code == FORMAT_DESCRIPTION => {
            assert_eq!(error.offset(), Some(event.start), "{case}: {error:?}");
        }
        _ => {
            assert_eq!(error.kind(), ErrorKind::Checksum, "{case}: {error:?}");
            assert_eq!(error.offset(), Some(event.start), "{case}: {error:?}");
        }
    }
}

fn is_rows(code: u8) -> bool {
    binarrow::binlog::EventType(code).is_rows()
}

#[test]
fn damage_that_no_checksum_shows() {
    // Every byte takes other values; the checksum is right again, or nobody looks at it.
    let mut unchecked = segments_of(300);
    unchecked.cut.verify_checksum = false;
    unchecked.decode.verify_checksum = false;
    for subject in subjects() {
        let checksums = has_checksums(&subject.bytes);
        for at in 4..subject.bytes.len() {
            let event = subject.event_at(at);
            let value = [subject.bytes[at] ^ 1 << (at / 4 % 8), 0xff, 0, 0xfb][at % 4];
            let mut bytes = subject.bytes.clone();
            bytes[at] = value;
            let options = if at % 5 == 0 { &unchecked } else { &small() };
            if at % 5 > 0 && (checksums || event.code == FORMAT_DESCRIPTION) {
                seal(&mut bytes, event);
            }
            let case = format!("{} {} byte {at} = {value}", subject.name, subject.file);
            if at % 3 == 0 {
                list(subject.input(bytes.clone()), &case);
            }
            let outcome = decoded(subject.input(bytes), options, &case);
            assert!(outcome.rows.len() <= subject.bytes.len(), "{case}");
            if let Some(error) = &outcome.error {
                assert_eq!(error.file(), Some(&*subject.file), "{case}: {error:?}");
                assert!(error.kind() != ErrorKind::Internal, "{case}: {error:?}");
            }
        }
    }
}

#[test]
fn events_cut_short_with_their_size_put_right() {
    for subject in subjects() {
        for event in &subject.events {
            let (start, end) = (event.start as usize, event.end as usize);
            let footer = if has_checksums(&subject.bytes) { 4 } else { 0 };
            // Not every length of a long event.
            let step = 1 + (end - start) / 200;
            for len in (HEADER..end - start - footer).step_by(step) {
                let mut bytes = subject.bytes[..start + len].to_vec();
                bytes[start + 9..start + 13]
                    .copy_from_slice(&((len + footer) as u32).to_le_bytes());
                bytes.extend(vec![0; footer]);
                if footer > 0 && len >= HEADER {
                    seal(&mut bytes, Found { end: (start + len + footer) as u64, ..*event });
                }
                bytes.extend(&subject.bytes[end..]);
                let case = format!("{} {} event at {start} of {len}", subject.name, subject.file);
                let outcome = decoded(subject.input(bytes), &small(), &case);
                assert!(outcome.rows.len() >= subject.rows_until(event.start), "{case}");
                if let Some(error) = &outcome.error {
                    assert!(error.kind() != ErrorKind::Internal, "{case}: {error:?}");
                    assert!(error.offset() >= Some(event.start), "{case}: {error:?}");
                    assert!(error.event().is_some(), "{case}: {error:?}");
                }
            }
        }
    }
}

/// Puts an event's checksum right.
fn seal(bytes: &mut [u8], event: Found) {
    let (start, end) = (event.start as usize, event.end as usize);
    let mut covered = bytes[start..end - 4].to_vec();
    if event.code == FORMAT_DESCRIPTION {
        covered[17] &= !1;
    }
    let sum = crc32fast::hash(&covered).to_le_bytes();
    bytes[end - 4..end].copy_from_slice(&sum);
}

/// Lists the events, to the end or an error.
fn list(files: Vec<InputFile>, case: &str) {
    let listed = catch_unwind(AssertUnwindSafe(|| {
        let mut events = EventList::new(files, false);
        while let Ok(Some(_)) = events.next_event() {}
    }));
    assert!(listed.is_ok(), "{case}: the list of events panicked");
}

/// Decodes; a panic says which case it was.
fn decoded(files: Vec<InputFile>, options: &ReadOptions, case: &str) -> Outcome {
    catch_unwind(AssertUnwindSafe(|| decode(files, options)))
        .unwrap_or_else(|_| panic!("{case}: it panicked"))
}

// ---- hostile events

/// Decodes a good transaction, then one that holds `events`, then a good one. The event `broken` of them must be what
/// fails; only the first transaction has rows.
pub(crate) fn hostile(events: impl IntoIterator<Item = Event>, broken: usize) -> Error {
    let events: Vec<Event> = events.into_iter().collect();
    let without = hostile_in(&Log::without_checksums(), events.clone(), broken);
    let error = hostile_in(&Log::mysql(), events, broken);
    assert_eq!(error.message(), without.message());
    error
}

fn hostile_in(log: &Log, events: Vec<Event>, broken: usize) -> Error {
    let log = log.clone().with(transaction(1, [1])).with([gtid(2), begin()]);
    let first = log.starts.len();
    let log = log.with(events).with([xid()]).with(transaction(3, [3])).with([stop()]);
    let (offset, code) =
        (log.starts[first + broken], log.bytes[log.starts[first + broken] as usize + 4]);
    for options in [options(), segments_of(1)] {
        let outcome = decode(log.clone().inputs(), &options);
        assert_eq!(outcome.inserted(), [1], "{:?}", outcome.error);
        let error = outcome.failure();
        assert!(matches!(error.kind(), ErrorKind::Malformed | ErrorKind::Unsupported), "{error:?}");
        assert_located(error, offset, binarrow::binlog::EventType(code).name());
    }
    decode(log.inputs(), &options()).error.unwrap()
}

/// The rows that events give inside a transaction.
pub(crate) fn harmless(events: impl IntoIterator<Item = Event>) -> Vec<String> {
    let log = Log::mysql().with([gtid(1), begin()]).with(events).with([xid(), stop()]);
    let outcome = decode(log.inputs(), &options()).ok();
    outcome.changes()
}

fn failure(bytes: Vec<u8>) -> Error {
    let outcome = decode(vec![input("binlog.000001", 1, bytes)], &options());
    assert_eq!(outcome.rows, []);
    outcome.error.unwrap()
}

pub(crate) fn assert_located(error: &Error, offset: u64, event: &str) {
    assert_eq!((error.offset(), error.event()), (Some(offset), Some(event)), "{error:?}");
    assert!(error.file().is_some(), "{error:?}");
}

/// A table map of the types and metadata given, every column nullable, with `optional` behind.
pub(crate) fn map_of(types: &[u8], metadata: &[u8], optional: &[u8]) -> Event {
    let mut body = T.id.to_le_bytes()[..6].to_vec();
    body.extend([1, 0, 1, b'd', 0, 1, b't', 0, types.len() as u8]);
    body.extend(types);
    body.push(metadata.len() as u8);
    body.extend(metadata);
    body.extend(vec![0xff; types.len().div_ceil(8)]);
    body.extend(optional);
    Event::new(TABLE_MAP, body)
}

/// The optional metadata of one column that is not UNSIGNED.
const SIGNED: [u8; 3] = [1, 1, 0];

/// A Write_rows of one row of one column that is not NULL.
pub(crate) fn one_cell(cell: &[u8]) -> Event {
    let mut body = T.id.to_le_bytes()[..6].to_vec();
    body.extend([1, 0, 2, 0, 1, 0xff, 0xfe]);
    body.extend(cell);
    Event::new(WRITE_ROWS, body)
}

#[test]
fn sizes_that_lie_h4() {
    let log = Log::mysql().with(transaction(1, [1])).with(transaction(2, [2])).with([stop()]);
    let rows = log.starts[9] as usize;
    assert_eq!(log.bytes[rows + 4], WRITE_ROWS);
    for at in [log.starts[6] as usize, log.starts[8] as usize, rows, log.starts[10] as usize] {
        for size in [0, 1, 18, 19, 22, 23, 1 << 20, (1 << 30) + 1, u32::MAX] {
            let mut bytes = log.bytes.clone();
            bytes[at + 9..at + 13].copy_from_slice(&u32::to_le_bytes(size));
            for (options, is_exact) in [(options(), true), (segments_of(1), false)] {
                let outcome = decode(vec![input("binlog.000001", 1, bytes.clone())], &options);
                assert_eq!(outcome.inserted(), [1], "{at} {size}");
                let error = outcome.failure();
                // Looking ahead, the reader sees no more than heads.
                assert!(error.offset() >= Some(at as u64), "{at} {size} {error:?}");
                assert!(!is_exact || error.offset() == Some(at as u64), "{at} {size} {error:?}");
                assert!(error.event().is_some(), "{error:?}");
            }
        }
    }
}

#[test]
fn numbers_of_odd_lengths_h5() {
    let map = |count: &[u8]| {
        let mut event = table_map(T);
        let at = 8 + 3 + 3;
        assert_eq!(event.body[at], 2);
        event.body.splice(at..=at, count.iter().copied());
        event
    };
    for count in [&[0xfb][..], &[0xff], &[0xfe, 255, 255, 255, 255, 255, 255, 255, 255]] {
        hostile([map(count), insert(T, [2])], 0);
    }
    // Longer than need be is allowed, as the server allows it.
    for count in [&[0xfc, 2, 0][..], &[0xfd, 2, 0, 0], &[0xfe, 2, 0, 0, 0, 0, 0, 0, 0]] {
        assert_eq!(harmless([map(count), insert(T, [2])]), ["insert d.t 2"]);
    }
}

#[test]
fn column_counts_h6() {
    let map = |columns: u64, types: usize, metadata: &[u8]| {
        let mut body = T.id.to_le_bytes()[..6].to_vec();
        body.extend([1, 0, 1, b'd', 0, 1, b't', 0, 0xfe]);
        body.extend(columns.to_le_bytes());
        body.extend(vec![3; types]);
        body.extend(metadata);
        body.extend(vec![0; types.div_ceil(8)]);
        Event::new(TABLE_MAP, body)
    };
    for (columns, types) in [(0, 0), (4097, 4097), (1 << 32, 5), (5, 4), (u64::MAX, 0)] {
        hostile([map(columns, types, &[0]), insert(T, [2])], 0);
    }
    // Metadata that is longer than the event.
    for metadata in [&[200][..], &[0xfe, 255, 255, 255, 255, 0, 0, 0, 0], &[0xfb]] {
        hostile([map(3, 3, metadata), insert(T, [2])], 0);
    }
    // Metadata that does not fit the types; found when the rows come.
    for (types, metadata) in [(&[15, 3][..], &[][..]), (&[15, 3], &[1]), (&[15, 3], &[1, 0, 0])] {
        hostile([map_of(types, metadata, &[]), insert(T, [2])], 1);
    }
}

#[test]
fn names_that_do_not_fit() {
    let map = |database: &[u8], nul: u8| {
        let mut event = table_map(T);
        let mut name = vec![0xfc];
        name.extend((database.len() as u16).to_le_bytes());
        name.extend(database);
        name.push(nul);
        event.body.splice(8..11, name);
        event
    };
    hostile([map(&[b'd'; 193], 0), insert(T, [2])], 0);
    hostile([map(b"d", 7), insert(T, [2])], 0);
    hostile([map(b"\xff\xfe", 0), insert(T, [2])], 1);
    assert_eq!(harmless([map(&[b'd'; 192], 0), insert(T, [2])]).len(), 1);
}

#[test]
fn another_width_than_the_table_map_h7() {
    for width in [0, 1, 3, 9, 200] {
        let mut event = insert(T, [2]);
        event.body[10] = width;
        hostile([table_map(T), event], 1);
    }
    for width in [&[0xfb][..], &[0xff], &[0xfe, 255, 255, 255, 255, 255, 255, 255, 255]] {
        let mut event = insert(T, [2]);
        event.body.splice(10..11, width.iter().copied());
        hostile([table_map(T), event], 1);
    }
}

#[test]
fn table_ids_h8() {
    let unknown = Table { id: 999, ..T };
    let error = hostile([table_map(T), insert(unknown, [2])], 1);
    assert!(error.message().contains("999"), "{error}");
    // Of the transaction before.
    let log =
        Log::mysql().with(transaction(1, [1])).with([gtid(2), begin(), insert(T, [2]), xid()]);
    for options in [options(), segments_of(1)] {
        let outcome = decode(log.clone().with([stop()]).inputs(), &options);
        assert_eq!(outcome.inserted(), [1]);
        assert_located(outcome.failure(), log.starts[8], "Write_rows");
    }
    // An id that comes again with another width: the new map wins.
    let mut narrow = T.id.to_le_bytes()[..6].to_vec();
    narrow.extend([1, 0, 2, 0, 1, 0xff, 0xfe, 9, 0, 0, 0]);
    let events = [
        table_map(T),
        insert(T, [2]),
        map_of(&[3], &[], &SIGNED),
        Event::new(WRITE_ROWS, narrow),
        table_map(T),
        insert(T, [3]),
    ];
    assert_eq!(harmless(events), ["insert d.t 2", "insert d.t 9", "insert d.t 3"]);
    // The dummy that ends a statement.
    let dummy = Event::new(WRITE_ROWS, [255, 255, 255, 0, 0, 0, 1, 0, 2, 0, 1, 0xff]);
    assert_eq!(harmless([table_map(T), insert(T, [2]), dummy]), ["insert d.t 2"]);
}

#[test]
fn images_without_columns_h9() {
    let event = |rows: &[u8]| {
        let mut body = T.id.to_le_bytes()[..6].to_vec();
        body.extend([1, 0, 2, 0, 2, 0]);
        body.extend(rows);
        Event::new(WRITE_ROWS, body)
    };
    assert_eq!(harmless([table_map(T), event(&[])]), ["insert d.t NULL"]);
    for rows in [&[0][..], &[0xff, 1, 2]] {
        hostile([table_map(T), event(rows)], 1);
    }
}

#[test]
fn lengths_beyond_the_cell_h10() {
    let long = |len: u16| {
        let mut cell = len.to_le_bytes().to_vec();
        cell.extend(vec![b'x'; usize::from(len)]);
        cell
    };
    let cases: [(&[u8], &[u8], Vec<u8>); 9] = [
        (&[15], &[10, 0], vec![11]), // VARCHAR beyond the event
        (&[15], &[10, 0], [&[11][..], &[b'x'; 11]].concat()), // beyond the column
        (&[15], &[0x40, 0x1f], long(8001)),
        (&[254], &[0xfe, 10], [&[11][..], &[b'x'; 11]].concat()), // CHAR
        (&[254], &[0xee, 0x90], [&[0x91, 1][..], &[b'x'; 401]].concat()), // CHAR of two length bytes
        (&[252], &[1], vec![5, 1, 2]),                                    // BLOB beyond the event
        (&[252], &[4], vec![255, 255, 255, 255, 1]),
        (&[245], &[4], vec![255, 255, 255, 127]), // JSON
        (&[255], &[4], vec![9, 0, 0, 0, 1]),      // GEOMETRY
    ];
    for (types, metadata, cell) in cases {
        hostile([map_of(types, metadata, &[2, 3, 0xfc, 0xff, 0]), one_cell(&cell)], 1);
    }
    // Fewer bytes than the row needs, and a byte too many.
    for rows in [&image(2, Some("v"))[..7], &[&image(2, Some("v"))[..], &[0]].concat()] {
        hostile([table_map(T), rows_event(WRITE_ROWS, T, rows)], 1);
    }
    // An update with one image.
    hostile([table_map(T), rows_event(UPDATE_ROWS, T, &image(2, None))], 1);
    // All rows of an event or none.
    let rows = [image(2, None), image(3, None), vec![0xfc, 1]].concat();
    hostile([table_map(T), rows_event(DELETE_ROWS, T, &rows)], 1);
}

#[test]
fn types_that_cannot_be_h11() {
    let cases: [(u8, &[u8]); 20] = [
        (252, &[0]),
        (252, &[5]),
        (252, &[255]),
        (17, &[7]),
        (18, &[7]),
        (19, &[255]),
        (246, &[0, 0]),
        (246, &[66, 0]),
        (246, &[4, 5]),
        (246, &[65, 65]),
        (254, &[248, 5]),
        (254, &[247, 3]),
        (254, &[1, 1]),
        (16, &[1, 8]),
        (16, &[0, 0]),
        (16, &[9, 0]),
        (4, &[8]),
        (230, &[]), // the server's own fault injection
        (0, &[]),
        (243, &[]),
    ];
    for (code, metadata) in cases {
        hostile([map_of(&[code], metadata, &[]), one_cell(&[0; 20])], 1);
    }
}

#[test]
fn decimals_h12() {
    for digits in [[0xff; 8], [0x80, 0, 0, 0, 0xff, 0xff, 0xff, 0xff]] {
        hostile([map_of(&[246], &[18, 9], &[]), one_cell(&digits)], 1);
    }
    hostile([map_of(&[246], &[18, 9], &[]), one_cell(&[0x80, 0, 0])], 1);
}

#[test]
fn dates_that_are_none_h13() {
    let date = |year: u64, month: u64, day: u64, time: u64| {
        let value = ((year * 13 + month) << 5 | day) << 17 | time;
        (value + (1 << 39)).to_be_bytes()[3..].to_vec()
    };
    let noon = 12 << 12;
    for cell in [
        date(2024, 0, 1, noon),
        date(2024, 2, 30, noon),
        date(2024, 12, 31, 31 << 12 | 63 << 6 | 63),
        date(9999, 12, 0, noon),
        date(0, 0, 0, 0),
        vec![0xff; 5],
    ] {
        let events = [gtid(1), begin(), map_of(&[18], &[0], &[]), one_cell(&cell), xid(), stop()];
        let outcome = decode(Log::mysql().with(events).inputs(), &options());
        let is_null = outcome.rows.first().is_some_and(|row| row.cells == [None]);
        assert!(is_null || outcome.error.is_some(), "{cell:?}: {:?}", outcome.rows);
    }
    // A time of 63 minutes, of 1023 hours; a date of day 31 in month 15; a year before any.
    for (code, metadata, cell) in [
        (19, &[0][..], &[0x80, 0x0f, 0xff][..]),
        (19, &[0], &[0xff, 0xff, 0xff]),
        (19, &[6], &[0, 0, 0, 0, 0, 0]),
        (10, &[], &[0xff, 0xff, 0xff]),
        (12, &[], &[0xff; 8]),
        (11, &[], &[0xff, 0xff, 0x7f]),
        (17, &[6], &[0xff; 7]),
        (18, &[0], &[0; 5]),
        (13, &[], &[255]),
    ] {
        let events =
            [gtid(1), begin(), map_of(&[code], metadata, &[]), one_cell(cell), xid(), stop()];
        let outcome = decode(Log::mysql().with(events).inputs(), &options());
        assert_eq!(outcome.rows.len() + usize::from(outcome.error.is_some()), 1, "{code}");
    }
}

#[test]
fn optional_metadata_h16() {
    let insert = || one_cell(&[7, 0, 0, 0]);
    let map = |optional: &[u8]| map_of(&[3], &[], optional);
    // Unknown fields are passed over, and more bits than columns.
    for optional in [&[1, 1, 0, 72, 2, 1, 2][..], &[200, 0, 1, 1, 0], &[1, 3, 0, 0, 0]] {
        assert_eq!(harmless([map(optional), insert()]), ["insert d.t 7"]);
    }
    for optional in [
        &[1, 1, 0, 1, 1, 0][..],   // twice
        &[1],                      // no length
        &[1, 9, 0],                // beyond the event
        &[1, 0],                   // too few bits
        &[12, 0],                  // too few bits
        &[1, 0xfb],                // a length that is none
        &[4, 0],                   // too few names
        &[4, 2, 5, b'a'],          // a name beyond the field
        &[4, 4, 1, b'a', 1, b'b'], // too many names
        &[4, 2, 1, 0xff],          // a name that is no text
        &[8, 1, 1],                // a key column beyond the table
        &[8, 1, 0, 9, 2, 0, 0],    // both forms
        &[9, 1, 0],                // half a pair
        &[2, 1, 63, 3, 0],         // both forms
        &[2, 3, 63, 0, 8],         // a character column that is not there
        &[2, 0],                   // no default
        &[3, 1, 63],               // too many collations
        &[6, 2, 1, 9],             // members of no ENUM
    ] {
        hostile([map(optional), insert()], 1);
    }
    let choice = |optional: &[u8]| map_of(&[254], &[247, 1], optional);
    for optional in [
        &[10, 1, 45, 6, 3, 0xfc, 255, 255][..], // more members than bytes
        &[10, 1, 45, 6, 3, 1, 9, b'a'],         // a member beyond the field
        &[10, 1, 45, 6, 3, 1, 1, 0xff],         // a member that is no text
        &[10, 1, 45, 6, 9, 0xfe, 255, 255, 255, 255, 255, 255, 255, 255],
    ] {
        hostile([choice(optional), one_cell(&[1])], 1);
    }
    // An ordinal that no member has.
    hostile([choice(&[10, 1, 45, 6, 3, 1, 1, b'a']), one_cell(&[2])], 1);
    hostile([map_of(&[255], &[4], &[7, 1, 100]), one_cell(&[0; 4])], 1);
}

#[test]
fn extra_row_info_that_does_not_fit() {
    for info in
        [&[0, 0][..], &[1, 0], &[3, 0, 1], &[200, 0], &[4, 0, 0, 9], &[3, 0, 0], &[4, 0, 0, 0]]
    {
        let mut event = insert(T, [2]);
        event.body.splice(8..10, info.iter().copied());
        hostile([table_map(T), event], 1);
    }
    for info in [&[5, 0, 1, 3, 0][..], &[5, 0, 0, 2, 1], &[4, 0, 9, 9]] {
        let mut event = insert(T, [2]);
        event.body.splice(8..10, info.iter().copied());
        assert_eq!(harmless([table_map(T), event]), ["insert d.t 2"]);
    }
}

#[test]
fn payloads_h17() {
    let payload_alone = |event: Event| {
        let log = Log::mysql().with(transaction(1, [1])).with([gtid(2), event]);
        let offset = log.starts[7];
        let log = log.with(transaction(3, [3])).with([stop()]);
        for options in [options(), segments_of(1)] {
            let outcome = decode(log.clone().inputs(), &options);
            assert_eq!(outcome.inserted(), [1], "{:?}", outcome.error);
            assert_located(outcome.failure(), offset, "Transaction_payload");
        }
    };
    let inner = |id| [begin(), table_map(T), insert(T, [id]), xid()];
    let bytes: Vec<u8> = inner(2).iter().flat_map(|event| event.bytes(0, false)).collect();
    let packed = zstd::bulk::compress(&bytes, 1).unwrap();
    // Cut, in the frame and in the events.
    for len in 0..packed.len() {
        payload_alone(payload_packed(&[0], bytes.len() as u64, &packed[..len]));
    }
    for len in (0..bytes.len()).filter(|len| *len != bytes.len()) {
        payload_alone(payload_of(len % 2 == 0, &bytes[..len]));
    }
    // Not zstd at all, another compression, sizes that lie.
    payload_alone(payload_packed(&[0], 100, &bytes));
    payload_alone(payload_packed(&[1], bytes.len() as u64, &bytes));
    for (field, value) in [(3 + 2 + 9 + 2 + 1, 0xff), (3 + 2 + 9 + 2 + 1, 0)] {
        let mut event = payload_of(true, &bytes);
        event.body[field] = value;
        payload_alone(event);
    }
    // What cannot stand in one.
    let format = Event::new(FORMAT_DESCRIPTION, Log::mysql().bytes[4 + HEADER..].to_vec());
    for event in [payload(true, inner(2)), payload(false, inner(2)), format, stop(), gtid(9)] {
        payload_alone(payload(true, [event.clone()]));
        payload_alone(payload(true, [begin(), table_map(T), insert(T, [2]), event, xid()]));
    }
    // Events behind the end, none before it.
    payload_alone(payload(true, [begin(), table_map(T), insert(T, [2]), xid(), begin()]));
    payload_alone(payload(true, [begin(), table_map(T), insert(T, [2])]));
    payload_alone(payload(true, []));
    // The unpacked size is a hint.
    for size in [0, 1, 1 << 40, u64::MAX] {
        let log = Log::mysql().with([gtid(1), payload_packed(&[0], size, &packed), stop()]);
        assert_eq!(decode(log.inputs(), &options()).ok().inserted(), [2]);
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
        skipping.cut.skip_events = vec![code];
        let outcome = decode(log.inputs(), &skipping);
        assert_eq!(outcome.ok().inserted(), [1, 3]);
    };
    for sql in
        ["INSERT INTO t VALUES (1)", "update t set id = 1", "/* a */ DELETE FROM t", "REPLACE t"]
    {
        alone(query(sql), &["binlog_format", "skip_events=[2]"]);
    }
    alone(Event::new(INCIDENT, *b"\x01\0\x04lost"), &["incident"]);
    alone(Event::new(18, [0; 30]), &["LOAD DATA", "skip_events=[18]"]);
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

#[test]
fn unknown_events_h24() {
    for code in [43, 100, 159, 200, 255, 0] {
        let error = hostile([Event::new(code, [1, 2, 3])], 0);
        assert_eq!(error.kind(), ErrorKind::Unsupported);
        assert!(error.message().contains(&format!("skip_events=[{code}]")), "{error}");
        let ignorable = Event::new(code, [1, 2, 3]).flags(0x80);
        assert_eq!(harmless([ignorable, table_map(T), insert(T, [2])]), ["insert d.t 2"]);
        let log = Log::mysql().with([gtid(1), begin(), Event::new(code, []), table_map(T)]);
        let log = log.with([insert(T, [2]), xid(), stop()]);
        let mut skipping = options();
        skipping.cut.skip_events = vec![code];
        assert_eq!(decode(log.inputs(), &skipping).ok().inserted(), [2]);
    }
}

#[test]
fn format_descriptions_h25() {
    // Fewer post-header lengths than types in use.
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
    // Not the first event.
    let mut bytes = good.bytes.clone();
    bytes.drain(found.start as usize..found.end as usize);
    let error = failure(bytes);
    assert_located(&error, 4, "Gtid");
    assert!(error.message().contains("format description"), "{error}");
    // MariaDB's is longer.
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
    // A rows event, which a worker finds broken, and a commit, which the cutter does.
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
    // Zeros to the end, as a file system leaves them after a power cut.
    let mut bytes = Log::mysql().in_use().with(transaction(1, [1])).bytes;
    let end = bytes.len() as u64;
    bytes.resize(bytes.len() + 4096, 0);
    let outcome = decode(vec![input("binlog.000001", 1, bytes)], &options());
    assert_eq!(outcome.inserted(), [1]);
    assert_eq!(outcome.failure().offset(), Some(end));
}
