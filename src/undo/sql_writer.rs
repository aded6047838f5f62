//! SQL that is written directly from rows events, in the threads that decode the log.

use super::columns::Columns;
use super::event_rows::{Converters, EventRows};
use super::options::UndoOptions;
use super::part::{Steps, part_of};
use super::run::{Order, Part};
use super::run_writer::RunWriter;
use super::spare::Spare;
use super::statement::Statements;
use super::table::Table;
use super::transaction::{Transaction, comment};
use crate::binlog::RowsEvent;
use crate::change::UpdateRule;
use crate::columnar::{RowCounts, Stamp, StoredRows, TableBuilder, TablePlan};
use crate::error::{Error, ErrorKind, Result};
use crate::reader::{RowsWriter, TableWriter, WrittenRows};
use std::sync::Arc;

/// Writes the changes of a read as SQL, for [`UndoScript`](super::UndoScript).
#[derive(Debug)]
pub struct SqlWriter {
    options: Arc<UndoOptions>,
    spare: Spare,
}

impl SqlWriter {
    /// `spare` contains memory that the script used.
    pub(super) fn new(options: UndoOptions, spare: Spare) -> Self {
        Self { options: Arc::new(options), spare }
    }
}

impl RowsWriter for SqlWriter {
    fn start(&self, plan: Arc<TablePlan>) -> Result<Box<dyn TableWriter>> {
        let table = Table::try_new(&plan)?;
        let columns = Columns::of(&plan, &table, |_| false);
        Ok(Box::new(SqlTable {
            converters: Converters::try_new(&plan, &table, &columns)?,
            columns,
            table,
            writer: None,
            spare: self.spare.clone(),
            others: Vec::new(),
            rows: StoredRows::new(plan),
            options: Arc::clone(&self.options),
        }))
    }
}

/// The changes of one table.
struct SqlTable {
    options: Arc<UndoOptions>,
    table: Table,
    columns: Columns,
    converters: Converters,
    rows: StoredRows,
    /// `None` if there are no changes since the last batch.
    writer: Option<RunWriter>,
    /// The changes of events that were decoded as batches.
    others: Vec<Arc<Part>>,
    spare: Spare,
}

impl TableWriter for SqlTable {
    fn append(
        &mut self,
        event: &RowsEvent<'_>,
        stamp: &Stamp<'_>,
        left_out: u64,
    ) -> Result<RowCounts> {
        let thread = stamp.details.thread_id.map(i64::from);
        if !self.options.picked.has(stamp.details.gtid, thread) {
            let changes = self.rows.plan().count_changes(event)?;
            return Ok(RowCounts::of(event.kind, changes));
        }
        if event.has_value_options {
            return self.append_batch(event, stamp, left_out);
        }
        let Self { options, table, columns, converters, rows, writer, spare, .. } = self;
        let writer = writer.get_or_insert_with(|| spare.writer(options.direction));
        let plan = Arc::clone(rows.plan());
        let statements = Statements::new(&plan, table, columns, options);
        rows.for_each(event, |changes| {
            let cells = EventRows::new(changes, options.direction, converters);
            for (row, number) in (0..changes.rows).zip(changes.first..) {
                if number < left_out {
                    continue;
                }
                let Some(kind) = statements.kind(&cells, row)? else { continue };
                let ordinal = stamp.first_ordinal + 2 * number as i64;
                let order = Order { version: stamp.commit_version, ordinal, step: 0 };
                let text = writer.begin(table, order, false, |out| {
                    comment(&transaction(stamp), &options.zone, out);
                });
                let form = statements.write(&cells, row, kind, text)?;
                let is_lenient = statements.is_lenient(&cells, row, kind);
                writer.end(table, order, kind, (form, is_lenient));
            }
            Ok(())
        })
    }

    fn bytes(&self) -> usize {
        self.writer.as_ref().map_or(0, RunWriter::bytes)
            + self.others.iter().map(|part| part.text.len()).sum::<usize>()
    }

    fn finish(&mut self) -> WrittenRows {
        let bytes = self.bytes();
        let mut parts = std::mem::take(&mut self.others);
        if let Some(mut writer) = self.writer.take() {
            parts.push(Arc::new(writer.finish(&self.table)));
            self.spare.give_writer(writer);
        }
        WrittenRows { rows: Arc::new(parts), bytes }
    }
}

impl SqlTable {
    /// Appends an event with changes of documents, which are applied to the documents before them.
    fn append_batch(
        &mut self,
        event: &RowsEvent<'_>,
        stamp: &Stamp<'_>,
        left_out: u64,
    ) -> Result<RowCounts> {
        let plan = self.rows.plan();
        let rule = UpdateRule { old_value: true, split_key_updates: false };
        let mut builder = TableBuilder::try_new(Arc::clone(plan), rule)?;
        let counts = builder.append(event, stamp)?;
        let first = builder.row_of_change(left_out);
        let batch = builder.finish()?;
        let rows = first..batch.num_rows();
        let part = part_of(
            (&batch, plan),
            Steps::default(),
            &self.table,
            &self.options,
            rows,
            Part::default(),
        )?;
        self.others.push(Arc::new(part));
        Ok(counts)
    }
}

fn transaction<'a>(stamp: &Stamp<'a>) -> Transaction<'a> {
    Transaction {
        version: stamp.commit_version,
        time: stamp.commit_timestamp,
        file: stamp.file,
        gtid: stamp.details.gtid,
        thread: stamp.details.thread_id.map(i64::from),
    }
}

/// The changes that were written.
pub(super) fn parts(written: &WrittenRows) -> Result<Vec<Arc<Part>>> {
    match written.rows.downcast_ref::<Vec<Arc<Part>>>() {
        Some(parts) => Ok(parts.clone()),
        None => Err(Error::new(ErrorKind::Internal, "rows of another writer")),
    }
}
