//! Writes binlogs: events as servers write them, and any other bytes that a test needs.
//!
//! ```text
//! Log::mysql().with([gtid(1), begin(), table_map(T), insert(T, [1, 2]), xid()]).input("binlog.000001")
//! ```

use binarrow::source::{InputFile, InputSource};
use flate2::Compression;
use flate2::write::ZlibEncoder;
use std::io::Write;
use std::sync::Arc;

/// An event without its place in a file.
#[derive(Debug, Clone)]
pub(crate) struct Event {
    pub(crate) code: u8,
    pub(crate) flags: u16,
    pub(crate) server_id: u32,
    pub(crate) timestamp: u32,
    pub(crate) body: Vec<u8>,
}

impl Event {
    pub(crate) fn new(code: u8, body: impl Into<Vec<u8>>) -> Self {
        Self { code, flags: 0, server_id: 1, timestamp: SECONDS, body: body.into() }
    }

    pub(crate) fn flags(self, flags: u16) -> Self {
        Self { flags, ..self }
    }

    pub(crate) fn at(self, timestamp: u32) -> Self {
        Self { timestamp, ..self }
    }

    /// Returns the event with another type code.
    pub(crate) fn coded(self, code: u8) -> Self {
        Self { code, ..self }
    }

    /// Its bytes in a file, in which it ends at `end`.
    pub(crate) fn bytes(&self, end: u32, checksum: bool) -> Vec<u8> {
        let size = HEADER + self.body.len() + if checksum { 4 } else { 0 };
        let mut bytes = Vec::with_capacity(size);
        bytes.extend(self.timestamp.to_le_bytes());
        bytes.push(self.code);
        bytes.extend(self.server_id.to_le_bytes());
        bytes.extend(u32::try_from(size).unwrap().to_le_bytes());
        bytes.extend(end.to_le_bytes());
        bytes.extend(self.flags.to_le_bytes());
        bytes.extend(&self.body);
        if checksum {
            bytes.extend(crc32fast::hash(&bytes).to_le_bytes());
        }
        bytes
    }
}

/// A binlog under construction.
#[derive(Debug, Clone)]
pub(crate) struct Log {
    pub(crate) bytes: Vec<u8>,
    /// The offset of each event, the format description first.
    pub(crate) starts: Vec<u64>,
    checksum: bool,
}

impl Log {
    /// A file of MySQL 9.7, closed, with checksums.
    pub(crate) fn mysql() -> Self {
        Self::of("9.7.4", &mysql_post_headers(), true)
    }

    /// A file of MariaDB 11.8, closed, with checksums.
    pub(crate) fn mariadb() -> Self {
        Self::of("11.8.9-MariaDB-log", &mariadb_post_headers(), true)
    }

    pub(crate) fn of(version: &str, post_headers: &[u8], checksum: bool) -> Self {
        let mut body = Self::format_description(version, post_headers);
        body.push(u8::from(checksum));
        let mut log =
            Self { bytes: vec![0xfe, b'b', b'i', b'n'], starts: Vec::new(), checksum: true };
        log.push(&Event::new(FORMAT_DESCRIPTION, body));
        log.checksum = checksum;
        log
    }

    /// A file of a server without support for checksums, before MySQL 5.6.1.
    pub(crate) fn before_checksums(version: &str, post_headers: &[u8]) -> Self {
        let mut log =
            Self { bytes: vec![0xfe, b'b', b'i', b'n'], starts: Vec::new(), checksum: false };
        let body = Self::format_description(version, post_headers);
        log.push(&Event::new(FORMAT_DESCRIPTION, body));
        log
    }

    fn format_description(version: &str, post_headers: &[u8]) -> Vec<u8> {
        let mut body = vec![4, 0];
        body.extend(version.as_bytes());
        body.resize(2 + 50, 0);
        body.extend(0_u32.to_le_bytes());
        body.push(19);
        body.extend(post_headers);
        body
    }

    /// A file of MySQL 9.7 without checksums.
    pub(crate) fn without_checksums() -> Self {
        Self::of("9.7.4", &mysql_post_headers(), false)
    }

    /// A file that the server is writing, or that a crash left.
    pub(crate) fn in_use(mut self) -> Self {
        self.bytes[4 + 17] |= 1;
        self
    }

