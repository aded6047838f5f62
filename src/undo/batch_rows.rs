//! The rows of a batch, for statements.

use super::cells::{Cell, Refused, Use, cell};
use super::changes::{Changes, Side as BatchSide};
use super::columns::{Columns, key_indexes, key_use, unsupported};
use super::rows::{ChangedRows, MAX_ENDS, Side};
use super::same::{Same, same};
use super::table::Table;
use crate::columnar::TablePlan;
use crate::error::{Error, Result};
use crate::schema::ColumnType;
use arrow_array::cast::AsArray;
use arrow_array::types::UInt16Type;
use arrow_array::{Array, UInt16Array};
use arrow_schema::DataType;

/// The rows of a batch.
pub(super) struct BatchRows<'b> {
    changes: &'b Changes<'b>,
    /// The cells of the columns that statements set, by their index in the table.
    values: Vec<Option<Value<'b>>>,
    /// The cells of the columns that identify rows.
    keys: Vec<Option<Key<'b>>>,
}

struct Value<'b> {
    values: &'b dyn Array,
    cell: Cell<'b>,
    same: Same<'b>,
    /// The ordinals of an ENUM.
    ordinals: Option<&'b UInt16Array>,
}

struct Key<'b> {
    values: &'b dyn Array,
    cell: Cell<'b>,
}

impl<'b> BatchRows<'b> {
    /// # Errors
    /// A column has a type without literals.
    pub(super) fn try_new(
        plan: &'b TablePlan,
        table: &Table,
        changes: &'b Changes<'b>,
    ) -> Result<Self> {
        let columns = plan.table.columns.iter().enumerate().zip(&table.is_set);
        let values = columns.map(|((index, column), is_set)| {
            if !is_set {
                return Ok(None);
            }
            let values = array(&changes.then, index).ok_or_else(|| unsupported(plan, index))?;
            let other = array(&changes.now, index).ok_or_else(|| unsupported(plan, index))?;
            let cell = cell(column, values, Use::Value).ok_or_else(|| unsupported(plan, index))?;
            let same = same(values, other).ok_or_else(|| unsupported(plan, index))?;
            let is_enum = matches!(column.column_type, ColumnType::Enum { .. });
            let ordinals = if is_enum { ordinals(values) } else { None };
            Ok(Some(Value { values, cell, same, ordinals }))
        });
        let values = values.collect::<Result<_>>()?;
        let mut keys: Vec<Option<Key<'b>>> = plan.names.iter().map(|_| None).collect();
        for index in key_indexes(table) {
            let column = plan.table.columns.get(index).ok_or_else(|| unsupported(plan, index))?;
            let values = array(&changes.now, index).ok_or_else(|| unsupported(plan, index))?;
            let cell =
                cell(column, values, key_use(table)).ok_or_else(|| unsupported(plan, index))?;
            if let Some(key) = keys.get_mut(index) {
                *key = Some(Key { values, cell });
            }
        }
        Ok(Self { changes, values, keys })
    }

    /// The columns of the statements.
    pub(super) fn columns(&self, plan: &TablePlan, table: &Table) -> Columns {
        Columns::of(plan, table, |index| {
            self.key(index).is_some_and(|key| *key.values.data_type() == DataType::Utf8)
        })
    }

    fn value(&self, column: usize) -> Option<&Value<'b>> {
        self.values.get(column)?.as_ref()
    }

    fn key(&self, column: usize) -> Option<&Key<'b>> {
        self.keys.get(column)?.as_ref()
    }

    fn side(&self, side: Side) -> &BatchSide<'b> {
        match side {
            Side::Now => &self.changes.now,
            Side::Then => &self.changes.then,
        }
    }
}

impl ChangedRows for BatchRows<'_> {
    fn has(&self, side: Side, row: usize) -> bool {
        self.side(side).is_there(row)
    }

    fn present(&self, side: Side, row: usize) -> &[u8] {
        self.side(side).present.value(row)
    }

    fn is_same(&self, column: usize, row: usize) -> bool {
        self.value(column).is_some_and(|value| (value.same)(row))
    }

    fn is_value_null(&self, column: usize, row: usize) -> bool {
        self.value(column).is_none_or(|value| value.values.is_null(row))
    }

    fn write_value(&self, column: usize, row: usize, out: &mut Vec<u8>) -> Result<(), Refused> {
        self.value(column).map_or(Err(Refused::Document), |value| (value.cell)(row, out))
    }

    fn is_error_value(&self, column: usize, row: usize) -> bool {
        let ordinals = self.value(column).and_then(|value| value.ordinals);
        ordinals.is_some_and(|keys| keys.is_valid(row) && keys.value(row) == 0)
    }

    fn is_key_null(&self, column: usize, row: usize) -> bool {
        self.key(column).is_none_or(|key| key.values.is_null(row))
    }

    fn write_key(&self, column: usize, row: usize, out: &mut Vec<u8>) -> Result<(), Refused> {
        self.key(column).map_or(Err(Refused::Document), |key| (key.cell)(row, out))
    }

    fn is_without_end(&self, side: Side, column: usize, row: usize) -> bool {
        let ends = array(self.side(side), column).and_then(|ends| ends.as_string_opt::<i32>());
        ends.is_some_and(|end| end.is_valid(row) && MAX_ENDS.contains(&end.value(row)))
    }

    fn at_row(&self, error: Error, row: usize) -> Error {
        self.changes.at_row(error, row)
    }
}

fn array<'b>(side: &BatchSide<'b>, index: usize) -> Option<&'b dyn Array> {
    side.rows.columns().get(index).map(AsRef::as_ref)
}

fn ordinals(values: &dyn Array) -> Option<&UInt16Array> {
    match values.as_dictionary_opt::<UInt16Type>() {
        Some(dictionary) => Some(dictionary.keys()),
        None => values.as_primitive_opt::<UInt16Type>(),
    }
}
