//! binarrow without decoding: reads a file and cuts it into segments, on one thread. Threads take turns at this work, so it is
//! the part of the time that more threads do not shorten.

use binarrow::source::{InputFile, LogOptions, Segments};
use std::hint::black_box;

fn main() {
    let files = vec![InputFile::at_path(binarrow_peers::file_argument(), 1)];
    binarrow_peers::measure(|| {
        let mut log = Segments::try_new(files, LogOptions::default()).expect("a log");
        while let Some(segment) = log.next_segment().expect("a segment") {
            log.recycle(black_box(segment).spent());
        }
        0
    });
}