    pub(crate) fn with(mut self, events: impl IntoIterator<Item = Event>) -> Self {
        for event in events {
            self.push(&event);
        }
        self
    }

    pub(crate) fn push(&mut self, event: &Event) {
        self.starts.push(self.bytes.len() as u64);
        let size = HEADER + event.body.len() + if self.checksum { 4 } else { 0 };
        let end = (self.bytes.len() + size) as u32;
        self.bytes.extend(event.bytes(end, self.checksum));
    }

    /// Offset of the next event.
    pub(crate) fn end(&self) -> u64 {
        self.bytes.len() as u64
    }

    /// The file as an input.
    pub(crate) fn input(self, name: &str) -> InputFile {
        input(name, 1, self.bytes)
    }

    /// The file as the only input, `binlog.000001`.
    pub(crate) fn inputs(self) -> Vec<InputFile> {
        vec![self.input("binlog.000001")]
    }
}

/// Bytes as a file with this name at this place of the list, from 1.
pub(crate) fn input(name: &str, place: u64, bytes: Vec<u8>) -> InputFile {
    InputFile::new(name, place, InputSource::Bytes(Arc::new(bytes)))
}

// ---- events of both servers

pub(crate) fn query(sql: &str) -> Event {
    query_with(&[], sql)
}

pub(crate) fn query_with(status_variables: &[u8], sql: &str) -> Event {
    let mut body = vec![9, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0];
    body.extend((status_variables.len() as u16).to_le_bytes());
    body.extend(status_variables);
    body.extend(b"d\0");
    body.extend(sql.as_bytes());
    Event::new(QUERY, body)
}

/// A statement of another connection.
pub(crate) fn thread(mut query: Event, id: u8) -> Event {
    query.body[0] = id;
    query
}

pub(crate) fn rows_query(sql: &str) -> Event {
    let mut body = vec![sql.len() as u8];
    body.extend(sql.as_bytes());
    Event::new(ROWS_QUERY, body).flags(0x80)
}

pub(crate) fn begin() -> Event {
    query("BEGIN")
}

pub(crate) fn xid() -> Event {
    Event::new(XID, 77_u64.to_le_bytes())
}

pub(crate) fn stop() -> Event {
    Event::new(STOP, [])
}

pub(crate) fn rotate(next: &str) -> Event {
    let mut body = 4_u64.to_le_bytes().to_vec();
    body.extend(next.as_bytes());
    Event::new(ROTATE, body)
}

pub(crate) fn xa_prepare(gtrid: &str, one_phase: bool) -> Event {
    let mut body = vec![u8::from(one_phase)];
    body.extend(1_u32.to_le_bytes());
    body.extend((gtrid.len() as u32).to_le_bytes());
    body.extend(0_u32.to_le_bytes());
    body.extend(gtrid.as_bytes());
    Event::new(XA_PREPARE, body)
}

/// The statement as servers write it: `xa("COMMIT", "ab")` is `XA COMMIT X'6162',X'',1`.
pub(crate) fn xa(verb: &str, gtrid: &str) -> Event {
    let hex: String = gtrid.bytes().map(|byte| format!("{byte:02x}")).collect();
    query(&format!("XA {verb} X'{hex}',X'',1"))
}

// ---- tables and rows

/// A table `d.{name}` of `id INT NOT NULL PRIMARY KEY` and `v VARCHAR(2000)` in utf8mb4.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Table {
    pub(crate) id: u64,
    pub(crate) name: &'static str,
}

/// The table that most tests use.
pub(crate) const T: Table = Table { id: 140, name: "t" };
/// A second table.
pub(crate) const U: Table = Table { id: 141, name: "u" };

pub(crate) fn table_map(table: Table) -> Event {
    let mut body = table.id.to_le_bytes()[..6].to_vec();
    body.extend([1, 0, 1, b'd', 0]);
    body.push(table.name.len() as u8);
    body.extend(table.name.as_bytes());
    body.extend([0, 2, 3, 15, 2, 0x40, 0x1f, 0b10]);
    body.extend([1, 1, 0]); // SIGNEDNESS: signed
    body.extend([2, 3, 0xfc, 0xff, 0]); // DEFAULT_CHARSET: utf8mb4_0900_ai_ci
    body.extend([4, 5, 2, b'i', b'd', 1, b'v']); // COLUMN_NAME
    body.extend([8, 1, 0]); // SIMPLE_PRIMARY_KEY
    Event::new(TABLE_MAP, body)
}

