//! The position at which to resume after each batch: a base position, and the changes that were
//! delivered after it.
//!
//! Decoders report for each batch how far its table is delivered within its segment ([`Reach`]).
//! The reader, which receives all batches in order, combines these reports. It builds a position
//! only when a caller requests one.

use crate::position::{Ahead, GtidSet, GtidState, Position};
use crate::source::{GtidPlaces, add, only};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

/// The database and the name of a table.
pub type TableKey = (Arc<str>, Arc<str>);

/// The part of a table's changes that is delivered with a batch.
#[derive(Debug, Clone)]
pub struct Reach {
    /// The place at which all tables can resume before the batch.
    pub base: Arc<Position>,
    /// The GTIDs of the segment's transactions.
    pub gtids: Option<Arc<GtidPlaces>>,
    /// The end of the delivered changes of the table after that position.
    pub upto: Upto,
}

/// A place within a segment, or its end.
#[derive(Debug, Clone)]
pub enum Upto {
    /// All transactions that start before an offset, and a number of changes of the transaction
    /// that starts there, in this segment.
    Within {
        /// The offset.
        start: u64,
        /// The number of changes of the table.
        changes: u64,
    },
    /// The end of a transaction, which the batches of these tables reach one after another.
    Place {
        /// The place.
        end: Arc<Position>,
        /// The tables, in the order of their batches.
        tables: Arc<[TableKey]>,
        /// The number of them that have reached it with this batch.
        count: usize,
    },
}

/// The place at which to resume, cheap to copy.
#[derive(Debug, Clone)]
pub struct Progress {
    base: Arc<Position>,
    /// The GTIDs of the transactions after the base, as far as they are known.
    gtids: Option<Arc<GtidPlaces>>,
    beyond: Option<Beyond>,
}

/// The tables that were delivered beyond the base. Batches share it.
#[derive(Debug, Clone, Default)]
struct Beyond {
    marks: Arc<Vec<Mark>>,
    /// The tables whose batches reach one offset one after another, and the number of those that
    /// have reached it.
    closing: Option<(Arc<[TableKey]>, usize, u64)>,
}

/// The end of the delivered changes of one table.
#[derive(Debug, Clone)]
struct Mark {
    table: TableKey,
    start: u64,
    changes: u64,
}

impl Progress {
    /// A place, with nothing delivered beyond it.
    pub fn at(base: Arc<Position>) -> Self {
        Self { base, gtids: None, beyond: None }
    }

    /// The place from which a reader that resumes here reads.
    pub fn base(&self) -> &Arc<Position> {
        &self.base
    }

    /// True if nothing was delivered beyond that place since the start of the read.
    pub fn is_base(&self) -> bool {
        self.beyond.is_none()
    }

    /// The position: the place, and what was delivered beyond it.
    pub fn position(&self) -> Position {
        let mut position = Position::clone(&self.base);
        let Some(beyond) = &self.beyond else { return position };
        let mut tables: HashSet<&TableKey> = HashSet::new();
        let mut places: BTreeMap<(u64, u64), Vec<(String, String)>> = BTreeMap::new();
        let closing = beyond.closing.iter().flat_map(|(tables, count, end)| {
            tables.iter().take(*count).map(|table| (table, (*end, 0)))
        });
        let marks = beyond.marks.iter().map(|mark| (&mark.table, (mark.start, mark.changes)));
        for (table, place) in closing.chain(marks) {
            if tables.insert(table) {
                let (database, name) = table;
                places.entry(place).or_default().push((database.to_string(), name.to_string()));
            }
        }
        // The new place of a table is after its old one. Entries with only a GTID are from another
        // log.
        for ahead in position.ahead.iter_mut().filter(|ahead| ahead.offset.is_some()) {
            ahead.tables.retain(|(database, table)| {
                !tables.contains(&(database.as_str().into(), table.as_str().into()))
            });
        }
        let base = &self.base;
        position.ahead.extend(places.into_iter().map(|((offset, changes), tables)| Ahead {
            tables,
            offset: Some(offset),
            gtid_set: base.gtid_set.as_ref().and_then(|_| self.gtids_between(base.offset, offset)),
            changes,
            next_gtid: if changes > 0 { self.gtid_at(offset) } else { None },
        }));
        Ahead::sort(&mut position.ahead);
        position
    }

