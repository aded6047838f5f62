//! The changes of some rows of a batch as text. Threads write the parts of a large batch.

use super::Direction;
use super::changes::Changes;
use super::joined::Joined;
use super::literal;
use super::options::UndoOptions;
use super::statement::Statements;
use super::table::{Table, TableCounts};
use super::zone::Zone;
use crate::error::{Error, ErrorKind, Result};
use crate::reader::ChangeBatch;
use crate::value::{DateTime, digits};
use arrow_array::Array;
use std::ops::Range;
use std::sync::OnceLock;
use std::thread;

/// The SQL of the changes of a batch, in the order of the script.
#[derive(Debug, Default)]
pub(super) struct Part {
    pub(super) text: Vec<u8>,
    pub(super) runs: Vec<Run>,
    /// The comments of transactions.
    pub(super) comments: Vec<u8>,
    pub(super) counts: TableCounts,
    /// The length of the longest statement.
    pub(super) longest: usize,
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

/// The SQL of consecutive changes of one transaction, with no other change between them.
#[derive(Debug, Clone)]
pub(super) struct Run {
    /// The first and the last of its changes in the log.
    pub(super) first: Order,
    pub(super) last: Order,
    pub(super) text: Range<usize>,
    /// The comment of the transaction.
    pub(super) comment: Range<usize>,
}

/// The rows of a batch whose order in the script is not only that of the log.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Steps<'s> {
    /// The steps of effects, if the rows are effects.
    pub(super) of_effects: &'s [i64],
    /// The rows that have effects, in ascending order. Effects are before these rows.
    pub(super) with_effects: &'s [usize],
}

/// Writes the SQL of the changes of a batch. `spare` contains parts whose memory is used again.
pub(super) fn parts(
    change: &ChangeBatch,
    steps: Steps<'_>,
    table: &Table,
    options: &UndoOptions,
    spare: &mut Vec<Part>,
) -> Result<Vec<Part>> {
    let rows = change.batch.num_rows();
    let threads = threads().min(rows / MIN_ROWS).max(1);
    let size = rows.div_ceil(threads);
    let mut work = (0..threads).map(|number| {
        let rows = (number * size).min(rows)..((number + 1) * size).min(rows);
        let part = spare.pop().unwrap_or_default();
        move || part_of(change, steps, table, options, rows, part)
    });
    let Some(own) = work.next() else { return Ok(Vec::new()) };
    if threads == 1 {
        return Ok(vec![own()?]);
    }
    thread::scope(|scope| {
        let others: Vec<_> = work.map(|work| scope.spawn(work)).collect();
        let failed = |_| Error::new(ErrorKind::Internal, "a thread that writes SQL has failed");
        let mut written = vec![own()];
        written.extend(others.into_iter().map(|thread| thread.join().map_err(failed)?));
        written.into_iter().collect()
    })
}

/// The number of threads that this process may use.
fn threads() -> usize {
    // The result is stored, because the standard library reads files to determine it.
    static THREADS: OnceLock<usize> = OnceLock::new();
    *THREADS.get_or_init(|| thread::available_parallelism().map_or(1, usize::from))
}

fn part_of(
    change: &ChangeBatch,
    steps: Steps<'_>,
    table: &Table,
    options: &UndoOptions,
    rows: Range<usize>,
    mut part: Part,
) -> Result<Part> {
    let changes = Changes::try_new(change, options.direction)?;
    let statements = Statements::try_new(&change.plan, table, &changes, options)?;
    let mut joined = Joined::new(table);
    let mut open: Option<Run> = None;
    let (last, mut written) = (rows.end, rows.start);
    for at in rows.clone() {
        let row = match options.direction {
            Direction::Undo => rows.start + (last - 1 - at),
            Direction::Redo => at,
        };
        if !options.picked.has(&changes, row) {
            continue;
        }
        let Some(kind) = statements.kind(row)? else { continue };
        let order = Order {
            version: changes.versions.value(row),
            ordinal: changes.ordinals.value(row),
            step: steps.of_effects.get(row).copied().unwrap_or(0),
        };
        let has_effects = |row: usize| steps.with_effects.binary_search(&row).is_ok();
        match (&mut open, options.direction) {
            (Some(run), Direction::Undo) if order.is_before(run.first) && !has_effects(written) => {
                run.first = order;
            }
            (Some(run), Direction::Redo) if run.last.is_before(order) && !has_effects(row) => {
                run.last = order;
            }
            _ => {
                joined.close(&mut part.text);
                let comment = match end_run(&mut open, &mut part) {
                    Some(run) if run.first.version == order.version => run.comment,
                    _ => {
                        let start = part.comments.len();
                        comment(&changes, row, &options.zone, &mut part.comments);
                        start..part.comments.len()
                    }
                };
                let start = part.text.len();
                open = Some(Run { first: order, last: order, text: start..start, comment });
            }
        }
        written = row;
        statements.write(row, kind, &mut joined, &mut part.text, &mut part.counts)?;
    }
    joined.close(&mut part.text);
    end_run(&mut open, &mut part);
    part.longest = joined.longest;
    Ok(part)
}

/// Adds the open run, if there is one, to a part, and returns it.
fn end_run(open: &mut Option<Run>, part: &mut Part) -> Option<Run> {
    let mut run = open.take()?;
    run.text.end = part.text.len();
    part.runs.push(run.clone());
    Some(run)
}

impl Order {
    /// True if no other change can be between this one and the next one of its batch, except effects of the next one: an event
    /// has rows of one table.
    const fn is_before(self, next: Self) -> bool {
        self.version == next.version
            && match (self.step, next.step) {
                (0, 0) => next.ordinal >> EVENT <= (self.ordinal >> EVENT) + 1,
                (step, later) => self.ordinal == next.ordinal && step + 1 == later && later < 0,
            }
    }
}

impl Part {
    /// Removes all changes, and keeps the memory.
    pub(super) fn clear(&mut self) {
        self.text.clear();
        self.runs.clear();
        self.comments.clear();
        (self.counts, self.longest) = (TableCounts::default(), 0);
    }
}

/// The comment of a row's transaction.
fn comment(changes: &Changes<'_>, row: usize, zone: &Zone, out: &mut Vec<u8>) {
    if changes.gtids.is_valid(row) {
        out.extend_from_slice(b"GTID ");
        literal::comment(changes.gtids.value(row), out);
        out.extend_from_slice(b", ");
    }
    literal::comment(changes.files.value(row), out);
    out.push(b':');
    digits::push_signed(out, changes.versions.value(row) & (FILE - 1));
    out.extend_from_slice(b", ");
    let micros = changes.times.value(row);
    let offset = zone.offset(micros);
    let local = micros.saturating_add(i64::from(offset.unwrap_or(0)) * 1_000_000);
    DateTime::from_timestamp(Some(local)).write_text(6, out);
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
        digits::push_signed(out, changes.threads.value(row));
    }
}

/// The number of bits of `_change_ordinal` that contain the place in an event.
const EVENT: u32 = 32;

/// The part of `_commit_version` that is the offset in the file.
const FILE: i64 = 1 << 40;

/// The smallest number of rows for a thread.
const MIN_ROWS: usize = 2048;
