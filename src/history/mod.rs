//! Table structures that do not come from table maps: `CREATE TABLE` text, and the DDL of the log over time.
//!
//! In: SQL as SHOW CREATE TABLE, `mysqldump --no-data` and `mariadb-dump` print it, or as people write it. Out:
//! [`TableSchema`](crate::schema::TableSchema), and with [`Schemas`] the structures of tables in the log made whole. Called
//! by `columnar::table_plan` and `python::schemas`.
//!
//! ```text
//! text ─ sql ─ CreateTable ─ resolve ─ TableSchema
//!          what it says, of either server ─ what one server makes of it
//! ```
//!
//! Of DDL in the log, [`Ddl`] tells what a statement does to which tables, by its head. Called by `change`.
//!
//! A [`Catalog`] holds all tables at one place of the log and takes the statements of the log in, one by one: `catalog`.
//!
//! What is not understood is an error that names the table and the line, never a guess.
//!
//! <https://dev.mysql.com/doc/refman/9.7/en/create-table.html>, <https://mariadb.com/kb/en/create-table/>

mod baseline;
mod before;
mod catalog;
mod catalog_text;
mod entry;
mod epoch;
mod followed_store;
mod foreign_keys;
mod ledger;
mod logged_ddl;
mod memory_store;
mod part;
mod resolve;
mod schema_history;
mod schemas;
mod secrets;
mod sql;
mod store;
mod stored_session;
mod view;

#[cfg(test)]
mod followed_tests;
#[cfg(test)]
mod history_tests;
#[cfg(test)]
mod tests;

pub use baseline::{Baseline, Scope};
pub use catalog::{
    AlteredColumn, Catalog, Followed, TableDefinition, TableState, ValueChange, altered_columns,
};
pub use catalog_text::CatalogText;
pub use entry::{Entry, EntryBody};
pub use epoch::Epoch;
pub use foreign_keys::{Actions, ChildAction, ForeignKey, ForeignKeys, ReferentialAction};
pub use logged_ddl::{DdlSession, LoggedDdl};
pub use memory_store::MemoryStore;
pub use part::HistoryPart;
pub use resolve::SqlServer;
pub use schema_history::SchemaHistory;
pub use schemas::Schemas;
pub(crate) use secrets::without_secrets;
pub use sql::alter_rows::MovedColumn;
pub use sql::create_table::CreateTable;
pub use sql::row_changes::{changes_no_rows, deletes_all_of_one_table};
pub use sql::statement::{Ddl, DdlKind, RowsGone, TableName};
pub use sql::temporary::{TemporaryStatement, repaired_tables};
pub use sql::token::QuoteMode;
pub use sql::trigger::{TriggerEvent, TriggerStatement};
pub use store::{EntryKey, EntryKind, EntryRange, EntryRow, EpochRow, Store, StoreWrite};
pub use view::HistoryView;
