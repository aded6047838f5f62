//! The options of a script.

use super::Direction;
use super::zone::Zone;

/// The options of a script.
#[derive(Debug, Clone)]
pub struct UndoOptions {
    /// The effect of the SQL.
    pub direction: Direction,
    /// The transactions and connections whose changes are written.
    pub picked: Picked,
    /// True if the server checks foreign keys and executes their actions.
    pub foreign_key_checks: bool,
    /// The time zone of the times in comments.
    pub zone: Zone,
    /// True if only the counts are wanted.
    pub is_dry: bool,
    /// The number of bytes of SQL that are kept in memory before a temporary file is used.
    pub memory: u64,
}

/// The transactions and connections whose changes are written; all if none is named.
#[derive(Debug, Clone, Default)]
pub struct Picked {
    /// GTIDs, in lower case.
    pub gtids: Vec<String>,
    /// Connections.
    pub threads: Vec<i64>,
}

impl Picked {
    /// True if the changes of a transaction and a connection are written.
    pub(super) fn has(&self, gtid: Option<&str>, thread: Option<i64>) -> bool {
        let is_picked = |gtid: &str| self.gtids.iter().any(|own| own.eq_ignore_ascii_case(gtid));
        (self.gtids.is_empty() || gtid.is_some_and(is_picked))
            && (self.threads.is_empty()
                || thread.is_some_and(|thread| self.threads.contains(&thread)))
    }
}
