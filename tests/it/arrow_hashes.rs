//! A change of the decoder for speed changes no value: hashes of all batches of all logs equal those in
//! `arrow_hashes.txt`, for several profiles of types, layouts and rules.
//!
//! A hash is over the schemas and the logical values: padding, the offset of a slice, and the bytes of a
//! NULL do not count. If values must change, `cargo test --test it arrow_hashes` prints the new file.

use crate::fixtures::{folder, recorded, shop};
use crate::log::{Event, Log, Table, begin, gtid, rows_event, xid};
use crate::rows::options;
use arrow_array::cast::AsArray;
use arrow_array::{Array, RecordBatch};
use arrow_schema::DataType;
use binarrow::columnar::{
    Enumeration, EnvelopeColumn, Geometry, InvalidText, Json, Layout, Mask, Masks, Profile, Time,
    TypeOptions, ZeroDates,
};
use binarrow::protocol::Secret;
use binarrow::reader::{Output, ReadOptions, SegmentDecoder};
use binarrow::source::{InputFile, Segments};
use ring::digest::{Context, SHA256};
use std::fmt::Write as _;
use std::sync::Arc;

#[test]
fn hashes_of_all_batches() {
    let (mut found, mut rows) = (String::new(), 0);
    for (profile, options) in profiles() {
        let recorded = recorded().into_iter().chain([shop()]).map(|log| (log.paths(), log.name));
        let seed = InputFile::at_path(folder().join("seed-001.binlog"), 1);
        let generated = [
            (vec![seed], "seed".to_owned()),
            (documents().inputs(), "documents".to_owned()),
            (images().inputs(), "images".to_owned()),
        ];
        for (files, name) in recorded.chain(generated) {
            let (hash, rows_of_log) = hash_of(files, &options);
            writeln!(found, "{hash} {name} {profile}: {rows_of_log} rows").unwrap();
            rows += rows_of_log;
        }
    }
    assert!(rows > 50_000, "{rows}");
    let expected = include_str!("arrow_hashes.txt");
    let differs = |(line, expected): &(&str, &str)| line != expected;
    let first = found.lines().zip(expected.lines()).find(differs);
    assert!(found == expected, "the first difference is {first:?}; the new file:\n{found}");
}

