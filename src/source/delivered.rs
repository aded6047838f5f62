//! The changes of a transaction that a resumed read leaves out, because they were delivered before its start position.

use crate::change::LoggedGtid;
use crate::error::{Error, Result};
use crate::position::{Ahead, GtidSet, GtidState, MariadbGtidPosition};
use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// The changes of one transaction that were delivered. The pieces of a large transaction share it.
#[derive(Debug)]
pub struct Delivered {
    /// The tables that were delivered after the position.
    ahead: Arc<Vec<Ahead>>,
    /// The entries of `ahead` that cover all of the transaction.
    all_of: Vec<usize>,
    pieces: Mutex<Pieces>,
    changed: Condvar,
}

/// State that the pieces of a transaction share.
#[derive(Debug, Default)]
struct Pieces {
    /// Changes that are still to be left out, by database and table.
    left: HashMap<(String, String), u64>,
    /// The tables of which a change was left out.
    found: HashSet<(String, String)>,
    /// The number of decoded pieces.
    done: u64,
}

/// The changes of a table that are left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Left {
    /// No more changes.
    Nothing,
    /// This number of changes, at least one.
    Changes(u64),
    /// All changes of the transaction.
    All,
}

impl Delivered {
    /// The delivered changes of the transaction that starts at `start`; `None` if there are none.
    pub(super) fn of(
        ahead: &Arc<Vec<Ahead>>,
        start: u64,
        gtid: Option<&LoggedGtid>,
    ) -> Option<Arc<Self>> {
        let mut all_of = Vec::new();
        let mut left = HashMap::new();
        for (index, each) in ahead.iter().enumerate() {
            let is_next = match each.offset {
                Some(offset) if start < offset => {
                    all_of.push(index);
                    continue;
                }
                Some(offset) => start == offset,
                None if contains(each.gtid_set.as_ref(), gtid) => {
                    all_of.push(index);
                    continue;
                }
                None => gtid.is_some_and(|gtid| each.next_gtid == Some(only(gtid))),
            };
            if is_next && each.changes > 0 {
                for table in &each.tables {
                    let changes = left.entry(table.clone()).or_insert(0);
                    *changes = each.changes.max(*changes);
                }
            }
        }
        let is_any = !all_of.is_empty() || !left.is_empty();
        is_any.then(|| {
            let pieces = Mutex::new(Pieces { left, ..Pieces::default() });
            Arc::new(Self { ahead: Arc::clone(ahead), all_of, pieces, changed: Condvar::new() })
        })
    }

    /// The number of a table's next changes to leave out.
    pub fn left(&self, database: &str, table: &str) -> Left {
        let all_of = self.all_of.iter().filter_map(|index| self.ahead.get(*index));
        if all_of.into_iter().any(|ahead| ahead.has(database, table)) {
            return Left::All;
        }
        match self.lock().left.get(&(database.to_owned(), table.to_owned())) {
            Some(changes) => Left::Changes(*changes),
            None => Left::Nothing,
        }
    }

    /// Leaves out this number of a table's changes.
    pub fn leave_out(&self, database: &str, table: &str, changes: u64) {
        let key = (database.to_owned(), table.to_owned());
        let mut pieces = self.lock();
        if let Some(left) = pieces.left.get_mut(&key) {
            *left = left.saturating_sub(changes);
            if *left == 0 {
                pieces.left.remove(&key);
            } else {
                pieces.found.insert(key);
            }
        }
        if pieces.left.is_empty() {
            self.changed.notify_all();
        }
    }

