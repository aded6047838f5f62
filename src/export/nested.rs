//! A batch in the nested layout, with access to its columns by name.

use crate::columnar::TablePlan;
use crate::error::{Error, Result};
use crate::reader::ChangeBatch;
use crate::schema::Column;
use arrow_array::cast::AsArray;
use arrow_array::{
    Array, ArrowPrimitiveType, BinaryArray, PrimitiveArray, RecordBatch, StringArray, StructArray,
};

/// The changes of a batch.
pub(super) struct Nested<'b> {
    batch: &'b RecordBatch,
    pub(super) plan: &'b TablePlan,
    op: &'b StringArray,
    pub(super) before: Side<'b>,
    pub(super) after: Side<'b>,
}

/// The rows before the changes, or after.
pub(super) struct Side<'b> {
    rows: &'b StructArray,
    present: &'b BinaryArray,
}

/// A column of a side.
pub(super) struct SideColumn<'b> {
    pub(super) name: &'b str,
    /// Its index in the table.
    pub(super) index: usize,
    pub(super) column: &'b Column,
    pub(super) values: &'b dyn Array,
}

impl<'b> Nested<'b> {
    pub(super) fn try_new(change: &'b ChangeBatch) -> Result<Self> {
        let batch = &change.batch;
        let side = |name, present| -> Result<Side<'b>> {
            let rows = find(batch, name)?.as_struct_opt().ok_or_else(|| unfit(name))?;
            let present = find(batch, present)?.as_binary_opt().ok_or_else(|| unfit(present))?;
            Ok(Side { rows, present })
        };
        Ok(Self {
            batch,
            plan: &change.plan,
            op: find(batch, "_op")?.as_string_opt().ok_or_else(|| unfit("_op"))?,
            before: side("before", "_present_before")?,
            after: side("after", "_present_after")?,
        })
    }

    pub(super) fn rows(&self) -> usize {
        self.batch.num_rows()
    }

    /// `c`, `u` or `d`.
    pub(super) fn op(&self, row: usize) -> &'b str {
        self.op.value(row)
    }

    /// A column of numbers of the envelope.
    pub(super) fn numbers<T: ArrowPrimitiveType>(
        &self,
        name: &str,
    ) -> Result<&'b PrimitiveArray<T>> {
        find(self.batch, name)?.as_primitive_opt().ok_or_else(|| unfit(name))
    }

    /// A column of text of the envelope.
    pub(super) fn texts(&self, name: &str) -> Result<&'b StringArray> {
        find(self.batch, name)?.as_string_opt().ok_or_else(|| unfit(name))
    }

    /// An optional column.
    pub(super) fn optional(&self, name: &str) -> Option<&'b dyn Array> {
        self.batch.column_by_name(name).map(AsRef::as_ref)
    }
}

impl<'b> Side<'b> {
    /// True if the change has this side.
    pub(super) fn is_there(&self, row: usize) -> bool {
        self.rows.is_valid(row)
    }

    /// True if the row contains column `index` of the table.
    pub(super) fn holds(&self, row: usize, index: usize) -> bool {
        is_held(self.present(row), index)
    }

    /// The columns of the table that the row contains, as bits.
    pub(super) fn present(&self, row: usize) -> &'b [u8] {
        self.present.value(row)
    }

    /// The columns of this side.
    pub(super) fn columns(&self, plan: &'b TablePlan) -> Result<Vec<SideColumn<'b>>> {
        let fields = self.rows.fields().iter().zip(self.rows.columns());
        fields
            .map(|(field, values)| {
                let name = field.name().as_str();
                let (index, column) = plan.column(name).ok_or_else(|| unfit(name))?;
                Ok(SideColumn { name, index, column, values: values.as_ref() })
            })
            .collect()
    }
}

/// True if the bit of column `index` is set.
#[inline]
pub(super) fn is_held(bits: &[u8], index: usize) -> bool {
    bits.get(index / 8).is_some_and(|byte| byte & (1 << (index % 8)) != 0)
}

fn find<'b>(batch: &'b RecordBatch, name: &str) -> Result<&'b dyn Array> {
    batch.column_by_name(name).map(AsRef::as_ref).ok_or_else(|| unfit(name))
}

/// The error for a batch that was read with other options.
pub(super) fn unfit(name: &str) -> Error {
    Error::config(format!(
        "events cannot be created from the batch: its column {name:?} is missing or of another type; read with \
         **event_keywords(...)"
    ))
}