/// Options that together use each builder of columns and each form of row.
fn profiles() -> [(&'static str, ReadOptions); 6] {
    let with = |change: &dyn Fn(&mut ReadOptions)| {
        let mut options = options();
        change(&mut options);
        options
    };
    let keys_only = |options: &mut ReadOptions| options.decode.update_rule.old_value = false;
    let present = |options: &mut ReadOptions| {
        options.decode.plan.envelope.columns.push(EnvelopeColumn::Present);
    };
    [
        ("native", with(&|_| ())),
        ("spark", with(&|options| options.decode.plan.types = TypeOptions::new(Profile::Spark))),
        (
            "text",
            with(&|options| {
                options.decode.plan.types = TypeOptions {
                    zero_dates: ZeroDates::Text,
                    json: Json::Diff,
                    time: Time::Text,
                    geometry: Geometry::Wkb,
                    enumeration: Enumeration::Ordinal,
                    invalid_text: InvalidText::Replace,
                    ..TypeOptions::new(Profile::Native)
                };
                keys_only(options);
                present(options);
            }),
        ),
        (
            "bytes",
            with(&|options| {
                options.decode.plan.types = TypeOptions {
                    json: Json::Bytes,
                    geometry: Geometry::Mysql,
                    invalid_text: InvalidText::Binary,
                    ..TypeOptions::new(Profile::Native)
                };
                options.decode.limits.rows = 50;
                present(options);
            }),
        ),
        (
            "nested",
            with(&|options| {
                let types = TypeOptions::new(Profile::Spark);
                options.decode.plan.types = TypeOptions { json: Json::Variant, ..types };
                options.decode.plan.layout = Layout::Nested;
            }),
        ),
        (
            "masked",
            with(&|options| {
                let rules = [("*.*.*", Mask::Sha256)];
                let salt = Some(Secret::new("salt"));
                options.decode.plan.masks = Masks::try_new(rules, salt).unwrap();
                options.decode.plan.layout = Layout::Nested;
                keys_only(options);
            }),
        ),
    ]
}

// ---- hashes

/// Returns the first 64 bits of the hash over all batches of a log, and the number of rows.
fn hash_of(files: Vec<InputFile>, options: &ReadOptions) -> (String, usize) {
    let (mut hash, mut rows) = (Context::new(&SHA256), 0);
    let mut decoder = SegmentDecoder::new(Arc::new(options.decode.clone()));
    let mut log = Segments::try_new(files, options.cut.clone()).unwrap();
    while let Some(segment) = log.next_segment().unwrap() {
        let mut emit = |output| {
            if let Output::Batch(change, _) = output {
                add_batch(&mut hash, &change.batch);
                rows += change.batch.num_rows();
            }
            true
        };
        assert!(decoder.decode(segment, &mut emit).unwrap());
    }
    let digest = hash.finish();
    let hex = digest.as_ref()[..8].iter().map(|byte| format!("{byte:02x}")).collect();
    (hex, rows)
}

fn add_batch(hash: &mut Context, batch: &RecordBatch) {
    let schema = batch.schema();
    let mut text = format!("{:?} {}", schema.metadata(), batch.num_rows());
    for field in schema.fields() {
        let (name, data_type, nullable) = (field.name(), field.data_type(), field.is_nullable());
        write!(text, " {name:?} {data_type} {nullable} {:?}", field.metadata()).unwrap();
    }
    hash.update(text.as_bytes());
    for column in batch.columns() {
        add_array(hash, column.as_ref());
    }
}

fn add_array(hash: &mut Context, array: &dyn Array) {
    let validity: Vec<u8> = (0..array.len()).map(|row| u8::from(array.is_valid(row))).collect();
    hash.update(&validity);
    let valid_rows = (0..array.len()).filter(|row| array.is_valid(*row));
    let sized = |hash: &mut Context, bytes: &[u8]| {
        hash.update(&(bytes.len() as u64).to_le_bytes());
        hash.update(bytes);
    };
    match array.data_type() {
        DataType::Boolean => {
            let bits = array.as_boolean();
            valid_rows.for_each(|row| hash.update(&[u8::from(bits.value(row))]));
        }
        DataType::Utf8 => {
            let texts = array.as_string::<i32>();
            // The array was created without a check.
            assert!(
                texts.iter().flatten().all(|text| std::str::from_utf8(text.as_bytes()).is_ok())
            );
            valid_rows.for_each(|row| sized(hash, texts.value(row).as_bytes()));
        }
        DataType::Binary => {
            let bytes = array.as_binary::<i32>();
            valid_rows.for_each(|row| sized(hash, bytes.value(row)));
        }
        DataType::List(_) => {
            let lists = array.as_list::<i32>();
            valid_rows.for_each(|row| add_array(hash, lists.value(row).as_ref()));
        }
        DataType::Dictionary(..) => {
            let words = array.as_any_dictionary();
            let keys = words.normalized_keys();
            valid_rows.for_each(|row| hash.update(&(keys[row] as u64).to_le_bytes()));
            add_array(hash, words.values().as_ref());
        }
        DataType::Struct(_) => {
            for column in array.as_struct().columns() {
                add_array(hash, column.as_ref());
            }
        }
        other => {
            let width = other.primitive_width().unwrap_or_else(|| panic!("{other}"));
            let data = array.to_data();
            let bytes = &data.buffers()[0].as_slice()[data.offset() * width..];
            valid_rows.for_each(|row| hash.update(&bytes[row * width..(row + 1) * width]));
        }
    }
}

// ---- generated logs

/// Random numbers, the same in each run.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }

    fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }

    fn text(&mut self, longest: u64) -> Vec<u8> {
        const PARTS: [&str; 9] =
            ["a", "key", "\"", "\\", "\n", "\u{1}", "é", "🦀", "0123456789abcdef"];
        let mut text = String::new();
        for _ in 0..self.below(longest / 16 + 1) {
            text.push_str(PARTS[self.below(9) as usize]);
        }
        text.into_bytes()
    }
}