    /// Checks at the end of the transaction that it contains the changes that were delivered.
    ///
    /// # Errors
    /// A table has fewer: the position is damaged.
    pub fn check_end(&self) -> Result<()> {
        let pieces = self.lock();
        match pieces.found.iter().find(|table| pieces.left.contains_key(*table)) {
            None => Ok(()),
            Some((database, table)) => Err(damaged(format_args!(
                "more changes of {database}.{table} than the transaction contains"
            ))),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Pieces> {
        // The numbers are correct after each step.
        self.pieces.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The turn of one piece of a transaction: changes to leave out are counted from piece to piece, in
/// log order, on all threads.
///
/// A piece waits for the pieces before it, and never for later ones. A piece that is dropped
/// without decoding ends its turn too.
#[derive(Debug)]
pub struct Turn {
    delivered: Arc<Delivered>,
    number: u64,
}

impl Turn {
    pub(super) fn new(delivered: Arc<Delivered>, number: u64) -> Self {
        Self { delivered, number }
    }

    /// Waits until all earlier pieces are decoded, or until no more changes must be left out.
    pub fn wait(&self) {
        let mut pieces = self.delivered.lock();
        while pieces.done < self.number && !pieces.left.is_empty() {
            pieces = self.delivered.changed.wait(pieces).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        self.delivered.lock().done += 1;
        self.delivered.changed.notify_all();
    }
}

/// Checks that the changes that were delivered after a position match the transaction at `extent`.
///
/// # Errors
/// They do not match: the position is damaged, or belongs to another log.
pub(super) fn check(ahead: &[Ahead], extent: Range<u64>, gtid: Option<&LoggedGtid>) -> Result<()> {
    for each in ahead {
        let Some(offset) = each.offset else { continue };
        let is_within = extent.start < offset && offset < extent.end;
        if is_within || each.changes > 0 && extent.start > offset {
            return Err(damaged(format_args!(
                "up to offset {offset}, where no transaction of the log starts or ends"
            )));
        }
        // MariaDB's numbers need not increase.
        let Some(gtid @ LoggedGtid::Mysql(_)) = gtid else { continue };
        let is_before = extent.start < offset;
        let is_other = match &each.gtid_set {
            Some(set @ GtidState::Mysql(_)) => contains(Some(set), Some(gtid)) != is_before,
            _ => false,
        };
        let is_next = extent.start == offset && each.changes > 0;
        if is_other || is_next && each.next_gtid.as_ref().is_some_and(|next| *next != only(gtid)) {
            return Err(damaged(format_args!(
                "up to offset {offset}, where the log has different GTIDs"
            )));
        }
    }
    Ok(())
}

/// The error for a position whose `ahead` does not match the log.
pub(super) fn damaged(what: std::fmt::Arguments<'_>) -> Error {
    Error::config(format!(
        "the position is damaged, or belongs to another log: according to its `ahead`, tables were delivered {what}. Start at the position's \
         `base`, from which those changes are returned again"
    ))
}

/// Removes the transaction from entries that contain only MariaDB's GTIDs, if it is the last one of
/// its domain there or the one that was delivered in part: later transactions are new, whatever
/// their numbers are.
pub(super) fn pass(ahead: &mut Vec<Ahead>, gtid: &LoggedGtid) {
    let LoggedGtid::Mariadb(mariadb) = gtid else { return };
    for each in ahead.iter_mut().filter(|each| each.offset.is_none()) {
        if let Some(GtidState::Mariadb(known)) = &mut each.gtid_set
            && known.last(mariadb.domain_id) == Some(*mariadb)
        {
            known.remove(mariadb.domain_id);
        }
        if each.next_gtid == Some(only(gtid)) {
            (each.next_gtid, each.changes) = (None, 0);
        }
    }
    let is_passed = |each: &Ahead| {
        each.offset.is_none()
            && each.changes == 0
            && each.gtid_set.as_ref().is_none_or(GtidState::is_empty)
    };
    ahead.retain(|each| !is_passed(each));
}

/// True if an entry contains nothing after `offset` and after the GTIDs that were read up to there.
pub(super) fn is_passed(ahead: &Ahead, offset: u64, read: Option<&GtidState>) -> bool {
    match (ahead.offset, &ahead.gtid_set) {
        (Some(place), _) => offset > place || (offset == place && ahead.changes == 0),
        (None, Some(gtids @ GtidState::Mysql(_))) => {
            let covers = |gtids: &GtidState| read.is_some_and(|read| read.covers(gtids));
            covers(gtids) && ahead.next_gtid.as_ref().is_none_or(covers)
        }
        (None, _) => false,
    }
}

/// The state that contains one transaction only.
pub(crate) fn only(gtid: &LoggedGtid) -> GtidState {
    let mut state = GtidState::Mysql(GtidSet::default());
    // The decoder of the event rejects a number that no server assigns.
    drop(add(&mut state, gtid));
    state
}

/// Adds a transaction.
///
/// # Errors
/// The number is one that no server assigns.
pub(crate) fn add(state: &mut GtidState, gtid: &LoggedGtid) -> crate::Result<()> {
    match (state, gtid) {
        (GtidState::Mysql(set), LoggedGtid::Mysql(gtid)) => set.add(&gtid.tsid, gtid.gno)?,
        (GtidState::Mariadb(position), LoggedGtid::Mariadb(gtid)) => position.update(*gtid),
        (state, LoggedGtid::Mariadb(gtid)) if state.is_empty() => {
            let mut position = MariadbGtidPosition::default();
            position.update(*gtid);
            *state = GtidState::Mariadb(position);
        }
        _ => {}
    }
    Ok(())
}

fn contains(state: Option<&GtidState>, gtid: Option<&LoggedGtid>) -> bool {
    match (state, gtid) {
        (Some(GtidState::Mysql(set)), Some(LoggedGtid::Mysql(gtid))) => {
            set.contains(&gtid.tsid, gtid.gno)
        }
        (Some(GtidState::Mariadb(position)), Some(LoggedGtid::Mariadb(gtid))) => {
            position.contains(*gtid)
        }
        _ => false,
    }
}
