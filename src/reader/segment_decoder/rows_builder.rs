//! The rows of a table under construction: as an Arrow batch, or in the form of a writer.

use crate::binlog::RowsEvent;
use crate::change::UpdateRule;
use crate::columnar::{RowCounts, RowImages, SpareVectors, Stamp, TableBuilder, TablePlan};
use crate::error::{Error, ErrorKind, Result};
use crate::reader::rows_writer::{RowsWriter, TableWriter, WrittenRows};
use arrow_array::{RecordBatch, RecordBatchOptions};
use arrow_schema::Schema;
use std::sync::Arc;

/// The rows of a table under construction.
pub(super) enum RowsBuilder {
    Arrow(Box<TableBuilder>),
    Written {
        plan: Arc<TablePlan>,
        writer: Box<dyn TableWriter>,
        /// The number of changes since the last batch.
        changes: usize,
    },
}

impl RowsBuilder {
    pub(super) fn try_new(
        plan: Arc<TablePlan>,
        rule: UpdateRule,
        writer: Option<&dyn RowsWriter>,
        spare: &SpareVectors,
    ) -> Result<Self> {
        Ok(match writer {
            Some(writer) => {
                Self::Written { writer: writer.start(Arc::clone(&plan))?, plan, changes: 0 }
            }
            None => {
                let builder = TableBuilder::try_new(plan, rule)?;
                Self::Arrow(Box::new(builder.with_spare(spare.clone())))
            }
        })
    }

    /// The plan of the rows.
    #[inline]
    pub(super) fn plan(&self) -> &Arc<TablePlan> {
        match self {
            Self::Arrow(builder) => builder.plan(),
            Self::Written { plan, .. } => plan,
        }
    }

    /// The number of rows so far; of a writer, the number of changes.
    pub(super) fn rows(&self) -> usize {
        match self {
            Self::Arrow(builder) => builder.rows(),
            Self::Written { changes, .. } => *changes,
        }
    }

    /// The approximate number of bytes so far.
    pub(super) fn bytes(&self) -> usize {
        match self {
            Self::Arrow(builder) => builder.bytes(),
            Self::Written { writer, .. } => writer.bytes(),
        }
    }

    /// Appends the rows of an event. `left_out`: the number of its first changes that the caller leaves out of the batch.
    pub(super) fn append(
        &mut self,
        event: &RowsEvent<'_>,
        stamp: &Stamp<'_>,
        left_out: u64,
    ) -> Result<RowCounts> {
        match self {
            Self::Arrow(builder) => builder.append(event, stamp),
            Self::Written { writer, changes, .. } => {
                let counts = writer.append(event, stamp, left_out)?;
                *changes += usize::try_from(counts.changes()).unwrap_or(usize::MAX);
                Ok(counts)
            }
        }
    }

    /// See [`TableBuilder::cuts`]. The rows of a writer are not divided.
    pub(super) fn cuts(&self, first: usize, limit: usize) -> Vec<usize> {
        match self {
            Self::Arrow(builder) => builder.cuts(first, limit),
            Self::Written { changes, .. } if first < *changes => vec![*changes],
            Self::Written { .. } => Vec::new(),
        }
    }

    /// See [`TableBuilder::changes_before`].
    pub(super) fn changes_before(&self, row: usize) -> u64 {
        match self {
            Self::Arrow(builder) => builder.changes_before(row),
            Self::Written { .. } => 0,
        }
    }

    /// See [`TableBuilder::row_of_change`].
    pub(super) fn row_of_change(&self, change: u64) -> usize {
        match self {
            Self::Arrow(builder) => builder.row_of_change(change),
            Self::Written { changes, .. } => {
                usize::try_from(change).map_or(*changes, |change| change.min(*changes))
            }
        }
    }

    /// See [`TableBuilder::watch_images`].
    pub(super) fn watch_images(&mut self) {
        if let Self::Arrow(builder) = self {
            builder.watch_images();
        }
    }

    /// The images of the rows, which filters need; a writer has no filter.
    pub(super) fn images(&self) -> Option<RowImages> {
        match self {
            Self::Arrow(builder) => Some(builder.images()),
            Self::Written { .. } => None,
        }
    }

    /// See [`TableBuilder::take_zero_dates`].
    pub(super) fn take_zero_dates(&mut self) -> Vec<(usize, u64)> {
        match self {
            Self::Arrow(builder) => builder.take_zero_dates().collect(),
            Self::Written { .. } => Vec::new(),
        }
    }

    /// Returns the rows so far. The batch of a writer's rows has no columns.
    pub(super) fn finish(&mut self) -> Result<(RecordBatch, Option<WrittenRows>)> {
        match self {
            Self::Arrow(builder) => Ok((builder.finish()?, None)),
            Self::Written { writer, changes, .. } => {
                let rows = std::mem::take(changes);
                let options = RecordBatchOptions::new().with_row_count(Some(rows));
                let schema = Arc::new(Schema::empty());
                let batch = RecordBatch::try_new_with_options(schema, Vec::new(), &options)
                    .map_err(|error| Error::new(ErrorKind::Internal, error.to_string()))?;
                Ok((batch, Some(writer.finish())))
            }
        }
    }
}
