//! The meaning of events: begins and ends of transactions, tables to read, rows of an update, items that are not rows.
//!
//! Input: events as views, statements. Output: the effect of each event, and items. Bytes of rows
//! are not read. Called by `source` (to find the ends of segments), by `columnar` and by `reader`.

mod altered_tables;
mod ghost_table;
mod group;
mod include;
mod item;
mod left_columns;
mod online_changes;
mod operations;
mod savepoints;
mod table_filter;
mod transaction_event;
mod update_rule;

pub use altered_tables::{AlterContext, AlteredTables};
pub use ghost_table::{OnlineTool, ToolTable};
pub use group::{EventEffect, EventGroup, Transaction, TransactionEnd, TransactionTracker};
pub use include::{Include, StatementContext};
pub use item::{
    Emptied, Item, MarkKind, SchemaChange, SkippedStatement, TransactionMark, Uncertainty,
    UnloggedChange, XaState,
};
pub use online_changes::{OnlineChanges, OnlineSchemaChange};
pub use operations::Operations;
pub use table_filter::TableFilter;
pub(crate) use table_filter::{TablePattern, matches_glob};
pub use transaction_event::{LoggedGtid, TransactionEvent};
pub use update_rule::{NewRow, OldRow, UpdateRule, UpdatedRows};