/// The rows part of an image: null bits, `id`, `v`.
pub(crate) fn image(id: i32, v: Option<&str>) -> Vec<u8> {
    let mut image = vec![if v.is_some() { 0xfc } else { 0xfe }];
    image.extend(id.to_le_bytes());
    if let Some(v) = v {
        image.extend((v.len() as u16).to_le_bytes());
        image.extend(v.as_bytes());
    }
    image
}

/// A rows event of `table` with these images, the last one of its statement.
pub(crate) fn rows_event(code: u8, table: Table, images: &[u8]) -> Event {
    let mut body = table.id.to_le_bytes()[..6].to_vec();
    body.extend([1, 0]);
    if code >= WRITE_ROWS {
        body.extend([2, 0]);
    }
    body.extend([2, 0xff]);
    if code == UPDATE_ROWS || code == UPDATE_ROWS_V1 {
        body.push(0xff);
    }
    body.extend(images);
    Event::new(code, body)
}

/// A rows event that is not the last of its statement.
pub(crate) fn not_last(mut event: Event) -> Event {
    event.body[6] = 0;
    event
}

fn images(ids: impl IntoIterator<Item = i32>) -> Vec<u8> {
    ids.into_iter().flat_map(|id| image(id, Some("v"))).collect()
}

pub(crate) fn insert(table: Table, ids: impl IntoIterator<Item = i32>) -> Event {
    rows_event(WRITE_ROWS, table, &images(ids))
}

pub(crate) fn delete(table: Table, ids: impl IntoIterator<Item = i32>) -> Event {
    rows_event(DELETE_ROWS, table, &images(ids))
}

/// Updates of (`id` before, `id` after).
pub(crate) fn update(table: Table, ids: impl IntoIterator<Item = (i32, i32)>) -> Event {
    let ids = ids.into_iter().flat_map(|(before, after)| [before, after]);
    rows_event(UPDATE_ROWS, table, &images(ids))
}

/// Returns the event in the older form, which MariaDB writes.
pub(crate) fn v1(event: Event) -> Event {
    let mut body = event.body;
    body.drain(8..10);
    Event { code: event.code - 7, body, ..event }
}

// ---- MySQL

/// The UUID of the server in the GTIDs of [`gtid`].
pub(crate) const UUID: &str = "01010101-0101-0101-0101-010101010101";

/// Transaction `gno`, committed `gno` seconds after [`SECONDS`].
pub(crate) fn gtid(gno: i64) -> Event {
    let mut event = Event::new(GTID, [1]);
    event.body.extend([1; 16]);
    event.body.extend(gno.to_le_bytes());
    event.body.push(2);
    event.body.extend((gno - 1).to_le_bytes());
    event.body.extend(gno.to_le_bytes());
    event.body.extend(&commit_time(gno).to_le_bytes()[..7]);
    event.body.push(100);
    event.body.extend(90_704_u32.to_le_bytes());
    event
}

/// The commit of [`gtid`]`(gno)` in microseconds since 1970.
pub(crate) fn commit_time(gno: i64) -> i64 {
    (i64::from(SECONDS) + gno) * 1_000_000
}

pub(crate) fn anonymous_gtid() -> Event {
    let mut event = gtid(0);
    event.code = ANONYMOUS_GTID;
    event.body[1..17].fill(0);
    event
}

/// A Previous_gtids event: transactions 1 to `gno`; empty if `gno` is 0.
pub(crate) fn previous_gtids(gno: u64) -> Event {
    let mut body = u64::from(gno > 0).to_le_bytes().to_vec();
    if gno > 0 {
        body.extend([1; 16]);
        for number in [1, 1, gno + 1] {
            body.extend(number.to_le_bytes());
        }
    }
    Event::new(PREVIOUS_GTIDS, body).flags(0x80)
}

