//! The columns of a table after an ALTER TABLE, in their order.

use super::Alter;
use crate::ddl::alter_action::ColumnPlace;
use crate::ddl::column::ColumnDefinition;
use crate::ddl::key::is_same_name;
use crate::history::catalog::settings::Result;

/// A column after the statement.
pub(super) struct Kept {
    pub(super) column: ColumnDefinition,
    /// Its name before, in lower case.
    pub(super) from: Option<String>,
    /// True if the statement contains its complete definition, also its size.
    pub(super) is_stated: bool,
}

/// A column that the statement adds or moves.
pub(super) enum Placed {
    New(Box<ColumnDefinition>),
    /// Its name before, in lower case.
    Old(String),
}

impl Alter<'_> {
    /// The columns in their new order.
    pub(super) fn columns(&mut self) -> Result<Vec<Kept>> {
        let mut kept = Vec::with_capacity(self.old.columns.len() + self.placed.len());
        for old in &self.old.columns {
            let lower = old.name.to_lowercase();
            let change = self.changes.remove(&lower).unwrap_or_default();
            if change.dropped {
                continue;
            }
            let from = Some(lower);
            match change.definition {
                None => kept.push(Kept { column: old.clone(), from, is_stated: false }),
                Some(column) => {
                    kept.push(Kept { column: *column, from, is_stated: change.is_stated });
                }
            }
        }
        if kept.len() + self.placed.len() > MAX_COLUMNS {
            return Err(format!("more than {MAX_COLUMNS} columns"));
        }
        // In their order: the place of each one depends on those before it.
        for (placed, place) in std::mem::take(&mut self.placed) {
            let column = match placed {
                Placed::New(column) => Kept { column: *column, from: None, is_stated: true },
                Placed::Old(from) => {
                    let at = kept.iter().position(|kept| kept.from.as_ref() == Some(&from));
                    let Some(at) = at else { continue };
                    kept.remove(at)
                }
            };
            match place {
                None => kept.push(column),
                Some(ColumnPlace::First) => kept.insert(0, column),
                Some(ColumnPlace::After(name)) => {
                    let at = kept.iter().position(|kept| is_same_name(&kept.column.name, &name));
                    let at = at.ok_or_else(|| format!("the table has no column `{name}`"))?;
                    kept.insert(at + 1, column);
                }
            }
        }
        self.put_hidden_key_first(&mut kept);
        Ok(kept)
    }

    /// The column of MySQL's `sql_generate_invisible_primary_key` remains the first, also if another one is added FIRST.
    fn put_hidden_key_first(&self, kept: &mut Vec<Kept>) {
        let is_hidden_key = |column: &ColumnDefinition| {
            !self.settings.is_mariadb()
                && &*column.name == "my_row_id"
                && column.auto_increment
                && !column.visible
        };
        let Some(first) = self.old.columns.first().filter(|column| is_hidden_key(column)) else {
            return;
        };
        let from = Some(first.name.to_lowercase());
        if let Some(at) = kept.iter().position(|kept| kept.from == from).filter(|at| *at > 0) {
            let column = kept.remove(at);
            kept.insert(0, column);
        }
    }
}

/// The maximum of all servers. This limits the time for a statement.
const MAX_COLUMNS: usize = 4096;
