//! Writes seeds for each target from the recorded binlogs: `cargo run --example seeds -- FOLDER`.
//!
//! `make fuzz-corpus` merges them into the committed corpus: only the seeds that reach code that no
//! other seed reaches.

use arrow_array::{Array, cast::AsArray};
use binarrow::binlog::{Query, TableMap};
use binarrow::cancel::CancelToken;
use binarrow::columnar::{ColumnNames, Json, PlanOptions};
use binarrow::protocol::{Compression, Frames};
use binarrow::reader::{ReadOptions, Reader, build_index};
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
        if let Ok(index) = build_index(
            &|| InputFile::at_path(&path, 1),
            (4096, Some(65_536)),
            &CancelToken::default(),
        ) {
            seeds.add("index", &index.encode())?;
        }
        documents(&path, &mut seeds)?;
    }
    hand_made(&mut seeds)?;
    sessions(&mut seeds)?;
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

/// Creates records of the events of a file, each also as a seed of its own target.
fn of_log(bytes: &[u8], seeds: &mut Seeds) -> Result<(), Box<dyn Error>> {
    let number = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().expect("4 bytes"));
    let first = 4 + number(13) as usize;
    let checksum = if bytes[first - 5] == 1 { 4 } else { 0 };
    let is_mariadb = bytes[4..first].windows(7).any(|window| window == b"MariaDB");
    let mut maps: HashMap<Vec<u8>, Vec<u8>> = HashMap::new();
    let mut statements: HashMap<Vec<u8>, Vec<u8>> = HashMap::new();
    let mut group = Vec::new();
    let mut at = first;
    while at + 19 <= bytes.len() {
        let size = number(at + 9) as usize;
        let (code, flags) = (bytes[at + 4], bytes[at + 17]);
        let body = &bytes[at + 19..at + size - checksum];
        match code {
            2 | 4 | 26 | 29 | 38 => {
                if code == 2
                    && let Some((table, sql)) = created(body)?
                {
                    statements.insert(table, sql);
                }
                seeds.add("query", body)?;
            }
            19 => {
                let choice = u8::from(is_mariadb) << 1;
                seeds.add("table_map", &[&[choice], body].concat())?;
                let map = TableMap::decode(body, 6)?;
                if let Some(sql) = statements.get(map.table) {
                    // With all metadata of the log, and with the minimum.
                    for map in [body, &body[..body.len() - map.optional.len()]] {
                        seeds.add("create_table", &with_map(choice, map, sql))?;
                    }
                }
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
                        // The table id, the flags, the number of columns, one or two bitmaps.
                        let bitmaps = if code == 24 { 2 } else { 1 };
                        let head = 9 + bitmaps * usize::from(body[8]).div_ceil(8);
                        let packed = record(code - 22, head as u8, body);
                        seeds.add("compressed_rows", &with_map(1, map, &packed))?;
                        let pieces = fragments(&bytes[at..at + size - checksum]);
                        seeds.add("rows", &with_map(1, map, &pieces))?;
                        let group = [&[1][..], &record(19, 0, map), &pieces].concat();
                        seeds.add("events", &group)?;
                    }
                    for types in 0..8 {
                        let choice = u8::from(is_mariadb) | types << 5;
                        seeds.add("rows", &with_map(choice, map, &record(code, flags, body)))?;
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

/// Event type, flags, length and body.
fn record(code: u8, flags: u8, body: &[u8]) -> Vec<u8> {
    let mut record = vec![code, flags];
    record.extend((body.len() as u16).to_le_bytes());
    record.extend(body);
    record
}

/// Options, a table map after its length, and the following bytes.
fn with_map(choice: u8, map: &[u8], rest: &[u8]) -> Vec<u8> {
    let mut seed = vec![choice];
    seed.extend((map.len() as u16).to_le_bytes());
    seed.extend(map);
    seed.extend(rest);
    seed
}

/// Records of the three Partial_row_data events into which a rows event without its checksum is
/// split.
fn fragments(event: &[u8]) -> Vec<u8> {
    let mut event = event.to_vec();
    let size = event.len();
    event[9..13].copy_from_slice(&(size as u32).to_le_bytes());
    let chunks = event.chunks(size.div_ceil(3)).zip(1_u32..);
    let pieces = chunks.map(|(chunk, number)| {
        let mut body = [3_u32.to_le_bytes(), number.to_le_bytes()].concat();
        body.push(u8::from(number == 1));
        if number == 1 {
            body.extend((size as u64).to_le_bytes());
        }
        body.extend(chunk);
        record(172, 0, &body)
    });
    pieces.collect::<Vec<_>>().concat()
}

/// A table's name and its CREATE TABLE statement.
type Created = (Vec<u8>, Vec<u8>);

/// The table that a Query event creates, and its statement.
fn created(body: &[u8]) -> Result<Option<Created>, Box<dyn Error>> {
    let query = Query::decode(body)?;
    let name = query.sql.strip_prefix(b"CREATE TABLE ").map(|rest| {
        let is_end = |byte: &u8| *byte == b' ' || *byte == b'(';
        let end = rest.iter().position(is_end).unwrap_or(rest.len());
        rest[..end].to_vec()
    });
    Ok(name.map(|name| (name, query.sql.to_vec())))
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
                    for diffs in DIFFS {
                        let document = cells.value(row);
                        let mut seed = (document.len() as u16).to_le_bytes().to_vec();
                        seed.extend(document);
                        seed.extend(*diffs);
                        seeds.add("json_diff", &seed)?;
                    }
                }
            }
        }
    }
    Ok(())
}

