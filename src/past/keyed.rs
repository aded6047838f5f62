//! The first change of each key.

use std::collections::HashMap;

/// The keys that changes have.
#[derive(Debug, Default)]
pub(super) struct Keys(HashMap<Box<[u8]>, Known>);

/// A key that a change has.
#[derive(Debug)]
struct Known {
    /// The row after the last change.
    now: Now,
    /// True if the server has the row.
    was_found: bool,
}

/// The row of a key after a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Now {
    None,
    /// The hash of the row; `None` if rows are not compared.
    Row(Option<u128>),
}

/// A row that contradicts the changes before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Contradiction;

impl Keys {
    /// Adds a row before a change, with its hash if rows are compared. Returns true if the table had it.
    pub(super) fn add_before(
        &mut self,
        key: &[u8],
        row: Option<u128>,
    ) -> Result<bool, Contradiction> {
        let Some(known) = self.0.get_mut(key) else {
            self.0.insert(key.into(), Known { now: Now::None, was_found: false });
            return Ok(true);
        };
        let before = std::mem::replace(&mut known.now, Now::None);
        match row.is_none() || before == Now::Row(row) {
            true => Ok(false),
            false => Err(Contradiction),
        }
    }

    /// Adds a row after a change, with its hash if rows are compared.
    pub(super) fn add_after(&mut self, key: &[u8], row: Option<u128>) -> Result<(), Contradiction> {
        let Some(known) = self.0.get_mut(key) else {
            self.0.insert(key.into(), Known { now: Now::Row(row), was_found: false });
            return Ok(());
        };
        let before = std::mem::replace(&mut known.now, Now::Row(row));
        match row.is_none() || before == Now::None {
            true => Ok(()),
            false => Err(Contradiction),
        }
    }

    /// True if a row that the table has now was not changed. With a hash, a row that was changed is compared with the changes.
    pub(super) fn is_unchanged(
        &mut self,
        key: &[u8],
        row: Option<u128>,
    ) -> Result<bool, Contradiction> {
        let Some(known) = self.0.get_mut(key) else { return Ok(true) };
        known.was_found = true;
        match row.is_none() || known.now == Now::Row(row) {
            true => Ok(false),
            false => Err(Contradiction),
        }
    }

    /// The number of rows that changes wrote and that the table does not have.
    pub(super) fn missing(&self) -> usize {
        self.0.values().filter(|known| known.now != Now::None && !known.was_found).count()
    }
}
