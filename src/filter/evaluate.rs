//! The rows of a batch for which a filter is true.

use super::bind::{BoundColumn, BoundFilter};
use super::cells::{Cell, Cells, cells};
use super::class::Class;
use super::expression::{Expression, Side};
use super::literal::Value;
use crate::columnar::{ChangeImages, RowImages};
use crate::error::{Error, ErrorKind, Result};
use arrow_array::cast::AsArray;
use arrow_array::{Array, RecordBatch};
use std::cmp::Ordering;

impl BoundFilter {
    /// For each row of a batch, true if its change is kept.
    ///
    /// # Errors
    /// The filter needs a column that the log leaves out.
    pub fn kept_rows(&self, batch: &RecordBatch, images: &RowImages) -> Result<Vec<bool>> {
        let columns = self.columns.iter().map(|column| Sides::of(batch, images, column));
        let columns: Vec<Sides<'_>> = columns.collect::<Option<_>>().ok_or_else(|| {
            let message =
                format!("table {}: a column has a type that the filter does not know", self.table);
            Error::new(ErrorKind::Internal, message)
        })?;
        let mut kept = vec![false; batch.num_rows()];
        for change in images.changes() {
            let change = Change { filter: self, columns: &columns, images, places: change };
            if change.is_kept()? {
                for row in [change.places.before, change.places.after].into_iter().flatten() {
                    if let Some(kept) = kept.get_mut(row) {
                        *kept = true;
                    }
                }
            }
        }
        Ok(kept)
    }

    /// For each row of a batch of complete rows, true if it is selected. The first columns are those of the plan.
    ///
    /// # Errors
    /// The batch has other columns.
    pub fn kept_of_rows(&self, rows: &RecordBatch) -> Result<Vec<bool>> {
        let columns = self.columns.iter().map(|column| column.index + 1).max().unwrap_or(0);
        self.kept_rows(rows, &RowImages::of_rows(rows.num_rows(), columns))
    }
}

/// A column's cells before and after changes.
struct Sides<'a> {
    before: Cells<'a>,
    after: Cells<'a>,
}

impl<'a> Sides<'a> {
    fn of(batch: &'a RecordBatch, images: &RowImages, column: &BoundColumn) -> Option<Self> {
        let side = |name: &str| -> Option<Cells<'a>> {
            let array: &dyn Array = match images.is_nested() {
                true => batch.column_by_name(name)?.as_struct_opt()?.columns().get(column.field)?,
                false => batch.columns().get(column.field)?,
            };
            cells(array, column.class)
        };
        Some(Self { before: side("before")?, after: side("after")? })
    }
}

/// A change: a row, or two rows of an update.
struct Change<'a, 'b> {
    filter: &'b BoundFilter,
    columns: &'b [Sides<'a>],
    images: &'b RowImages,
    places: &'b ChangeImages,
}

