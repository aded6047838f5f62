//! The tables that were delivered beyond a position's base.

use std::collections::HashSet;

use serde::{Deserialize, Serialize};

use super::gtid_state::GtidState;
use super::position::Position;
use crate::error::Error;

/// Tables that were delivered beyond the position's base, all of them up to the same place.
///
/// One such place per table is enough, because the rows of a table are always delivered in the order of the log.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Ahead {
    /// Database and name of the tables, in order.
    pub tables: Vec<(String, String)>,
    /// Offset in the position's file: the changes of all transactions that start before it were delivered. `None` if only the
    /// GTIDs are valid, as at another server.
    pub offset: Option<u64>,
    /// The same by GTID: the delivered transactions after the position's base; `None` if the log has no GTIDs.
    pub gtid_set: Option<GtidState>,
    /// The number of changes of each of the tables that were delivered from the transaction that starts at the offset.
    pub changes: u64,
    /// The GTID of that transaction, if changes of it were delivered.
    pub next_gtid: Option<GtidState>,
}

impl Ahead {
    /// True if `table` is among the tables.
    pub fn has(&self, database: &str, table: &str) -> bool {
        let place =
            |(own, name): &(String, String)| (own.as_str(), name.as_str()).cmp(&(database, table));
        self.tables.binary_search_by(place).is_ok()
    }

    /// The same for a reader of another log of the same transactions: by GTID alone. `None` if GTIDs do not suffice.
    pub fn by_gtid(&self) -> Option<Self> {
        let is_known = self.gtid_set.is_some() && (self.changes == 0 || self.next_gtid.is_some());
        is_known.then(|| Self { offset: None, ..self.clone() })
    }

    /// Checks what was stored beyond a position.
    ///
    /// # Errors
    /// It cannot be beyond `base`: the text was edited, or is damaged.
    pub(super) fn check(list: &[Self], base: &Position) -> Result<(), Error> {
        let mut tables = HashSet::new();
        for ahead in list {
            ahead.check_alone(base).map_err(|why| {
                Error::config(format!("not a stored position: an entry of `ahead` {why}"))
            })?;
            // Each resume by GTID may leave an entry by GTID alone, until the position has passed it.
            let mut by_offset = ahead.tables.iter().filter(|_| ahead.offset.is_some());
            if let Some((database, table)) = by_offset.find(|table| !tables.insert(*table)) {
                return Err(Error::config(format!(
                    "not a stored position: `ahead` contains {database}.{table} twice"
                )));
            }
        }
        Ok(())
    }

    fn check_alone(&self, base: &Position) -> Result<(), &'static str> {
        let count = |set: &GtidState| match set {
            GtidState::Mysql(set) => set.len(),
            GtidState::Mariadb(position) => position.iter().count() as u64,
        };
        let is_mysql = |set: &GtidState| matches!(set, GtidState::Mysql(_));
        let sets = || self.gtid_set.iter().chain(&self.next_gtid).filter(|set| !set.is_empty());
        let read = base.gtid_set.as_ref();
        if self.tables.is_empty() {
            return Err("has no tables");
        }
        if self.tables.iter().any(|(database, table)| database.is_empty() || table.is_empty()) {
            return Err("has a table without a name");
        }
        if self.offset.is_none() && self.by_gtid().is_none() {
            return Err("has neither an offset nor the GTIDs in its place");
        }
        // Readers ignore an entry without changes that the position has reached.
        if self.changes > 0 && self.offset.is_some_and(|offset| offset < base.offset) {
            return Err("is not after the position");
        }
        if self.offset.is_some() && base.file.is_empty() {
            return Err("has an offset, and the position has no file");
        }
        if self.next_gtid.as_ref().is_some_and(|next| self.changes == 0 || count(next) != 1) {
            return Err("has a `next_gtid` that is not the transaction of its `changes`");
        }
        if read.is_none() && sets().next().is_some() {
            return Err("has GTIDs, and the position has none");
        }
        if let Some(read) = read.filter(|read| !read.is_empty())
            && sets().any(|set| is_mysql(set) != is_mysql(read))
        {
            return Err("has GTIDs of another kind of server than the position");
        }
        if let (Some(read), Some(next)) = (read, &self.next_gtid)
            && self.offset.is_some()
            && is_mysql(next)
            && (read.shares(next) || self.gtid_set.as_ref().is_some_and(|set| set.shares(next)))
        {
            return Err("has a `next_gtid` that was delivered already");
        }
        // The position may have passed some of them since, but not all.
        if let (Some(read), Some(set)) = (read, &self.gtid_set)
            && self.changes == 0
            && self.offset > Some(base.offset)
            && !base.by_gtid
            && !set.is_empty()
            && read.covers(set)
        {
            return Err("has GTIDs that are not after the position");
        }
        Ok(())
    }

    /// Sorts a list, so that equal positions have equal texts.
    pub fn sort(list: &mut Vec<Self>) {
        for ahead in list.iter_mut() {
            ahead.tables.sort_unstable();
            ahead.tables.dedup();
        }
        list.retain(|ahead| !ahead.tables.is_empty());
        list.sort_by(|a, b| {
            let place = |ahead: &Self| (ahead.offset, ahead.changes);
            place(a).cmp(&place(b)).then_with(|| a.tables.cmp(&b.tables))
        });
    }
}

/// The stored form, fields in the order of their names.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct StoredAhead {
    #[serde(default, skip_serializing_if = "is_zero")]
    changes: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    gtid_set: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    next_gtid: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    offset: Option<u64>,
    tables: Vec<(String, String)>,
}

impl From<&Ahead> for StoredAhead {
    fn from(ahead: &Ahead) -> Self {
        Self {
            changes: ahead.changes,
            gtid_set: ahead.gtid_set.as_ref().map(ToString::to_string),
            next_gtid: ahead.next_gtid.as_ref().map(ToString::to_string),
            offset: ahead.offset,
            tables: ahead.tables.clone(),
        }
    }
}

impl TryFrom<StoredAhead> for Ahead {
    type Error = Error;

    fn try_from(stored: StoredAhead) -> Result<Self, Error> {
        let parse = |text: Option<String>| text.map(|text| text.parse::<GtidState>()).transpose();
        Ok(Self {
            tables: stored.tables,
            offset: stored.offset,
            gtid_set: parse(stored.gtid_set)?,
            changes: stored.changes,
            next_gtid: parse(stored.next_gtid)?,
        })
    }
}

/// Zero is not stored.
#[allow(clippy::trivially_copy_pass_by_ref)] // serde's form
const fn is_zero(value: &u64) -> bool {
    *value == 0
}
