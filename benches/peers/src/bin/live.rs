//! A server's log from its beginning to its end: `live drain|decode PORT FILE plain|tls|zlib|zstd THREADS`.
//!
//! `drain` receives the dump and ignores its content; `decode` decodes it to Arrow record batches.

use binarrow::cancel::CancelToken;
use binarrow::net::{ConnectOptions, Dump, DumpOptions, DumpStart, Endpoint, Server, TlsMode};
use binarrow::protocol::{Compression, Secret};
use binarrow::reader::{ReadOptions, Reader};
use binarrow::source::{LiveOptions, LiveStart};
use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant};

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let [_, mode, port, file, cover, threads] = arguments.as_slice() else {
        eprintln!("usage: live drain|decode PORT FILE plain|tls|zlib|zstd THREADS");
        std::process::exit(2);
    };
    let options = connect_options(port.parse().expect("a port"), cover);
    let server = Server::open(options.clone()).expect("a server");
    let dump = DumpOptions { server_id: 77, heartbeat: Duration::from_secs(10), ends: true };
    let start = Instant::now();
    let (rows, bytes) = match mode.as_str() {
        "drain" => drain(server, file, &dump),
        _ => decode(server, dump, options, threads.parse().expect("a number of threads")),
    };
    let seconds = start.elapsed().as_secs_f64();
    println!(
        "{{\"rows\": {rows}, \"bytes\": {bytes}, \"seconds\": {seconds:.6}, \"peak_mb\": {}}}",
        peak_mb()
    );
}

fn connect_options(port: u16, cover: &str) -> ConnectOptions {
    let endpoint = Endpoint::Tcp { host: "127.0.0.1".into(), port };
    let mut options = ConnectOptions::new(endpoint, "bench", Secret::default());
    options.tls = Some(if cover == "tls" { TlsMode::Required } else { TlsMode::Disabled });
    options.compression = match cover {
        "zlib" => Compression::Zlib,
        "zstd" => Compression::Zstd,
        _ => Compression::None,
    };
    options
}

fn drain(server: Server, file: &str, options: &DumpOptions) -> (u64, u64) {
    let start = DumpStart::File { file: file.to_owned(), offset: 4 };
    let mut dump = Dump::start(server, &start, options).expect("a dump");
    let mut bytes = 0;
    while dump.advance().expect("an event") {
        bytes += black_box(dump.event()).len() as u64;
    }
    (0, bytes)
}

fn decode(
    server: Server,
    dump: DumpOptions,
    connect: ConnectOptions,
    threads: usize,
) -> (u64, u64) {
    let connector = Arc::new(move || Ok(vec![connect.clone()]));
    let counters = Arc::default();
    let live = LiveOptions {
        connector,
        dump,
        reconnect: None,
        until: None,
        heartbeats: false,
        goal: None,
        foreign_keys: None,
        cancel: CancelToken::default(),
        counters: Arc::clone(&counters),
    };
    let mut options = ReadOptions { threads, ..ReadOptions::default() };
    options.cut.allow_gaps = true; // the log replaces another one
    let mut reader =
        Reader::live(Some(server), LiveStart::Earliest, live, options).expect("a reader");
    let mut rows = 0;
    while let Some(batch) = reader.next_batch().expect("a batch") {
        rows += black_box(batch).batch.num_rows() as u64;
    }
    (rows, counters.bytes())
}

/// The peak of memory of the process, in MB.
fn peak_mb() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap_or_default();
    let kilobytes = line.split_whitespace().next().and_then(|text| text.parse::<u64>().ok());
    kilobytes.unwrap_or_default() / 1000
}
