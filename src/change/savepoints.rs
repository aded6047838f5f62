//! The savepoints of a transaction, and the rows that were rolled back to them.

use crate::error::{DecodeError, Error};
use crate::limits::MAX_SAVEPOINTS;
use std::collections::{BTreeMap, HashMap};

/// The savepoints of a transaction, and the rows that were rolled back to them. The time of a call does not grow with the number
/// of savepoints.
#[derive(Debug, Default)]
pub(super) struct Savepoints {
    /// Names and offsets, by the order in which the savepoints were set.
    in_order: BTreeMap<u64, (Vec<u8>, u64)>,
    order_of: HashMap<Vec<u8>, u64>,
    set: u64,
    /// In the order of the log.
    undone: Vec<Undone>,
}

/// Rows that a ROLLBACK TO rolled back.
#[derive(Debug, Clone, Copy)]
pub(super) struct Undone {
    /// Offset of the savepoint.
    start: u64,
    /// Offset of the ROLLBACK TO.
    end: u64,
    /// Rows events of the transaction before the ROLLBACK TO.
    rows_through: u32,
}

impl Savepoints {
    /// SAVEPOINT at an offset. It replaces an earlier one of the same name.
    pub(super) fn set(&mut self, name: Vec<u8>, offset: u64) -> Result<(), DecodeError> {
        self.set += 1;
        if let Some(before) = self.order_of.insert(name.clone(), self.set) {
            self.in_order.remove(&before);
        }
        self.in_order.insert(self.set, (name, offset));
        check("savepoints in one transaction", self.in_order.len())
    }

    /// ROLLBACK TO at an offset, after `rows_events` rows events of the transaction.
    pub(super) fn roll_back_to(
        &mut self,
        name: &[u8],
        offset: u64,
        rows_events: u32,
    ) -> Result<(), Error> {
        let Some(start) = self.roll_back(name) else {
            // Nothing was logged before the savepoint, so the savepoint was not logged: the complete group is rolled back.
            if self.in_order.is_empty() && rows_events == 0 {
                return Ok(());
            }
            return Err(Error::malformed("ROLLBACK TO a savepoint that the log does not name"));
        };
        // In order: parts of these rows may have been rolled back before.
        while self.undone.pop_if(|undone| undone.start >= start).is_some() {}
        self.undone.push(Undone { start, end: offset, rows_through: rows_events });
        check("rolled back parts of one transaction", self.undone.len())?;
        Ok(())
    }

    /// Removes the savepoints after one. Returns its offset; `None` if there is none of that name.
    fn roll_back(&mut self, name: &[u8]) -> Option<u64> {
        let order = *self.order_of.get(name)?;
        for (removed, _) in self.in_order.split_off(&(order + 1)).into_values() {
            self.order_of.remove(&removed);
        }
        self.in_order.get(&order).map(|(_, offset)| *offset)
    }

    /// The rows that were rolled back.
    pub(super) fn undone(&self) -> &[Undone] {
        &self.undone
    }
}

/// The parts of `start..end` whose rows were not rolled back, each with the number of rows events before it.
pub(super) fn kept(
    undone: &[Undone],
    start: u64,
    end: u64,
) -> impl Iterator<Item = (u64, u64, u32)> + '_ {
    let starts = std::iter::once((start, 0))
        .chain(undone.iter().map(|undone| (undone.end, undone.rows_through)));
    let ends = undone.iter().map(|undone| undone.start).chain(std::iter::once(end));
    starts.zip(ends).map(|((start, rows), end)| (start, end, rows))
}

/// An error if a transaction has more than [`MAX_SAVEPOINTS`] of something.
fn check(what: &'static str, count: usize) -> Result<(), DecodeError> {
    match count <= MAX_SAVEPOINTS {
        true => Ok(()),
        false => {
            let (value, limit) = (count as u64, MAX_SAVEPOINTS as u64);
            Err(DecodeError::Limit { what, value, limit })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn savepoints_are_those_of_the_server() {
        let mut savepoints = Savepoints::default();
        for (name, offset) in [("a", 1), ("b", 2), ("c", 3), ("a", 4), ("d", 5)] {
            savepoints.set(name.into(), offset).unwrap();
        }
        assert_eq!(savepoints.roll_back(b"a"), Some(4));
        assert_eq!(savepoints.roll_back(b"d"), None);
        assert_eq!(savepoints.roll_back(b"a"), Some(4));
        assert_eq!(savepoints.roll_back(b"b"), Some(2));
        assert_eq!(savepoints.roll_back(b"c"), None);
        assert_eq!(savepoints.roll_back(b"a"), None);
        assert_eq!(savepoints.order_of.len(), 1);
    }

    #[test]
    fn up_to_the_limit() {
        let mut savepoints = Savepoints::default();
        savepoints.set(b"first".into(), 7).unwrap();
        // Millions of names would take most of the time of all unit tests.
        let others = 2..MAX_SAVEPOINTS as u64;
        savepoints.set = others.end - 1;
        savepoints.in_order.extend(others.map(|order| (order, (Vec::new(), order))));
        savepoints.set(b"last".into(), 8).unwrap();
        assert_eq!(savepoints.in_order.len(), MAX_SAVEPOINTS);
        // The same name again does not count.
        savepoints.set(b"last".into(), 9).unwrap();
        let error = savepoints.set(b"one more".into(), 10).unwrap_err();
        assert_eq!(
            error.to_string(),
            "savepoints in one transaction is 4194305, the limit is 4194304"
        );
        assert_eq!(savepoints.roll_back(b"first"), Some(7));
        assert_eq!((savepoints.in_order.len(), savepoints.order_of.len()), (1, 1));
    }
}
