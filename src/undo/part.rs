//! The changes of some rows of a batch as text. Threads write the parts of a large batch.

use super::batch_rows::BatchRows;
use super::changes::Changes;
use super::options::UndoOptions;
use super::run::{Order, Part};
use super::run_writer::RunWriter;
use super::spare::Spare;
use super::statement::Statements;
use super::table::Table;
use super::transaction::comment;
use crate::columnar::TablePlan;
use crate::error::{Error, ErrorKind, Result};
use crate::reader::ChangeBatch;
use arrow_array::RecordBatch;
use std::ops::Range;
use std::sync::OnceLock;
use std::thread;

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
    spare: &Spare,
) -> Result<Vec<Part>> {
    let rows = change.batch.num_rows();
    let threads = threads().min(rows / MIN_ROWS).max(1);
    let size = rows.div_ceil(threads);
    let mut work = (0..threads).map(|number| {
        let rows = (number * size).min(rows)..((number + 1) * size).min(rows);
        let part = spare.part();
        move || part_of((&change.batch, &change.plan), steps, table, options, rows, part)
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

/// Writes the SQL of some rows of a batch.
pub(super) fn part_of(
    (batch, plan): (&RecordBatch, &TablePlan),
    steps: Steps<'_>,
    table: &Table,
    options: &UndoOptions,
    rows: Range<usize>,
    part: Part,
) -> Result<Part> {
    let changes = Changes::try_new(batch, options.direction)?;
    let cells = BatchRows::try_new(plan, table, &changes)?;
    let columns = cells.columns(plan, table);
    let statements = Statements::new(plan, table, &columns, options);
    let mut writer = RunWriter::new(options.direction, part);
    for row in rows {
        if !options.picked.has(changes.gtid(row), changes.thread(row)) {
            continue;
        }
        let Some(kind) = statements.kind(&cells, row)? else { continue };
        let order = Order {
            version: changes.versions.value(row),
            ordinal: changes.ordinals.value(row),
            step: steps.of_effects.get(row).copied().unwrap_or(0),
        };
        let has_effects = steps.with_effects.binary_search(&row).is_ok();
        let text = writer.begin(table, order, has_effects, |out| {
            comment(&changes.transaction(row), &options.zone, out);
        });
        let form = statements.write(&cells, row, kind, text)?;
        let is_lenient = statements.is_lenient(&cells, row, kind);
        writer.end(table, order, kind, (form, is_lenient));
    }
    Ok(writer.finish(table))
}

/// The smallest number of rows for a thread.
const MIN_ROWS: usize = 2048;