/// Diffs that can be applied to some of the recorded documents.
const DIFFS: &[&[u8]] = &[
    b"",
    b"\0\x05$.age\x03\x05\x1a\0",
    b"\x01\x05$.new\x02\x04\0",
    b"\x02\x05$.age\x01\x05$.age\x06\x0c\x04long",
    b"\x02\x09$.a[last]\0\x06$.a[0]\x05\x02\0\0\x04\0",
    b"\x01\x04$[0]\x03\x05\x07\0\x02\x09$[last-1]",
    b"\0\x01$\x0d\0\x01\0\x0c\0\x0b\0\x01\0\x04\x01\0a\x02\x03$.a",
    b"\x01\x0c$.new.\"q\\\"\"\x04\x0f\xfc\x01x",
    b"\0\x0b$.\"\xd0\xba\xd0\xbb\xd1\x8e\".b\x09\x0b\0\0\0\0\0\0\xf8\x3f",
];

/// Statements that people write, and that no recorded log contains.
const STRUCTURES: &[&str] = &[
    "CREATE DATABASE d CHARACTER SET latin1 COLLATE latin1_bin; USE d; CREATE TABLE t (a CHAR(3), b INT);",
    "CREATE TABLE `t` (`a` int unsigned NOT NULL AUTO_INCREMENT COMMENT 'a '' \\' b', `b` enum('x','y''z') \
     CHARACTER SET latin1 DEFAULT 'x', `c` set('a','b') COLLATE utf8mb4_bin, `g` int GENERATED ALWAYS AS (`a` + 1) \
     VIRTUAL, PRIMARY KEY (`a` DESC), UNIQUE KEY `u` (`b`(2),`c`) USING HASH, KEY `k` ((lower(`b`))), \
     CONSTRAINT `f` FOREIGN KEY (`b`) REFERENCES `o` (`id`) ON DELETE SET NULL) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4",
    "create table t (id serial, p point srid 4326 not null, v vector(3), j json check (json_valid(j)), \
     d decimal(65,30) zerofill, b bit(10) default b'101', ts timestamp(6) null on update current_timestamp(6)) \
     partition by range (id) (partition p0 values less than (10))",
    "CREATE TABLE t (a INT, b TEXT COMPRESSED, s TIMESTAMP(6) GENERATED ALWAYS AS ROW START, \
     e TIMESTAMP(6) GENERATED ALWAYS AS ROW END, PERIOD FOR SYSTEM_TIME (s, e), u UUID, i INET6, f DATE, \
     g DATE, PERIOD FOR p (f, g), UNIQUE (a, p WITHOUT OVERLAPS)) WITH SYSTEM VERSIONING",
    "*************************** 1. row ***************************\n Table: t\nCreate Table: CREATE TABLE t (a INT /*!80023 INVISIBLE */)",
    "DELIMITER ;;\nCREATE TRIGGER x BEFORE INSERT ON t FOR EACH ROW BEGIN END;;\nDELIMITER ;\nCREATE TABLE d.t (a INT DEFAULT (CASE WHEN 1 THEN 2 END));DROP TABLE IF EXISTS d.t;ALTER TABLE d.t ADD x INT;RENAME TABLE d.t TO d.u",
    "CREATE TABLE t (a NATIONAL CHARACTER VARYING(9), b LONG VARBINARY, c DOUBLE PRECISION UNSIGNED, d YEAR(4), UNIQUE (b), UNIQUE (a) USING HASH) ENGINE=MEMORY",
];

