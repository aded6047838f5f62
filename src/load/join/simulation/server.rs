//! The model of a server: its log, its storage engine, and the steps of its transactions.

use super::random::Random;
use std::collections::BTreeMap;

/// The rows of each table: the value by key.
pub(super) type Tables = [BTreeMap<i64, i64>; TABLES];

/// A place in the log: the number of the file, and the offset.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Place {
    pub(super) file: u64,
    pub(super) offset: u64,
}

/// The new value of a key; `None` if its row is deleted. A change of a key is two of them.
#[derive(Debug, Clone, Copy)]
pub(super) struct Change {
    pub(super) table: usize,
    pub(super) key: i64,
    pub(super) value: Option<i64>,
}

/// A transaction in the log, with the changes that a reader returns for it: for an XA transaction with its XA COMMIT.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) start: Place,
    pub(super) end: Place,
    pub(super) changes: Vec<Change>,
    /// The statement that changes tables, instead of a transaction.
    pub(super) statement: Option<Statement>,
    /// True if `gtid_executed` contains it.
    is_executed: bool,
}

/// A statement that changes tables. It waits for the transactions and the chunks that use them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Statement {
    Truncate(usize),
    /// DROP and CREATE.
    Recreate(usize),
    /// RENAME, which exchanges the names of the tables with a key.
    Exchange,
}

impl Statement {
    /// True if it changes a table.
    pub(super) fn is_of(self, table: usize) -> bool {
        match self {
            Self::Truncate(one) | Self::Recreate(one) => one == table,
            Self::Exchange => table != WITHOUT_KEY,
        }
    }

    /// The text in the log.
    pub(super) fn text(self) -> String {
        match self {
            Self::Truncate(table) => format!("TRUNCATE TABLE `{table}`"),
            Self::Recreate(table) => format!("DROP TABLE `{table}`"),
            Self::Exchange => "RENAME TABLE `0` TO tmp, `1` TO `0`, tmp TO `1`".to_owned(),
        }
    }

    /// Changes the rows.
    pub(super) fn apply<T: Default>(self, tables: &mut [T; TABLES]) {
        match self {
            Self::Truncate(table) | Self::Recreate(table) => tables[table] = T::default(),
            Self::Exchange => tables.swap(0, 1),
        }
    }
}

/// A transaction that has not finished.
#[derive(Debug)]
struct Transaction {
    changes: Vec<Change>,
    is_xa: bool,
    state: State,
}

/// The steps that were done. The numbers are those of its entries in the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum State {
    Running,
    /// XA PREPARE.
    Prepared,
    /// In the log, and not visible.
    Flushed(usize),
    /// Visible, and not in `gtid_executed`.
    Committed(usize),
}

/// Counts of the steps by their kind.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Counts {
    pub(super) rotations: u64,
    pub(super) kills: u64,
    pub(super) recovered: u64,
    pub(super) xa_commits: u64,
    pub(super) exact_chunks: u64,
    pub(super) other_chunks: u64,
    pub(super) broken_chunks: u64,
    pub(super) resumed: u64,
    pub(super) statements: u64,
    pub(super) exchanges: u64,
    pub(super) without_key: u64,
}

impl Counts {
    pub(super) fn all(&self) -> [u64; 11] {
        let Self { rotations, kills, recovered, xa_commits, .. } = *self;
        let Self { exact_chunks, other_chunks, broken_chunks, resumed, .. } = *self;
        let Self { statements, exchanges, without_key, .. } = *self;
        [
            rotations,
            kills,
            recovered,
            xa_commits,
            exact_chunks,
            other_chunks,
            broken_chunks,
            resumed,
            statements,
            exchanges,
            without_key,
        ]
    }
}

/// A server.
pub(super) struct Server {
    pub(super) random: Random,
    pub(super) initial: Tables,
    /// The rows that a SELECT sees.
    pub(super) tables: Tables,
    pub(super) log: Vec<Entry>,
    /// The end of the log: what SHOW BINARY LOG STATUS returns.
    pub(super) end: Place,
    /// MariaDB: the position of a snapshot that is opened now.
    pub(super) of_snapshot: Place,
    /// XA COMMIT statements since the server started.
    pub(super) xa_commits: u64,
    pub(super) counts: Counts,
    /// The table that a chunk is reading: no statement changes it.
    pub(super) held: Option<usize>,
    /// The number of statements that changed each table, now and when a snapshot was opened last.
    changed: [u64; TABLES],
    changed_before: [u64; TABLES],
    /// True if there is a table without a key.
    pub(super) has_keyless: bool,
    has_statements: bool,
    /// Transactions become visible in the order of the log.
    is_ordered: bool,
    has_xa: bool,
    transactions: Vec<Transaction>,
    /// The number of transactions that are still to be started.
    to_start: u64,
    next_value: i64,
}

