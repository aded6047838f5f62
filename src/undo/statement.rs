//! One change as SQL.

use super::Direction;
use super::cells::Refused;
use super::columns::{Columns, KeyColumn, SetColumn};
use super::options::UndoOptions;
use super::rows::{ChangedRows, Side};
use super::table::{Table, versioned};
use crate::columnar::TablePlan;
use crate::error::{Error, Result};

/// The kind of a change's statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Insert,
    /// The columns whose values differ.
    Update(Differing),
    Delete,
}

/// The columns that statements set and whose values differ in an update, by their number among those columns.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Differing {
    /// Bits of the first 64 columns.
    bits: u64,
    is_any: bool,
}

impl Differing {
    /// The number of columns that have a bit. Others are compared again.
    const KNOWN: usize = 64;

    fn of(columns: &[SetColumn], rows: &impl ChangedRows, row: usize) -> Self {
        let mut found = Self::default();
        for (number, column) in columns.iter().enumerate() {
            if !rows.is_same(column.index, row) {
                found.is_any = true;
                match number {
                    0..Self::KNOWN => found.bits |= 1 << number,
                    _ => break,
                }
            }
        }
        found
    }
}

/// The form of a change's text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// The values of an INSERT.
    Row,
    /// The key of a DELETE.
    Key,
    /// A complete statement.
    Statement,
}

/// Writes the changes of one table.
pub(super) struct Statements<'t> {
    plan: &'t TablePlan,
    table: &'t Table,
    columns: &'t Columns,
    direction: Direction,
    /// The column of the key, if rows may be deleted in any order by a list of keys.
    delete_key: Option<&'t KeyColumn>,
}

impl<'t> Statements<'t> {
    pub(super) fn new(
        plan: &'t TablePlan,
        table: &'t Table,
        columns: &'t Columns,
        options: &UndoOptions,
    ) -> Self {
        // If a foreign key refers to its own table, rows must be deleted in this order.
        let is_list = table.delete.is_some() && !options.foreign_key_checks;
        let delete_key = match columns.key.as_slice() {
            [only] if is_list => Some(only),
            _ => None,
        };
        Self { plan, table, columns, direction: options.direction, delete_key }
    }

    /// The kind of the statement of a row. `None` if the row needs no statement.
    #[inline]
    pub(super) fn kind(&self, rows: &impl ChangedRows, row: usize) -> Result<Option<Kind>> {
        let (has_now, has_then) = (rows.has(Side::Now, row), rows.has(Side::Then, row));
        for side in [(has_now, Side::Now), (has_then, Side::Then)] {
            if let (true, side) = side {
                self.check_image(rows, side, row)?;
            }
        }
        Ok(match (has_now, has_then) {
            (false, true) => Some(Kind::Insert),
            (true, true) => {
                let differing = Differing::of(&self.columns.set, rows, row);
                differing.is_any.then_some(Kind::Update(differing))
            }
            (true, false) => Some(Kind::Delete),
            (false, false) => None,
        })
    }

    /// Appends the change of a row. Returns the form of the text.
    #[inline]
    pub(super) fn write(
        &self,
        rows: &impl ChangedRows,
        row: usize,
        kind: Kind,
        out: &mut Vec<u8>,
    ) -> Result<Form> {
        match (kind, self.delete_key) {
            (Kind::Delete, Some(key)) if !rows.is_key_null(key.index, row) => {
                self.write_key(rows, key, row, out)?;
                Ok(Form::Key)
            }
            (Kind::Delete, _) => {
                out.extend_from_slice(b"DELETE FROM ");
                out.extend_from_slice(&self.table.name);
                self.write_where(rows, row, out)?;
                Ok(Form::Statement)
            }
            (Kind::Insert, _) => {
                self.write_row(rows, row, out)?;
                Ok(Form::Row)
            }
            (Kind::Update(differing), _) => {
                self.write_update(rows, row, differing, out)?;
                Ok(Form::Statement)
            }
        }
    }

    /// True if the statement sets an ENUM to the empty error value, which the server refuses in strict mode.
    #[inline]
    pub(super) fn is_lenient(&self, rows: &impl ChangedRows, row: usize, kind: Kind) -> bool {
        let mut set = self.columns.set.iter();
        kind != Kind::Delete
            && set.any(|column| column.is_enum && rows.is_error_value(column.index, row))
    }