/// Statements that are applied one after another.
const DDL: &[&str] = &[
    "CREATE DATABASE d CHARSET latin1\0CREATE TABLE t (a INT PRIMARY KEY, b TEXT, c VARCHAR(9) UNIQUE, KEY (b(3), c))\0ALTER TABLE t ADD d INT AFTER a, MODIFY b MEDIUMTEXT FIRST, CHANGE c x CHAR(3) CHARSET utf8mb4, DROP KEY b, ADD INDEX (x, d)\0ALTER TABLE t CONVERT TO CHARACTER SET utf8mb4, RENAME TO e.u",
    "CREATE TABLE t (a INT, b INT, CONSTRAINT f FOREIGN KEY (a) REFERENCES o (x) ON DELETE SET NULL, CHECK (a > 0))\0ALTER TABLE t ADD KEY k (a, b), DROP FOREIGN KEY f, ADD (c SERIAL, d TIMESTAMP DEFAULT CURRENT_TIMESTAMP(3), UNIQUE ((a + 1)))\0CREATE UNIQUE INDEX i ON t (b DESC) INVISIBLE\0DROP INDEX i ON t",
    "RENAME TABLE t TO x, u TO t, x TO u\0CREATE TABLE v LIKE t\0DROP TABLE IF EXISTS t, `u``v`, d.w\0ALTER DATABASE COLLATE utf8mb4_bin\0DROP DATABASE IF EXISTS e",
    "SET STATEMENT max_statement_time=1 FOR CREATE OR REPLACE SEQUENCE s START WITH 5\0CREATE TABLE t (a INT, r TIMESTAMP(6) AS ROW START, e TIMESTAMP(6) AS ROW END, PERIOD FOR SYSTEM_TIME (r, e), f DATE, g DATE, PERIOD FOR p (f, g), UNIQUE (a, p WITHOUT OVERLAPS)) WITH SYSTEM VERSIONING\0ALTER TABLE IF EXISTS t DROP SYSTEM VERSIONING, DROP PERIOD FOR p, DROP COLUMN IF EXISTS z, CONVERT PARTITION q TO TABLE w",
    "CREATE TABLE \"t\" (\"a\" INT DEFAULT 'x' COMMENT 'it''s', b VARCHAR(40000), c INT AS (a + b'1' - -1) STORED, d ENUM('x','\\\\') COLLATE latin1_bin)\0ALTER TABLE t ALTER a SET DEFAULT (uuid()), ALTER b SET INVISIBLE, RENAME COLUMN a TO \"q\", ADD PARTITION (PARTITION p VALUES LESS THAN (1))",
    "-- Table structures of MariaDB 11.8.2, lower_case_table_names=1\nCREATE DATABASE `d` /*!99998 CHARSET_UNKNOWN */;\nUSE `d`;\nCREATE TABLE `t` (\n  `a` text /*!99998 CHARSET_UNKNOWN */,\n  KEY `k` (`a`(3)) /*!99998 IMPLICIT */\n) ENGINE=InnoDB DEFAULT CHARSET=latin1 COLLATE=latin1_bin;",
    "CREATE TABLE t SELECT 1\0ALTER TABLE t ADD x INT\0RENAME TABLE t TO u\0ALTER TABLE no FROBNICATE, RENAME yes\0CREATE TABLE t (a INT) START TRANSACTION\0ALTER TABLE t EXCHANGE PARTITION p WITH TABLE u, ORDER BY a, b",
];

