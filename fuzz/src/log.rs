//! Targets that write their bytes to a binlog and read it: segments, decoder, Arrow builders, and
//! the list of events.
//!
//! All targets except [`file`] accept records, and create events with correct sizes and positions
//! from them, so that the fuzzer need not find these. The first byte selects options.
//!
//! ```text
//! record: event type 1, header flags 1, body length 2, body (as much of it as there is)
//! ```

use super::split;
use arrow_array::{Array, RecordBatch};
use binarrow::change::{Include, UpdateRule};
use binarrow::columnar::{
    ColumnNames, Enumeration, EnvelopeColumn, InvalidText, Json, Layout, Mask, Masks, Profile,
    Selection, Time, TypeOptions, ZeroDates,
};
use binarrow::export::{EventFormat, EventOptions, write_events};
use binarrow::protocol::Secret;
use binarrow::reader::{
    ChangeBatch, EventList, EventListOptions, Output, ReadOptions, SegmentDecoder,
};
use binarrow::source::{InputFile, InputSource, Segments};
use binarrow::{ErrorKind, Result};
use flate2::write::ZlibEncoder;
use std::io::Write;
use std::sync::Arc;

/// A complete file.
pub(crate) fn file(data: &[u8]) {
    // The options depend on the size of the file, so that an input that was found has the same
    // options later.
    read(data.to_vec(), (data.len() % 256) as u8);
}

/// Any events in any order, in a file of MySQL or of MariaDB.
pub(crate) fn events(data: &[u8]) {
    let Some((&choice, data)) = data.split_first() else { return };
    read(Log::of(choice).with_records(data).bytes, choice);
}

/// Rows with any table map.
///
/// ```text
/// options 1, table map's length 2, its body, records: event type 1, header flags 1, length 2, body
/// ```
pub(crate) fn rows(data: &[u8]) {
    let [choice, a, b, data @ ..] = data else { return };
    let (map, data) = split(data, u16::from_le_bytes([*a, *b]));
    let mut log = Log::of(*choice);
    log.push(QUERY, 0, BEGIN);
    log.push(TABLE_MAP, 0, map);
    for (code, flags, body) in Records(data) {
        let mut body = body.to_vec();
        // The table id is always that of the map; but a fragment begins with other fields.
        if code != PARTIAL_ROW_DATA {
            let id = map.len().min(body.len()).min(6);
            body[..id].copy_from_slice(&map[..id]);
        }
        log.push(code, flags, &body);
    }
    log.push(XID, 0, &[0; 8]);
    read(log.bytes, *choice);
}

/// MariaDB's compressed rows and statements: records as in [`rows`]. Their flags contain the number
/// of bytes before the bytes that are compressed here.
pub(crate) fn compressed_rows(data: &[u8]) {
    let [choice, a, b, data @ ..] = data else { return };
    let (map, data) = split(data, u16::from_le_bytes([*a, *b]));
    let mut log = Log::of(choice | 1);
    log.push(QUERY, 0, BEGIN);
    log.push(TABLE_MAP, 0, map);
    for (code, head, body) in Records(data) {
        let (head, rest) = split(body, u16::from(head));
        let mut packer = ZlibEncoder::new(head.to_vec(), flate2::Compression::fast());
        packer.get_mut().push(0x84);
        packer.get_mut().extend((rest.len() as u32).to_be_bytes());
        packer.write_all(rest).expect("room");
        // 165 to 171, and sometimes another type.
        log.push(
            if code < 0xf0 { 165 + code % 7 } else { code },
            0,
            &packer.finish().expect("room"),
        );
    }
    log.push(XID, 0, &[0; 8]);
    read(log.bytes, *choice);
}

/// A compressed transaction: the body of the event, or events that are not compressed, or
/// compressed here.
pub(crate) fn payload(data: &[u8]) {
    let [choice, form, data @ ..] = data else { return };
    let mut log = Log::of(choice & !1);
    let mut inner = Log { bytes: Vec::new() };
    match form % 3 {
        0 => log.push(TRANSACTION_PAYLOAD, 0, data),
        form => {
            inner = inner.with_records(data);
            let (compression, packed) = match form {
                1 => (&[0xfc, 255, 0][..], inner.bytes.clone()),
                _ => (&[0][..], zstd::bulk::compress(&inner.bytes, 1).unwrap_or_default()),
            };
            let mut body = vec![2, compression.len() as u8];
            body.extend(compression);
            body.extend([1, 9, 0xfe]);
            body.extend((packed.len() as u64).to_le_bytes());
            body.push(0);
            body.extend(packed);
            log.push(TRANSACTION_PAYLOAD, 0, &body);
        }
    }
    read(log.bytes, *choice);
}

/// A binlog under construction.
struct Log {
    bytes: Vec<u8>,
}

impl Log {
    /// A file without checksums; of MariaDB if the first bit of `choice` is set.
    fn of(choice: u8) -> Self {
        let recorded = if choice & 1 == 1 { MARIADB } else { MYSQL };
        let size = recorded.get(13..17).and_then(|size| size.try_into().ok());
        let size = u32::from_le_bytes(size.expect("a recorded file")) as usize;
        Self { bytes: recorded[..4 + size].to_vec() }
    }

