//! The names of columns that ALTER TABLE removed or renamed, over all statements of a read.
//!
//! A mirror keeps the values of such a column under its old name. If another column gets the name later, the mirror has
//! values in it that the table does not have.

use super::TableFilter;
use crate::ddl::{Ddl, DdlKind, TableName};
use crate::history::AlteredColumn;
use std::collections::{HashMap, HashSet};

/// The names of removed and renamed columns so far, by table.
#[derive(Debug, Default)]
pub(super) struct LeftColumns {
    tables: HashMap<TableName, Names>,
}

/// The names of one table, in lower case.
#[derive(Debug, Default)]
struct Names {
    left: HashSet<String>,
    /// The first name of a renamed column, by its current name; empty if the column is new.
    first: HashMap<String, String>,
}

impl LeftColumns {
    /// Adds a statement. Returns the columns that get a name that an earlier statement removed from another column.
    pub(super) fn observe(&mut self, ddl: &Ddl, tables: &TableFilter) -> Vec<AlteredColumn> {
        match ddl.kind {
            DdlKind::Drop | DdlKind::Truncate if ddl.tables.is_empty() => {
                self.tables.retain(|name, _| name.database != ddl.database);
            }
            DdlKind::Drop | DdlKind::Truncate => {
                ddl.tables.iter().for_each(|name| drop(self.tables.remove(name)));
            }
            DdlKind::Create | DdlKind::Alter | DdlKind::Rename => {}
        }
        let taken = match ddl.tables.first() {
            Some(table)
                if !ddl.moved.is_empty() && tables.accepts(&table.database, &table.table) =>
            {
                self.tables.entry(table.clone()).or_default().observe(ddl)
            }
            _ => Vec::new(),
        };
        for (from, to) in &ddl.renames {
            match self.tables.remove(from) {
                Some(names) => drop(self.tables.insert(to.clone(), names)),
                None => drop(self.tables.remove(to)),
            }
        }
        taken
    }
}

impl Names {
    fn observe(&mut self, ddl: &Ddl) -> Vec<AlteredColumn> {
        // All old names are removed before new names are added.
        let mut arrivals = Vec::new();
        for column in &ddl.moved {
            let first = column.from.as_ref().map(|from| {
                self.left.insert(from.clone());
                self.first.remove(from).unwrap_or_else(|| from.clone())
            });
            arrivals.extend(column.to.as_ref().map(|to| (first.unwrap_or_default(), to)));
        }
        let mut taken = Vec::new();
        for (first, to) in arrivals {
            let was_left = self.left.remove(to);
            if first == *to {
                continue; // The column has its first name again.
            }
            if was_left {
                taken.push(AlteredColumn::takes_name(to));
            }
            self.first.insert(to.clone(), first);
        }
        taken
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ddl::{ParsedStatement, QuoteMode};

    fn taken(statements: &[&str]) -> Vec<String> {
        let mut left = LeftColumns::default();
        let tables = TableFilter::exactly("shop", "t");
        let mut taken = Vec::new();
        for sql in statements {
            let ddl =
                ParsedStatement::parse(sql, "shop", QuoteMode::default()).ddl().unwrap().unwrap();
            taken.extend(left.observe(&ddl, &tables).iter().map(|column| column.name.to_string()));
        }
        taken
    }

    #[test]
    fn names_that_other_columns_had() {
        for (statements, expected) in [
            (vec!["ALTER TABLE t DROP v", "ALTER TABLE t ADD V INT"], vec!["v"]),
            (vec!["ALTER TABLE t DROP v", "ALTER TABLE t RENAME COLUMN w TO v"], vec!["v"]),
            (
                vec![
                    "ALTER TABLE t RENAME COLUMN a TO x",
                    "ALTER TABLE t CHANGE b a INT",
                    "ALTER TABLE t RENAME COLUMN x TO b",
                ],
                vec!["a", "b"],
            ),
            (vec!["ALTER TABLE t RENAME COLUMN a TO x", "ALTER TABLE t CHANGE x a INT"], vec![]),
            (
                vec![
                    "ALTER TABLE t RENAME COLUMN a TO x",
                    "ALTER TABLE t RENAME COLUMN x TO y",
                    "ALTER TABLE t RENAME COLUMN y TO a",
                ],
                vec![],
            ),
            (vec!["ALTER TABLE t ADD v INT", "ALTER TABLE t DROP v"], vec![]),
            (
                vec!["ALTER TABLE t ADD v INT", "ALTER TABLE t DROP v", "ALTER TABLE t ADD v INT"],
                vec!["v"],
            ),
            (vec!["ALTER TABLE t DROP v", "DROP TABLE t", "ALTER TABLE t ADD v INT"], vec![]),
            (vec!["ALTER TABLE t DROP v", "TRUNCATE t", "ALTER TABLE t ADD v INT"], vec![]),
            (vec!["ALTER TABLE t DROP v", "DROP DATABASE shop", "ALTER TABLE t ADD v INT"], vec![]),
            (vec!["ALTER TABLE u DROP v", "ALTER TABLE u ADD v INT"], vec![]),
            (
                vec![
                    "ALTER TABLE t DROP v",
                    "RENAME TABLE t TO u",
                    "RENAME TABLE u TO t",
                    "ALTER TABLE t ADD v INT",
                ],
                vec!["v"],
            ),
        ] {
            assert_eq!(taken(&statements), expected, "{statements:?}");
        }
    }
}
