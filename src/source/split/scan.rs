//! Divides one file into ranges between transaction ends.

use super::{OpenXa, Split};
use crate::binlog::FormatDescription;
use crate::cancel::CancelToken;
use crate::error::Result;
use crate::index::Index;
use crate::position::{Position, PreparedRange};
use crate::source::file_list::InputFile;
use crate::source::options::LogOptions;
use crate::source::segment_rule::{SegmentRule, SkippedTable};
use crate::source::walk::{Step, Walk};
use std::sync::Arc;

/// Divides the file at `path` into ranges of about `target_bytes` at transaction ends; a compressed file is one range, because it
/// can be decompressed only from its beginning. The ranges contain nothing about other files yet. With `uses_index`, the segments
/// that an index describes are not read.
pub fn scan_splits(
    (mut file, path): (InputFile, &str),
    place: u64,
    target_bytes: u64,
    uses_index: bool,
    cancel: &CancelToken,
) -> Result<Vec<Split>> {
    let target_bytes = if file.is_packed()? { u64::MAX } else { target_bytes };
    // No row is returned here: readers of the ranges report statements that cannot be parsed.
    let options = LogOptions {
        verify_checksum: false,
        skip_statements: true,
        segment_rule: uses_index.then(|| Arc::new(AllSegments) as Arc<dyn SegmentRule>),
        ..LogOptions::default()
    };
    let mut walk = Walk::over_files(vec![file], options)?;
    walk.cancel_with(cancel);
    walk.skip_one_by_one();
    let mut splits: Vec<Split> = Vec::new();
    let mut start: Option<Position> = None;
    let mut foreign = Vec::new();
    let mut warnings = Vec::new();
    let split = |start: &Position, stop: u64, foreign: &mut Vec<String>| -> Result<Split> {
        Ok(Split {
            path: path.to_string(),
            place,
            start: start.to_json()?,
            stop,
            inherited: Vec::new(),
            foreign: std::mem::take(foreign),
            open: Vec::new(),
            successor: None,
            warnings: Vec::new(),
            history: None,
            prepared: Vec::new(),
        })
    };
    let next_step = |walk: &mut Walk| walk.next(true).map_err(|error| walk.name_file(error));
    let mut asked_at = 0;
    while let Some(step) = next_step(&mut walk)? {
        match step {
            Step::FileBegins(_) => {
                start = Some(walk.position().clone());
                // The warnings about the index.
                warnings = walk.take_warnings();
            }
            Step::GtidsBefore => {
                if let Some(start) = &mut start {
                    start.gtid_set.clone_from(&walk.position().gtid_set);
                }
            }
            Step::LoneStatement(statement) => walk.pass_statement(&statement),
            Step::Transaction(verdicts) => {
                let ended = walk.take_transaction()?;
                walk.pass(&ended, verdicts)?;
            }
            _ => {}
        }
        let here = walk.position().offset;
        if here.saturating_sub(asked_at) >= ASK_EVERY {
            asked_at = here;
            cancel.check()?;
        }
        if let Some(first) = &start
            && walk.transaction().is_none()
            && here >= first.offset.saturating_add(target_bytes)
        {
            foreign.extend(walk.take_prepared_elsewhere().iter().map(ToString::to_string));
            splits.push(split(first, here, &mut foreign)?);
            start = Some(walk.position().clone());
        }
    }
    let end = walk.position().clone();
    foreign.extend(walk.take_prepared_elsewhere().iter().map(ToString::to_string));
    if let Some(first) = start
        && (end.offset > first.offset || splits.is_empty())
    {
        splits.push(split(&first, end.offset, &mut foreign)?);
    }
    if let Some(last) = splits.last_mut() {
        last.successor = walk.files().successor().map(ToOwned::to_owned);
        last.warnings = warnings;
        last.warnings.extend(walk.take_unclosed());
        last.open = open_at_end(&walk, path)?;
    }
    Ok(splits)
}

/// The rule to skip all segments that an index describes. Each begins and ends at the end of a transaction.
#[derive(Debug)]
struct AllSegments;

impl SegmentRule for AllSegments {
    fn skipped(&self, index: &Index, _: &FormatDescription) -> Vec<Option<Vec<SkippedTable>>> {
        index.segments.iter().map(|_| Some(Vec::new())).collect()
    }
}

/// The XA transactions that are prepared at the end of a file.
fn open_at_end(walk: &Walk, path: &str) -> Result<Vec<OpenXa>> {
    let open = |range: &PreparedRange| {
        let at = Position { prepared: vec![range.clone()], ..Position::in_file(&*range.file, 4) };
        let (xid, path, position) = (range.xid.to_string(), path.to_string(), at.to_json()?);
        Ok(OpenXa { xid, path, position })
    };
    walk.position().prepared.iter().map(open).collect()
}

/// The number of bytes of a file between two checks for cancellation.
const ASK_EVERY: u64 = 1 << 20;