impl<'a> Change<'a, '_> {
    fn is_kept(&self) -> Result<bool> {
        let has_either = self.filter.columns.iter().any(|column| column.side == Side::Either);
        let sides = match has_either {
            false => [Some(Side::New), None],
            true => [self.places.before.map(|_| Side::Old), self.places.after.map(|_| Side::New)],
        };
        let mut lacks = None;
        for side in sides.into_iter().flatten() {
            match self.filter.columns.iter().find(|column| self.is_left_out(column, side)) {
                Some(column) => lacks = Some(column),
                None if self.evaluate(&self.filter.expression, side) == Some(true) => {
                    return Ok(true);
                }
                None => {}
            }
        }
        match lacks {
            None => Ok(false),
            Some(column) => Err(Error::schema(format!(
                "table {}: the log leaves out column {:?} of a row (binlog_row_image MINIMAL or NOBLOB; on MariaDB also generated \
                 columns), so the filter of ⟦where⟧ is not known: use only columns that the log contains, such as the key",
                self.filter.table, column.name
            ))),
        }
    }

    /// The row of a column, if a plain column is that of `side`; `None` if the change has no such row.
    fn row(&self, column: &BoundColumn, side: Side) -> Option<(Side, usize)> {
        let side = if column.side == Side::Either { side } else { column.side };
        match (side, self.places.before, self.places.after) {
            (Side::Old, Some(before), _) => Some((Side::Old, before)),
            (Side::Old, None, _) | (_, _, None) => None,
            // The image after an update may leave out columns that did not change.
            (_, Some(before), Some(after))
                if !self.images.has(after, true, column.index)
                    && self.images.has(before, false, column.index) =>
            {
                Some((Side::Old, before))
            }
            (_, _, Some(after)) => Some((Side::New, after)),
        }
    }

    fn is_left_out(&self, column: &BoundColumn, side: Side) -> bool {
        let is_after = |side| side == Side::New;
        self.row(column, side)
            .is_some_and(|(side, row)| !self.images.has(row, is_after(side), column.index))
    }

    fn cell(&self, column: usize, side: Side) -> Cell<'a> {
        let (Some(bound), Some(sides)) =
            (self.filter.columns.get(column), self.columns.get(column))
        else {
            return Cell::Null;
        };
        match self.row(bound, side) {
            None => Cell::Null,
            Some((Side::Old, row)) => (sides.before)(row),
            Some((_, row)) => (sides.after)(row),
        }
    }

    /// True, false, or `None` for unknown.
    fn evaluate(&self, expression: &Expression<usize, Value>, side: Side) -> Option<bool> {
        match expression {
            Expression::Any(each) => {
                let mut result = Some(false);
                for each in each {
                    match self.evaluate(each, side) {
                        Some(true) => return Some(true),
                        None => result = None,
                        Some(false) => {}
                    }
                }
                result
            }
            Expression::All(each) => {
                let mut result = Some(true);
                for each in each {
                    match self.evaluate(each, side) {
                        Some(false) => return Some(false),
                        None => result = None,
                        Some(true) => {}
                    }
                }
                result
            }
            Expression::Not(inside) => self.evaluate(inside, side).map(|result| !result),
            Expression::Compare(column, comparison, value) => {
                compare(self.cell(*column, side), value).map(|order| comparison.accepts(order))
            }
            Expression::CompareColumns(one, comparison, other) => {
                compare_cells(self.cell(*one, side), self.cell(*other, side))
                    .map(|order| comparison.accepts(order))
            }
            Expression::In(column, values) => {
                let cell = self.cell(*column, side);
                let is_in =
                    || values.iter().any(|value| compare(cell, value) == Some(Ordering::Equal));
                (cell != Cell::Null).then(is_in)
            }
            Expression::Like(column, pattern) => match self.cell(*column, side) {
                Cell::Bytes(text) => {
                    let class = self.filter.columns.get(*column).map(|column| column.class);
                    Some(pattern.matches(text, class == Some(Class::Text)))
                }
                _ => None,
            },
            Expression::IsNull(column) => Some(self.cell(*column, side) == Cell::Null),
        }
    }
}

/// The order of a cell and a constant; `None` for NULL.
fn compare(cell: Cell<'_>, value: &Value) -> Option<Ordering> {
    match (cell, value) {
        (Cell::Number(cell), Value::Number { floor, is_exact }) => Some(match cell.cmp(floor) {
            // The constant is above its floor.
            Ordering::Equal if !is_exact => Ordering::Less,
            order => order,
        }),
        (Cell::Float(cell), Value::Float(value)) => cell.partial_cmp(value),
        (Cell::Bytes(cell), Value::Bytes(value)) => Some(cell.cmp(value)),
        (Cell::Micros(cell), Value::Micros(value)) => Some(cell.cmp(value)),
        _ => None,
    }
}

/// The order of two cells of one class; `None` if one is NULL.
fn compare_cells(one: Cell<'_>, other: Cell<'_>) -> Option<Ordering> {
    match (one, other) {
        (Cell::Number(one), Cell::Number(other)) => Some(one.cmp(&other)),
        (Cell::Float(one), Cell::Float(other)) => one.partial_cmp(&other),
        (Cell::Bytes(one), Cell::Bytes(other)) => Some(one.cmp(other)),
        (Cell::Micros(one), Cell::Micros(other)) => Some(one.cmp(&other)),
        _ => None,
    }
}
