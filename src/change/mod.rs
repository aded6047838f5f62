//! What events mean: where transactions begin and end, which tables are wanted.
//!
//! In: events as views. Out: verdicts. No bytes of rows are looked at. Called by `source` (to cut) and by `reader`.

mod group;
mod operations;
mod savepoints;
mod table_filter;

pub use group::{
    Group, GroupEvent, GroupGtid, GroupTracker, Outcome, Transaction, Undone, Verdict,
};
pub use operations::Operations;
pub use table_filter::TableFilter;
pub(crate) use table_filter::{TablePattern, matches_glob};
