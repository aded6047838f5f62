//! The keyword `unlogged_changes`: rows that are changed by the actions of foreign keys, or through
//! a MERGE table, and that no event contains.

use crate::history::ForeignKeys;
use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

/// The reaction to rows that may have changed without an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reaction {
    /// The read ends with an error.
    Error,
    /// A warning, once for each parent.
    Warn,
    /// An item of the read.
    Item,
    /// The check is off.
    Ignore,
}

/// The keyword `unlogged_changes`, and the foreign keys that are known from sources other than a history.
#[derive(Debug, Clone, Default)]
pub struct UnloggedChanges {
    /// The caller's choice.
    pub asked: Option<Reaction>,
    /// True if items are requested, instead of any other reaction.
    pub as_items: bool,
    /// True if the reader keeps a mirror of a table: a known action is then an error by default.
    pub is_mirror: bool,
    /// Foreign keys from `schemas=`, or from the server once it is connected.
    pub foreign_keys: Arc<OnceLock<Arc<ForeignKeys>>>,
}

impl UnloggedChanges {
    /// The reaction if an action is known to change rows of a table that is read.
    pub fn known(&self) -> Reaction {
        let default = if self.is_mirror { Reaction::Error } else { Reaction::Warn };
        if self.as_items { Reaction::Item } else { self.asked.unwrap_or(default) }
    }

    /// True if the check is off.
    pub(super) fn is_ignored(&self) -> bool {
        !self.as_items && self.asked == Some(Reaction::Ignore)
    }

    /// The reaction if the actions are not known.
    pub(super) fn unknown(&self) -> Reaction {
        if self.as_items { Reaction::Item } else { self.asked.unwrap_or(Reaction::Warn) }
    }
}

/// The number of changes to a parent with possible effects that no event contains.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnloggedCount {
    /// Rows events of the parent, or statements in MariaDB.
    pub events: u64,
    /// The message for the first one.
    pub message: String,
}

/// Counts by parent (`database.table`).
pub type UnloggedCounts = BTreeMap<String, UnloggedCount>;
