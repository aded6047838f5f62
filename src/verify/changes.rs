//! The rows that the log changed between two copies of a table.
//!
//! The earlier copy is at an exact position P. The later copy contains all transactions before L, and may contain some of those
//! between L and U:
//!
//! ```text
//! P ─── all of these ─── L ─── some of these ─── U
//! ```
//!
//! For each changed row this is known from the images in the log: the row at P, and the rows that the later copy may have.

use std::collections::HashMap;

use super::part_of;

/// The changes of rows between two copies.
#[derive(Debug, Default)]
pub struct RowChanges {
    rows: HashMap<u128, Changed, ahash::RandomState>,
    is_uncertain: bool,
}

/// A changed row; the hashes of its images. `None` is a row that does not exist.
#[derive(Debug)]
struct Changed {
    before: Option<u128>,
    /// The row at L, and after the transactions between L and U.
    later: Vec<Option<u128>>,
    /// The version of the transaction of the last one; `None` before L.
    version: Option<i64>,
    found: Found,
}

/// The row of the later copy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Found {
    Nothing,
    Row(u128),
    /// Several rows with one key.
    Several,
}

impl RowChanges {
    /// Adds an image of the log, in its order, by the hashes of its key and of all its cells.
    pub fn add(&mut self, key: u128, row: u128, is_after: bool, version: i64) {
        let version = self.is_uncertain.then_some(version);
        let state = is_after.then_some(row);
        let before = (!is_after).then_some(row);
        let changed = self.rows.entry(key).or_insert_with(|| Changed {
            before,
            later: vec![before],
            version: None,
            found: Found::Nothing,
        });
        if changed.version == version {
            changed.later.pop();
        }
        changed.later.push(state);
        changed.version = version;
    }

    /// The images from here on are those between L and U.
    pub fn reach_uncertain(&mut self) {
        self.is_uncertain = true;
    }

    /// The number of changed rows.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// True if there are none.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Notes a row of the later copy. Returns false if the log did not change it.
    pub(super) fn note(&mut self, key: u128, row: u128) -> bool {
        let Some(changed) = self.rows.get_mut(&key) else { return false };
        changed.found = match changed.found {
            Found::Nothing => Found::Row(row),
            Found::Row(_) | Found::Several => Found::Several,
        };
        true
    }

    /// The changed rows of the earlier copy.
    pub(super) fn before(&self) -> impl Iterator<Item = (u128, u128)> {
        self.rows.iter().filter_map(|(key, changed)| Some((*key, changed.before?)))
    }

    /// The keys of rows that are not as the log leaves them. All rows of the later copy were noted.
    pub fn contradictions(&self) -> impl Iterator<Item = u128> {
        self.rows.iter().filter(|(_, changed)| !changed.is_possible()).map(|(key, _)| *key)
    }

    /// The parts of these keys.
    pub fn contradicted_parts(&self) -> Vec<u32> {
        self.contradictions().map(part_of).collect()
    }
}

impl Changed {
    fn is_possible(&self) -> bool {
        match self.found {
            Found::Nothing => self.later.contains(&None),
            Found::Row(row) => self.later.contains(&Some(row)),
            Found::Several => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn contradicts(changes: &mut RowChanges, row: Option<u128>) -> bool {
        changes.rows.values_mut().for_each(|changed| changed.found = Found::Nothing);
        row.map(|row| changes.note(7, row));
        changes.contradictions().count() == 1
    }

    #[test]
    fn before_the_snapshot_only_the_last_image_is_possible() {
        let mut changes = RowChanges::default();
        changes.add(7, 1, false, 5);
        changes.add(7, 2, true, 5);
        changes.add(7, 2, false, 6);
        changes.add(7, 3, true, 6);
        assert_eq!(changes.before().collect::<Vec<_>>(), [(7, 1)]);
        let wrong: Vec<_> = [None, Some(1), Some(2), Some(3)]
            .into_iter()
            .filter(|row| contradicts(&mut changes, *row))
            .collect();
        assert_eq!(wrong, [None, Some(1), Some(2)]);
    }

    #[test]
    fn after_it_the_rows_between_transactions_are_possible() {
        let mut changes = RowChanges::default();
        changes.add(7, 1, true, 5);
        changes.reach_uncertain();
        // One transaction deletes and inserts it.
        changes.add(7, 1, false, 6);
        changes.add(7, 2, true, 6);
        changes.add(7, 2, false, 7);
        assert_eq!(changes.before().count(), 0);
        assert!(!contradicts(&mut changes, Some(1)));
        assert!(!contradicts(&mut changes, Some(2)));
        assert!(!contradicts(&mut changes, None));
        assert!(contradicts(&mut changes, Some(3)));
        let mut later = RowChanges::default();
        later.reach_uncertain();
        later.add(7, 1, false, 6);
        later.add(7, 2, true, 6);
        assert!(!contradicts(&mut later, Some(1)));
        assert!(!contradicts(&mut later, Some(2)));
        assert!(contradicts(&mut later, None));
    }

    #[test]
    fn a_key_twice_is_never_possible() {
        let mut changes = RowChanges::default();
        changes.add(7, 1, true, 5);
        assert!(changes.note(7, 1) && changes.note(7, 1));
        assert!(!changes.note(8, 1));
        assert_eq!(changes.contradicted_parts(), [0]);
    }
}
