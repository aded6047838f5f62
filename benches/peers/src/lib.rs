//! The code that the programs share: the input file, and the output as one line of JSON.

use std::path::PathBuf;
use std::time::Instant;

/// The file named on the command line.
pub fn file_argument() -> PathBuf {
    match std::env::args_os().nth(1) {
        Some(path) => path.into(),
        None => {
            eprintln!("usage: {} BINLOG-FILE", std::env::args().next().unwrap_or_default());
            std::process::exit(2);
        }
    }
}

/// Runs `work`, which returns the number of row images (an update has two), and prints this number
/// with the duration in seconds.
pub fn measure(work: impl FnOnce() -> u64) {
    let start = Instant::now();
    let rows = work();
    println!("{{\"rows\": {rows}, \"seconds\": {:.6}}}", start.elapsed().as_secs_f64());
}