/// Inputs that no recorded file contains.
fn hand_made(seeds: &mut Seeds) -> Result<(), Box<dyn Error>> {
    // d.t of an INT and a CHAR(3), without optional metadata.
    let map = [1, 0, 0, 0, 0, 0, 1, 0, 1, b'd', 0, 1, b't', 0, 2, 3, 254, 2, 254, 12, 3];
    for text in STRUCTURES {
        for choice in [0, 2] {
            seeds.add("create_table", &with_map(choice, &map, text.as_bytes()))?;
        }
    }
    for (choice, text) in DDL.iter().enumerate() {
        seeds.add("ddl", &[&[(choice * 11) as u8], text.as_bytes()].concat())?;
    }
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

/// Logins with each plugin, answers, frames.
fn sessions(seeds: &mut Seeds) -> Result<(), Box<dyn Error>> {
    let nonce: Vec<u8> = (1..=20).collect();
    let greeting = |plugin: &[u8]| {
        let head = [b"\x0a9.7.0\0\x07\0\0\0", &nonce[..8], b"\0\xff\xff\x2d\x02\0\xff\xdf\x15"];
        [&head.concat(), &[0; 10][..], &nonce[8..], b"\0", plugin, b"\0"].concat()
    };
    let switch = |plugin: &[u8], nonce: &[u8]| [b"\xfe", plugin, b"\0", nonce].concat();
    const OK: &[u8] = &[0, 0, 0, 2, 0, 0, 0];
    let native = greeting(b"mysql_native_password");
    let sha2 = greeting(b"caching_sha2_password");
    let salt = [b"P\0".as_slice(), &[9; 18]].concat();
    let key = [b"\x01".as_slice(), include_bytes!("../src/public_key.pem")].concat();
    for packets in [
        vec![native.clone(), OK.to_vec()],
        vec![sha2.clone(), vec![1, 3], OK.to_vec()],
        vec![sha2.clone(), vec![1, 4], OK.to_vec()],
        vec![sha2.clone(), vec![1, 4], key.clone(), OK.to_vec()],
        vec![native.clone(), switch(b"caching_sha2_password", &nonce), vec![1, 4], OK.to_vec()],
        vec![sha2.clone(), switch(b"mysql_native_password", &nonce), OK.to_vec()],
        vec![sha2.clone(), switch(b"sha256_password", &nonce), key, OK.to_vec()],
        vec![native.clone(), switch(b"client_ed25519", &[5; 32]), OK.to_vec()],
        vec![native.clone(), switch(b"parsec", &[5; 32]), salt, OK.to_vec()],
        vec![native.clone(), switch(b"mysql_clear_password", b""), OK.to_vec()],
        vec![native.clone(), vec![0xfe]],
        vec![native, b"\xff\x15\x04#28000Access denied".to_vec()],
        vec![b"\xff\x10\x04Too many connections".to_vec()],
    ] {
        for (choice, more) in
            [(0, 0), (1, 0), (2, 1), (4, 2), (8, 4), (0x10, 0), (0x20, 0), (0x44, 0)]
        {
            seeds.add("login", &[&[choice, more], &session(&packets)[..]].concat())?;
        }
    }
    let column = b"\x03def\0\0\0\x01c\0\x0c\x2d\0\0\0\0\0\xfd\0\0\0\0\0".to_vec();
    let eof = vec![0xfe, 0, 0, 2, 0];
    for rows in [
        vec![
            vec![2],
            column.clone(),
            column.clone(),
            eof.clone(),
            b"\x01x\xfb".to_vec(),
            eof.clone(),
        ],
        vec![vec![1], column, eof.clone(), b"\xfc\x03\0abc".to_vec(), eof],
        vec![OK.to_vec()],
        vec![b"\xfb/etc/passwd".to_vec()],
        vec![b"\xff\x15\x04#28000Access denied".to_vec()],
    ] {
        seeds.add("result_set", &session(&rows))?;
    }
    let event = |first: u8| [&[first, 0, 0, 0, 27, 1, 0, 0, 0, 19][..], &[0; 9]].concat();
    for (head, first) in [(&[0][..], 0), (&[0], 0xef), (&[0, 0xef, 0], 0), (&[0, 0xef, 1], 0xef)] {
        let ends = [vec![0xfe, 0, 0, 2, 0], b"\xff\xd4\x04#HY000gone".to_vec()];
        let packets = [head, &event(first)].concat();
        seeds.add("dump", &session(&[&[packets.clone(), packets], &ends[..]].concat()))?;
    }
    let plain = b"a text that is long enough to be packed, long enough to be packed, long enough";
    for compression in [Compression::None, Compression::Zlib, Compression::Zstd] {
        let mut packed = Vec::new();
        let frames = Frames::new(compression);
        frames.pack(plain, &mut 0, &mut packed);
        frames.pack(&[7; 5000], &mut 1, &mut packed);
        seeds.add("frames", &[&[compression as u8], &packed[..]].concat())?;
        seeds.add("frames", &[&[compression as u8 | 4], &plain[..]].concat())?;
    }
    Ok(())
}

/// Encodes packets in the form that the targets expect.
fn session(packets: &[Vec<u8>]) -> Vec<u8> {
    let with_len = |packet: &Vec<u8>| [&(packet.len() as u16).to_le_bytes()[..], packet].concat();
    packets.iter().flat_map(with_len).collect()
}
