//! What a reader hands out.

use crate::position::Position;
use arrow_array::RecordBatch;
use std::sync::Arc;

/// Changes of one table, as one Arrow record batch.
#[derive(Debug, Clone)]
pub struct ChangeBatch {
    /// The table's database.
    pub database: Arc<str>,
    /// The table.
    pub table: Arc<str>,
    /// The rows: the table's columns, then the envelope.
    pub batch: RecordBatch,
    /// Where to resume: all rows before it have been handed out, this batch included.
    pub position: Arc<Position>,
}
