//! binarrow without reading and cutting: segments in memory are decoded on one thread to record
//! batches.

use binarrow::reader::{DecodeOptions, Output, SegmentDecoder};
use binarrow::source::{Segments, LogOptions, InputFile};
use std::hint::black_box;
use std::sync::Arc;

fn main() {
    let files = vec![InputFile::at_path(binarrow_peers::file_argument(), 1)];
    let mut log = Segments::try_new(files, LogOptions::default()).expect("a log");
    let mut segments = Vec::new();
    while let Some(segment) = log.next_segment().expect("a segment") {
        segments.push(segment);
    }
    binarrow_peers::measure(|| {
        let mut decoder = SegmentDecoder::new(Arc::new(DecodeOptions::default()));
        let mut rows = 0;
        for segment in segments {
            let mut emit = |output| {
                if let Output::Batch(batch, _) = black_box(output) {
                    rows += batch.batch.num_rows() as u64;
                }
                true
            };
            decoder.decode(segment, &mut emit).expect("a decoded segment");
        }
        rows
    });
}
