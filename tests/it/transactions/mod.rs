//! The rows that are returned, their versions, and the start and end of a read.

mod bounds;
mod files;
mod groups;
mod key_updates;
mod large;
mod payloads;
mod tails;
mod usual;
mod xa;

use crate::log::{Event, Log, Table, insert, table_map};
use crate::rows::{Outcome, decode, options};
use binarrow::reader::ReadOptions;
use binarrow::source::InputFile;
use binarrow::source::LogOptions;

/// Decodes the log in one segment and in as many segments as possible; both results must be equal.
pub(crate) fn run(log: &Log) -> Outcome {
    run_with(log, options())
}

pub(crate) fn run_with(log: &Log, options: ReadOptions) -> Outcome {
    run_all(|| log.clone().inputs(), &options)
}

fn run_all(files: impl Fn() -> Vec<InputFile>, options: &ReadOptions) -> Outcome {
    let complete = decode(files(), options);
    for segment in [1, 300] {
        let cut = LogOptions { segment_bytes: segment, ..options.cut.clone() };
        let outcome = decode(files(), &ReadOptions { cut, ..options.clone() });
        assert_eq!(outcome.changes(), complete.changes());
        let error = |outcome: &Outcome| outcome.error.as_ref().map(ToString::to_string);
        assert_eq!(error(&outcome), error(&complete));
        if complete.error.is_none() {
            let position = |outcome: &Outcome| outcome.position.as_deref().cloned();
            assert_eq!(position(&outcome), position(&complete));
            assert_eq!(outcome.stats.dropped_rows_events, complete.stats.dropped_rows_events);
            assert_eq!(outcome.stats.transactions, complete.stats.transactions);
        }
    }
    complete
}

fn statement(table: Table, ids: impl IntoIterator<Item = i32>) -> [Event; 2] {
    [table_map(table), insert(table, ids)]
}

/// The GTIDs of the position at the end.
fn gtids(outcome: &Outcome) -> String {
    outcome.position.as_ref().unwrap().gtid_set.as_ref().unwrap().to_string()
}

const NOTHING: [&str; 0] = [];
