//! Writes seeds for every target from the recorded binlogs: `cargo run --example seeds -- FOLDER`.
//!
//! `make fuzz-corpus` merges them into the committed corpus: of all seeds, those that reach code no other does.

use arrow_array::{Array, cast::AsArray};
use binarrow::columnar::{ColumnNames, Json, PlanOptions};
use binarrow::reader::{ReadOptions, Reader};
use binarrow::source::InputFile;
use std::collections::{HashMap, HashSet};
use std::error::Error;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};

fn main() -> Result<(), Box<dyn Error>> {
    let folder = std::env::args().nth(1).ok_or("the folder for the seeds is missing")?;
    let mut seeds = Seeds { folder: folder.into(), seen: HashSet::new() };
    for path in recorded()? {
        let bytes = std::fs::read(&path)?;
        seeds.add("file", &bytes)?;
        of_log(&bytes, &mut seeds)?;
        documents(&path, &mut seeds)?;
    }
    hand_made(&mut seeds)?;
    println!("{} seeds", seeds.seen.len());
    Ok(())
}

/// The binlogs of `tests/fixtures`.
fn recorded() -> Result<Vec<PathBuf>, Box<dyn Error>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/fixtures");
    let mut files = vec![root.join("seed-001.binlog")];
    for entry in std::fs::read_dir(root)? {
        let folder = entry?.path();
        if folder.is_dir() {
            for file in std::fs::read_dir(folder)? {
                let file = file?.path();
                if file.file_stem().is_some_and(|stem| stem == "binlog") {
                    files.push(file);
                }
            }
        }
    }
    files.sort();
    Ok(files)
}

struct Seeds {
    folder: PathBuf,
    seen: HashSet<(String, Vec<u8>)>,
}

impl Seeds {
    fn add(&mut self, target: &str, bytes: &[u8]) -> Result<(), Box<dyn Error>> {
        if self.seen.insert((target.into(), bytes.into())) {
            let folder = self.folder.join(target);
            std::fs::create_dir_all(&folder)?;
            let mut hasher = DefaultHasher::new();
            bytes.hash(&mut hasher);
            std::fs::write(folder.join(format!("{:016x}", hasher.finish())), bytes)?;
        }
        Ok(())
    }
}

/// Records of the events of a file, each also as a seed of its own target.
fn of_log(bytes: &[u8], seeds: &mut Seeds) -> Result<(), Box<dyn Error>> {
    let number = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().expect("4 bytes"));
    let first = 4 + number(13) as usize;
    let checksum = if bytes[first - 5] == 1 { 4 } else { 0 };
    let is_mariadb = bytes[4..first].windows(7).any(|window| window == b"MariaDB");
    let record = |code: u8, flags: u8, body: &[u8]| {
        let mut record = vec![code, flags];
        record.extend((body.len() as u16).to_le_bytes());
        record.extend(body);
        record
    };
    let mut maps: HashMap<Vec<u8>, Vec<u8>> = HashMap::new();
    let mut group = Vec::new();
    let mut at = first;
    while at + 19 <= bytes.len() {
        let size = number(at + 9) as usize;
        let (code, flags) = (bytes[at + 4], bytes[at + 17]);
        let body = &bytes[at + 19..at + size - checksum];
        match code {
            2 | 4 | 26 | 29 | 38 => seeds.add("query", body)?,
            19 => {
                seeds.add("table_map", &[&[u8::from(is_mariadb) << 1], body].concat())?;
                maps.insert(body[..6].into(), body.into());
            }
            35 | 163 => seeds.add("gtid_binary", body)?,
            33 | 34 | 162 => seeds.add("gtid_event", body)?,
            42 => seeds.add("gtid_tagged", body)?,
            40 => {
                seeds.add("payload", &[&[0, 0], body].concat())?;
                let payload = binarrow::binlog::TransactionPayload::decode(body)?;
                let inner = zstd::stream::decode_all(payload.payload)?;
                let mut records = Vec::new();
                let mut rest = &inner[..];
                while rest.len() >= 19 {
                    let size = u32::from_le_bytes(rest[9..13].try_into()?) as usize;
                    records.extend(record(rest[4], rest[17], &rest[19..size]));
                    rest = &rest[size..];
                }
                for form in [1, 2] {
                    seeds.add("payload", &[&[0, form], &records[..]].concat())?;
                }
            }
            23..=25 | 30..=32 | 39 | 166..=171 => {
                if let Some(map) = maps.get(&body[..6]) {
                    if is_mariadb && code < 30 {
                        // The table id, the flags, the number of columns, one bitmap or two.
                        let bitmaps = if code == 24 { 2 } else { 1 };
                        let head = 9 + bitmaps * usize::from(body[8]).div_ceil(8);
                        let mut seed = vec![1];
                        seed.extend((map.len() as u16).to_le_bytes());
                        seed.extend(map);
                        seed.extend(record(code - 22, head as u8, body));
                        seeds.add("compressed_rows", &seed)?;
                    }
                    let mut seed = vec![u8::from(is_mariadb)];
                    seed.extend((map.len() as u16).to_le_bytes());
                    seed.extend(map);
                    seed.extend(record(code, flags, body));
                    for choice in [0, 1 << 6, 2 << 6, 3 << 6] {
                        seed[0] = u8::from(is_mariadb) | choice;
                        seeds.add("rows", &seed)?;
                    }
                }
            }
            _ => {}
        }
        // A group begins with its GTID.
        if matches!(code, 33 | 34 | 42 | 162) && !group.is_empty() {
            seeds.add("events", &[&[u8::from(is_mariadb)], &group[..]].concat())?;
            group.clear();
        }
        group.extend(record(code, flags, body));
        at += size;
    }
    seeds.add("events", &[&[u8::from(is_mariadb)], &group[..]].concat())
}

