//! Measures cutting segments alone, decoding on one thread, and reading files with one thread and
//! with all threads.
//!
//!     cargo bench --bench decode                  # all; `-- segments`, `-- decode`, `-- read/oltp` for some
//! cargo bench --bench decode -- nested_json   # rows as JSON text and VARIANT, compared with the
//! flat layout
//!
//! The binlogs come from `benches/make_binlog.py --mb 16`. As there, `BINARROW_BENCH` names another
//! folder for them.

#![allow(missing_docs)] // code that the macros of criterion generate

use binarrow::columnar::{Json, Layout, Profile, TypeOptions};
use binarrow::export::NestedJson;
use binarrow::reader::{BatchLimits, DecodeOptions, ReadOptions, Reader, SegmentDecoder};
use binarrow::source::{InputFile, LogOptions, Segment, Segments};
use criterion::{BatchSize, BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use std::hint::black_box;
use std::path::PathBuf;
use std::sync::Arc;

/// The shapes of `make_binlog.py`.
const SHAPES: [&str; 6] = ["oltp", "orders", "text", "small", "oltp-zstd", "orders-zstd"];

/// The size of each file in megabytes.
const MB: usize = 16;

/// A binlog file in memory.
struct Log {
    shape: &'static str,
    path: PathBuf,
    bytes: Arc<Vec<u8>>,
}

impl Log {
    fn input(&self) -> Vec<InputFile> {
        let bytes: Arc<dyn AsRef<[u8]> + Send + Sync> = Arc::<Vec<u8>>::clone(&self.bytes);
        vec![InputFile::of_bytes(bytes, 1)]
    }

    fn segments(&self) -> Vec<Segment> {
        let mut log = Segments::try_new(self.input(), LogOptions::default()).expect("a log");
        let mut segments = Vec::new();
        while let Some(segment) = log.next_segment().expect("a segment") {
            segments.push(segment);
        }
        segments
    }

    fn throughput(&self) -> Throughput {
        Throughput::Bytes(self.bytes.len() as u64)
    }
}

/// Returns the files that exist; prints once how to create the others.
fn logs() -> Vec<Log> {
    let folder = folder();
    let (found, missing): (Vec<_>, Vec<_>) = SHAPES
        .into_iter()
        .map(|shape| (shape, folder.join(format!("{shape}.000001"))))
        .partition(|(_, path)| path.exists());
    if !missing.is_empty() {
        let names: Vec<_> = missing.iter().map(|(shape, _)| *shape).collect();
        eprintln!(
            "no binlog in {} for: {}. Make them: python benches/make_binlog.py --mb {MB}",
            folder.display(),
            names.join(", ")
        );
    }
    found
        .into_iter()
        .map(|(shape, path)| {
            let bytes = Arc::new(std::fs::read(&path).expect("a readable file"));
            Log { shape, path, bytes }
        })
        .collect()
}

fn folder() -> PathBuf {
    let variable = |name| std::env::var_os(name).filter(|value| !value.is_empty());
    let cache = || variable("HOME").map(|home| PathBuf::from(home).join(".cache"));
    let bench = variable("BINARROW_BENCH").map(PathBuf::from).or_else(|| {
        let cache = variable("XDG_CACHE_HOME").map(PathBuf::from).or_else(cache)?;
        Some(cache.join("binarrow/bench"))
    });
    bench.unwrap_or_default().join(format!("{MB}mb"))
}

/// From files in memory to segments: headers and small events.
fn segments(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("segments");
    for log in logs() {
        group.throughput(log.throughput());
        group.bench_function(log.shape, |bencher| {
            bencher.iter_with_large_drop(|| log.segments());
        });
    }
}

/// From segments to record batches on one thread; the batches are dropped.
fn decode(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("decode");
    for log in logs() {
        group.throughput(log.throughput());
        group.bench_function(log.shape, |bencher| {
            let mut decoder = SegmentDecoder::new(Arc::new(DecodeOptions::default()));
            bencher.iter_batched(
                || log.segments(),
                |segments| {
                    for segment in segments {
                        let mut emit = |output| {
                            black_box(output);
                            true
                        };
                        decoder.decode(segment, &mut emit).expect("a decoded segment");
                    }
                },
                BatchSize::PerIteration,
            );
        });
    }
}

/// From files to record batches.
fn read(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("read");
    let all = std::thread::available_parallelism().map_or(1, usize::from);
    let mut counts = vec![1, all];
    counts.dedup();
    for log in logs() {
        group.throughput(log.throughput());
        for threads in &counts {
            let id = BenchmarkId::new(log.shape, format!("{threads}-threads"));
            group.bench_with_input(id, threads, |bencher, threads| {
                bencher.iter(|| {
                    let options = ReadOptions { threads: *threads, ..ReadOptions::default() };
                    let files = vec![InputFile::at_path(&log.path, 1)];
                    let mut reader = Reader::try_new(files, options).expect("a reader");
                    while let Some(batch) = reader.next_batch().expect("a batch") {
                        black_box(batch);
                    }
                });
            });
        }
    }
}

/// From files to nested JSON, compared with the flat and the nested layout: the cost of `before` and
/// `after` as text, or as VARIANT.
fn nested_json(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("nested_json");
    let spark = TypeOptions::new(Profile::Spark);
    let variant = TypeOptions { json: Json::Variant, ..spark };
    for log in logs().into_iter().filter(|log| !log.shape.ends_with("-zstd")) {
        group.throughput(log.throughput());
        let ways = [
            ("flat", spark, Layout::Flat, false),
            ("nested", spark, Layout::Nested, false),
            ("json", spark, Layout::Nested, true),
            ("variant", variant, Layout::Nested, true),
        ];
        for (way, types, layout, is_nested_json) in ways {
            group.bench_function(BenchmarkId::new(log.shape, way), |bencher| {
                bencher.iter(|| {
                    let mut options = ReadOptions { threads: 1, ..ReadOptions::default() };
                    options.decode.limits = BatchLimits { rows: 16_384, bytes: 16 << 20 };
                    (options.decode.plan.types, options.decode.plan.layout) = (types, layout);
                    let nested_json = is_nested_json.then(|| NestedJson::of(&mut options.decode));
                    let mut nested_json = nested_json.transpose().expect("types of Spark");
                    let files = vec![InputFile::at_path(&log.path, 1)];
                    let mut reader = Reader::try_new(files, options).expect("a reader");
                    while let Some(batch) = reader.next_batch().expect("a batch") {
                        let Some(nested_json) = &mut nested_json else {
                            black_box(batch);
                            continue;
                        };
                        nested_json.take_in(batch);
                        while nested_json.fill().expect("rows") {
                            black_box(nested_json.finish().expect("a batch"));
                        }
                    }
                    black_box(nested_json.map(|mut rest| rest.finish().expect("a batch")));
                });
            });
        }
    }
}

criterion_group! {
    name = benches;
    config = Criterion::default().sample_size(20);
    targets = segments, decode, read, nested_json
}
criterion_main!(benches);
