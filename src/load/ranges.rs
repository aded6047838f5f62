//! Divides the rows of a table into ranges of its key, which can be read in parallel.
//!
//! A range with too many rows, by the estimate of EXPLAIN, is divided at the key of a row: the first from a value in the middle on.
//! The server compares keys, by its collation; binarrow never does. Each division needs at most two rows of the index for each bit
//! of the value, and no row is counted. Estimates may be twice too high, and are at most half the table on MySQL.
//!
//! Input: a connection. Output: the keys between the ranges, in order. Called by `python`.
//!
//! <https://dev.mysql.com/doc/refman/en/explain-output.html>

use super::key::{KeyKind, KeyReader, LoadKey, Side};
use super::query::{Query, TableKind, quoted_table};
use super::session::prepare_session;
use crate::baseline::TableNow;
use crate::error::{Error, ErrorKind, Result};
use crate::net::Server;
use crate::position::KeyValues;
use crate::protocol::BinaryRow;
use crate::schema::{NameCase, TableSchema, quoted};
use std::collections::BinaryHeap;

/// The ranges of a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableRanges {
    /// The keys at which ranges end, in order. The last range has no end.
    pub ends: Vec<KeyValues>,
    /// False if the table has no key by which its rows can be read in order: it has one range.
    pub has_key: bool,
    /// The table, as distinct from another one of its name: the time of its creation, and its key.
    pub identity: String,
}

impl TableRanges {
    /// Divides a table into ranges of about this number of rows.
    ///
    /// # Errors
    /// There is no such table, or it is a view; the account may not read it; the connection is lost.
    pub fn of(server: &mut Server, database: &str, table: &str, rows: u64) -> Result<Self> {
        let created = created(server, database, table)?;
        let (structure, key) = table_and_key(server, database, table)?;
        let identity = identity(&created, key.as_ref());
        let ends = match &key {
            Some(key) => Keys::of(server, structure, key.clone())?.divide(rows.max(1))?,
            None => Vec::new(),
        };
        Ok(Self { ends, has_key: key.is_some(), identity })
    }
}

/// The identity of a table now, as in [`TableRanges::identity`]; `None` if there is no such table.
///
/// # Errors
/// The table is a view; the account may not read it; the connection is lost.
pub fn table_identity(server: &mut Server, database: &str, table: &str) -> Result<Option<String>> {
    let created = created(server, database, table)?;
    let key = match table_and_key(server, database, table) {
        Ok((_, key)) => key,
        // An account without privileges gets another error.
        Err(error) if error.kind() == ErrorKind::Schema && !exists(server, database, table)? => {
            return Ok(None);
        }
        Err(error) => return Err(error),
    };
    Ok(Some(identity(&created, key.as_ref())))
}

/// The structure of a table, and the key by which its rows can be read in order, if it has one.
fn table_and_key(
    server: &mut Server,
    database: &str,
    table: &str,
) -> Result<(TableSchema, Option<LoadKey>)> {
    prepare_session(server)?;
    let (database, table) = in_server_case(server, database, table);
    let kind = TableKind::ask(server, &database, &table)?;
    let table = TableNow::ask(server, &database, &table)?.schema;
    let key = LoadKey::of(&table).filter(|_| !kind.is_versioned);
    Ok((table, key))
}

/// True if the server has a table of this name.
fn exists(server: &mut Server, database: &str, table: &str) -> Result<bool> {
    let (database, table) = in_server_case(server, database, table);
    let sql = format!(
        "SELECT COUNT(*) FROM information_schema.TABLES WHERE TABLE_SCHEMA = {} AND TABLE_NAME = {}",
        quoted(&database),
        quoted(&table)
    );
    Ok(server.connection().query_value(&sql)?.as_deref() != Some("0"))
}

/// The time of creation of a table. It is queried first: the query for the structure waits until a statement that replaces the
/// table has ended.
fn created(server: &mut Server, database: &str, table: &str) -> Result<String> {
    let (database, table) = in_server_case(server, database, table);
    // MySQL stores the time for a day, unless this is set.
    match server.connection().query("SET SESSION information_schema_stats_expiry = 0") {
        Err(error) if error.server_code() == Some(UNKNOWN_VARIABLE) => {}
        answer => drop(answer?),
    }
    let sql = format!(
        "SELECT CREATE_TIME FROM information_schema.TABLES WHERE TABLE_SCHEMA = {} AND TABLE_NAME = {}",
        quoted(&database),
        quoted(&table)
    );
    Ok(server.connection().query_value(&sql)?.unwrap_or_default())
}