/// Documents with numbers of all sizes, texts with and without escapes, and containers in containers.
fn documents() -> Log {
    const D: Table = Table { id: 142, name: "documents" };
    let mut map = vec![142, 0, 0, 0, 0, 0, 1, 0, 1, b'd', 0, 9];
    map.extend(D.name.as_bytes());
    map.extend([0, 2, 3, 245, 1, 4, 0b10]);
    map.extend([1, 1, 0]); // SIGNEDNESS: signed
    map.extend([4, 7, 2, b'i', b'd', 3, b'd', b'o', b'c']); // COLUMN_NAME
    map.extend([8, 1, 0]); // SIMPLE_PRIMARY_KEY
    let mut numbers = Numbers(1);
    let mut log = Log::mysql().with([gtid(1), begin()]);
    for event in 0..40_i32 {
        let mut rows = Vec::new();
        for id in event * 25..(event + 1) * 25 {
            let (kind, bytes) = value(&mut numbers, 0);
            rows.push(0xfc);
            rows.extend(id.to_le_bytes());
            rows.extend((1 + bytes.len() as u32).to_le_bytes());
            rows.push(kind);
            rows.extend(bytes);
        }
        log = log.with([Event::new(19, map.clone()), rows_event(30, D, &rows)]);
    }
    log.with([xid()])
}

/// Returns the type and the bytes of a value.
fn value(numbers: &mut Numbers, depth: u32) -> (u8, Vec<u8>) {
    let any = numbers.next();
    match numbers.below(if depth < 4 { 16 } else { 10 }) {
        0 => (4, vec![(any % 3) as u8]),
        1 => (5, (any as i16).to_le_bytes().into()),
        2 => (6, (any as u16).to_le_bytes().into()),
        3 => (7, (any as i32 >> (any >> 59)).to_le_bytes().into()),
        4 => (8, (any as u32 >> (any >> 59)).to_le_bytes().into()),
        5 => (9, (any as i64 >> (any >> 58)).to_le_bytes().into()),
        6 => (10, (any >> (any >> 58)).to_le_bytes().into()),
        7 | 8 => (11, double(numbers).to_le_bytes().into()),
        9 => {
            let text = numbers.text(60);
            (12, [vec![text.len() as u8], text].concat())
        }
        10..13 => container(numbers, depth, 2),
        _ => container(numbers, depth, 0),
    }
}

fn double(numbers: &mut Numbers) -> f64 {
    let any = numbers.next();
    match numbers.below(5) {
        0 => (any >> 40) as f64 / 100.0,
        1 => (any as i64 >> (any >> 58)) as f64 / 10_f64.powi(numbers.below(22) as i32),
        2 => (any >> 11) as f64 / 2_f64.powi(numbers.below(30) as i32),
        3 => (any >> 12) as f64 / (1_u64 << 52) as f64,
        _ => Some(f64::from_bits(any)).filter(|double| double.is_finite()).unwrap_or(0.5),
    }
}

/// Returns a small object (`kind` 0) or array (2) of up to seven members.
fn container(numbers: &mut Numbers, depth: u32, kind: u8) -> (u8, Vec<u8>) {
    let mut keys: Vec<Vec<u8>> = (0..numbers.below(8)).map(|_| numbers.text(40)).collect();
    keys.sort_by_key(|key| (key.len(), key.clone()));
    keys.dedup();
    let key_entry = if kind == 0 { 4 } else { 0 };
    let header = 4 + keys.len() * (key_entry + 3);
    let (mut key_entries, mut entries, mut body) = (Vec::new(), Vec::new(), Vec::new());
    let place = |body: &Vec<u8>| ((header + body.len()) as u16).to_le_bytes();
    for key in keys.iter().filter(|_| kind == 0) {
        key_entries.extend(place(&body));
        key_entries.extend((key.len() as u16).to_le_bytes());
        body.extend(key);
    }
    for _ in &keys {
        let (kind, bytes) = value(numbers, depth + 1);
        entries.push(kind);
        match kind {
            4 => entries.extend([bytes[0], 0]),
            5 | 6 => entries.extend(bytes),
            _ => {
                entries.extend(place(&body));
                body.extend(bytes);
            }
        }
    }
    let count = (keys.len() as u16).to_le_bytes();
    let size = ((header + body.len()) as u16).to_le_bytes();
    (kind, [&count[..], &size, &key_entries, &entries, &body].concat())
}

