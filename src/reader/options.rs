//! Options of a reader.

use super::rows_writer::RowsWriter;
use super::unlogged_changes::UnloggedChanges;
use crate::change::{Operations, TableFilter, UpdateRule};
use crate::columnar::{EnvelopeColumn, PlanOptions};
use crate::filter::Filter;
use crate::source::LogOptions;
use std::sync::Arc;

/// The options of decoding segments.
#[derive(Debug, Clone)]
pub struct DecodeOptions {
    /// The tables to read; rows of others are skipped.
    pub tables: TableFilter,
    /// The operations to return; rows events of others are skipped.
    pub operations: Operations,
    /// The changes to return, by their values; all if `None`.
    pub filter: Option<Arc<Filter>>,
    /// The options that determine the schema of batches.
    pub plan: PlanOptions,
    /// The size of batches.
    pub limits: BatchLimits,
    /// The rows of updates and deletes.
    pub update_rule: UpdateRule,
    /// True if CRC32s of rows events are checked.
    pub verify_checksum: bool,
    /// The reaction to rows that actions of foreign keys change, and that no event contains.
    pub unlogged: UnloggedChanges,
    /// True if rows that were rolled back inside a compressed transaction are returned too.
    pub emit_uncommitted: bool,
    /// Writes rows in another form than Arrow; not with `filter`.
    pub writer: Option<Arc<dyn RowsWriter>>,
}

/// The limits of a batch, besides the end of its segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BatchLimits {
    /// The maximum number of rows.
    pub rows: usize,
    /// The approximate maximum number of bytes.
    pub bytes: usize,
}

impl Default for BatchLimits {
    fn default() -> Self {
        Self { rows: 65_536, bytes: 32 << 20 }
    }
}

impl Default for DecodeOptions {
    fn default() -> Self {
        Self {
            tables: TableFilter::default(),
            operations: Operations::default(),
            filter: None,
            plan: PlanOptions::default(),
            limits: BatchLimits::default(),
            update_rule: UpdateRule::default(),
            verify_checksum: true,
            unlogged: UnloggedChanges::default(),
            emit_uncommitted: false,
            writer: None,
        }
    }
}

/// The options of reading files.
#[derive(Debug, Clone, Default)]
pub struct ReadOptions {
    /// The options of cutting files into segments.
    pub cut: LogOptions,
    /// The options of decoding segments.
    pub decode: DecodeOptions,
    /// The number of decoding threads; 0 for one per core.
    pub threads: usize,
    /// True if indexes beside files are used.
    pub uses_indexes: bool,
}

impl ReadOptions {
    /// Compares patterns with names of tables in lower case, because the server has them in lower
    /// case.
    pub fn fold_names(&mut self) {
        for tables in [&mut self.decode.tables, &mut self.cut.include.tables] {
            *tables = std::mem::take(tables).folded();
        }
    }

    /// Requests the metadata in segments that the options of decoding need.
    pub fn carry_what_is_asked_for(&mut self) {
        let envelope = &self.decode.plan.envelope;
        self.cut.carries_statements = envelope.has(EnvelopeColumn::Query);
        self.cut.with_commit_details = envelope.columns.iter().any(|column| column.is_detail());
    }
}