/// A transaction that inserts `ids` into [`T`] and commits.
pub(crate) fn transaction(gno: i64, ids: impl IntoIterator<Item = i32>) -> Vec<Event> {
    vec![gtid(gno), begin(), table_map(T), insert(T, ids), xid()]
}

/// A Transaction_payload event with these events, which lose their checksums.
pub(crate) fn payload(zstd: bool, events: impl IntoIterator<Item = Event>) -> Event {
    let inner: Vec<u8> = events.into_iter().flat_map(|event| event.bytes(0, false)).collect();
    payload_of(zstd, &inner)
}

pub(crate) fn payload_of(zstd: bool, inner: &[u8]) -> Event {
    let packed = if zstd { zstd::bulk::compress(inner, 1).unwrap() } else { inner.to_vec() };
    payload_packed(if zstd { &[0] } else { &[0xfc, 255, 0] }, inner.len() as u64, &packed)
}

/// A payload of any bytes, with this compression code and uncompressed size.
pub(crate) fn payload_packed(compression: &[u8], unpacked_size: u64, packed: &[u8]) -> Event {
    let mut body = vec![2, compression.len() as u8];
    body.extend(compression);
    body.extend([3, 9]);
    body.extend(lenenc(unpacked_size));
    body.extend([1, 9]);
    body.extend(lenenc(packed.len() as u64));
    body.push(0);
    body.extend(packed);
    Event::new(TRANSACTION_PAYLOAD, body)
}

/// The longest form of a lenenc number.
fn lenenc(number: u64) -> Vec<u8> {
    let mut bytes = vec![0xfe];
    bytes.extend(number.to_le_bytes());
    bytes
}

// ---- MariaDB

/// Group `0-1-{seq}` with these flags.
pub(crate) fn mariadb_gtid(seq: u64, flags: u8) -> Event {
    let mut body = seq.to_le_bytes().to_vec();
    body.extend(0_u32.to_le_bytes());
    body.push(flags);
    body.resize(19, 0);
    Event::new(MARIADB_GTID, body).at(SECONDS + seq as u32)
}

/// A group that prepares (0x40) or decides (0x80) an XA transaction.
pub(crate) fn mariadb_xa_gtid(seq: u64, flags: u8, gtrid: &str) -> Event {
    let mut event = mariadb_gtid(seq, flags);
    event.body.truncate(13);
    event.body.extend(1_u32.to_le_bytes());
    event.body.extend([gtrid.len() as u8, 0]);
    event.body.extend(gtrid.as_bytes());
    event
}

pub(crate) fn annotate(sql: &str) -> Event {
    Event::new(ANNOTATE_ROWS, sql.as_bytes())
}

/// A Gtid_list event: up to `0-1-{seq}`; empty if `seq` is 0.
pub(crate) fn gtid_list(seq: u64) -> Event {
    let mut body = u32::from(seq > 0).to_le_bytes().to_vec();
    if seq > 0 {
        body.extend([0, 0, 0, 0, 1, 0, 0, 0]);
        body.extend(seq.to_le_bytes());
    }
    Event::new(GTID_LIST, body)
}

/// A Query event, or a rows event for the columns of [`table_map`], as `log_bin_compress` writes
/// it.
pub(crate) fn compressed(event: Event) -> Event {
    let is_update = matches!(event.code, UPDATE_ROWS | UPDATE_ROWS_V1);
    let (plain, code) = match event.code {
        // The thread id and the following fields, the variables, and the database `d` with its NUL.
        QUERY => (13 + usize::from(event.body[11]) + 2, QUERY_COMPRESSED),
        WRITE_ROWS..=DELETE_ROWS => (6 + 2 + 2 + 2 + usize::from(is_update), event.code + 139),
        _ => (6 + 2 + 2 + usize::from(is_update), event.code + 143),
    };
    let mut body = event.body[..plain].to_vec();
    body.extend(packed(&event.body[plain..]));
    Event { code, body, ..event }
}

/// Bytes as `log_bin_compress` compresses them.
pub(crate) fn packed(plain: &[u8]) -> Vec<u8> {
    packed_as(plain.len() as u64, plain)
}