/// Rows with NULLs in any place, and images that contain any part of the columns.
fn images() -> Log {
    const I: Table = Table { id: 143, name: "images" };
    /// The type and the metadata of each column; VARCHAR is 15.
    const COLUMNS: [(u8, &[u8]); 12] = [
        (3, &[]),
        (15, &[40, 0]),
        (8, &[]),
        (1, &[]),
        (5, &[8]),
        (15, &[44, 1]),
        (2, &[]),
        (9, &[]),
        (4, &[4]),
        (13, &[]),
        (3, &[]),
        (15, &[90, 0]),
    ];
    let mut map = vec![143, 0, 0, 0, 0, 0, 1, 0, 1, b'd', 0, 6];
    map.extend(I.name.as_bytes());
    map.extend([0, 12]);
    map.extend(COLUMNS.map(|(code, _)| code));
    let metadata = COLUMNS.map(|(_, metadata)| metadata).concat();
    map.push(metadata.len() as u8);
    map.extend(metadata);
    map.extend([0xff, 0x0f]);
    map.extend([1, 2, 0b0101_0000, 0]); // SIGNEDNESS
    map.extend([2, 3, 0xfc, 0xff, 0]); // DEFAULT_CHARSET: utf8mb4_0900_ai_ci
    map.extend([4, 24]); // COLUMN_NAME
    map.extend((b'a'..b'm').flat_map(|name| [1, name]));
    map.extend([8, 2, 1, 6]); // SIMPLE_PRIMARY_KEY
    let mut numbers = Numbers(2);
    let mut image = |present: u16, has_nulls: bool| {
        let nulls = if has_nulls { numbers.next() as u16 & numbers.next() as u16 } else { 0 };
        let count = present.count_ones();
        let mut image = (nulls | (numbers.next() as u16) << count).to_le_bytes()
            [..count.div_ceil(8) as usize]
            .to_vec();
        let held = COLUMNS.iter().enumerate().filter(|(index, _)| present >> index & 1 == 1);
        for (bit, (_, (code, metadata))) in held.enumerate() {
            let any = numbers.next();
            match (nulls >> bit & 1, code) {
                (1, _) => {}
                (_, 15) => {
                    let text = numbers.text(60);
                    let text = if text.len() > 40 { b"long" } else { &text[..] };
                    image
                        .extend(&(text.len() as u16).to_le_bytes()[..1 + usize::from(metadata[1])]);
                    image.extend(text);
                }
                // Few different values, so that images of an update have the same key.
                (_, 1 | 13) => image.push((any % 3) as u8),
                (_, 2) => image.extend(((any % 2) as u16).to_le_bytes()),
                (_, 3 | 4) => image.extend((any as u32).to_le_bytes()),
                (_, 9) => image.extend(&any.to_le_bytes()[..3]),
                _ => image.extend(any.to_le_bytes()),
            }
        }
        image
    };
    let mut choice = Numbers(3);
    let mut log = Log::mysql().with([gtid(1), begin()]);
    for event in 0..300_u64 {
        let mut any_columns = || match choice.below(2) {
            0 => 0xfff,
            _ => (choice.next() as u16 & 0xfff).max(1),
        };
        let (columns, after) = (any_columns(), any_columns());
        let has_nulls = event % 4 != 0;
        let code = 30 + (event % 3) as u8;
        let mut body = vec![143, 0, 0, 0, 0, 0, 1, 0, 2, 0, 12];
        body.extend(columns.to_le_bytes());
        if code == 31 {
            body.extend(after.to_le_bytes());
        }
        for _ in 0..1 + event % 20 {
            body.extend(image(columns, has_nulls));
            if code == 31 {
                body.extend(image(after, has_nulls));
            }
        }
        log = log.with([Event::new(19, map.clone()), Event::new(code, body)]);
    }
    log.with([xid()])
}
