//! Logs of servers, truncated and damaged at each byte: H1, H2 and H3.

use super::assert_located;
use crate::fixtures::{folder, recorded, recorded_as};
use crate::log::{
    DELETE_ROWS, FORMAT_DESCRIPTION, GTID, HEADER, MARIADB_GTID, QUERY, QUERY_COMPRESSED,
    TABLE_MAP, TRANSACTION_PAYLOAD, WRITE_ROWS, XA_PREPARE, XID, input,
};
use crate::rows::{Outcome, Row, decode, segments_of};
use binarrow::ErrorKind;
use binarrow::reader::{EventList, ReadOptions};
use binarrow::source::InputFile;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Small segments, without the large buffers of a large one.
fn small() -> ReadOptions {
    segments_of(64 << 10)
}

/// A piece of a recorded file that can be read as a log, its rows, and the ends of its
/// transactions, which the test finds with its own code.
struct Subject {
    name: String,
    file: String,
    bytes: Vec<u8>,
    /// The offset from which it differs from the previous piece, which has the same format
    /// description.
    first: usize,
    /// The rows in log order.
    rows: Vec<Row>,
    /// The end of the transaction of each row.
    ends: Vec<u64>,
    events: Vec<Found>,
    in_use: bool,
}

/// An event that the test has found.
#[derive(Debug, Clone, Copy)]
pub(super) struct Found {
    pub(super) start: u64,
    pub(super) end: u64,
    code: u8,
    /// True if a group is open after it.
    open: bool,
}

/// Each byte of each recorded file is in one of them.
fn subjects() -> Vec<Subject> {
    let mut subjects = Vec::new();
    for fixture in recorded() {
        for index in 0..fixture.files.len() {
            let (file, bytes) = fixture.bytes(index);
            subjects.extend(pieces(&fixture.name, &file, &bytes));
        }
    }
    let seed = std::fs::read(folder().join("seed-001.binlog")).unwrap();
    subjects.extend(pieces("seed", "seed-001.binlog", &seed));
    subjects
}

/// Splits a file between groups. The time for damage at each byte of a piece increases with the
/// square of its size.
fn pieces(name: &str, file: &str, bytes: &[u8]) -> Vec<Subject> {
    let events = find_events(bytes);
    let head = &bytes[..events[0].end as usize];
    let mut pieces = Vec::new();
    let mut start = head.len();
    for (event, number) in events.iter().zip(1..) {
        let end = event.end as usize;
        let is_last = number == events.len();
        if is_last || !event.open && end - start >= PIECE {
            let piece = [head, &bytes[start..end]].concat();
            let first = if start == head.len() { 0 } else { head.len() };
            pieces.push(Subject { first, ..Subject::new(name, file, piece) });
            start = end;
        }
    }
    pieces
}

/// The minimum number of bytes of a piece after its format description, except for the last piece.
const PIECE: usize = 700;

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
        Self { name: name.into(), file: file.into(), bytes, first: 0, rows, ends, events, in_use }
    }

    fn input(&self, bytes: Vec<u8>) -> Vec<InputFile> {
        vec![input(&self.file, 1, bytes)]
    }

    /// The rows of transactions that end at or before `offset`.
    fn rows_until(&self, offset: u64) -> usize {
        // In the order of the decisions: an XA transaction is at the place of its decision.
        self.ends.iter().take_while(|end| **end <= offset).count()
    }

    /// All events, except a format description that another piece also has.
    fn own_events(&self) -> impl Iterator<Item = &Found> {
        self.events.iter().filter(|event| event.end > self.first as u64)
    }

    fn event_at(&self, offset: usize) -> Found {
        *self.events.iter().find(|event| event.end > offset as u64).unwrap()
    }
}

