//! The facts about a table that do not depend on a row, and the counts of its statements.

use super::literal;
use crate::columnar::TablePlan;
use crate::error::{Error, Result};
use crate::schema::{Column, ColumnType, Generated, RowKey};

/// The operator before the keys of a DELETE of several rows.
pub(super) const IN: &[u8] = b" IN (";

/// A table as its statements name it.
#[derive(Debug, Default)]
pub(super) struct Table {
    /// `` `database`.`table` ``
    pub(super) name: Vec<u8>,
    /// The name of each column in backticks.
    pub(super) names: Vec<Vec<u8>>,
    /// For each column, true if statements may set it: not for generated and hidden columns.
    pub(super) is_set: Vec<bool>,
    /// The bits of the columns that an image must contain.
    pub(super) required: Vec<u8>,
    /// The columns of the key; `None` if a row is found by all columns.
    pub(super) key: Option<Vec<usize>>,
    /// `INSERT INTO … (…) VALUES`
    pub(super) insert: Vec<u8>,
    /// `DELETE FROM … WHERE … IN (`, if the key is one integer.
    pub(super) delete: Option<Vec<u8>>,
}

/// The number of changes that the statements for a table make.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TableCounts {
    /// The number of rows that are inserted.
    pub inserts: u64,
    /// The number of rows that are updated.
    pub updates: u64,
    /// The number of rows that are deleted.
    pub deletes: u64,
}

impl TableCounts {
    pub(super) const fn add(&mut self, other: Self) {
        self.inserts += other.inserts;
        self.updates += other.updates;
        self.deletes += other.deletes;
    }
}

/// The counts of a table, and the key by which rows are found.
#[derive(Debug, Default)]
pub(super) struct Counted {
    pub(super) counts: TableCounts,
    /// The key's columns; `None` if all columns identify a row.
    pub(super) key: Option<String>,
}

impl Table {
    pub(super) fn try_new(plan: &TablePlan) -> Result<Self> {
        let table = &plan.table;
        let in_table = |error: Error| error.context(format_args!("table {}", table.full_name()));
        if plan.fields.len() != table.columns.len() {
            return Err(in_table(Error::config("all columns must be read: leave out ⟦columns⟧")));
        }
        let is_masked = |index: &usize| plan.is_hashed(*index) || plan.is_nulled(*index);
        if (0..table.columns.len()).any(|index| is_masked(&index)) {
            return Err(in_table(Error::config(
                "masked values cannot be restored: leave out ⟦mask⟧",
            )));
        }
        if plan.is_mariadb() && has_period(&table.columns) {
            return Err(in_table(versioned()));
        }
        let mut name = Vec::new();
        literal::name(&table.database, &mut name);
        name.push(b'.');
        literal::name(&table.table, &mut name);
        let names: Vec<Vec<u8>> = plan.names.iter().map(|name| in_backticks(name)).collect();
        let is_set: Vec<bool> =
            table.columns.iter().map(|column| is_set(column, plan.is_mariadb())).collect();
        let key: Option<Vec<usize>> = match table.row_key() {
            RowKey::Columns(parts) => Some(parts.iter().map(|part| part.column).collect()),
            RowKey::FullRow => None,
        };
        let mut insert = b"INSERT INTO ".to_vec();
        insert.extend_from_slice(&name);
        let mut separator: &[u8] = b" (";
        for (name, _) in names.iter().zip(&is_set).filter(|(_, is_set)| **is_set) {
            insert.extend_from_slice(separator);
            insert.extend_from_slice(name);
            separator = b", ";
        }
        insert.extend_from_slice(b") VALUES\n");
        let delete = key.as_deref().and_then(|key| match key {
            [only] if is_integer(table.columns.get(*only)?) => {
                let column = names.get(*only)?;
                Some([b"DELETE FROM ", name.as_slice(), b" WHERE ", column, IN].concat())
            }
            _ => None,
        });
        let required = is_set
            .chunks(8)
            .map(|bits| bits.iter().rev().fold(0, |byte, is_set| byte << 1 | u8::from(*is_set)));
        Ok(Self { required: required.collect(), name, names, is_set, key, insert, delete })
    }

    /// The first column that an image must contain and does not.
    pub(super) fn lacks(&self, present: &[u8]) -> Option<usize> {
        let has = |at: usize| present.get(at).copied().unwrap_or(0);
        if self.required.iter().enumerate().all(|(at, bits)| has(at) & bits == *bits) {
            return None;
        }
        self.is_set
            .iter()
            .enumerate()
            .position(|(index, is_set)| *is_set && has(index / 8) >> (index % 8) & 1 == 0)
    }
}

fn in_backticks(name: &str) -> Vec<u8> {
    let mut quoted = Vec::new();
    literal::name(name, &mut quoted);
    quoted
}

/// The error for a system-versioned table, whose log contains rows of its history.
pub(super) fn versioned() -> Error {
    Error::unsupported(
        "MariaDB keeps the history of the table (WITH SYSTEM VERSIONING), and the log does not distinguish its rows from others: \
         leave the table out, and restore rows from its history (FOR SYSTEM_TIME AS OF)",
    )
}

/// True if the columns are known to contain a period of a system-versioned table.
fn has_period(columns: &[Column]) -> bool {
    let is_time = |column: &&Column| column.column_type == ColumnType::Timestamp2 { fsp: 6 };
    let times: Vec<&Column> = columns.iter().filter(is_time).collect();
    let is_named = |name: &str| times.iter().any(|column| column.name.as_deref() == Some(name));
    let stored = times.iter().filter(|column| column.generated == Some(Generated::Stored));
    stored.count() >= 2 || is_named("row_start") && is_named("row_end")
}

fn is_integer(column: &Column) -> bool {
    use ColumnType as T;
    matches!(column.column_type, T::Tiny | T::Short | T::Int24 | T::Long | T::LongLong)
}

/// False for columns whose values the server computes.
fn is_set(column: &Column, is_mariadb: bool) -> bool {
    let is_generated = matches!(column.generated, Some(Generated::Virtual | Generated::Stored));
    // The hash of a long UNIQUE key.
    let is_hash =
        is_mariadb && column.name.as_ref().is_some_and(|name| name.starts_with("DB_ROW_HASH_"));
    !is_generated && !is_hash
}
