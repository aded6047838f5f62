//! What a reader can be told.

use super::unlogged::UnloggedChanges;
use crate::change::{Operations, TableFilter, UpdateRule};
use crate::columnar::{EnvelopeColumn, PlanOptions};
use crate::source::LogOptions;

/// How segments are decoded.
#[derive(Debug, Clone)]
pub struct DecodeOptions {
    /// Which tables; rows of others are passed over.
    pub tables: TableFilter,
    /// Which operations; rows events of others are passed over.
    pub operations: Operations,
    /// What shapes the batches.
    pub plan: PlanOptions,
    /// How large they get.
    pub limits: BatchLimits,
    /// Which rows come out of updates and deletes.
    pub update_rule: UpdateRule,
    /// Whether CRC32s of rows events are checked.
    pub verify_checksum: bool,
    /// The reaction to rows that actions of foreign keys change, and that no event contains.
    pub unlogged: UnloggedChanges,
    /// Whether what was rolled back inside a compressed transaction is given too.
    pub emit_uncommitted: bool,
}

/// What ends a batch, besides the end of its segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BatchLimits {
    /// The most rows.
    pub rows: usize,
    /// About the most bytes.
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
            plan: PlanOptions::default(),
            limits: BatchLimits::default(),
            update_rule: UpdateRule::default(),
            verify_checksum: true,
            unlogged: UnloggedChanges::default(),
            emit_uncommitted: false,
        }
    }
}

/// How files are read.
#[derive(Debug, Clone, Default)]
pub struct ReadOptions {
    /// How files are cut.
    pub cut: LogOptions,
    /// How segments are decoded.
    pub decode: DecodeOptions,
    /// Decoding threads; 0 for one a core.
    pub threads: usize,
}

impl ReadOptions {
    /// Names of tables are in lower case at the server: patterns are compared with them in lower case.
    pub fn fold_names(&mut self) {
        for tables in [&mut self.decode.tables, &mut self.cut.include.tables] {
            *tables = std::mem::take(tables).folded();
        }
    }

    /// Lets segments carry what decoding needs.
    pub fn carry_what_is_asked_for(&mut self) {
        let envelope = &self.decode.plan.envelope;
        self.cut.carries_statements = envelope.has(EnvelopeColumn::Query);
        self.cut.tells_commits = envelope.columns.iter().any(|column| column.is_detail());
    }
}
