//! The rows of one copy of a table, as the sums and the chosen rows collect them.

use super::RowChanges;

/// Collects the rows of a copy of a table.
pub trait CollectedRows {
    /// Adds a row by the hashes of its key and of all its cells.
    fn add(&mut self, key: u128, row: u128);

    /// Adds a row of the later copy. If the log changed the row, the changes note it instead.
    fn add_later(&mut self, key: u128, row: u128, changes: &mut RowChanges) {
        if !changes.note(key, row) {
            self.add(key, row);
        }
    }

    /// Adds the rows that the log changed as they were in the earlier copy. All rows of the later copy were added.
    fn roll_back(&mut self, changes: &RowChanges) {
        changes.before().for_each(|(key, row)| self.add(key, row));
    }
}
