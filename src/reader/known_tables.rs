//! The structures of tables as the batches so far show them, to decide whether an ALTER TABLE changes existing values.

use super::batch::ChangeBatch;
use super::progress::TableKey;
use crate::change::Emptied;
use crate::columnar::TablePlan;
use std::collections::HashMap;
use std::sync::Arc;

/// The structure of each table in its last batch.
#[derive(Default)]
pub struct KnownTables {
    tables: HashMap<TableKey, Arc<TablePlan>>,
}

impl KnownTables {
    /// Takes a batch in.
    pub fn see(&mut self, change: &ChangeBatch) {
        let key = (Arc::clone(&change.database), Arc::clone(&change.table));
        match self.tables.get_mut(&key) {
            Some(plan) if Arc::ptr_eq(plan, &change.plan) => {}
            Some(plan) => *plan = Arc::clone(&change.plan),
            None => drop(self.tables.insert(key, Arc::clone(&change.plan))),
        }
    }

    /// The columns whose existing values a statement changes, with the reasons, for a message; `None` if all values stay.
    /// `is_read`: true for the name of a column that is wanted.
    pub fn changes(&self, emptied: &Emptied, is_read: &dyn Fn(&str) -> bool) -> Option<String> {
        let key = (
            Arc::from(emptied.database.as_str()),
            Arc::from(emptied.table.as_deref().unwrap_or_default()),
        );
        let table = self.tables.get(&key).map(|plan| &plan.table);
        let reasons = emptied.columns.iter().filter_map(|column| {
            let is_wanted = is_read(&column.name) || is_read(column.name_before());
            let reason = column.reason(table).filter(|_| is_wanted)?;
            Some(format!("column `{}` {reason}", column.name))
        });
        let reasons: Vec<_> = reasons.collect();
        (!reasons.is_empty()).then(|| reasons.join("; "))
    }
}
