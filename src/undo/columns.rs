//! The columns of a batch: their literals on both sides.

use super::cells::{Cell, Use, cell, compared};
use super::changes::Side;
use super::same::{Same, same};
use super::table::Table;
use crate::columnar::TablePlan;
use crate::error::{Error, Result};
use crate::schema::{Column, ColumnType};
use arrow_array::cast::AsArray;
use arrow_array::types::UInt16Type;
use arrow_array::{Array, StringArray, UInt16Array};
use arrow_schema::DataType;

/// A column that statements set.
pub(super) struct SetColumn<'b> {
    pub(super) index: usize,
    pub(super) values: &'b dyn Array,
    pub(super) cell: Cell<'b>,
    /// True if the cell of a row is the same on the other side.
    pub(super) same: Same<'b>,
    /// True if an UPDATE that does not set it may change it: ON UPDATE CURRENT_TIMESTAMP.
    pub(super) is_always_set: bool,
    /// The ordinals of an ENUM.
    pub(super) ordinals: Option<&'b UInt16Array>,
}

/// A column that identifies rows.
pub(super) struct KeyColumn<'b> {
    pub(super) index: usize,
    /// The expression that is compared.
    pub(super) expression: Vec<u8>,
    pub(super) values: &'b dyn Array,
    pub(super) cell: Cell<'b>,
}

/// The columns that statements set, with their new values.
pub(super) fn set_columns<'b>(
    plan: &'b TablePlan,
    table: &Table,
    then: &Side<'b>,
    now: &Side<'b>,
) -> Result<Vec<SetColumn<'b>>> {
    let columns = plan.table.columns.iter().enumerate().zip(&table.is_set);
    let columns = columns.filter(|(_, is_set)| **is_set).map(|((index, column), _)| {
        let values = array(then, index).ok_or_else(|| unsupported(plan, index))?;
        let other = array(now, index).ok_or_else(|| unsupported(plan, index))?;
        let cell = cell(column, values, Use::Value).ok_or_else(|| unsupported(plan, index))?;
        let same = same(values, other).ok_or_else(|| unsupported(plan, index))?;
        let is_enum = matches!(column.column_type, ColumnType::Enum { .. });
        Ok(SetColumn {
            index,
            values,
            cell,
            same,
            is_always_set: is_time_of_update(column),
            ordinals: if is_enum { ordinals(values) } else { None },
        })
    });
    columns.collect()
}

/// The columns that identify rows: those of the key, or all that statements set.
pub(super) fn key_columns<'b>(
    plan: &'b TablePlan,
    table: &Table,
    now: &Side<'b>,
) -> Result<Vec<KeyColumn<'b>>> {
    let (indexes, of) = match &table.key {
        Some(key) => (key.clone(), Use::Value),
        None => {
            let all = table.is_set.iter().enumerate().filter(|(_, is_set)| **is_set);
            (all.map(|(index, _)| index).collect(), Use::Exact)
        }
    };
    let columns = indexes.into_iter().map(|index| {
        let column = plan.table.columns.get(index).ok_or_else(|| unsupported(plan, index))?;
        let values = array(now, index).ok_or_else(|| unsupported(plan, index))?;
        let cell = cell(column, values, of).ok_or_else(|| unsupported(plan, index))?;
        let name = table.names.get(index).map(Vec::as_slice).unwrap_or_default();
        let mut expression = Vec::new();
        let is_text = matches!(values.data_type(), DataType::Utf8);
        match of {
            // The numbers of a SET are not compared with its text.
            Use::Value if !matches!(column.column_type, ColumnType::Set { .. }) => {
                expression.extend_from_slice(name);
            }
            _ => compared(column, name, is_text, &mut expression),
        }
        Ok(KeyColumn { index, expression, values, cell })
    });
    columns.collect()
}

/// The columns that may contain the end of a row's period in a system-versioned table: both columns of a period are NOT NULL.
pub(super) fn period_ends<'b>(plan: &TablePlan, side: &Side<'b>) -> Vec<&'b StringArray> {
    let is_time = |column: &Column| {
        !column.nullable && column.column_type == ColumnType::Timestamp2 { fsp: 6 }
    };
    let columns = plan.table.columns.iter().enumerate();
    let times: Vec<usize> =
        columns.filter(|(_, column)| is_time(column)).map(|(index, _)| index).collect();
    if !plan.is_mariadb() || times.len() < 2 {
        return Vec::new();
    }
    let ends = times.into_iter();
    ends.filter_map(|index| array(side, index)?.as_string_opt::<i32>()).collect()
}

fn array<'b>(side: &Side<'b>, index: usize) -> Option<&'b dyn Array> {
    side.rows.columns().get(index).map(AsRef::as_ref)
}

fn ordinals(values: &dyn Array) -> Option<&UInt16Array> {
    match values.as_dictionary_opt::<UInt16Type>() {
        Some(dictionary) => Some(dictionary.keys()),
        None => values.as_primitive_opt::<UInt16Type>(),
    }
}

/// True if the column may be declared ON UPDATE CURRENT_TIMESTAMP, which the log does not contain.
const fn is_time_of_update(column: &Column) -> bool {
    use ColumnType as T;
    matches!(
        column.column_type,
        T::DateTime2 { .. } | T::DateTimeOld { .. } | T::Timestamp2 { .. } | T::TimestampOld { .. }
    )
}

fn unsupported(plan: &TablePlan, index: usize) -> Error {
    let name = plan.names.get(index).map_or("?", AsRef::as_ref);
    let sql_type = plan.table.columns.get(index).map(Column::sql_type).unwrap_or_default();
    Error::unsupported(format!(
        "table {}: column {name}: values of type {sql_type} cannot be written as SQL; leave the table out",
        plan.table.full_name()
    ))
}
