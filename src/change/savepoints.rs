//! The savepoints of a transaction that are in force. They are found by name, and released in the
//! order in which they were set.

use crate::error::DecodeError;
use crate::limits::MAX_SAVEPOINTS;
use std::collections::{BTreeMap, HashMap};

/// The position of a savepoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Savepoint {
    pub(super) offset: u64,
    /// Rows events of the transaction before it.
    pub(super) rows_before: u32,
}

/// All savepoints of a transaction. The time of each call does not increase with their number.
#[derive(Debug, Default)]
pub(super) struct Savepoints {
    /// The savepoints in the order in which they were set.
    in_order: BTreeMap<u64, (Vec<u8>, Savepoint)>,
    order_of: HashMap<Vec<u8>, u64>,
    set: u64,
}

impl Savepoints {
    pub(super) fn is_empty(&self) -> bool {
        self.in_order.is_empty()
    }

    /// SAVEPOINT: releases an earlier one of the same name.
    pub(super) fn set(&mut self, name: Vec<u8>, savepoint: Savepoint) -> Result<(), DecodeError> {
        self.set += 1;
        if let Some(before) = self.order_of.insert(name.clone(), self.set) {
            self.in_order.remove(&before);
        }
        self.in_order.insert(self.set, (name, savepoint));
        check("savepoints in one transaction", self.in_order.len())
    }

    /// ROLLBACK TO: releases the savepoints that were set after it. `None` if there is none with
    /// this name.
    pub(super) fn roll_back_to(&mut self, name: &[u8]) -> Option<Savepoint> {
        let order = *self.order_of.get(name)?;
        for (gone, _) in self.in_order.split_off(&(order + 1)).into_values() {
            self.order_of.remove(&gone);
        }
        self.in_order.get(&order).map(|(_, savepoint)| *savepoint)
    }
}

/// Returns an error if a transaction has more of something than [`MAX_SAVEPOINTS`].
pub(super) fn check(what: &'static str, count: usize) -> Result<(), DecodeError> {
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

    fn at(offset: u64) -> Savepoint {
        Savepoint { offset, rows_before: 0 }
    }

    #[test]
    fn as_the_server_keeps_them() {
        let mut savepoints = Savepoints::default();
        for (name, offset) in [("a", 1), ("b", 2), ("c", 3), ("a", 4), ("d", 5)] {
            savepoints.set(name.into(), at(offset)).unwrap();
        }
        assert_eq!(savepoints.roll_back_to(b"a"), Some(at(4)));
        assert_eq!(savepoints.roll_back_to(b"d"), None);
        assert_eq!(savepoints.roll_back_to(b"a"), Some(at(4)));
        assert_eq!(savepoints.roll_back_to(b"b"), Some(at(2)));
        assert_eq!(savepoints.roll_back_to(b"c"), None);
        assert_eq!(savepoints.roll_back_to(b"a"), None);
        assert_eq!(savepoints.order_of.len(), 1);
    }

    #[test]
    fn up_to_the_limit() {
        let mut savepoints = Savepoints::default();
        let name = |number: usize| number.to_le_bytes()[..4].to_vec();
        for number in 0..MAX_SAVEPOINTS {
            savepoints.set(name(number), at(number as u64)).unwrap();
        }
        // The same name again does not increase their number.
        savepoints.set(name(7), at(1)).unwrap();
        let error = savepoints.set(name(MAX_SAVEPOINTS), at(1)).unwrap_err();
        assert_eq!(
            error.to_string(),
            "savepoints in one transaction is 4194305, the limit is 4194304"
        );
        assert_eq!(savepoints.roll_back_to(&name(0)), Some(at(0)));
        assert_eq!(savepoints.order_of.len(), 1);
    }
}
