//! Rows that are written in another form than Arrow, directly from the events.

use crate::binlog::RowsEvent;
use crate::columnar::{RowCounts, Stamp, TablePlan};
use crate::error::Result;
use std::any::Any;
use std::fmt::Debug;
use std::sync::Arc;

/// Determines the form of rows: see [`DecodeOptions::writer`](super::DecodeOptions).
pub trait RowsWriter: Debug + Send + Sync {
    /// Starts to write the rows of a table. The writer of a table is used for many batches.
    ///
    /// # Errors
    /// Rows of the table cannot be written in this form.
    fn start(&self, plan: Arc<TablePlan>) -> Result<Box<dyn TableWriter>>;
}

/// Writes rows of one table.
pub trait TableWriter: Send {
    /// Adds the rows of an event, except those of its first `left_out` changes. Returns the number of all of its changes.
    ///
    /// # Errors
    /// A row is damaged, or cannot be written.
    fn append(
        &mut self,
        event: &RowsEvent<'_>,
        stamp: &Stamp<'_>,
        left_out: u64,
    ) -> Result<RowCounts>;

    /// The approximate number of bytes since the last batch.
    fn bytes(&self) -> usize;

    /// Ends a batch.
    fn finish(&mut self) -> WrittenRows;
}

/// The rows of a batch in the form of a writer, and the approximate number of their bytes.
#[derive(Clone)]
pub struct WrittenRows {
    /// A value that the caller, who knows the writer, can convert back.
    pub rows: Arc<dyn Any + Send + Sync>,
    /// The approximate number of bytes in memory.
    pub bytes: usize,
}
