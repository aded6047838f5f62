//! One change as SQL.

use super::Direction;
use super::cells::Refused;
use super::changes::Changes;
use super::columns::{KeyColumn, SetColumn, key_columns, period_ends, set_columns};
use super::joined::Joined;
use super::options::UndoOptions;
use super::table::{Table, TableCounts, versioned};
use crate::columnar::TablePlan;
use crate::error::{Error, Result};
use arrow_array::{Array, StringArray};

/// The kind of a change's statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Insert,
    Update,
    Delete,
}

/// Writes the changes of one batch.
pub(super) struct Statements<'b> {
    plan: &'b TablePlan,
    table: &'b Table,
    changes: &'b Changes<'b>,
    direction: Direction,
    set: Vec<SetColumn<'b>>,
    key: Vec<KeyColumn<'b>>,
    /// The beginning of statements that delete several rows, if rows may be deleted in any order.
    delete: Option<&'b [u8]>,
    /// Columns whose values show that the table keeps its history.
    ends: Vec<&'b StringArray>,
}

impl<'b> Statements<'b> {
    pub(super) fn try_new(
        plan: &'b TablePlan,
        table: &'b Table,
        changes: &'b Changes<'b>,
        options: &UndoOptions,
    ) -> Result<Self> {
        Ok(Self {
            set: set_columns(plan, table, &changes.then, &changes.now)?,
            key: key_columns(plan, table, &changes.now)?,
            // If a foreign key refers to its own table, rows must be deleted in this order.
            delete: table.delete.as_deref().filter(|_| !options.foreign_key_checks),
            ends: [&changes.now, &changes.then].map(|side| period_ends(plan, side)).concat(),
            plan,
            table,
            changes,
            direction: options.direction,
        })
    }

    /// The kind of the statement of a row. `None` if the row needs no statement.
    pub(super) fn kind(&self, row: usize) -> Result<Option<Kind>> {
        let (has_now, has_then) = (self.changes.now.is_there(row), self.changes.then.is_there(row));
        self.check_images(row, has_now, has_then)?;
        if self.ends.iter().any(|end| end.is_valid(row) && MAX_ENDS.contains(&end.value(row))) {
            let error = versioned().context(format_args!("table {}", self.plan.table.full_name()));
            return Err(self.changes.at_row(error, row));
        }
        Ok(match (has_now, has_then) {
            (false, true) => Some(Kind::Insert),
            (true, true) if self.set.iter().all(|column| (column.same)(row)) => None,
            (true, true) => Some(Kind::Update),
            (true, false) => Some(Kind::Delete),
            (false, false) => None,
        })
    }

    /// Appends the change of a row to a text, and counts it.
    pub(super) fn write(
        &self,
        row: usize,
        kind: Kind,
        joined: &mut Joined<'_>,
        text: &mut Vec<u8>,
        counts: &mut TableCounts,
    ) -> Result<()> {
        match kind {
            Kind::Insert => {
                counts.inserts += 1;
                joined.insert(self.is_lenient(row), text, |out| self.write_row(row, out))
            }
            Kind::Update => {
                counts.updates += 1;
                joined.statement(self.is_lenient(row), text, |out| self.write_update(row, out))
            }
            Kind::Delete => {
                counts.deletes += 1;
                match (self.delete, self.key.as_slice()) {
                    (Some(head), [key]) if key.values.is_valid(row) => {
                        joined.delete(head, text, |out| self.write_key(key, row, out))
                    }
                    _ => joined.statement(false, text, |out| {
                        out.extend_from_slice(b"DELETE FROM ");
                        out.extend_from_slice(&self.table.name);
                        self.write_where(row, out)
                    }),
                }
            }
        }
    }

    /// True if the statement sets an ENUM to the empty error value, which the server refuses in strict mode.
    fn is_lenient(&self, row: usize) -> bool {
        self.set.iter().any(|column| {
            column.ordinals.is_some_and(|keys| keys.is_valid(row) && keys.value(row) == 0)
        })
    }

    fn write_row(&self, row: usize, out: &mut Vec<u8>) -> Result<()> {
        let mut separator: &[u8] = b"(";
        for column in &self.set {
            out.extend_from_slice(separator);
            separator = b", ";
            self.write_value(column, row, out)?;
        }
        out.push(b')');
        Ok(())
    }

    fn write_update(&self, row: usize, out: &mut Vec<u8>) -> Result<()> {
        out.extend_from_slice(b"UPDATE ");
        out.extend_from_slice(&self.table.name);
        let mut separator: &[u8] = b" SET ";
        for column in &self.set {
            if column.is_always_set || !(column.same)(row) {
                out.extend_from_slice(separator);
                separator = b", ";
                out.extend_from_slice(self.table.names.get(column.index).map_or(b"", |name| name));
                out.extend_from_slice(b" = ");
                self.write_value(column, row, out)?;
            }
        }
        self.write_where(row, out)
    }

    fn write_where(&self, row: usize, out: &mut Vec<u8>) -> Result<()> {
        let is_key = self.table.key.is_some();
        let equals: &[u8] = if is_key { b" = " } else { b" <=> " };
        let mut separator: &[u8] = b" WHERE ";
        for column in &self.key {
            out.extend_from_slice(separator);
            separator = b" AND ";
            if column.values.is_null(row) {
                out.extend_from_slice(self.table.names.get(column.index).map_or(b"", |name| name));
                out.extend_from_slice(b" IS NULL");
                continue;
            }
            out.extend_from_slice(&column.expression);
            out.extend_from_slice(equals);
            self.write_key(column, row, out)?;
        }
        out.extend_from_slice(if is_key { b"" } else { b" LIMIT 1" });
        Ok(())
    }

    fn write_key(&self, column: &KeyColumn<'_>, row: usize, out: &mut Vec<u8>) -> Result<()> {
        (column.cell)(row, out).map_err(|refused| self.refusal(row, column.index, refused))
    }

    fn write_value(&self, column: &SetColumn<'_>, row: usize, out: &mut Vec<u8>) -> Result<()> {
        if column.values.is_null(row) {
            out.extend_from_slice(b"NULL");
            return Ok(());
        }
        (column.cell)(row, out).map_err(|refused| self.refusal(row, column.index, refused))
    }

    /// Checks that the images contain all columns.
    fn check_images(&self, row: usize, has_now: bool, has_then: bool) -> Result<()> {
        let sides = [(has_now, &self.changes.now), (has_then, &self.changes.then)];
        for (_, side) in sides.into_iter().filter(|(is_there, _)| *is_there) {
            if let Some(column) = self.table.lacks(side.present.value(row)) {
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
                return Err(self.changes.at_row(error, row));
            }
        }
        Ok(())
    }

    fn column_name(&self, index: usize) -> &str {
        self.plan.names.get(index).map_or("?", AsRef::as_ref)
    }

    #[cold]
    fn refusal(&self, row: usize, column: usize, refused: Refused) -> Error {
        let error = Error::unsupported(format!(
            "table {}: column {}: {refused}",
            self.plan.table.full_name(),
            self.column_name(column)
        ));
        self.changes.at_row(error, row)
    }
}

/// The end of the period of a row that exists, in MariaDB 11.5 and later, and before.
const MAX_ENDS: [&str; 2] = ["2106-02-07 06:28:15.999999", "2038-01-19 03:14:07.999999"];
