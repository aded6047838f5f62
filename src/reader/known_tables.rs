//! The structures of tables as the batches so far show them, to decide whether an ALTER TABLE changes existing values.

use super::batch::ChangeBatch;
use super::resume::TableKey;
use crate::change::Emptied;
use crate::columnar::{ColumnNames, TablePlan};
use crate::history::{NewType, ValueChange};
use crate::schema::TableSchema;
use std::collections::HashMap;
use std::sync::Arc;

/// The structure of each table in its last batch.
#[derive(Default)]
pub struct KnownTables {
    tables: HashMap<TableKey, Arc<TablePlan>>,
    /// True if columns without names in the log are read.
    is_positional: bool,
}

/// The columns whose existing values a statement changes, with the reasons, for a message.
pub struct ChangedColumns {
    /// The message.
    pub text: String,
    /// True if values change only in a rare case.
    pub are_unlikely: bool,
}

impl KnownTables {
    /// Starts without tables.
    pub fn new(names: ColumnNames) -> Self {
        Self { is_positional: names == ColumnNames::Positional, ..Self::default() }
    }

    /// Records the structure of a batch's table.
    pub fn see(&mut self, change: &ChangeBatch) {
        let key = (Arc::clone(&change.database), Arc::clone(&change.table));
        match self.tables.get_mut(&key) {
            Some(plan) if Arc::ptr_eq(plan, &change.plan) => {}
            Some(plan) => *plan = Arc::clone(&change.plan),
            None => drop(self.tables.insert(key, Arc::clone(&change.plan))),
        }
    }

    /// Returns the columns whose existing values a statement changes; `None` if all values stay.
    /// `is_read`: true for the name of a selected column.
    pub fn changes(
        &self,
        emptied: &Emptied,
        is_read: &dyn Fn(&str) -> bool,
    ) -> Option<ChangedColumns> {
        let (table, has_names) = self.before(emptied);
        let mut are_unlikely = true;
        let reasons = emptied.columns.iter().filter_map(|column| {
            // The statement does not show which columns `@1`, `@2` and so on are.
            let is_wanted = !has_names || is_read(&column.name) || is_read(column.name_before());
            let change = column.reason(table, has_names).filter(|_| is_wanted)?;
            let (ValueChange::Possible(reason) | ValueChange::Unlikely(reason)) = change;
            are_unlikely &= matches!(change, ValueChange::Unlikely(_));
            Some(format!("column `{}` {reason}", column.name))
        });
        let reasons: Vec<_> = reasons.collect();
        (!reasons.is_empty()).then(|| ChangedColumns { text: reasons.join("; "), are_unlikely })
    }

    /// Returns these columns, of all columns, with the types that the statement gives to them: see
    /// `AlteredColumn::undecided_type`.
    pub fn changed<'e>(&self, emptied: &'e Emptied) -> Vec<(&'e str, Option<NewType>)> {
        let (table, has_names) = self.before(emptied);
        let changed = emptied.columns.iter().filter_map(|column| {
            column.reason(table, has_names)?;
            Some((&*column.name, column.undecided_type(table, has_names)))
        });
        changed.collect()
    }

    /// Returns the structure of the table before the statement, if it is known, and true if its columns have names in the log.
    fn before(&self, emptied: &Emptied) -> (Option<&TableSchema>, bool) {
        let key = (
            Arc::from(emptied.database.as_str()),
            Arc::from(emptied.table.as_deref().unwrap_or_default()),
        );
        let table = self.tables.get(&key).map(|plan| &plan.table);
        let has_names = match table {
            Some(table) => table.columns.iter().all(|column| column.name.is_some()),
            None => !self.is_positional,
        };
        (table, has_names)
    }
}
