//! What events mean: where transactions begin and end, which tables are wanted, which rows come out of an update.
//!
//! In: events as views. Out: verdicts. No bytes of rows are looked at. Called by `source` (to cut), by
//! `columnar` and by `reader`.

mod group;
mod operations;
mod savepoints;
mod table_filter;
mod update_rule;

pub use group::{
    Group, GroupEvent, GroupGtid, GroupTracker, Outcome, Transaction, Undone, Verdict,
};
pub use operations::Operations;
pub use table_filter::TableFilter;
pub(crate) use table_filter::{TablePattern, matches_glob};
pub use update_rule::{NewRow, OldRow, UpdateRule, UpdatedRows};
