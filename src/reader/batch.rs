//! The batches that a reader returns.

use super::resume::Progress;
use super::rows_writer::WrittenRows;
use crate::columnar::TablePlan;
use crate::position::Position;
use arrow_array::RecordBatch;
use std::sync::Arc;

/// Changes of one table, as one Arrow record batch.
#[derive(Clone)]
pub struct ChangeBatch {
    /// The table's database.
    pub database: Arc<str>,
    /// The table.
    pub table: Arc<str>,
    /// The rows: the table's columns, then the envelope.
    pub batch: RecordBatch,
    /// The structure of the table, and the options of its columns.
    pub plan: Arc<TablePlan>,
    /// The position at which to resume before it.
    pub before: Progress,
    /// The position at which to resume: all rows before it have been returned, with this batch.
    pub progress: Progress,
    /// The latest commit among the transactions that were decoded together with it, in microseconds since 1970 UTC.
    pub committed: Option<i64>,
    /// The number of the part of the log that was decoded together with it: the changes of a part precede those of the next one,
    /// and batches of one part may overlap.
    pub segment: u64,
    /// The rows in the form of [`DecodeOptions::writer`](super::DecodeOptions), if it is given; `batch` then has no columns.
    pub written: Option<WrittenRows>,
}

impl ChangeBatch {
    /// The position at which to resume after this batch: no row is returned twice.
    pub fn position(&self) -> Position {
        self.progress.position()
    }
}

impl std::fmt::Debug for ChangeBatch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ChangeBatch")
            .field("database", &self.database)
            .field("table", &self.table)
            .field("rows", &self.batch.num_rows())
            .field("position", self.progress.base())
            .finish_non_exhaustive()
    }
}
