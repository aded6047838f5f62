//! The message about rows that an action of a foreign key may have changed.

use crate::binlog::RowsKind;
use crate::ddl::TableName;
use crate::history::ChildAction;
use std::fmt;

/// The text that describes a possible change.
pub(super) struct Finding<'f> {
    pub(super) parent: &'f TableName,
    pub(super) kind: RowsKind,
    pub(super) action: Option<&'f ChildAction>,
    pub(super) is_known: bool,
}

impl fmt::Display for Finding<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parent = self.parent;
        let done = match self.kind {
            RowsKind::Delete => "deletes rows",
            _ => "updates rows",
        };
        write!(f, "the log {done} of {parent}, ")?;
        match self.action {
            Some(ChildAction { child, action }) if !action.is_empty() => {
                write!(
                    f,
                    "and a foreign key of {child} has {action}: no event contains the rows of {child} that this changes"
                )
            }
            Some(ChildAction { child, .. }) if self.is_known => write!(
                f,
                "and the statement opens {child} without logging rows of it, as it does for the action of a foreign key: no \
                 event contains the rows of {child} that this changes"
            ),
            Some(ChildAction { child, .. }) => write!(
                f,
                "and the statement opens {child} without logging rows of it. If this is for the action of a foreign key, and not \
                 for a trigger, no event contains the rows of {child} that it changes"
            ),
            None => write!(
                f,
                "which a foreign key refers to. If its action is CASCADE, SET NULL or SET DEFAULT, rows of other tables change, \
                 and no event contains them"
            ),
        }
    }
}

impl Finding<'_> {
    /// The advice in an error.
    pub(super) fn advice(&self) -> String {
        match self.action {
            Some(ChildAction { child, .. }) => format!(
                ". Copy {child} again and continue after this transaction, or continue with ⟦unlogged_changes=warn⟧"
            ),
            None => format!("{}, or continue with ⟦unlogged_changes=warn⟧", self.hint()),
        }
    }

    /// The hint in a warning.
    pub(super) fn hint(&self) -> &'static str {
        match (self.action, self.is_known) {
            (Some(_), true) => {
                ". MySQL 9.6 and later log such rows, unless innodb_native_foreign_keys=ON"
            }
            _ => ". Provide the structures of the tables with ⟦history⟧ or ⟦schemas⟧ to find out",
        }
    }
}