impl Server {
    pub(super) fn new(
        mut random: Random,
        is_ordered: bool,
        has_xa: bool,
        has_keyless: bool,
    ) -> Self {
        let mut initial = Tables::default();
        let rows = random.below(10);
        for (number, table) in initial.iter_mut().enumerate() {
            for _ in 0..if number == WITHOUT_KEY && !has_keyless { 0 } else { rows } {
                let key = random.below(KEYS) as i64;
                table.insert(key, -key);
            }
        }
        let has_statements = random.one_in(2);
        Self {
            tables: initial.clone(),
            initial,
            log: Vec::new(),
            end: START,
            of_snapshot: START,
            xa_commits: 0,
            counts: Counts::default(),
            held: None,
            changed: [0; TABLES],
            changed_before: [0; TABLES],
            has_keyless,
            has_statements,
            is_ordered,
            has_xa,
            transactions: Vec::new(),
            to_start: 10 + random.below(40),
            next_value: KEYS as i64,
            random,
        }
    }

    /// True if no transaction is missing from the log.
    pub(super) fn has_finished(&self) -> bool {
        self.to_start == 0 && self.transactions.is_empty()
    }

    /// Some steps: often none, sometimes many.
    pub(super) fn run(&mut self) {
        let steps = if self.random.one_in(10) { 12 } else { self.random.below(2) };
        (0..steps).for_each(|_| self.step());
    }

    /// One step.
    pub(super) fn step(&mut self) {
        match self.random.below(40) {
            0 => self.rotate(),
            1 => self.kill(),
            2..6 if self.has_statements => self.change_tables(),
            2..12 => self.start_transaction(),
            _ if self.transactions.is_empty() => self.start_transaction(),
            _ => {
                let index = self.random.below(self.transactions.len() as u64) as usize;
                self.advance(index);
            }
        }
    }

    fn start_transaction(&mut self) {
        if self.to_start == 0 || self.transactions.len() > 4 {
            return;
        }
        let mut changes = Vec::new();
        for _ in 0..=self.random.below(3) {
            let count = TABLES - usize::from(!self.has_keyless);
            let table = self.random.below(count as u64) as usize;
            if table == WITHOUT_KEY {
                changes.extend(self.keyless_change(&changes));
                continue;
            }
            let (key, other) = (self.random.below(KEYS) as i64, self.random.below(KEYS) as i64);
            if self.is_locked(&changes, table, key) {
                continue;
            }
            let mut value = Some(self.next_value);
            self.next_value += 1;
            if self.tables[table].contains_key(&key) {
                match self.random.below(4) {
                    // A change of the key.
                    0 if !self.tables[table].contains_key(&other)
                        && !self.is_locked(&changes, table, other) =>
                    {
                        changes.push(Change { table, key, value: None });
                        changes.push(Change { table, key: other, value });
                        continue;
                    }
                    1 => value = None,
                    _ => {}
                }
            }
            changes.push(Change { table, key, value });
        }
        if !changes.is_empty() {
            self.to_start -= 1;
            let is_xa = self.has_xa && self.random.one_in(2);
            self.transactions.push(Transaction { changes, is_xa, state: State::Running });
        }
    }

    /// An insert or a delete of a row of the table without a key: the model's key of a row is not used again.
    fn keyless_change(&mut self, changes: &[Change]) -> Option<Change> {
        self.next_value += 1;
        let rows: Vec<_> = self.tables[WITHOUT_KEY].keys().copied().collect();
        let row = rows.get(self.random.below(2 * KEYS) as usize).copied();
        let row = row.filter(|row| !self.is_locked(changes, WITHOUT_KEY, *row));
        let (key, value) = row.map_or((self.next_value, Some(self.next_value)), |row| (row, None));
        Some(Change { table: WITHOUT_KEY, key, value })
    }

    /// A statement that changes a table with a key.
    fn change_tables(&mut self) {
        let table = self.random.below(2) as usize;
        let statement = match self.random.below(3) {
            0 => Statement::Truncate(table),
            1 => Statement::Recreate(table),
            _ => Statement::Exchange,
        };
        let is_used = self.transactions.iter().any(|one| match one.state {
            State::Flushed(_) => true,
            State::Committed(_) => false,
            State::Running | State::Prepared => {
                one.changes.iter().any(|change| statement.is_of(change.table))
            }
        });
        if self.to_start == 0 || is_used || self.held.is_some_and(|table| statement.is_of(table)) {
            return;
        }
        self.to_start -= 1;
        let entry = self.append(Vec::new());
        self.log[entry].statement = Some(statement);
        self.log[entry].is_executed = true;
        statement.apply(&mut self.tables);
        self.of_snapshot = self.of_snapshot.max(self.end);
        for (table, changed) in self.changed.iter_mut().enumerate() {
            *changed += u64::from(statement.is_of(table));
        }
        self.counts.statements += 1;
        self.counts.exchanges += u64::from(statement == Statement::Exchange);
    }

    /// Opens a snapshot of all rows.
    pub(super) fn snapshot(&mut self) -> Tables {
        self.changed_before = self.changed;
        self.tables.clone()
    }