    /// Adds a number of changes of a table, from the transaction that starts at an offset. `None` if the number that was
    /// delivered before is not known.
    pub fn within(&self, table: &TableKey, start: u64, more: u64) -> Option<Self> {
        let (database, name) = table;
        let mut ahead = self.base.ahead.iter().filter(|ahead| ahead.has(database, name));
        if ahead.any(|ahead| ahead.offset.is_none() && ahead.changes > 0) {
            return None;
        }
        let beyond = self.beyond.clone().unwrap_or_default();
        let mut marks = beyond.marks;
        let own = Arc::make_mut(&mut marks);
        match own.iter_mut().find(|mark| mark.table == *table) {
            Some(mark) if mark.start == start => mark.changes += more,
            Some(mark) => (mark.start, mark.changes) = (start, more),
            None => {
                let ahead = self.base.ahead.iter().filter(|ahead| ahead.has(database, name));
                let here = ahead.filter(|ahead| ahead.offset == Some(start));
                let before = here.map(|ahead| ahead.changes).max().unwrap_or(0);
                own.push(Mark { table: table.clone(), start, changes: before + more });
            }
        }
        let beyond = Some(Beyond { marks, ..beyond });
        Some(Self { beyond, ..self.clone() })
    }

    /// The transactions that start in a part of the file; `None` if one of them has no GTID.
    fn gtids_between(&self, from: u64, to: u64) -> Option<GtidState> {
        let mut state = GtidState::Mysql(GtidSet::default());
        let mut gtids = self.gtids.as_ref()?.between(from, to);
        gtids.try_for_each(|gtid| add(&mut state, &gtid?).ok())?;
        Some(state)
    }

    fn gtid_at(&self, offset: u64) -> Option<GtidState> {
        self.gtids.as_ref()?.at(offset).as_ref().map(only)
    }
}

/// Combines the reports of decoders, in the order of delivery.
#[derive(Debug, Default)]
pub struct Tracker {
    now: Option<Progress>,
    /// Changes of the current transaction in its pieces before this one.
    earlier: HashMap<TableKey, u64>,
}

impl Tracker {
    /// The place at which the read starts.
    pub fn begin(&mut self, position: Option<Arc<Position>>) {
        self.now = position.map(Progress::at);
    }

    /// The place at which to resume; `None` before anything is known.
    pub fn progress(&self) -> Option<&Progress> {
        self.now.as_ref()
    }

    /// Adds a batch of a table that is returned. Returns the positions at which to resume before
    /// and after it.
    pub fn deliver(&mut self, table: TableKey, reach: Reach) -> (Progress, Progress) {
        let Reach { base, gtids, upto } = reach;
        let mut now = self.moved_to(base);
        now.gtids = gtids;
        let before = now.clone();
        let marks = now.beyond.take().map_or_else(Arc::default, |beyond| beyond.marks);
        match upto {
            Upto::Place { end, tables, count } if count >= tables.len() => {
                now.beyond = (!marks.is_empty()).then_some(Beyond { marks, closing: None });
                self.now = Some(now);
                now = self.moved_to(end);
            }
            Upto::Place { end, tables, count } => {
                let closing = Some((tables, count, end.offset));
                now.beyond = Some(Beyond { marks, closing });
            }
            Upto::Within { start, changes } => {
                let changes = changes + self.earlier.get(&table).copied().unwrap_or(0);
                let mut marks = marks;
                let own = Arc::make_mut(&mut marks);
                match own.iter_mut().find(|mark| mark.table == table) {
                    Some(mark) => (mark.start, mark.changes) = (start, changes),
                    None => own.push(Mark { table, start, changes }),
                }
                now.beyond = Some(Beyond { marks, closing: None });
            }
        }
        self.now = Some(now.clone());
        (before, now)
    }

    /// Adds an item that is returned, after all rows before it.
    pub fn pass_item(&mut self, position: &Arc<Position>) -> Progress {
        let now = self.moved_to(Arc::clone(position));
        self.now = Some(now.clone());
        now
    }

    /// Ends a segment. `open`: the changes in it of a transaction that continues in the next
    /// segment.
    pub fn end(&mut self, position: Arc<Position>, open: Option<Vec<(TableKey, u64)>>) {
        self.now = Some(self.moved_to(position));
        match open {
            None => self.earlier.clear(),
            Some(open) => {
                for (table, changes) in open {
                    *self.earlier.entry(table).or_insert(0) += changes;
                }
            }
        }
    }

    /// Returns the progress with another base; entries that the base includes are dropped.
    fn moved_to(&mut self, base: Arc<Position>) -> Progress {
        let Some(now) = self.now.take() else { return Progress::at(base) };
        if Arc::ptr_eq(&now.base, &base) {
            return now;
        }
        let is_same_file = now.base.file == base.file && now.base.server == base.server;
        let beyond = now.beyond.filter(|_| is_same_file).and_then(|mut beyond| {
            let is_beyond = |mark: &Mark| (mark.start, mark.changes) > (base.offset, 0);
            if !beyond.marks.iter().all(is_beyond) {
                Arc::make_mut(&mut beyond.marks).retain(is_beyond);
            }
            beyond.closing = beyond.closing.filter(|(_, _, end)| *end > base.offset);
            (!beyond.marks.is_empty() || beyond.closing.is_some()).then_some(beyond)
        });
        Progress { base, beyond, gtids: now.gtids }
    }
}
