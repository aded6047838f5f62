//! The consumer of a load, and its checks.
//!
//! After each output with a position, the rows that it has are compared with those that the log determines for that position.

use super::rows::{Row, STATEMENTS, key_of, rows_of, statement_of};
use super::server::{Change, Place, Server, Statement, TABLES, Tables, WITHOUT_KEY, apply};
use super::shared::place_of;
use crate::position::{LoadProgress, Position, RowsRead};
use crate::reader::{ChangeBatch, Reach, Upto};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

pub(super) type Check<T = ()> = Result<T, String>;

/// The rows of two consumers.
#[derive(Clone, Default)]
pub(super) struct Mirrors {
    /// The rows of a consumer that applies rows in the order in which they arrive.
    applied: Tables,
    /// The rows of a consumer that keeps the row with the highest version and ordinal per key.
    latest: [BTreeMap<i64, Latest>; TABLES],
}

/// The version, the ordinal and the value of a row.
type Latest = (i64, i64, Option<i64>);

impl Mirrors {
    fn add(&mut self, table: usize, (key, value, version, ordinal): Row) {
        apply(&mut self.applied, &Change { table, key, value });
        let latest = self.latest[table].entry(key).or_insert((version, ordinal, value));
        if (version, ordinal) >= (latest.0, latest.1) {
            *latest = (version, ordinal, value);
        }
    }

    /// Applies a statement. If its tables are loaded again, their rows are deleted before.
    fn change(&mut self, statement: Statement, is_loaded_again: bool) {
        for table in (0..TABLES).filter(|table| is_loaded_again && statement.is_of(*table)) {
            self.applied[table].clear();
            self.latest[table].clear();
        }
        statement.apply(&mut self.applied);
        statement.apply(&mut self.latest);
    }

    /// Adds or removes a row of the table without a key, which is delivered once.
    fn count(&mut self, row: Row) -> Check {
        let is_new = !self.applied[WITHOUT_KEY].contains_key(&row.0);
        if is_new != row.1.is_some() {
            let what = if is_new { "a delete without its row" } else { "a row twice" };
            return Err(format!("{what}, in the table without a key"));
        }
        self.add(WITHOUT_KEY, row);
        Ok(())
    }

    /// Compares the rows of a range of keys.
    fn check(&self, table: usize, range: Range, expected: &Tables) -> Check {
        let expected: Vec<_> =
            range.of(&expected[table]).map(|(key, value)| (*key, *value)).collect();
        let applied = range.of(&self.applied[table]).map(|(key, value)| (*key, *value));
        if !applied.eq(expected.iter().copied()) {
            return Err(format!("table {table}, applied in order, is not {expected:?}"));
        }
        let latest = range.of(&self.latest[table]);
        let latest = latest.filter_map(|(key, (.., value))| value.map(|value| (*key, value)));
        match latest.eq(expected.iter().copied()) {
            true => Ok(()),
            false => Err(format!("table {table}, by highest version, is not {expected:?}")),
        }
    }

    /// Compares all rows.
    pub(super) fn check_all(&self, expected: &Tables) -> Check {
        self.check_keyed(expected)?;
        self.check(WITHOUT_KEY, Range::ALL, expected)
    }

    /// Compares all rows with a key.
    pub(super) fn check_keyed(&self, expected: &Tables) -> Check {
        (0..WITHOUT_KEY).try_for_each(|table| self.check(table, Range::ALL, expected))
    }
}

/// Keys: after the first, up to the last.
#[derive(Debug, Clone, Copy)]
struct Range {
    after: i64,
    upto: i64,
}

impl Range {
    const ALL: Self = Self { after: i64::MIN, upto: i64::MAX };

    fn of<'t, T>(&self, table: &'t BTreeMap<i64, T>) -> impl Iterator<Item = (&'t i64, &'t T)> {
        let Self { after, upto } = *self;
        table.range(after..=upto).filter(move |(key, _)| **key > after)
    }

    /// The keys that were read between two places.
    fn between(before: &RowsRead, after: &RowsRead) -> Option<Self> {
        let end = |read: &RowsRead| match read {
            RowsRead::UpTo(key) => key_of(key),
            RowsRead::All => i64::MAX,
            RowsRead::Nothing | RowsRead::Some => i64::MIN,
        };
        let range = Self { after: end(before), upto: end(after) };
        // After a statement, a table may be read from its first row again.
        (range.after < range.upto).then_some(range)
    }
}

/// The rows that the log determines for a place.
#[derive(Clone)]
struct Truth {
    tables: Tables,
    next: usize,
}

impl Truth {
    fn move_to(&mut self, place: Place, server: &Server) {
        while let Some(entry) = server.log.get(self.next).filter(|entry| entry.end <= place) {
            entry.changes.iter().for_each(|change| apply(&mut self.tables, change));
            if let Some(statement) = entry.statement {
                statement.apply(&mut self.tables);
            }
            self.next += 1;
        }
    }
}

/// A consumer that stores rows and position together.
#[derive(Clone)]
pub(super) struct Consumer {
    pub(super) mirrors: Mirrors,
    pub(super) position: Option<Arc<Position>>,
    truth: Truth,
    /// Keys that were loaded at exact positions.
    exact: Vec<(usize, Range)>,
    /// Versions and ordinals of loaded rows.
    loaded: BTreeSet<(i64, i64)>,
    /// Versions and ordinals of changes.
    changes: BTreeSet<(i64, i64)>,
    /// Versions of statements.
    statements: BTreeSet<i64>,
    /// The index of the first entry of the log that was read.
    first: usize,
}

