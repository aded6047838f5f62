//! `mysql_common`, the decoder of the Rust clients for MySQL: its iterator over a binlog file, with
//! each row image decoded to its values. It checks no checksums and leaves text as bytes and JSON
//! in its stored form.

use mysql_common::binlog::consts::BinlogVersion;
use mysql_common::binlog::events::{Event, EventData};
use mysql_common::binlog::{BinlogFile, EventStreamReader};
use std::fs::File;
use std::hint::black_box;
use std::io::BufReader;

fn main() {
    let path = binarrow_peers::file_argument();
    binarrow_peers::measure(|| {
        let file = BufReader::with_capacity(READ_BYTES, File::open(path).expect("a readable file"));
        let mut log = BinlogFile::new(BinlogVersion::Version4, file).expect("a binlog file");
        let mut unpacked = EventStreamReader::new(BinlogVersion::Version4);
        let mut rows = 0;
        while let Some(event) = log.next() {
            rows += decode(&event.expect("an event"), log.reader(), &mut unpacked);
        }
        rows
    });
}

fn decode(event: &Event, reader: &EventStreamReader, unpacked: &mut EventStreamReader) -> u64 {
    match event.read_data().expect("a decoded event") {
        Some(EventData::RowsEvent(data)) => {
            let map = reader.get_tme(data.table_id()).expect("a table map");
            let mut rows = 0;
            for row in data.rows(map) {
                let (before, after) = row.expect("a row");
                for image in [before, after].into_iter().flatten() {
                    black_box(image.unwrap());
                    rows += 1;
                }
            }
            rows
        }
        Some(EventData::TransactionPayloadEvent(payload)) => {
            let mut payload = payload.decompressed().expect("a payload");
            let mut rows = 0;
            while payload.has_data_left().expect("data") {
                let Some(event) = unpacked.read_decompressed(&mut payload).expect("an event")
                else {
                    break;
                };
                rows +=
                    decode(&event, unpacked, &mut EventStreamReader::new(BinlogVersion::Version4));
            }
            rows
        }
        other => {
            black_box(other);
            0
        }
    }
}

const READ_BYTES: usize = 1 << 20;