/// Finds the events by their sizes, and groups by their first and last events, without any code of
/// the library.
pub(super) fn find_events(bytes: &[u8]) -> Vec<Found> {
    let checksum = if has_checksums(bytes) { 4 } else { 0 };
    let mut events = Vec::new();
    // True if the group contains more than its GTID, and true if it ends with its statement.
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
            // A statement that ends a transaction is never compressed.
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

/// H1
#[test]
fn cut_at_every_byte() {
    for mut subject in subjects() {
        for len in subject.first..subject.bytes.len() {
            cut(&subject, subject.in_use, len);
        }
        // The checksum does not cover the flag.
        let in_use = !subject.in_use;
        subject.bytes[4 + 17] = u8::from(in_use);
        for len in (subject.first..subject.bytes.len()).step_by(3) {
            cut(&subject, in_use, len);
        }
        for event in subject.own_events() {
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

    let complete = subject.events.iter().take_while(|event| event.end <= len as u64);
    let last = *complete.clone().last().unwrap();
    let safe = complete.filter(|event| !event.open).last().unwrap().end;
    let is_complete = last.end == len as u64 && !last.open;
    assert_eq!(outcome.error.is_none(), in_use || is_complete, "{case}: {:?}", outcome.error);
    match &outcome.error {
        Some(error) => {
            assert_eq!(error.kind(), ErrorKind::Malformed, "{case}");
            assert!(error.message().contains("was truncated"), "{case}: {error}");
            assert_located(error, last.end, "end of file");
        }
        None => {
            let end = format!("at offset {}", last.end);
            let says_so = |text: &String| text.contains(&*subject.file) && text.contains(&end);
            let is_cut = len < subject.bytes.len();
            assert!(!is_cut || outcome.warnings.iter().any(says_so), "{case}");
            let position = outcome.position.as_ref().map_or(first, |position| position.offset);
            assert_eq!(position, safe, "{case}");
        }
    }
}

/// H2
#[test]
fn one_bit_flipped_at_every_byte() {
    for subject in subjects() {
        if !has_checksums(&subject.bytes) {
            continue;
        }
        for at in subject.first..subject.bytes.len() {
            flip(&subject, at, (at * 5 + 3) % 8, &small());
        }
    }
}

/// H2
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
        // The in-use flag, which no checksum covers: it only determines how the end is treated.
        assert_eq!(rows, subject.rows, "{case}");
        assert!(outcome.error.is_none(), "{case}");
        return;
    }
    let event = subject.event_at(at);
    let field = at as u64 - event.start;
    // Complete rows before the damage are returned, in order; rows of the damaged event are not.
    // Bytes that look like rolled-back rows are counted as such.
    let mut expected = subject.rows[..rows.len()].to_vec();
    if field == 4 && subject.rows.iter().all(|row| row.position != event.start as i64) {
        expected.iter_mut().zip(&rows).for_each(|(row, found)| row.ordinal = found.ordinal);
    }
    assert_eq!(rows, expected, "{case}");
    assert!(rows.len() >= subject.rows_until(event.start), "{case}");
    assert!(rows.iter().all(|row| row.position != event.start as i64), "{case}");
    let Some(error) = &outcome.error else {
        // In a file that is in use, a size beyond the end, or rows without an end, cannot be
        // distinguished from an event that is being written. Rows that were not committed are not
        // decoded, and neither are bytes that look like such rows.
        let is_tail = subject.in_use && [4, 9, 10, 11, 12, HEADER as u64 + 6].contains(&field);
        let is_dropped = (is_rows(event.code) || field == 4)
            && subject.rows.iter().all(|row| row.position != event.start as i64);
        assert!(is_tail || (is_dropped && rows.len() == subject.rows.len()), "{case}: no error");
        return;
    };
    assert_eq!(error.file(), Some(&*subject.file), "{case}");
    assert!(error.event().is_some(), "{case}: {error:?}");
    match field {
        // Rows with a wrong size or type are detected by the bytes that follow: they are checked
        // when they are decoded.
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

/// H3
#[test]
fn damage_that_no_checksum_shows() {
    // Each byte gets other values; the checksum is correct again, or is not checked.
    let mut unchecked = segments_of(300);
    unchecked.cut.verify_checksum = false;
    unchecked.decode.verify_checksum = false;
    for subject in subjects() {
        let checksums = has_checksums(&subject.bytes);
        for at in subject.first.max(4)..subject.bytes.len() {
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

/// H1
#[test]
fn events_cut_short_with_their_size_put_right() {
    for subject in subjects() {
        for event in subject.own_events() {
            let (start, end) = (event.start as usize, event.end as usize);
            let footer = if has_checksums(&subject.bytes) { 4 } else { 0 };
            // Not each length of a long event is tested.
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

/// Sets the correct checksum of an event.
pub(super) fn seal(bytes: &mut [u8], event: Found) {
    let (start, end) = (event.start as usize, event.end as usize);
    let mut covered = bytes[start..end - 4].to_vec();
    if event.code == FORMAT_DESCRIPTION {
        covered[17] &= !1;
    }
    let sum = crc32fast::hash(&covered).to_le_bytes();
    bytes[end - 4..end].copy_from_slice(&sum);
}

/// Lists the events, up to the end or an error.
fn list(files: Vec<InputFile>, case: &str) {
    let listed = catch_unwind(AssertUnwindSafe(|| {
        let mut events = EventList::new(files, false);
        while let Ok(Some(_)) = events.next_event() {}
    }));
    assert!(listed.is_ok(), "{case}: the list of events panicked");
}

/// Decodes the files; a panic prints the case.
fn decoded(files: Vec<InputFile>, options: &ReadOptions, case: &str) -> Outcome {
    catch_unwind(AssertUnwindSafe(|| decode(files, options)))
        .unwrap_or_else(|_| panic!("{case}: it panicked"))
}
