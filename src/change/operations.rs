//! The operations to return: inserts, updates, deletes, as on the source.

use crate::binlog::RowsKind;
use crate::error::Error;

/// The operations whose rows are returned. An update that changes a key counts as an update, even
/// if its rows become a delete and an insert.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Operations {
    insert: bool,
    update: bool,
    delete: bool,
}

impl Default for Operations {
    fn default() -> Self {
        Self { insert: true, update: true, delete: true }
    }
}

impl Operations {
    /// Creates the set from the words `insert`, `update` and `delete`.
    pub fn try_new<S: AsRef<str>>(words: &[S]) -> Result<Self, Error> {
        let mut operations = Self { insert: false, update: false, delete: false };
        for word in words {
            match word.as_ref() {
                "insert" => operations.insert = true,
                "update" => operations.update = true,
                "delete" => operations.delete = true,
                other => {
                    return Err(Error::config(format!(
                        "operations: {other:?} is not one of 'insert', 'update', 'delete'"
                    )));
                }
            }
        }
        match words.is_empty() {
            true => Err(Error::config("operations is empty: leave it out to read all operations")),
            false => Ok(operations),
        }
    }

    /// True if rows of such an event are returned.
    pub const fn accepts(self, kind: RowsKind) -> bool {
        match kind {
            RowsKind::Write => self.insert,
            RowsKind::Update => self.update,
            RowsKind::Delete => self.delete,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn by_word() {
        let all = Operations::default();
        let some = Operations::try_new(&["delete", "insert", "delete"]).unwrap();
        for kind in [RowsKind::Write, RowsKind::Update, RowsKind::Delete] {
            assert!(all.accepts(kind));
            assert_eq!(some.accepts(kind), kind != RowsKind::Update);
        }
        assert!(Operations::try_new::<&str>(&[]).is_err());
        assert!(Operations::try_new(&["upsert"]).is_err());
    }
}