/// The JSON documents in a file's rows.
fn documents(path: &Path, seeds: &mut Seeds) -> Result<(), Box<dyn Error>> {
    let mut plan = PlanOptions { column_names: ColumnNames::Positional, ..PlanOptions::default() };
    plan.types.json = Json::Bytes;
    let mut options = ReadOptions { threads: 1, ..ReadOptions::default() };
    options.decode.plan = plan;
    let mut reader = Reader::try_new(vec![InputFile::at_path(path, 1)], options)?;
    while let Some(change) = reader.next_batch()? {
        let schema = change.batch.schema();
        for (field, column) in schema.fields().iter().zip(change.batch.columns()) {
            let is_json = field.metadata().get("mysql.type").is_some_and(|name| name == "json");
            if let Some(cells) = column.as_binary_opt::<i32>().filter(|_| is_json) {
                for row in (0..cells.len()).filter(|row| cells.is_valid(*row)) {
                    seeds.add("json", cells.value(row))?;
                }
            }
        }
    }
    Ok(())
}

/// What no recorded file holds on its own.
fn hand_made(seeds: &mut Seeds) -> Result<(), Box<dyn Error>> {
    for (precision, scale, value) in [
        (14, 4, &[0x81, 0x0d, 0xfb, 0x38, 0xd2, 0x04, 0xd2][..]),
        (14, 4, &[0x7e, 0xf2, 0x04, 0xc7, 0x2d, 0xfb, 0x2d]),
        (9, 0, &[0xbb, 0x9a, 0xc9, 0xff]),
        (65, 30, &[0x80; 30]),
        (38, 38, &[0x80; 18]),
    ] {
        seeds.add("decimal", &[&[precision, scale], value].concat())?;
    }
    for (fsp, value) in [
        (0, &[0x99, 0xb2, 0xc4, 0xa5, 0x9e][..]),
        (6, &[0x99, 0xb2, 0xc4, 0xa5, 0x9e, 0x01, 0xe2, 0x40]),
        (6, &[0x7f, 0xff, 0xff, 0xff, 0xff, 0xff]),
        (3, &[0x65, 0x53, 0xf1, 0x00, 0x03, 0xe7]),
        (0, &[0x80, 0x5f, 0x3b, 0x6b, 0x0f, 0x12, 0x00, 0x00]),
        (0, &[0x40, 0xe2, 0x01]),
    ] {
        seeds.add("temporals", &[&[fsp], value].concat())?;
    }
    for collation in [8_u16, 33, 45, 54, 56, 60, 63, 1, 28, 12, 248] {
        let text = "Gr\u{fc}\u{df}e \u{20ac} \u{1f600}".as_bytes();
        seeds.add("text", &[&collation.to_le_bytes()[..], text].concat())?;
    }
    for value in
        [&b"\x00plain"[..], b"\x81\x03\x78\x9c\x4b\x4c\x4a\x06\x00\x02\x4d\x01\x27", &[0; 25]]
    {
        seeds.add("bytes", &[&[6], value].concat())?;
    }
    for text in [
        "3e11fa47-71ca-11e1-9e33-c80aa9429562:1-5:8,55778904-0299-11f1-b1b8-4ef0c4956feb:tag:1",
        "3E11FA47-71CA-11E1-9E33-C80AA9429562 : 1 - 9223372036854775806 ,",
        "0-1-100,1-2-18446744073709551615",
        "binlog.000001:4",
        r#"{"v":1,"file":"binlog.000001","offset":4}"#,
    ] {
        seeds.add("gtid_text", text.as_bytes())?;
    }
    Ok(())
}
