//! MERGE tables: a statement that changes rows of a MERGE table changes rows of the tables of its
//! UNION, and no event contains the names of these tables.
//!
//! The statement maps the MERGE table and after it each table of its UNION, which have the same columns, and logs rows of the
//! MERGE table only. A table that a trigger may write into, or the second table of a multi-table statement, looks the same if
//! it has the same columns. A history or `schemas=` contains the engine.
//!
//! TRUNCATE of a MERGE table, which empties the tables of its UNION, is logged without any sign of this.
//!
//! <https://dev.mysql.com/doc/refman/9.7/en/merge-storage-engine.html>

use super::Watch;
use crate::change::UnloggedChange;
use crate::ddl::TableName;
use crate::error::Result;
use crate::reader::unlogged_changes::Reaction;

/// A statement that may have changed rows of a table under the name of its MERGE table.
struct Finding<'f> {
    /// The table of the rows events.
    merge: &'f TableName,
    table: &'f TableName,
    is_known: bool,
}

impl Watch<'_> {
    /// Checks at the end of a statement for tables that it maps and of which it has no rows.
    pub(super) fn on_merge_tables(&mut self) -> Result<()> {
        for index in 1..self.statement.tables.len() {
            let Some(table) = self.statement.rowless(index).filter(|map| self.maps.is_wanted(*map))
            else {
                continue;
            };
            for before in 0..index {
                if let Some(merge) = self.statement.with_rows(before)
                    && self.maps.have_same_columns(merge, table)
                {
                    self.on_merge_table(merge, table)?;
                }
            }
        }
        Ok(())
    }

    fn on_merge_table(&mut self, merge: usize, table: usize) -> Result<()> {
        let merge = self.maps.parent(merge, self.format, self.options)?;
        let table = self.maps.parent(table, self.format, self.options)?;
        let (Some(merge), Some(table)) = (merge, table) else { return Ok(()) };
        let is_known = match merge.is_merge {
            Some(false) => return Ok(()),
            known => known.is_some(),
        };
        match self.reaction(is_known) {
            Reaction::Ignore => {}
            Reaction::Item => self.items.push(UnloggedChange {
                table: merge.name.clone(),
                kind: None,
                foreign_keys: Vec::new(),
                changed: vec![table.name.clone()],
                rows_events: self.rows_events(),
            }),
            reaction => {
                let finding = Finding { merge: &merge.name, table: &table.name, is_known };
                self.report(&merge.name, reaction, || finding.message())?;
            }
        }
        Ok(())
    }
}

impl Finding<'_> {
    fn message(&self) -> String {
        let Self { merge, table, is_known } = self;
        match is_known {
            true => format!(
                "the log changes rows of {merge}, which is a MERGE table: rows of {table} may change, and no event contains \
                 them under this name. Copy {table} again and continue after this transaction, or continue with \
                 ⟦unlogged_changes=warn⟧"
            ),
            false => format!(
                "the log changes rows of {merge}, and the statement opens {table}, which has the same columns, without logging \
                 rows of it. If {merge} is a MERGE table, rows of {table} may change, and no event contains them under this \
                 name. Provide the structures of the tables with ⟦history⟧ or ⟦schemas⟧ to find out"
            ),
        }
    }
}
