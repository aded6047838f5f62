//! binarrow: decodes a file to Arrow record batches, including reading the file, with the number of
//! threads in the second argument (default 1).

use binarrow::reader::{ReadOptions, Reader};
use binarrow::source::InputFile;
use std::hint::black_box;

fn main() {
    let path = binarrow_peers::file_argument();
    let threads =
        std::env::args().nth(2).map_or(1, |threads| threads.parse().expect("a number of threads"));
    binarrow_peers::measure(|| {
        let options = ReadOptions { threads, ..ReadOptions::default() };
        let mut reader =
            Reader::try_new(vec![InputFile::at_path(path, 1)], options).expect("a reader");
        let mut rows = 0;
        while let Some(batch) = reader.next_batch().expect("a batch") {
            rows += black_box(batch).batch.num_rows() as u64;
        }
        rows
    });
}