    /// True if a statement changed a table since the snapshot was opened: a SELECT fails then.
    pub(super) fn is_changed(&self, table: usize) -> bool {
        self.changed_before[table] != self.changed[table]
    }

    /// True if a transaction that is not visible yet changes a key, or one of `changes` does.
    fn is_locked(&self, changes: &[Change], table: usize, key: i64) -> bool {
        let running = self.transactions.iter();
        let running = running.filter(|one| !matches!(one.state, State::Committed(_)));
        let mut locked = running.flat_map(|transaction| &transaction.changes).chain(changes);
        locked.any(|change| change.table == table && change.key == key)
    }

    /// The next step of a transaction.
    fn advance(&mut self, index: usize) {
        let Transaction { changes, is_xa, state } = &mut self.transactions[index];
        match *state {
            State::Running if *is_xa => {
                *state = State::Prepared;
                let entry = self.append(Vec::new());
                self.log[entry].is_executed = true;
            }
            State::Prepared if self.random.one_in(4) => {
                // XA ROLLBACK
                self.transactions.remove(index);
                let entry = self.append(Vec::new());
                self.log[entry].is_executed = true;
            }
            State::Running | State::Prepared => {
                let (changes, is_xa) = (changes.clone(), *is_xa);
                self.xa_commits += u64::from(is_xa);
                self.counts.xa_commits += u64::from(is_xa);
                let entry = self.append(changes);
                self.transactions[index].state = State::Flushed(entry);
            }
            State::Flushed(entry) => {
                let earlier =
                    |other: &Transaction| matches!(other.state, State::Flushed(at) if at < entry);
                if !(self.is_ordered && self.transactions.iter().any(earlier)) {
                    self.commit(index, entry);
                }
            }
            State::Committed(entry) => {
                self.log[entry].is_executed = true;
                self.transactions.remove(index);
            }
        }
    }

    /// Appends an entry, and returns its index.
    fn append(&mut self, changes: Vec<Change>) -> usize {
        let start = self.end;
        self.end.offset += 10 + self.random.below(20);
        self.log.push(Entry { start, end: self.end, changes, statement: None, is_executed: false });
        self.log.len() - 1
    }

    /// Makes a transaction visible.
    fn commit(&mut self, index: usize, entry: usize) {
        let transaction = &mut self.transactions[index];
        transaction.state = State::Committed(entry);
        for change in &transaction.changes {
            apply(&mut self.tables, change);
        }
        self.of_snapshot = self.of_snapshot.max(self.log[entry].end);
    }

    /// Commits what is in the log, except XA transactions if they are not waited for.
    pub(super) fn finish_flushed(&mut self, with_xa: bool) {
        for index in 0..self.transactions.len() {
            let Transaction { is_xa, state, .. } = self.transactions[index];
            if let State::Flushed(entry) = state
                && (with_xa || !is_xa)
            {
                self.commit(index, entry);
            }
        }
    }

    /// The end of the log, after all transactions before it are in `gtid_executed`.
    pub(super) fn executed_end(&mut self) -> Place {
        let (end, count) = (self.end, self.log.len());
        self.run();
        self.finish_flushed(true);
        self.transactions.retain(|transaction| match transaction.state {
            State::Committed(entry) if entry < count => {
                self.log[entry].is_executed = true;
                false
            }
            _ => true,
        });
        end
    }

    /// The start of the first transaction that is not in `gtid_executed`.
    pub(super) fn executed(&self) -> Place {
        self.log.iter().find(|entry| !entry.is_executed).map_or(self.end, |entry| entry.start)
    }

    /// The next file. A server does not open it while a transaction is in the log and not visible: after a crash, it searches
    /// only the last file for such transactions.
    fn rotate(&mut self) {
        if !self.transactions.iter().any(|one| matches!(one.state, State::Flushed(_))) {
            self.end = Place { file: self.end.file + 1, offset: START.offset };
            self.of_snapshot = self.end;
            self.counts.rotations += 1;
        }
    }

    /// The server is killed and started: it commits what is in the log, and rolls back the rest. Prepared XA transactions remain.
    pub(super) fn kill(&mut self) {
        self.counts.kills += 1;
        self.counts.recovered +=
            self.transactions.iter().filter(|one| matches!(one.state, State::Flushed(_))).count()
                as u64;
        self.finish_flushed(true);
        self.transactions.retain(|transaction| transaction.state == State::Prepared);
        for entry in &mut self.log {
            entry.is_executed = true;
        }
        self.xa_commits = 0;
        self.rotate();
    }
}

pub(super) fn apply(tables: &mut Tables, change: &Change) {
    let table = &mut tables[change.table];
    match change.value {
        Some(value) => table.insert(change.key, value),
        None => table.remove(&change.key),
    };
}

/// Two tables with a key, and one without.
pub(super) const TABLES: usize = 3;
pub(super) const WITHOUT_KEY: usize = 2;
pub(super) const KEYS: u64 = 14;
const START: Place = Place { file: 1, offset: 4 };