/// Compressed bytes with any length.
pub(crate) fn packed_as(len: u64, plain: &[u8]) -> Vec<u8> {
    let len: Vec<u8> = len.to_be_bytes().into_iter().skip_while(|byte| *byte == 0).collect();
    let mut packed = vec![0x80 | len.len() as u8];
    packed.extend(len);
    packed.extend(zlib(plain));
    packed
}

pub(crate) fn zlib(plain: &[u8]) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(plain).unwrap();
    encoder.finish().unwrap()
}

/// A rows event in fragments of `len` bytes; `checksum`: true if it has its own checksum.
pub(crate) fn fragments(event: &Event, len: usize, checksum: bool) -> Vec<Event> {
    let bytes = event.bytes(0, checksum);
    let total = bytes.len().div_ceil(len) as u32;
    bytes
        .chunks(len)
        .zip(1..)
        .map(|(chunk, seq)| fragment(total, seq, (seq == 1).then_some(bytes.len() as u64), chunk))
        .collect()
}

/// A Partial_row_data event.
pub(crate) fn fragment(total: u32, seq: u32, original_size: Option<u64>, chunk: &[u8]) -> Event {
    let mut body = total.to_le_bytes().to_vec();
    body.extend(seq.to_le_bytes());
    body.push(u8::from(original_size.is_some()));
    body.extend(original_size.iter().flat_map(|size| size.to_le_bytes()));
    body.extend(chunk);
    Event::new(PARTIAL_ROW_DATA, body)
}

// ---- codes and sizes

pub(crate) const HEADER: usize = 19;
/// The header time of all events unless a test sets another one.
pub(crate) const SECONDS: u32 = 1_700_000_000;

pub(crate) const QUERY: u8 = 2;
pub(crate) const STOP: u8 = 3;
pub(crate) const ROTATE: u8 = 4;
pub(crate) const FORMAT_DESCRIPTION: u8 = 15;
pub(crate) const XID: u8 = 16;
pub(crate) const TABLE_MAP: u8 = 19;
pub(crate) const UPDATE_ROWS_V1: u8 = 24;
pub(crate) const INCIDENT: u8 = 26;
pub(crate) const ROWS_QUERY: u8 = 29;
pub(crate) const WRITE_ROWS: u8 = 30;
pub(crate) const UPDATE_ROWS: u8 = 31;
pub(crate) const DELETE_ROWS: u8 = 32;
pub(crate) const GTID: u8 = 33;
pub(crate) const ANONYMOUS_GTID: u8 = 34;
pub(crate) const PREVIOUS_GTIDS: u8 = 35;
pub(crate) const XA_PREPARE: u8 = 38;
pub(crate) const TRANSACTION_PAYLOAD: u8 = 40;
pub(crate) const ANNOTATE_ROWS: u8 = 160;
pub(crate) const MARIADB_GTID: u8 = 162;
pub(crate) const GTID_LIST: u8 = 163;
pub(crate) const QUERY_COMPRESSED: u8 = 165;
pub(crate) const PARTIAL_ROW_DATA: u8 = 172;

/// The post-header lengths that MySQL 9.7 writes.
pub(crate) fn mysql_post_headers() -> Vec<u8> {
    let mut lengths = vec![0; 42];
    for (code, length) in [
        (2, 13),
        (4, 8),
        (9, 4),
        (11, 4),
        (15, 99),
        (17, 4),
        (18, 26),
        (19, 8),
        (26, 2),
        (30, 10),
        (31, 10),
        (32, 10),
        (33, 42),
        (34, 42),
        (36, 18),
        (37, 52),
        (39, 10),
        (40, 40),
    ] {
        lengths[code - 1] = length;
    }
    lengths
}

/// The post-header lengths that MariaDB writes.
pub(crate) fn mariadb_post_headers() -> Vec<u8> {
    let mut lengths = vec![0; 171];
    for (code, length) in [
        (1, 56),
        (2, 13),
        (4, 8),
        (15, 228),
        (19, 8),
        (23, 8),
        (24, 8),
        (25, 8),
        (26, 2),
        (30, 10),
        (31, 10),
        (32, 10),
        (161, 4),
        (162, 19),
        (163, 4),
        (165, 13),
        (166, 8),
        (167, 8),
        (168, 8),
        (169, 10),
        (170, 10),
        (171, 10),
    ] {
        lengths[code - 1] = length;
    }
    lengths
}