    fn with_records(mut self, data: &[u8]) -> Self {
        for (code, flags, body) in Records(data) {
            self.push(code, flags, body);
        }
        self
    }

    fn push(&mut self, code: u8, flags: u8, body: &[u8]) {
        let size = 19 + body.len();
        let end = (self.bytes.len() + size) as u32;
        self.bytes.extend(1_700_000_000_u32.to_le_bytes());
        self.bytes.push(code);
        self.bytes.extend(1_u32.to_le_bytes());
        self.bytes.extend((size as u32).to_le_bytes());
        self.bytes.extend(end.to_le_bytes());
        self.bytes.extend([flags, 0]);
        self.bytes.extend(body);
    }
}

/// The event type, flags and body of each record.
struct Records<'a>(&'a [u8]);

impl<'a> Iterator for Records<'a> {
    type Item = (u8, u8, &'a [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        let [code, flags, a, b, rest @ ..] = self.0 else { return None };
        let (body, rest) = split(rest, u16::from_le_bytes([*a, *b]));
        self.0 = rest;
        Some((*code, *flags, body))
    }
}

/// Lists the events of a file and decodes its rows.
fn read(bytes: Vec<u8>, choice: u8) {
    let bytes = Arc::new(bytes);
    let input = || vec![InputFile::new("binlog.000001", 1, InputSource::Bytes(bytes.clone()))];
    let shown =
        EventListOptions { queries: true, table_metadata: true, data: true, ..Default::default() };
    let mut list = EventList::try_new(input(), shown).expect("no place is named");
    while let Ok(Some(_)) = list.next_event() {}
    let mut options = options(choice);
    let check = |decoded: Result<Vec<RecordBatch>>| {
        decoded.unwrap_or_else(|error| {
            assert!(error.kind() != ErrorKind::Internal, "{error:?}");
            assert!(error.file().is_some(), "{error:?}");
            Vec::new()
        })
    };
    let complete = decode(input(), &options);
    if let Ok(complete) = &complete {
        check_selection(input(), options.clone(), complete);
        check_mask(input(), options.clone(), complete);
        check_items(input(), options.clone(), complete);
    }
    if !check(complete).is_empty() {
        // The same rows with another rule and in the other layout.
        options.decode.plan.layout = Layout::Nested;
        options.decode.update_rule.old_value = choice & 1 == 1;
        check(decode(input(), &options));
        options.decode.plan.layout = Layout::Flat;
        options.decode.update_rule = UpdateRule { old_value: false, split_key_updates: false };
        check(decode(input(), &options));
        for format in [EventFormat::Ticdc, EventFormat::Debezium] {
            check_events(input(), options.clone(), format);
        }
    }
}

/// Checks that each change becomes one line of JSON.
fn check_events(files: Vec<InputFile>, mut options: ReadOptions, format: EventFormat) {
    options.decode.plan.layout = Layout::Nested;
    options.decode.plan.types =
        TypeOptions { invalid_text: InvalidText::Replace, ..format.types() };
    let columns = format.envelope().iter().chain([&EnvelopeColumn::Query]).copied().collect();
    options.decode.plan.envelope.columns = columns;
    options.carry_what_is_asked_for();
    let events = EventOptions { format, source_name: "s", processed_ms: 0 };
    // An error was checked before.
    let _ = each_change(files, &options, &mut |change| {
        let mut lines = Vec::new();
        write_events(&change, &events, &mut lines).expect("a batch of the format");
        let lines = std::str::from_utf8(&lines).expect("UTF-8");
        assert_eq!(lines.lines().count(), change.batch.num_rows());
        for line in lines.lines() {
            serde_json::from_str::<serde::de::IgnoredAny>(line).expect("JSON");
        }
    });
}

/// Checks that items between the rows do not change the rows.
fn check_items(files: Vec<InputFile>, mut options: ReadOptions, complete: &[RecordBatch]) {
    options.cut.include =
        Include { schema_changes: true, truncates: true, transactions: true, ..Include::default() };
    let rows = |batches: &[RecordBatch]| batches.iter().map(RecordBatch::num_rows).sum::<usize>();
    let again = decode(files, &options).expect("what can be read can be read with items");
    assert_eq!(rows(&again), rows(complete));
}

