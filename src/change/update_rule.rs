//! The rows of an update or a delete, by the caller's choice of old values, and the change of the key.
//!
//! Mirrors identify rows by the key. If it changes, the old row must be deleted, so it is returned even if old values are not
//! requested. Only an image with every column becomes an `insert`: an incomplete one would corrupt a mirror.

/// The caller's choice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UpdateRule {
    /// True if rows before a change are returned. If false, only the key of a deleted row is
    /// returned.
    pub old_value: bool,
    /// True if an update that changes the row key becomes a delete and an insert.
    pub split_key_updates: bool,
}

impl Default for UpdateRule {
    fn default() -> Self {
        Self { old_value: true, split_key_updates: true }
    }
}

/// The form of the row before an update.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OldRow {
    /// An `update_preimage`, with the new row.
    Preimage,
    /// A `delete` with all columns.
    Delete,
    /// A `delete` with only the columns of the row key.
    DeleteByKey,
}

/// The form of the row after an update.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NewRow {
    /// An `update_postimage`.
    Postimage,
    /// An `insert`.
    Insert,
}

/// The rows of an update, in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UpdatedRows {
    /// The row before, if it is returned.
    pub old: Option<OldRow>,
    /// The row after.
    pub new: NewRow,
}

impl UpdateRule {
    /// True if the rows of an update depend on its key. `is_full`: both images contain every column.
    #[inline]
    pub const fn asks_for_key(self, is_full: bool) -> bool {
        !self.old_value || (self.split_key_updates && is_full)
    }

    /// The rows of an update. `is_full`: both images contain every column.
    #[inline]
    pub const fn update(self, key_changed: bool, is_full: bool) -> UpdatedRows {
        let splits = key_changed && is_full && self.split_key_updates;
        let new = if splits { NewRow::Insert } else { NewRow::Postimage };
        let old = match (self.old_value, key_changed) {
            (true, _) if splits => Some(OldRow::Delete),
            (true, _) => Some(OldRow::Preimage),
            (false, true) => Some(OldRow::DeleteByKey),
            (false, false) => None,
        };
        UpdatedRows { old, new }
    }

    /// The form of a deleted row.
    #[inline]
    pub const fn delete(self) -> OldRow {
        if self.old_value { OldRow::Delete } else { OldRow::DeleteByKey }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_truth_table() {
        let pair = UpdatedRows { old: Some(OldRow::Preimage), new: NewRow::Postimage };
        let split = UpdatedRows { old: Some(OldRow::Delete), new: NewRow::Insert };
        let alone = UpdatedRows { old: None, new: NewRow::Postimage };
        let key_then_new = UpdatedRows { old: Some(OldRow::DeleteByKey), new: NewRow::Insert };
        let key_then_post = UpdatedRows { old: Some(OldRow::DeleteByKey), new: NewRow::Postimage };
        // old_value, split_key_updates, key_changed, is_full
        let table = [
            ((true, true, false, false), pair),
            ((true, true, false, true), pair),
            ((true, true, true, false), pair),
            ((true, true, true, true), split),
            ((true, false, false, false), pair),
            ((true, false, false, true), pair),
            ((true, false, true, false), pair),
            ((true, false, true, true), pair),
            ((false, true, false, false), alone),
            ((false, true, false, true), alone),
            ((false, true, true, false), key_then_post),
            ((false, true, true, true), key_then_new),
            ((false, false, false, false), alone),
            ((false, false, false, true), alone),
            ((false, false, true, false), key_then_post),
            ((false, false, true, true), key_then_post),
        ];
        for ((old_value, split_key_updates, key_changed, is_full), rows) in table {
            let rule = UpdateRule { old_value, split_key_updates };
            assert_eq!(rule.update(key_changed, is_full), rows, "{rule:?} {key_changed} {is_full}");
            if !rule.asks_for_key(is_full) {
                assert_eq!(rule.update(!key_changed, is_full), rows, "{rule:?} {is_full}");
            }
        }
    }

    #[test]
    fn deletes_without_old_values_are_their_key() {
        let rule = UpdateRule::default();
        assert_eq!(rule.delete(), OldRow::Delete);
        assert_eq!(UpdateRule { old_value: false, ..rule }.delete(), OldRow::DeleteByKey);
    }
}
