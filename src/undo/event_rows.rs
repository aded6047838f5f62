//! The rows of an event, for statements.

use super::Direction;
use super::cells::{Refused, Use};
use super::columns::{Columns, key_indexes, key_use, unsupported};
use super::rows::{ChangedRows, MAX_ENDS, Side};
use super::stored_cells::{StoredCell, is_error_value, is_one_of};
use super::table::Table;
use crate::columnar::{StoredChanges, StoredImages, TablePlan, TextOf};
use crate::error::{Error, Result};
use std::cell::RefCell;

/// The converters of a table's cells.
pub(super) struct Converters {
    /// Those of the columns that statements set, by their index in the table.
    values: Vec<Option<StoredCell>>,
    /// Those of the columns that identify rows.
    keys: Vec<Option<StoredCell>>,
    /// The text of columns that may contain the end of a row's period.
    ends: Vec<(usize, RefCell<TextOf>)>,
}

impl Converters {
    /// # Errors
    /// A column has a type without literals.
    pub(super) fn try_new(plan: &TablePlan, table: &Table, columns: &Columns) -> Result<Self> {
        let cell = |index, of| {
            let cell = StoredCell::of(plan, index, of);
            cell.map(Some).ok_or_else(|| unsupported(plan, index))
        };
        let set = table.is_set.iter().enumerate();
        let values =
            set.map(|(index, is_set)| if *is_set { cell(index, Use::Value) } else { Ok(None) });
        let values = values.collect::<Result<_>>()?;
        let mut keys: Vec<Option<StoredCell>> = plan.names.iter().map(|_| None).collect();
        for index in key_indexes(table) {
            if let Some(key) = keys.get_mut(index) {
                *key = cell(index, key_use(table))?;
            }
        }
        let ends = columns.ends.iter();
        let ends = ends.filter_map(|index| Some((*index, RefCell::new(plan.text_of(*index)?))));
        Ok(Self { values, keys, ends: ends.collect() })
    }
}

/// Consecutive rows of an event.
pub(super) struct EventRows<'e> {
    now: Option<StoredImages<'e>>,
    then: Option<StoredImages<'e>>,
    converters: &'e Converters,
}

impl<'e> EventRows<'e> {
    pub(super) fn new(
        changes: &StoredChanges<'e>,
        direction: Direction,
        converters: &'e Converters,
    ) -> Self {
        let (now, then) = match direction {
            Direction::Undo => (changes.after, changes.before),
            Direction::Redo => (changes.before, changes.after),
        };
        Self { now, then, converters }
    }

    fn side(&self, side: Side) -> Option<StoredImages<'e>> {
        match side {
            Side::Now => self.now,
            Side::Then => self.then,
        }
    }
}

impl ChangedRows for EventRows<'_> {
    #[inline]
    fn has(&self, side: Side, _row: usize) -> bool {
        self.side(side).is_some()
    }

    #[inline]
    fn present(&self, side: Side, _row: usize) -> &[u8] {
        self.side(side).map_or(&[], |images| images.present())
    }

    fn is_same(&self, column: usize, row: usize) -> bool {
        let bytes = |side| self.side(side).and_then(|images| images.cell_bytes(column, row));
        bytes(Side::Now) == bytes(Side::Then)
    }

    fn is_value_null(&self, column: usize, row: usize) -> bool {
        self.then.is_none_or(|images| images.cell(column, row).is_none())
    }

    #[inline]
    fn write_value(&self, column: usize, row: usize, out: &mut Vec<u8>) -> Result<(), Refused> {
        let cell = self.then.and_then(|images| images.cell(column, row));
        match (self.converters.values.get(column), cell) {
            (Some(Some(converter)), Some(cell)) => converter.write(cell, out),
            _ => Err(Refused::Document),
        }
    }

    fn is_error_value(&self, column: usize, row: usize) -> bool {
        let cell = self.then.and_then(|images| images.cell_bytes(column, row));
        cell.is_some_and(is_error_value)
    }

    #[inline]
    fn is_key_null(&self, column: usize, row: usize) -> bool {
        self.now.is_none_or(|images| images.cell(column, row).is_none())
    }

    #[inline]
    fn write_key(&self, column: usize, row: usize, out: &mut Vec<u8>) -> Result<(), Refused> {
        let cell = self.now.and_then(|images| images.cell(column, row));
        match (self.converters.keys.get(column), cell) {
            (Some(Some(converter)), Some(cell)) => converter.write(cell, out),
            _ => Err(Refused::Document),
        }
    }

    fn is_without_end(&self, side: Side, column: usize, row: usize) -> bool {
        let text = self.converters.ends.iter().find(|(index, _)| *index == column);
        let cell = self.side(side).and_then(|images| images.cell(column, row));
        text.zip(cell)
            .is_some_and(|((_, text), cell)| is_one_of(&mut text.borrow_mut(), cell, &MAX_ENDS))
    }

    /// The reader of the event adds its place.
    fn at_row(&self, error: Error, _row: usize) -> Error {
        error
    }
}
