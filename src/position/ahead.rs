//! The tables that have changes delivered after a position.

use super::gtid_state::GtidState;

/// Tables that have changes delivered after the position's base, all of them up to the same place.
///
/// One place per table is enough, because the rows of a table are always delivered in the order of the log.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Ahead {
    /// Database and name of the tables, in order.
    pub tables: Vec<(String, String)>,
    /// Offset in the position's file: the changes of all transactions that start before it were delivered. `None` if only the
    /// GTIDs are valid, as at another server.
    pub offset: Option<u64>,
    /// The delivered transactions after the position's base, by GTID; `None` if the log has no GTIDs.
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

    /// Returns the entry for a reader of another log of the same transactions: by GTID alone. `None` if GTIDs do not suffice.
    pub fn by_gtid(&self) -> Option<Self> {
        let is_known = self.gtid_set.is_some() && (self.changes == 0 || self.next_gtid.is_some());
        is_known.then(|| Self { offset: None, ..self.clone() })
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