/// Checks that the selected columns of a table have the same values as in a read of all columns.
fn check_selection(files: Vec<InputFile>, mut options: ReadOptions, complete: &[RecordBatch]) {
    let Some(first) = complete.first() else { return };
    let envelope = options.decode.plan.envelope.columns.len();
    let own = first.num_columns() - envelope;
    let kept: Vec<String> = first.schema().fields()[..own]
        .iter()
        .step_by(2)
        .map(|field| field.name().clone())
        .collect();
    let same = |one: &str, other: &str| one.to_lowercase() == other.to_lowercase();
    // The bytes may contain two columns of the same name, which no server does, and table names
    // that are patterns.
    let is_plain = complete.iter().all(|batch| {
        let schema = batch.schema();
        let names = &schema.fields()[..batch.num_columns() - envelope];
        let unlike =
            |name: &str| names.iter().filter(|field| same(field.name(), name)).count() <= 1;
        names.iter().all(|field| unlike(field.name()))
    });
    if kept.is_empty() || !is_plain {
        return;
    }
    let mut columns = Selection::try_new([("*.*", kept.clone())]).expect("a pattern");
    columns.allow_missing();
    options.decode.plan.columns = columns;
    let part = decode(files, &options).expect("less is asked for");
    // Compressed cells that are not decompressed leave space in batches.
    let rows = |batches: &[RecordBatch]| batches.iter().map(RecordBatch::num_rows).sum::<usize>();
    assert_eq!(rows(complete), rows(&part));
    if complete.len() == part.len() {
        for (complete, part) in complete.iter().zip(&part) {
            let own = complete.num_columns() - envelope;
            let indices: Vec<usize> = (0..complete.num_columns())
                .filter(|index| {
                    let name = complete.schema().field(*index).name().clone();
                    *index >= own || kept.iter().any(|kept| same(kept, &name))
                })
                .collect();
            assert_eq!(complete.project(&indices).expect("indices"), *part);
        }
    }
}

/// Checks that masks return a hash for each row, or an error: a hash needs the text of a value,
/// even if the reader returns the value as bytes.
fn check_mask(files: Vec<InputFile>, mut options: ReadOptions, complete: &[RecordBatch]) {
    let salt = Some(Secret::new("salt"));
    options.decode.plan.masks = Masks::try_new([("*.*.*", Mask::Sha256)], salt).expect("a salt");
    match decode(files, &options) {
        Ok(hashes) => {
            let rows = |batches: &[RecordBatch]| -> usize {
                batches.iter().map(RecordBatch::num_rows).sum()
            };
            assert_eq!(rows(complete), rows(&hashes));
        }
        Err(error) => assert!(error.kind() != ErrorKind::Internal, "{error:?}"),
    }
}

/// Decodes on this thread, and validates the result with Arrow.
fn decode(files: Vec<InputFile>, options: &ReadOptions) -> Result<Vec<RecordBatch>> {
    let mut batches = Vec::new();
    each_change(files, options, &mut |change| {
        for column in change.batch.columns() {
            column.to_data().validate_full().expect("valid arrays");
        }
        batches.push(change.batch);
    })?;
    Ok(batches)
}

fn each_change(
    files: Vec<InputFile>,
    options: &ReadOptions,
    each: &mut dyn FnMut(ChangeBatch),
) -> Result<()> {
    let mut log = Segments::try_new(files, options.cut.clone())?;
    let mut decoder = SegmentDecoder::new(Arc::new(options.decode.clone()));
    while let Some(segment) = log.next_segment()? {
        decoder.decode(segment, &mut |output| {
            if let Output::Batch(change, _) = output {
                each(change);
            }
            true
        })?;
    }
    Ok(())
}

/// Different options for each byte.
fn options(choice: u8) -> ReadOptions {
    let bit = |bit: u8| choice >> bit & 1 == 1;
    let mut options = ReadOptions::default();
    options.cut.verify_checksum = false;
    options.decode.verify_checksum = false;
    options.cut.segment_bytes = if bit(1) { 1 } else { 64 << 10 };
    options.cut.emit_uncommitted = bit(2);
    options.decode.emit_uncommitted = bit(2);
    options.cut.cut_at_commit = bit(3);
    if bit(4) {
        options.cut.skip_events = (0..=255).collect();
        options.cut.skip_statements = true;
    }
    options.decode.plan.column_names = ColumnNames::Positional;
    options.decode.plan.envelope.columns.push(EnvelopeColumn::Present);
    options.decode.plan.types = match choice >> 5 {
        0 => TypeOptions::new(Profile::Native),
        1 => TypeOptions { json: Json::Diff, ..TypeOptions::new(Profile::Native) },
        2 => TypeOptions::new(Profile::Spark),
        3 => TypeOptions { json: Json::Variant, ..TypeOptions::new(Profile::Spark) },
        4 | 5 => TypeOptions {
            zero_dates: ZeroDates::Text,
            time: Time::Text,
            enumeration: Enumeration::Text,
            invalid_text: InvalidText::Replace,
            ..TypeOptions::new(Profile::Native)
        },
        _ => TypeOptions {
            json: Json::Bytes,
            enumeration: Enumeration::Ordinal,
            invalid_text: InvalidText::Binary,
            ..TypeOptions::new(Profile::Spark)
        },
    };
    options
}

const MYSQL: &[u8] = include_bytes!("../../tests/fixtures/mysql-no-checksum/binlog.000001");
const MARIADB: &[u8] = include_bytes!("../../tests/fixtures/mariadb10-no-checksum/binlog.000001");

const QUERY: u8 = 2;
const XID: u8 = 16;
const TABLE_MAP: u8 = 19;
const TRANSACTION_PAYLOAD: u8 = 40;
const PARTIAL_ROW_DATA: u8 = 172;

/// The body of a Query event.
const BEGIN: &[u8] = b"\0\0\0\0\0\0\0\0\x01\0\0\0\0d\0BEGIN";
