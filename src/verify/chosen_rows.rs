//! The rows of some parts, one by one.

use std::collections::{HashMap, HashSet};

use super::{CollectedRows, RowChanges, part_of};

/// The rows of parts whose sums differ.
#[derive(Debug)]
pub struct ChosenRows {
    parts: HashSet<u32, ahash::RandomState>,
    /// By the hash of the key: the number of rows, and the sum of their hashes.
    rows: HashMap<u128, (u64, u128), ahash::RandomState>,
}

/// A difference between two copies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Difference {
    /// Only the source has the row.
    Missing,
    /// Only the target has the row.
    Extra,
    /// Both have a row with the key, with different cells.
    Different,
    /// The source's row is not as the log leaves it.
    Unlogged,
}

impl CollectedRows for ChosenRows {
    /// Adds a row by the hashes of its key and of all its cells. Rows of other parts are left out.
    fn add(&mut self, key: u128, row: u128) {
        if self.has(key) {
            let (count, sum) = self.rows.entry(key).or_default();
            *count += 1;
            *sum = sum.wrapping_add(row);
        }
    }
}

impl ChosenRows {
    /// The rows of these parts.
    pub fn of(parts: impl IntoIterator<Item = u32>) -> Self {
        Self { parts: parts.into_iter().collect(), rows: HashMap::default() }
    }

    /// True if the row with this key is in one of the parts.
    pub fn has(&self, key: u128) -> bool {
        self.parts.contains(&part_of(key))
    }

    /// Compares the rows of the source, rolled back, with those of the target. Returns keys, sorted.
    pub fn differences(&self, target: &Self, changes: &RowChanges) -> Vec<(u128, Difference)> {
        let mut found = HashMap::new();
        for (key, row) in &self.rows {
            match target.rows.get(key) {
                Some(its) if its == row => {}
                Some(_) => drop(found.insert(*key, Difference::Different)),
                None => drop(found.insert(*key, Difference::Missing)),
            }
        }
        let extra = target.rows.keys().filter(|key| !self.rows.contains_key(key));
        found.extend(extra.map(|key| (*key, Difference::Extra)));
        for key in changes.contradictions().filter(|key| self.has(*key)) {
            found.entry(key).or_insert(Difference::Unlogged);
        }
        let mut found: Vec<_> = found.into_iter().collect();
        found.sort_unstable();
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_differences_are_found() {
        let mut changes = RowChanges::default();
        changes.add(5, 50, false, 1);
        changes.add(5, 51, true, 1);
        changes.add(6, 60, true, 1);
        let (mut source, mut target) = (ChosenRows::of([0]), ChosenRows::of([0]));
        for (key, row) in [(1, 10), (2, 20), (3, 30), (5, 51), (6, 61), (1 << 127, 1)] {
            source.add_later(key, row, &mut changes);
        }
        source.roll_back(&changes);
        for (key, row) in [(2, 20), (3, 31), (4, 40), (5, 50), (7, 70), (7, 70)] {
            target.add(key, row);
        }
        assert_eq!(
            source.differences(&target, &changes),
            [
                (1, Difference::Missing),
                (3, Difference::Different),
                (4, Difference::Extra),
                (6, Difference::Unlogged),
                (7, Difference::Extra),
            ]
        );
    }
}
