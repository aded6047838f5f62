//! The errors of cells and rows: they contain the table, the column and the place in the event.

use crate::columnar::table_plan::TablePlan;
use crate::error::{DecodeError, Error, ErrorKind};

impl TablePlan {
    /// The error of a cell, with the index of its column.
    pub(crate) fn cell_error(&self, (index, error): (usize, DecodeError)) -> Error {
        let name = self.column_name(index);
        let column = self.table.columns.get(index);
        let is_text = column.is_some_and(|column| column.column_type.is_character());
        let is_invalid = is_text && matches!(error, DecodeError::Text { .. });
        let error = Error::from(error).context(format_args!("column {name}"));
        match is_invalid {
            true => error.advise("⟦invalid_text=replace⟧ or 'binary' accepts such cells"),
            false => error,
        }
    }

    /// Adds the table and the number of the row in its event, from 0, to an error.
    pub(crate) fn row_error(&self, row: u64, error: Error) -> Error {
        let error = match self.given_by {
            Some(keyword) if error.kind() == ErrorKind::Malformed => error.advise(format_args!(
                "the probable cause is that the structure of the table given with {keyword} differs from its structure \
                 at this position"
            )),
            _ => error,
        };
        let context = format!("table {}, row {} of the event", self.table.full_name(), row + 1);
        error.context(context).of_table(&self.table.database, &self.table.table)
    }
}