    fn write_row(&self, rows: &impl ChangedRows, row: usize, out: &mut Vec<u8>) -> Result<()> {
        let mut separator: &[u8] = b"(";
        for column in &self.columns.set {
            out.extend_from_slice(separator);
            separator = b", ";
            self.write_value(rows, column, row, out)?;
        }
        out.push(b')');
        Ok(())
    }

    fn write_update(
        &self,
        rows: &impl ChangedRows,
        row: usize,
        differing: Differing,
        out: &mut Vec<u8>,
    ) -> Result<()> {
        let differs = |number: usize, column: &SetColumn| match number {
            0..Differing::KNOWN => differing.bits >> number & 1 == 1,
            _ => !rows.is_same(column.index, row),
        };
        out.extend_from_slice(b"UPDATE ");
        out.extend_from_slice(&self.table.name);
        let mut separator: &[u8] = b" SET ";
        for (number, column) in self.columns.set.iter().enumerate() {
            if column.is_always_set || differs(number, column) {
                out.extend_from_slice(separator);
                separator = b", ";
                out.extend_from_slice(self.table.names.get(column.index).map_or(b"", |name| name));
                out.extend_from_slice(b" = ");
                self.write_value(rows, column, row, out)?;
            }
        }
        self.write_where(rows, row, out)
    }

    fn write_where(&self, rows: &impl ChangedRows, row: usize, out: &mut Vec<u8>) -> Result<()> {
        let is_key = self.table.key.is_some();
        let equals: &[u8] = if is_key { b" = " } else { b" <=> " };
        let mut separator: &[u8] = b" WHERE ";
        for column in &self.columns.key {
            out.extend_from_slice(separator);
            separator = b" AND ";
            if rows.is_key_null(column.index, row) {
                out.extend_from_slice(self.table.names.get(column.index).map_or(b"", |name| name));
                out.extend_from_slice(b" IS NULL");
                continue;
            }
            out.extend_from_slice(&column.expression);
            out.extend_from_slice(equals);
            self.write_key(rows, column, row, out)?;
        }
        out.extend_from_slice(if is_key { b"" } else { b" LIMIT 1" });
        Ok(())
    }

    #[inline]
    fn write_key(
        &self,
        rows: &impl ChangedRows,
        column: &KeyColumn,
        row: usize,
        out: &mut Vec<u8>,
    ) -> Result<()> {
        rows.write_key(column.index, row, out)
            .map_err(|refused| self.refusal(rows, row, column.index, refused))
    }

    #[inline]
    fn write_value(
        &self,
        rows: &impl ChangedRows,
        column: &SetColumn,
        row: usize,
        out: &mut Vec<u8>,
    ) -> Result<()> {
        if rows.is_value_null(column.index, row) {
            out.extend_from_slice(b"NULL");
            return Ok(());
        }
        rows.write_value(column.index, row, out)
            .map_err(|refused| self.refusal(rows, row, column.index, refused))
    }

    /// Checks that an image contains all columns, and that the table does not keep its history.
    #[inline]
    fn check_image(&self, rows: &impl ChangedRows, side: Side, row: usize) -> Result<()> {
        if let Some(column) = self.table.lacks(rows.present(side, row)) {
            return Err(self.lacks(rows, column, row));
        }
        if self.columns.ends.iter().any(|column| rows.is_without_end(side, *column, row)) {
            let error = versioned().context(format_args!("table {}", self.plan.table.full_name()));
            return Err(rows.at_row(error, row));
        }
        Ok(())
    }

    #[cold]
    fn lacks(&self, rows: &impl ChangedRows, column: usize, row: usize) -> Error {
        let what = match self.direction {
            Direction::Undo => "reversed",
            Direction::Redo => "repeated",
        };
        let error = Error::schema(format!(
            "table {}: the image of the row lacks column {}, so the change cannot be {what}: \
             the server logged it with binlog_row_image=MINIMAL or NOBLOB, and undo requires FULL",
            self.plan.table.full_name(),
            self.column_name(column),
        ));
        rows.at_row(error, row)
    }

    fn column_name(&self, index: usize) -> &str {
        self.plan.names.get(index).map_or("?", AsRef::as_ref)
    }

    #[cold]
    fn refusal(
        &self,
        rows: &impl ChangedRows,
        row: usize,
        column: usize,
        refused: Refused,
    ) -> Error {
        let error = match refused {
            Refused::Damaged(error) => self.plan.cell_error((column, error)),
            refused => {
                Error::unsupported(format!("column {}: {refused}", self.column_name(column)))
            }
        };
        let error = error.context(format_args!("table {}", self.plan.table.full_name()));
        rows.at_row(error, row)
    }
}
