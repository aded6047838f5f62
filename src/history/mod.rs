//! Table structures that do not come from the log: `CREATE TABLE` text.
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
//! What is not understood is an error that names the table and the line, never a guess.
//!
//! <https://dev.mysql.com/doc/refman/9.7/en/create-table.html>, <https://mariadb.com/kb/en/create-table/>

mod catalog;
mod logged_ddl;
mod resolve;
mod schemas;
mod sql;
mod view;

#[cfg(test)]
mod tests;

pub use catalog::{Catalog, Followed, TableDefinition, TableState};
pub use logged_ddl::{DdlSession, LoggedDdl};
pub use resolve::SqlServer;
pub use schemas::Schemas;
pub use sql::create_table::CreateTable;
pub use sql::statement::{Ddl, DdlKind, TableName};
pub use sql::token::QuoteMode;
pub use view::HistoryView;
