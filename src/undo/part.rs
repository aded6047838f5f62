//! The changes of some rows of a batch as text. Threads write the parts of a large batch.

use super::changes::Changes;
use super::literal;
use super::options::UndoOptions;
use super::statement::{Statements, Written};
use super::table::{Table, TableCounts};
use super::zone::Zone;
use crate::error::{Error, ErrorKind, Result};
use crate::reader::ChangeBatch;
use crate::value::{DateTime, digits};
use arrow_array::Array;
use std::ops::Range;
use std::thread;

/// The text of changes, in the order of their rows.
#[derive(Debug, Default)]
pub(super) struct Part {
    pub(super) text: Vec<u8>,
    pub(super) units: Vec<Unit>,
    /// The comment of each transaction, by version.
    pub(super) comments: Vec<(i64, Vec<u8>)>,
    pub(super) counts: TableCounts,
}

/// The place of a change in the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Order {
    /// The version of its transaction.
    pub(super) version: i64,
    /// The place in the transaction.
    pub(super) ordinal: i64,
    /// The place among the effects of one change: 0 for the change itself, which is the last one.
    pub(super) step: i64,
}

/// The text of one change.
#[derive(Debug, Clone)]
pub(super) struct Unit {
    pub(super) order: Order,
    pub(super) text: Range<usize>,
    pub(super) written: Written,
}

/// Writes the changes of a batch. `steps` are those of its rows; 0 where there is none.
pub(super) fn parts(
    change: &ChangeBatch,
    steps: &[i64],
    table: &Table,
    options: &UndoOptions,
) -> Result<Vec<Part>> {
    let rows = change.batch.num_rows();
    let threads = thread::available_parallelism().map_or(1, usize::from).min(rows / MIN_ROWS);
    if threads < 2 {
        return Ok(vec![part(change, steps, table, options, 0..rows)?]);
    }
    let size = rows.div_ceil(threads);
    thread::scope(|scope| {
        let written: Vec<_> = (0..threads)
            .map(|number| (number * size).min(rows)..((number + 1) * size).min(rows))
            .map(|rows| scope.spawn(move || part(change, steps, table, options, rows)))
            .collect();
        let failed = |_| Error::new(ErrorKind::Internal, "a thread that writes SQL has failed");
        written.into_iter().map(|thread| thread.join().map_err(failed)?).collect()
    })
}

fn part(
    change: &ChangeBatch,
    steps: &[i64],
    table: &Table,
    options: &UndoOptions,
    rows: Range<usize>,
) -> Result<Part> {
    let changes = Changes::try_new(change, options.direction)?;
    let statements = Statements::try_new(&change.plan, table, &changes, options.direction)?;
    let mut part = Part::default();
    let mut known = None;
    for row in rows {
        if !options.picked.has(&changes, row) {
            continue;
        }
        let start = part.text.len();
        let Some(written) = statements.write(row, &mut part.counts, &mut part.text)? else {
            continue;
        };
        let version = changes.versions.value(row);
        if known != Some(version) {
            known = Some(version);
            part.comments.push((version, comment(&changes, row, &options.zone)));
        }
        let order = Order {
            version,
            ordinal: changes.ordinals.value(row),
            step: steps.get(row).copied().unwrap_or(0),
        };
        part.units.push(Unit { order, text: start..part.text.len(), written });
    }
    Ok(part)
}

/// The comment of a row's transaction.
fn comment(changes: &Changes<'_>, row: usize, zone: &Zone) -> Vec<u8> {
    let mut out = Vec::with_capacity(120);
    if changes.gtids.is_valid(row) {
        out.extend_from_slice(b"GTID ");
        literal::comment(changes.gtids.value(row), &mut out);
        out.extend_from_slice(b", ");
    }
    literal::comment(changes.files.value(row), &mut out);
    out.push(b':');
    digits::push_signed(&mut out, changes.versions.value(row) & (FILE - 1));
    out.extend_from_slice(b", ");
    let micros = changes.times.value(row);
    let offset = zone.offset(micros);
    let local = micros.saturating_add(i64::from(offset.unwrap_or(0)) * 1_000_000);
    DateTime::from_timestamp(Some(local)).write_text(6, &mut out);
    match offset {
        None => out.extend_from_slice(b" UTC"),
        Some(seconds) => {
            let (sign, minutes) =
                (if seconds < 0 { '-' } else { '+' }, seconds.unsigned_abs() / 60);
            let text = format!("{sign}{:02}:{:02}", minutes / 60, minutes % 60);
            out.extend_from_slice(text.as_bytes());
        }
    }
    if changes.threads.is_valid(row) {
        out.extend_from_slice(b", connection ");
        digits::push_signed(&mut out, changes.threads.value(row));
    }
    out
}

/// The part of `_commit_version` that is the offset in the file.
const FILE: i64 = 1 << 40;

/// The smallest number of rows for a thread.
const MIN_ROWS: usize = 2048;