impl Consumer {
    pub(super) fn new(server: &Server) -> Self {
        Self {
            mirrors: Mirrors::default(),
            position: None,
            truth: Truth { tables: server.initial.clone(), next: 0 },
            exact: Vec::new(),
            loaded: BTreeSet::new(),
            changes: BTreeSet::new(),
            statements: BTreeSet::new(),
            first: 0,
        }
    }

    /// Takes a batch; `kept` are the rows of a consumer that receives some batches again. Returns true if it moves the position.
    pub(super) fn batch(
        &mut self,
        batch: &ChangeBatch,
        reach: &Reach,
        kept: &mut Mirrors,
        server: &Server,
        is_exact: bool,
    ) -> Check<bool> {
        let table = batch.table.parse().map_err(|_| "no such table")?;
        if self.position.is_none() {
            self.move_to(&reach.base, server, is_exact)?;
        }
        if table == STATEMENTS {
            for (code, _, version, _) in rows_of(&batch.batch) {
                let (statement, is_loaded_again) = statement_of(code);
                self.mirrors.change(statement, is_loaded_again);
                kept.change(statement, is_loaded_again);
                self.exact.retain(|(table, _)| !statement.is_of(*table));
                if !self.statements.insert(version) {
                    return Err("a statement is delivered twice".to_owned());
                }
            }
            return Ok(false);
        }
        let Upto::Place { end, .. } = &reach.upto else {
            for row in rows_of(&batch.batch) {
                if !self.changes.insert((row.2, row.3)) {
                    return Err("a change is delivered twice".to_owned());
                }
                if table == WITHOUT_KEY {
                    self.mirrors.count(row)?;
                    continue;
                }
                self.mirrors.add(table, row);
                kept.add(table, row);
            }
            return Ok(false);
        };
        if table == WITHOUT_KEY {
            rows_of(&batch.batch).try_for_each(|row| self.mirrors.count(row))?;
            self.move_to(end, server, is_exact)?;
            return Ok(true);
        }
        let (before, after) = (read(&reach.base, table), read(end, table));
        let range = Range::between(&before, &after).ok_or("a batch of rows moves no position")?;
        for row in rows_of(&batch.batch) {
            if !(range.after < row.0 && row.0 <= range.upto) {
                return Err(format!("key {} is not in {range:?}", row.0));
            }
            if !self.loaded.insert((row.2, row.3)) {
                return Err("the version and ordinal of a loaded row are not unique".to_owned());
            }
            self.mirrors.add(table, row);
            kept.add(table, row);
        }
        self.move_to(end, server, is_exact)?;
        Ok(true)
    }

    /// Everything up to a position was delivered.
    pub(super) fn move_to(
        &mut self,
        position: &Arc<Position>,
        server: &Server,
        is_exact: bool,
    ) -> Check {
        let place = place_of(position);
        match self.position.take() {
            None => self.first = server.log.partition_point(|entry| entry.start < place),
            Some(before) => {
                if place < place_of(&before) {
                    return Err(format!("{position} is before {before}"));
                }
                let tables = 0..WITHOUT_KEY;
                let new = tables.filter_map(|table| {
                    position.load.as_ref()?;
                    Some((table, Range::between(&read(&before, table), &read(position, table))?))
                });
                self.exact.extend(new.filter(|_| is_exact));
            }
        }
        self.position = Some(Arc::clone(position));
        self.truth.move_to(place, server);
        let expected = &self.truth.tables;
        let at = |error| format!("at {position}: {error}");
        if position.load.is_none() {
            return self.mirrors.check_all(expected).map_err(at);
        }
        if read(position, WITHOUT_KEY) == RowsRead::All {
            self.mirrors.check(WITHOUT_KEY, Range::ALL, expected).map_err(at)?;
        }
        let mut exact = self.exact.iter();
        exact
            .try_for_each(|(table, range)| self.mirrors.check(*table, *range, expected))
            .map_err(at)
    }

    /// The checks at the end of the log.
    pub(super) fn end(&self, server: &Server) -> Check {
        if self.truth.tables != server.tables {
            return Err("the log and the tables of the server differ".to_owned());
        }
        let position = self.position.as_ref().ok_or("no position")?;
        if position.load.is_some() || self.truth.next != server.log.len() {
            return Err(format!("the end is not reached: {position}"));
        }
        let changes = server.log.iter().skip(self.first).map(|entry| entry.changes.len());
        if changes.sum::<usize>() != self.changes.len() {
            return Err("a change is missing".to_owned());
        }
        let versions: BTreeSet<_> = self.changes.iter().map(|(version, _)| version).collect();
        match self.loaded.iter().any(|(version, _)| versions.contains(version)) {
            true => Err("a loaded row has the version of a transaction".to_owned()),
            false => Ok(()),
        }
    }
}

/// The rows of a table that were read.
fn read(position: &Position, table: usize) -> RowsRead {
    let load: Option<&LoadProgress> = position.load.as_deref();
    let name = table.to_string();
    let load = load.and_then(|load| load.tables.iter().find(|one| one.table == name));
    load.map_or(RowsRead::Nothing, |one| one.read.clone())
}