fn identity(created: &str, key: Option<&LoadKey>) -> String {
    let key = key.map(LoadKey::description).unwrap_or_default();
    format!("{created} {}", key.join(", "))
}

const UNKNOWN_VARIABLE: u16 = 1193;

fn in_server_case(server: &Server, database: &str, table: &str) -> (String, String) {
    match server.identity().name_case {
        NameCase::Folded => (database.to_lowercase(), table.to_lowercase()),
        _ => (database.to_owned(), table.to_owned()),
    }
}

/// The keys of a table's rows.
struct Keys<'s> {
    server: &'s mut Server,
    table: TableSchema,
    key: LoadKey,
    query: Query,
    reader: KeyReader,
}

/// A range that may be divided: it begins after `low` and ends with `high`.
#[derive(Debug, PartialEq, Eq)]
struct Range {
    /// The estimated number of rows.
    rows: u64,
    low: KeyValues,
    high: KeyValues,
    /// Its place among the ranges: they are divided in the order of their size, and returned in the order of their keys.
    place: usize,
}

impl<'s> Keys<'s> {
    fn of(server: &'s mut Server, table: TableSchema, key: LoadKey) -> Result<Self> {
        let (query, reader) = Query::of_key(&key, &table)?;
        // A key may be a date such as February 31; text has the character set of its column.
        server
            .connection()
            .query("SET SESSION sql_mode = 'ALLOW_INVALID_DATES', character_set_results = NULL")?;
        Ok(Self { server, table, key, query, reader })
    }

    /// The keys between ranges of about this number of rows.
    fn divide(&mut self, rows: u64) -> Result<Vec<KeyValues>> {
        let (up, down) = (self.key.order(), self.key.reverse_order());
        let Some(first) = self.first(None, &up)? else { return Ok(Vec::new()) };
        let Some(last) = self.first(None, &down)? else { return Ok(Vec::new()) };
        let total = self.estimate(&first, &last)?;
        // Each range is in the order of `next`: a list, because a range is replaced by two.
        let mut ends = List::new(last.clone());
        let mut largest =
            BinaryHeap::from([Range { rows: total, low: first, high: last, place: 0 }]);
        // An estimate that never falls would otherwise divide a range into single rows.
        let mut left = (total / rows).saturating_mul(4).saturating_add(16).min(MAX_RANGES);
        while let Some(range) = largest.pop().filter(|range| range.rows > rows && left > 0) {
            left -= 1;
            let Some(middle) = self.middle(&range.low, &range.high, MAX_STEPS)? else { continue };
            let place = ends.insert_before(range.place, middle.clone());
            let before = self.estimate(&range.low, &middle)?;
            let after = self.estimate(&middle, &range.high)?;
            largest.push(Range { rows: before, low: range.low, high: middle.clone(), place });
            largest.push(Range { rows: after, low: middle, ..range });
        }
        let mut ends = ends.into_ordered();
        // The last range contains later rows too.
        ends.pop();
        Ok(ends)
    }

    /// The key of a row between two others; `None` if none is found in this number of steps.
    fn middle(
        &mut self,
        low: &KeyValues,
        high: &KeyValues,
        steps: u32,
    ) -> Result<Option<KeyValues>> {
        let differs = low.values.iter().zip(&high.values).position(|(low, high)| low != high);
        let Some((column, steps)) = differs.zip(steps.checked_sub(1)) else { return Ok(None) };
        let value = |key: &KeyValues| key.values.get(column).cloned().unwrap_or_default();
        let (from, to) = (value(low), value(high));
        let kind = self.key.kinds().nth(column);
        // The order of texts is the server's: values in the middle of their bytes may be elsewhere, again and again.
        let steps = match kind {
            Some(KeyKind::Text(_)) => steps.min(MAX_STEPS_OF_TEXT),
            _ => steps,
        };
        let mut values = kind.map(|kind| kind.between(&from, &to)).unwrap_or_default();
        if column + 1 < high.values.len() {
            values.push(to);
        }
        let (up, down) = (self.key.order(), self.key.reverse_order());
        let inside = format!(
            "{} AND {}",
            self.key.condition(Side::After, low)?,
            self.key.condition(Side::Before, high)?
        );
        for value in &values {
            let condition = format!("{} AND {inside}", self.key.starting_at(low, column, value)?);
            if let Some(found) = self.first(Some(&condition), &up)? {
                return Ok(Some(found));
            }
        }
        if values.is_empty() {
            return Ok(None);
        }
        // There is no row in the upper part.
        let Some(last) = self.first(Some(&inside), &down)? else { return Ok(None) };
        Ok(Some(self.middle(low, &last, steps)?.unwrap_or(last)))
    }

