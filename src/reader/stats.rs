//! The counts of a reader.

use super::unlogged_changes::UnloggedCounts;
use crate::source::LargeTransaction;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Counts of a read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Stats {
    /// Bytes of input, including skipped ones.
    pub bytes_read: u64,
    /// Transactions with changes that were returned.
    pub transactions: u64,
    /// The `_commit_version` of the first and the last of them.
    pub versions: Option<(i64, i64)>,
    /// Rows events decoded.
    pub rows_events: u64,
    /// Rows that were returned: an update is two; in the nested layout one, unless it changes the key.
    pub rows: u64,
    /// Rows of an initial load among them.
    pub loaded_rows: u64,
    /// Batches that were returned.
    pub batches: u64,
    /// Rows events that were left out because their transaction was not committed.
    pub dropped_rows_events: u64,
    /// Skipped statements that were logged as text and may have changed rows.
    pub statements_skipped: u64,
    /// Decoded rows events whose statement was requested (`_query`) and is not in the log.
    pub unstated_rows_events: u64,
    /// Zero dates that became NULL, by column (`database.table.column`).
    pub zero_dates: BTreeMap<String, u64>,
    /// Tables of online schema-change tools whose rows were left out.
    pub ghost_tables: BTreeSet<GhostTable>,
    /// Rows events that may have changed rows of other tables by foreign keys, which no event contains, by parent.
    pub unlogged: UnloggedCounts,
    /// Tables (`database.table`) for which a history contradicts the log, which takes precedence; with the difference.
    pub history_mismatches: BTreeMap<String, String>,
    /// The patterns of masks that matched a column of a table with changes.
    pub matched_masks: BTreeSet<Arc<str>>,
    /// Counts by table.
    pub tables: BTreeMap<(Arc<str>, Arc<str>), TableStats>,
    /// Tables (`database.table`) whose rows cannot be counted, with the reason; their counts contain only bytes.
    pub uncounted: BTreeMap<String, String>,
    /// The largest of the transactions, the largest first.
    pub largest: Vec<LargeTransaction>,
    /// The earliest and latest commit, in microseconds since 1970 UTC.
    pub time_span: Option<(i64, i64)>,
}

/// A table (`database.table`), and its tool.
pub type GhostTable = (String, &'static str);

/// Counts of one table. An update is one change.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TableStats {
    /// Inserts, and the rows of an initial load.
    pub inserts: u64,
    /// Updates.
    pub updates: u64,
    /// Deletes.
    pub deletes: u64,
    /// Bytes of their rows events.
    pub bytes: u64,
    /// Rows of an initial load among the inserts.
    pub loaded: u64,
    /// Bytes of these rows in memory.
    pub loaded_bytes: u64,
}

impl TableStats {
    /// The number of changes.
    pub const fn changes(&self) -> u64 {
        self.inserts + self.updates + self.deletes
    }

    /// Adds other counts of the table.
    pub fn add(&mut self, other: &Self) {
        self.inserts += other.inserts;
        self.updates += other.updates;
        self.deletes += other.deletes;
        self.bytes += other.bytes;
        self.loaded += other.loaded;
        self.loaded_bytes += other.loaded_bytes;
    }
}

impl Stats {
    /// Changes that were returned: an update is one.
    pub fn changes(&self) -> u64 {
        self.tables.values().map(TableStats::changes).sum()
    }

    /// Counts a transaction with changes; its pieces follow each other.
    pub fn count_transaction(&mut self, version: i64) {
        match &mut self.versions {
            Some((_, last)) if *last == version => {}
            Some((_, last)) => {
                *last = version;
                self.transactions += 1;
            }
            None => {
                self.versions = Some((version, version));
                self.transactions += 1;
            }
        }
    }

    /// Adds the counts of the next part of the input.
    pub fn add(&mut self, other: &Self) {
        self.bytes_read += other.bytes_read;
        self.transactions += other.transactions;
        if let (Some((_, last)), Some((first, _))) = (self.versions, other.versions)
            && last == first
        {
            // Both contain pieces of it.
            self.transactions -= 1;
        }
        self.versions = match (self.versions, other.versions) {
            (Some((first, _)), Some((_, last))) => Some((first, last)),
            (one, other) => one.or(other),
        };
        self.rows_events += other.rows_events;
        self.rows += other.rows;
        self.loaded_rows += other.loaded_rows;
        self.batches += other.batches;
        self.dropped_rows_events += other.dropped_rows_events;
        self.statements_skipped += other.statements_skipped;
        self.unstated_rows_events += other.unstated_rows_events;
        for (column, count) in &other.zero_dates {
            *self.zero_dates.entry(column.clone()).or_default() += count;
        }
        self.ghost_tables.extend(other.ghost_tables.iter().cloned());
        for (parent, count) in &other.unlogged {
            match self.unlogged.get_mut(parent) {
                Some(sum) => sum.events += count.events,
                None => drop(self.unlogged.insert(parent.clone(), count.clone())),
            }
        }
        self.matched_masks.extend(other.matched_masks.iter().cloned());
        for (table, mismatch) in &other.history_mismatches {
            self.history_mismatches.entry(table.clone()).or_insert_with(|| mismatch.clone());
        }
        for (table, why) in &other.uncounted {
            self.uncounted.entry(table.clone()).or_insert_with(|| why.clone());
        }
        for ((database, table), counts) in &other.tables {
            let key = (Arc::clone(database), Arc::clone(table));
            self.tables.entry(key).or_default().add(counts);
        }
        for transaction in &other.largest {
            transaction.clone().note(&mut self.largest);
        }
        self.time_span = match (self.time_span, other.time_span) {
            (Some((a, b)), Some((c, d))) => Some((a.min(c), b.max(d))),
            (one, other) => one.or(other),
        };
    }
}
