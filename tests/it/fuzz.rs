//! The fuzz targets (`fuzz/`) without a fuzzer: on the committed corpus, on inputs that fuzzing
//! found, and on mutations of both.

use crate::fixtures::folder;
use crate::targets::{self, TARGETS, Target};
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

#[test]
fn the_corpus_and_what_was_found() {
    let mut slowest = Duration::ZERO;
    for (name, target) in TARGETS {
        let inputs = inputs(name);
        for (path, bytes) in &inputs {
            slowest = slowest.max(run(*target, bytes, &path.display().to_string()));
        }
        assert!(!inputs.is_empty(), "no corpus for {name}: see CONTRIBUTING");
    }
    assert!(slowest < LONGEST, "{slowest:?}");
}

#[test]
fn mutations() {
    for (name, target) in TARGETS {
        let mut inputs: Vec<_> = inputs(name).into_values().collect();
        let mut random = Random(0x9e37_79b9_7f4a_7c15);
        let start = Instant::now();
        for round in 0..ROUNDS {
            if start.elapsed() > ENOUGH {
                break;
            }
            let mut bytes = inputs[random.below(inputs.len())].clone();
            let other = random.below(inputs.len());
            for _ in 0..=random.below(4) {
                mutate(&mut bytes, &inputs[other], &mut random);
            }
            let took = run(*target, &bytes, &format!("round {round} of {name}"));
            assert!(took < LONGEST, "round {round} of {name}: {took:?}");
            // From time to time a mutant is mutated again.
            if random.below(16) == 0 && bytes.len() < 10_000 {
                inputs.push(bytes);
            }
        }
    }
}

#[test]
fn names_agree() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz");
    let mut files: Vec<String> = std::fs::read_dir(root.join("fuzz_targets"))
        .unwrap()
        .map(|entry| entry.unwrap().path().file_stem().unwrap().to_str().unwrap().to_owned())
        .collect();
    let mut names: Vec<&str> = TARGETS.iter().map(|(name, _)| *name).collect();
    files.sort();
    names.sort();
    assert_eq!(files, names);
    for (name, _) in TARGETS {
        let file = root.join("fuzz_targets").join(format!("{name}.rs"));
        let text = std::fs::read_to_string(file).unwrap();
        assert!(text.contains(&format!("\"{name}\"")), "{text}");
        targets::run(name, &[]);
    }
}

/// The corpus of a target, and the inputs that it found: `bugs/TARGET/WHAT`.
fn inputs(target: &str) -> BTreeMap<PathBuf, Vec<u8>> {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus").join(target);
    let mut paths = list(&corpus);
    paths.extend(list(&folder().join("bugs").join(target)));
    paths.into_iter().map(|path| (path.clone(), std::fs::read(path).unwrap())).collect()
}

fn list(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    entries.map(|entry| entry.unwrap().path()).collect()
}

/// Runs a target; a failure prints the bytes.
fn run(target: Target, bytes: &[u8], case: &str) -> Duration {
    let start = Instant::now();
    let result = catch_unwind(AssertUnwindSafe(|| target(bytes)));
    assert!(result.is_ok(), "{case} failed on {bytes:02x?}");
    start.elapsed()
}

/// Makes one change, as fuzzers do.
fn mutate(bytes: &mut Vec<u8>, other: &[u8], random: &mut Random) {
    let at = random.below(bytes.len() + 1);
    let rest = bytes.len() - at;
    let len = random.below(rest.min(32) + 1);
    match random.below(6) {
        0 if rest > 0 => bytes[at] ^= 1 << random.below(8),
        1 if rest > 0 => bytes[at] = NUMBERS[random.below(NUMBERS.len())],
        2 => drop(bytes.drain(at..at + len)),
        3 => {
            let piece = bytes[at..at + len].to_vec();
            bytes.splice(at..at, piece);
        }
        4 => {
            let from = random.below(other.len() + 1);
            let to = from + random.below((other.len() - from).min(200) + 1);
            bytes.splice(at..at + len, other[from..to].iter().copied());
        }
        _ => bytes[at..at + len].fill(NUMBERS[random.below(NUMBERS.len())]),
    }
}

/// Marsaglia's xorshift: the same mutants in each run.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % bound.max(1) as u64) as usize
    }
}

/// Bytes at the limits of lengths and codes.
const NUMBERS: [u8; 12] = [0, 1, 2, 15, 19, 0x7f, 0x80, 0xf5, 0xfb, 0xfc, 0xfe, 0xff];

/// The number of mutants of a target.
const ROUNDS: usize = 4000;

/// The time after which a slow machine stops.
const ENOUGH: Duration = Duration::from_secs(1);

/// The time limit of one input; the machine may be busy.
const LONGEST: Duration = Duration::from_secs(5);
