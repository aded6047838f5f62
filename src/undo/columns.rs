//! The columns that the statements for a table use.

use super::cells::{Use, compared};
use super::table::Table;
use crate::columnar::TablePlan;
use crate::error::Error;
use crate::schema::{Column, ColumnType};

/// The columns that the statements for a table use, by their index in the table.
#[derive(Debug)]
pub(super) struct Columns {
    /// The columns that statements set.
    pub(super) set: Vec<SetColumn>,
    /// The columns that identify rows.
    pub(super) key: Vec<KeyColumn>,
    /// The columns that may contain the end of a row's period in a system-versioned table.
    pub(super) ends: Vec<usize>,
}

/// A column that statements set.
#[derive(Debug)]
pub(super) struct SetColumn {
    pub(super) index: usize,
    /// True if an UPDATE that does not set it may change it: ON UPDATE CURRENT_TIMESTAMP.
    pub(super) is_always_set: bool,
    pub(super) is_enum: bool,
}

/// A column that identifies rows.
#[derive(Debug)]
pub(super) struct KeyColumn {
    pub(super) index: usize,
    /// The expression that is compared.
    pub(super) expression: Vec<u8>,
}

impl Columns {
    /// `is_text`: true if the values of a column of characters were converted to UTF-8.
    pub(super) fn of(plan: &TablePlan, table: &Table, is_text: impl Fn(usize) -> bool) -> Self {
        let columns = || plan.table.columns.iter().enumerate();
        let set = columns().zip(&table.is_set).filter(|(_, is_set)| **is_set);
        let set = set.map(|((index, column), _)| SetColumn {
            index,
            is_always_set: is_time_of_update(column),
            is_enum: matches!(column.column_type, ColumnType::Enum { .. }),
        });
        let of = key_use(table);
        let key = key_indexes(table).into_iter().filter_map(|index| {
            let column = plan.table.columns.get(index)?;
            let name = table.names.get(index).map(Vec::as_slice).unwrap_or_default();
            let mut expression = Vec::new();
            match of {
                // The numbers of a SET are not compared with its text.
                Use::Value if !matches!(column.column_type, ColumnType::Set { .. }) => {
                    expression.extend_from_slice(name);
                }
                _ => compared(column, name, is_text(index), &mut expression),
            }
            Some(KeyColumn { index, expression })
        });
        Self { set: set.collect(), key: key.collect(), ends: period_ends(plan) }
    }
}

/// The columns that identify rows: those of the key, or all that statements set.
pub(super) fn key_indexes(table: &Table) -> Vec<usize> {
    match &table.key {
        Some(key) => key.clone(),
        None => (0..table.is_set.len())
            .filter(|index| table.is_set.get(*index) == Some(&true))
            .collect(),
    }
}

/// The use of the values that identify rows.
pub(super) fn key_use(table: &Table) -> Use {
    if table.key.is_some() { Use::Value } else { Use::Exact }
}

/// The columns that may contain the end of a row's period: both columns of a period are NOT NULL.
fn period_ends(plan: &TablePlan) -> Vec<usize> {
    let is_time = |column: &Column| {
        !column.nullable && column.column_type == ColumnType::Timestamp2 { fsp: 6 }
    };
    let columns = plan.table.columns.iter().enumerate();
    let times: Vec<usize> =
        columns.filter(|(_, column)| is_time(column)).map(|(index, _)| index).collect();
    if !plan.is_mariadb() || times.len() < 2 {
        return Vec::new();
    }
    times
}

/// True if the column may be declared ON UPDATE CURRENT_TIMESTAMP, which the log does not contain.
const fn is_time_of_update(column: &Column) -> bool {
    use ColumnType as T;
    matches!(
        column.column_type,
        T::DateTime2 { .. } | T::DateTimeOld { .. } | T::Timestamp2 { .. } | T::TimestampOld { .. }
    )
}

/// The error for a column whose type has no literals.
pub(super) fn unsupported(plan: &TablePlan, index: usize) -> Error {
    let name = plan.names.get(index).map_or("?", AsRef::as_ref);
    let sql_type = plan.table.columns.get(index).map(Column::sql_type).unwrap_or_default();
    Error::unsupported(format!(
        "table {}: column {name}: values of type {sql_type} cannot be written as SQL; leave the table out",
        plan.table.full_name()
    ))
}
