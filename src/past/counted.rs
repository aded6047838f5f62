//! The numbers of equal rows, for tables without a key.

use std::collections::HashMap;

/// The rows that changes have.
#[derive(Debug, Default)]
pub(super) struct Counts(HashMap<Box<[u8]>, Count>);

/// The count of a row.
#[derive(Debug)]
struct Count {
    /// Rows before changes minus rows after changes.
    difference: i64,
    /// The number of equal rows that are kept.
    kept: i64,
}

impl Counts {
    /// Adds a row before a change. Returns true if it is to be kept.
    pub(super) fn add_before(&mut self, row: &[u8]) -> bool {
        self.add(row, 1)
    }

    /// Adds a row after a change.
    pub(super) fn add_after(&mut self, row: &[u8]) {
        self.add(row, -1);
    }

    fn add(&mut self, row: &[u8], change: i64) -> bool {
        let Some(count) = self.0.get_mut(row) else {
            let kept = change.max(0);
            self.0.insert(row.into(), Count { difference: change, kept });
            return kept > 0;
        };
        count.difference += change;
        let is_new = count.difference > count.kept;
        count.kept += i64::from(is_new);
        if count.difference == 0 && count.kept == 0 {
            self.0.remove(row);
        }
        is_new
    }

    /// True if the table had a row that it has now.
    pub(super) fn is_unchanged(&mut self, row: &[u8]) -> bool {
        match self.0.get_mut(row).filter(|count| count.difference < 0) {
            Some(count) => {
                count.difference += 1;
                false
            }
            None => true,
        }
    }

    /// True if the table had a row that was kept.
    pub(super) fn take(&mut self, row: &[u8]) -> bool {
        match self.0.get_mut(row).filter(|count| count.difference > 0) {
            Some(count) => {
                count.difference -= 1;
                true
            }
            None => false,
        }
    }

    /// The number of rows that changes wrote and that the table does not have.
    pub(super) fn missing(&self) -> u64 {
        self.0.values().map(|count| count.difference.min(0).unsigned_abs()).sum()
    }
}