    /// The key of the first row that meets a condition, in an order.
    fn first(&mut self, condition: Option<&str>, order: &str) -> Result<Option<KeyValues>> {
        let sql = self.query.first_sql(&self.table, &self.key, condition, order);
        self.query.start(self.server, &sql, false)?;
        let mut found = None;
        while let Some(payload) = self.server.connection().next_row()? {
            let row = BinaryRow::decode(payload, self.query.forms.len())?;
            found = Some(self.reader.read(&self.query.forms, &row)?);
        }
        Ok(found)
    }

    /// The estimated number of rows after a key, up to another.
    fn estimate(&mut self, low: &KeyValues, high: &KeyValues) -> Result<u64> {
        let sql = format!(
            "EXPLAIN FORMAT=TRADITIONAL SELECT 1 FROM {} {} WHERE {} AND {}",
            quoted_table(&self.table),
            self.key.weak_hint(),
            self.key.condition(Side::After, low)?,
            self.key.condition(Side::UpTo, high)?
        );
        let rows = self.server.connection().query(&sql)?;
        let Some(row) = rows.first() else { return Ok(0) };
        let rows = match row.len() {
            COLUMNS_OF_MYSQL => row.get(9),
            COLUMNS_OF_MARIADB => row.get(8),
            count => {
                return Err(Error::malformed(format!(
                    "the server's answer to EXPLAIN has {count} columns"
                )));
            }
        };
        // NULL if there is no such row.
        Ok(rows.and_then(|rows| rows.as_deref()?.parse().ok()).unwrap_or_default())
    }
}

impl Ord for Range {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (self.rows, other.place).cmp(&(other.rows, self.place))
    }
}

impl PartialOrd for Range {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

/// Keys in order, each with a number that does not change. A key is added before another.
struct List {
    keys: Vec<KeyValues>,
    /// The number of the key before each.
    before: Vec<Option<usize>>,
}

impl List {
    fn new(last: KeyValues) -> Self {
        Self { keys: vec![last], before: vec![None] }
    }

    /// Adds a key, and returns its number.
    fn insert_before(&mut self, place: usize, key: KeyValues) -> usize {
        let number = self.keys.len();
        let before = self.before.get_mut(place).and_then(|before| before.replace(number));
        self.keys.push(key);
        self.before.push(before);
        number
    }

    fn into_ordered(mut self) -> Vec<KeyValues> {
        let mut ordered = Vec::with_capacity(self.keys.len());
        let mut next = Some(0);
        while let Some(number) = next {
            let Some(key) = self.keys.get_mut(number) else { break };
            let empty = KeyValues { columns: Vec::new(), values: Vec::new() };
            ordered.push(std::mem::replace(key, empty));
            next = self.before.get(number).copied().flatten();
        }
        ordered.reverse();
        ordered
    }
}

/// The number of columns of EXPLAIN.
const COLUMNS_OF_MYSQL: usize = 12;
const COLUMNS_OF_MARIADB: usize = 10;

/// The maximum number of divisions of a table.
const MAX_RANGES: u64 = 1 << 16;

const MAX_STEPS_OF_TEXT: u32 = 6;

/// The maximum number of times that the middle is searched in one half of a range: more than the bits of a number.
const MAX_STEPS: u32 = 130;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_in_order() {
        let key = |number: u8| KeyValues { columns: Vec::new(), values: vec![vec![number]] };
        let mut list = List::new(key(9));
        let five = list.insert_before(0, key(5));
        list.insert_before(0, key(7));
        let three = list.insert_before(five, key(3));
        list.insert_before(three, key(1));
        list.insert_before(five, key(4));
        let ordered = list.into_ordered();
        let numbers: Vec<_> = ordered.iter().map(|key| key.values[0][0]).collect();
        assert_eq!(numbers, [1, 3, 4, 5, 7, 9]);
    }
}
