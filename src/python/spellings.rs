//! Names of tables that differ by letter case alone, in a read of several tables: one table, or two.
//!
//! In: tables whose rows are returned, and statements that empty tables, in the order of the log. Out: the statements that may
//! concern a table whose rows have the name in other letter case.

use crate::change::{Emptied, Item, Uncertainty};
use crate::ddl::TableName;
use crate::schema::{NameCase, folded};
use crate::source::LogItem;
use std::collections::HashSet;

/// The names so far, as long as it is not known whether they differ by case.
#[derive(Debug, Default)]
pub(super) struct Spellings {
    /// Tables of rows.
    tables: HashSet<TableName>,
    /// Items of statements whose names have capital letters, and no rows have either of the two names yet.
    waiting: Vec<LogItem>,
    /// True if rows have capital letters in the names of their tables.
    is_exact: bool,
}

impl Spellings {
    /// Adds the table of rows. Returns the items of earlier statements that may have emptied it.
    pub(super) fn add_rows(&mut self, database: &str, table: &str) -> Vec<LogItem> {
        let name = TableName { database: database.to_owned(), table: table.to_owned() };
        if self.is_exact || self.tables.contains(&name) {
            return Vec::new();
        }
        if name.folded() != name {
            // The log of a server that ignores case has names in lower case.
            *self = Self { is_exact: true, ..Self::default() };
            return Vec::new();
        }
        let (concerned, waiting) = std::mem::take(&mut self.waiting)
            .into_iter()
            .partition(|item| emptied(item).is_some_and(|emptied| is_of(emptied, &name)));
        self.waiting = waiting;
        if self.tables.len() < MAX_NAMES {
            self.tables.insert(name);
        }
        concerned
    }

    /// Adds the item of a statement. Returns it as uncertain if rows had the name in lower case.
    pub(super) fn add_item(&mut self, item: &LogItem) -> Option<LogItem> {
        let emptied = emptied(item)?;
        let is_plain = match &emptied.table {
            Some(table) => folded(table) == *table && folded(&emptied.database) == emptied.database,
            None => folded(&emptied.database) == emptied.database,
        };
        if self.is_exact
            || is_plain
            || emptied.uncertainty.is_some()
            || emptied.name_case != NameCase::Unknown
        {
            return None;
        }
        if self.tables.iter().any(|name| is_of(emptied, name)) {
            return Some(in_other_case(item));
        }
        if self.waiting.len() < MAX_NAMES {
            self.waiting.push(in_other_case(item));
        }
        None
    }
}

fn emptied(item: &LogItem) -> Option<&Emptied> {
    match &item.item {
        Item::Emptied(emptied) => Some(emptied),
        _ => None,
    }
}

/// True if the statement's name is this one in lower case.
fn is_of(emptied: &Emptied, name: &TableName) -> bool {
    folded(&emptied.database) == name.database
        && emptied.table.as_ref().is_none_or(|table| folded(table) == name.table)
}

/// The item, whose table may be another one because of letter case.
fn in_other_case(item: &LogItem) -> LogItem {
    let mut item = item.clone();
    if let Item::Emptied(emptied) = &mut item.item {
        emptied.uncertainty = Some(Uncertainty::LetterCase);
    }
    item
}

/// The maximum number of names that are compared.
const MAX_NAMES: usize = 10_000;
