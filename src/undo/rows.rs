//! The rows of changes, from which statements are written: those of a batch, or those of an event.

use super::cells::Refused;
use crate::error::Error;

/// One of the rows of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    /// The row that the table has when the SQL is executed.
    Now,
    /// The row that it has afterwards.
    Then,
}

/// The rows of consecutive changes of one table. Columns are numbered as in the table.
pub(super) trait ChangedRows {
    /// True if a change has this row.
    fn has(&self, side: Side, row: usize) -> bool;

    /// One bit for each column that the image of a row contains.
    fn present(&self, side: Side, row: usize) -> &[u8];

    /// True if a column has the same value in both rows of a change.
    fn is_same(&self, column: usize, row: usize) -> bool;

    /// True if the new value of a column is NULL.
    fn is_value_null(&self, column: usize, row: usize) -> bool;

    /// Appends the new value of a column, which is not NULL.
    fn write_value(&self, column: usize, row: usize, out: &mut Vec<u8>) -> Result<(), Refused>;

    /// True if the new value of an ENUM is the empty error value.
    fn is_error_value(&self, column: usize, row: usize) -> bool;

    /// True if a column that identifies the row is NULL.
    fn is_key_null(&self, column: usize, row: usize) -> bool;

    /// Appends the value of a column that identifies the row, and is not NULL.
    fn write_key(&self, column: usize, row: usize, out: &mut Vec<u8>) -> Result<(), Refused>;

    /// True if a column contains the time that MariaDB uses as the end of current rows.
    fn is_without_end(&self, side: Side, column: usize, row: usize) -> bool;

    /// Adds the place of a row's event to an error.
    fn at_row(&self, error: Error, row: usize) -> Error;
}

/// The end of the period of a row that exists, in MariaDB 11.5 and later, and before.
pub(super) const MAX_ENDS: [&str; 2] = ["2106-02-07 06:28:15.999999", "2038-01-19 03:14:07.999999"];
