//! The work whose instructions `benches/instructions` counts: one thread cuts a log into segments, and decodes them or not.
//!
//!     instructions cut|decode SHAPE|FILE ROUNDS
//!
//! The logs of the shapes are built here, the same bytes each time; a file is read from the file system. Prints the number of
//! events of a round, of which `decode` reads the rows, and of its rows.

#[allow(dead_code, clippy::unwrap_used, clippy::indexing_slicing, clippy::panic)] // it serves the tests
#[path = "../tests/it/log.rs"]
mod log;

use binarrow::reader::{DecodeOptions, Output, SegmentDecoder};
use binarrow::source::{InputFile, LogOptions, Segments};
use log::{
    Event, Log, T, begin, gtid, image, payload, previous_gtids, rows_event, stop, table_map, xid,
};
use std::hint::black_box;
use std::sync::Arc;

fn main() {
    // Cargo adds `--bench`.
    let arguments: Vec<String> =
        std::env::args().skip(1).filter(|argument| argument != "--bench").collect();
    let [work, shape, rounds] = arguments.as_slice() else {
        println!("counted by benches/instructions: cut|decode {} ROUNDS", SHAPES.join("|"));
        return;
    };
    let bytes = Arc::new(match SHAPES.contains(&shape.as_str()) {
        true => log_of(shape),
        false => std::fs::read(shape).expect("a readable file"),
    });
    let is_decoded = work == "decode";
    let rounds: usize = rounds.parse().expect("a number of rounds");
    let mut decoder = SegmentDecoder::new(Arc::new(DecodeOptions::default()));
    let mut rows = 0;
    for _ in 0..rounds {
        rows = round(&bytes, is_decoded.then_some(&mut decoder));
    }
    println!("{} {rows}", events(&bytes));
}

/// Cuts the log into segments, and decodes them with `decoder`. Returns the number of rows.
fn round(bytes: &Arc<Vec<u8>>, mut decoder: Option<&mut SegmentDecoder>) -> usize {
    let bytes: Arc<dyn AsRef<[u8]> + Send + Sync> = Arc::<Vec<u8>>::clone(bytes);
    let files = vec![InputFile::of_bytes(bytes, 1)];
    let mut log = Segments::try_new(files, LogOptions::default()).expect("a log");
    let mut rows = 0;
    while let Some(segment) = log.next_segment().expect("a segment") {
        let Some(decoder) = &mut decoder else {
            log.recycle(black_box(segment).spent());
            continue;
        };
        let mut emit = |output| {
            if let Output::Batch(batch, _) = black_box(output) {
                rows += batch.batch.num_rows();
            }
            true
        };
        decoder.decode(segment, &mut emit).expect("a decoded segment");
        if let Some(spent) = decoder.take_spent() {
            log.recycle(spent);
        }
    }
    rows
}

/// The number of events in a file.
fn events(bytes: &[u8]) -> usize {
    let mut rest = bytes.get(4..).unwrap_or_default();
    let mut count = 0;
    while let Some(size) = rest.get(9..13).and_then(|size| size.try_into().ok()) {
        rest = rest.get(u32::from_le_bytes(size) as usize..).unwrap_or_default();
        count += 1;
    }
    count
}

/// One row per transaction; large rows events; compressed transactions.
const SHAPES: [&str; 3] = ["small", "large", "zstd"];

fn log_of(shape: &str) -> Vec<u8> {
    let text = "0123456789abcdef".repeat(8);
    let rows = |count: i32| -> Vec<u8> {
        (0..count).flat_map(|id| image(id * 7919, Some(&text))).collect()
    };
    let inserts = |count: i32| -> [Event; 2] { [table_map(T), rows_event(30, T, &rows(count))] };
    let large: Vec<Event> = (0..100).flat_map(|_| inserts(60)).collect();
    let (count, transaction): (i64, Vec<Event>) = match shape {
        "small" => (5_000, [begin()].into_iter().chain(inserts(1)).chain([xid()]).collect()),
        "large" => (4, [begin()].into_iter().chain(large).chain([xid()]).collect()),
        _ => {
            let inside = [begin()].into_iter().chain(inserts(60)).chain([xid()]);
            (100, vec![payload(true, inside)])
        }
    };
    let mut log = Log::mysql().with([previous_gtids(0)]);
    for gno in 1..=count {
        log.push(&gtid(gno));
        transaction.iter().for_each(|event| log.push(event));
    }
    log.push(&stop());
    log.bytes
}
