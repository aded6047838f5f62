//! A batch in the nested layout, with the columns of its envelope.

use super::Direction;
use super::transaction::Transaction;
use crate::error::{Error, Result};
use arrow_array::cast::AsArray;
use arrow_array::types::{Int64Type, TimestampMicrosecondType};
use arrow_array::{
    Array, ArrowPrimitiveType, BinaryArray, PrimitiveArray, RecordBatch, StringArray, StructArray,
};
use std::sync::Arc;

/// The changes of a batch.
pub(super) struct Changes<'b> {
    pub(super) versions: &'b PrimitiveArray<Int64Type>,
    pub(super) ordinals: &'b PrimitiveArray<Int64Type>,
    pub(super) times: &'b PrimitiveArray<TimestampMicrosecondType>,
    pub(super) files: &'b StringArray,
    pub(super) places: &'b PrimitiveArray<Int64Type>,
    pub(super) gtids: &'b StringArray,
    pub(super) threads: &'b PrimitiveArray<Int64Type>,
    /// The rows that the table has when the SQL is executed.
    pub(super) now: Side<'b>,
    /// The rows that it has afterwards.
    pub(super) then: Side<'b>,
}

/// The rows before the changes, or after.
pub(super) struct Side<'b> {
    pub(super) rows: &'b StructArray,
    pub(super) present: &'b BinaryArray,
}

impl<'b> Changes<'b> {
    pub(super) fn try_new(batch: &'b RecordBatch, direction: Direction) -> Result<Self> {
        let find = |name: &str| -> Result<&'b dyn Array> {
            batch.column_by_name(name).map(AsRef::as_ref).ok_or_else(|| unfit(name))
        };
        let side = |name: &str, present: &str| -> Result<Side<'b>> {
            let rows = find(name)?.as_struct_opt().ok_or_else(|| unfit(name))?;
            let present = find(present)?.as_binary_opt().ok_or_else(|| unfit(present))?;
            Ok(Side { rows, present })
        };
        let texts = |name: &str| find(name)?.as_string_opt().ok_or_else(|| unfit(name));
        let before = side("before", "_present_before")?;
        let after = side("after", "_present_after")?;
        let (now, then) = match direction {
            Direction::Undo => (after, before),
            Direction::Redo => (before, after),
        };
        Ok(Self {
            versions: numbers(find("_commit_version")?, "_commit_version")?,
            ordinals: numbers(find("_change_ordinal")?, "_change_ordinal")?,
            times: numbers(find("_commit_timestamp")?, "_commit_timestamp")?,
            files: texts("_binlog_file")?,
            places: numbers(find("_binlog_position")?, "_binlog_position")?,
            gtids: texts("_gtid")?,
            threads: numbers(find("_thread_id")?, "_thread_id")?,
            now,
            then,
        })
    }

    /// The GTID of a row's transaction.
    pub(super) fn gtid(&self, row: usize) -> Option<&'b str> {
        self.gtids.is_valid(row).then(|| self.gtids.value(row))
    }

    /// The connection that made a change.
    pub(super) fn thread(&self, row: usize) -> Option<i64> {
        self.threads.is_valid(row).then(|| self.threads.value(row))
    }

    /// The transaction of a row.
    pub(super) fn transaction(&self, row: usize) -> Transaction<'b> {
        Transaction {
            version: self.versions.value(row),
            time: self.times.value(row),
            file: self.files.value(row),
            gtid: self.gtid(row),
            thread: self.thread(row),
        }
    }

    /// Adds the place of a row's event to an error.
    pub(super) fn at_row(&self, error: Error, row: usize) -> Error {
        let file: Arc<str> = self.files.value(row).into();
        let offset = u64::try_from(self.places.value(row)).unwrap_or(0);
        error.in_file(&file).at_event(offset, "rows event")
    }
}

impl Side<'_> {
    /// True if the change has this side.
    pub(super) fn is_there(&self, row: usize) -> bool {
        self.rows.is_valid(row)
    }
}

fn numbers<'b, T: ArrowPrimitiveType>(
    array: &'b dyn Array,
    name: &str,
) -> Result<&'b PrimitiveArray<T>> {
    array.as_primitive_opt().ok_or_else(|| unfit(name))
}

/// The error for a batch that was read with other options.
fn unfit(name: &str) -> Error {
    Error::config(format!(
        "SQL cannot be created from the batch: its column {name:?} is missing or of another type; use binarrow.undo(...)"
    ))
}
