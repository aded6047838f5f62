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

/// Runs `work`, which returns the number of row images (an update has two), and prints this number with the duration in seconds,
/// and the CPU time of all threads in it.
pub fn measure(work: impl FnOnce() -> u64) {
    let (start, cpu) = (Instant::now(), cpu_seconds());
    let rows = work();
    let (seconds, cpu) = (start.elapsed().as_secs_f64(), cpu_seconds() - cpu);
    println!("{{\"rows\": {rows}, \"seconds\": {seconds:.6}, \"cpu_seconds\": {cpu:.6}}}");
}

/// The CPU time of the process, of all its threads.
fn cpu_seconds() -> f64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a valid place for the result.
    let failed = unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &mut time) };
    assert_eq!(failed, 0, "the clock of the process");
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}
