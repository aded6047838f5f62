//! SQL statements of both servers: tokens, parsed statements, and the structure that a server makes of a CREATE TABLE.
//!
//! In: text, and the session that ran it ([`DdlSession`]). Out: parsed statements, and
//! [`TableSchema`](crate::schema::TableSchema)s. A statement is read without knowledge of the tables before it. Called by
//! `history`, `change`, `baseline` and `source`.
//!
//! ```text
//! text ─ lexer, comment ─ cursor ─ create_table, column, data_type, key ─ CreateTable ─ resolve ─ TableSchema
//!                       └ parser ─ ParsedStatement: one reading of a statement of the log (parsed)
//!                           ├ alter_table ─ alter_action: the clauses of an ALTER TABLE
//!                           ├ row_changes: recognizes statements that change no rows
//!                           ├ effect ─ Ddl: the tables that it changes
//!                           │   └ alter_effect: the effect of an ALTER TABLE on rows
//!                           └ temporary, trigger
//! ```
//!
//! <https://dev.mysql.com/doc/refman/9.7/en/create-table.html>, <https://mariadb.com/kb/en/create-table/>

pub(crate) mod alter_action;
mod alter_effect;
mod alter_table;
pub(crate) mod body;
pub(crate) mod charset_clause;
pub(crate) mod column;
mod comment;
pub(crate) mod create_table;
pub(crate) mod cursor;
pub(crate) mod data_type;
mod effect;
mod expression;
pub(crate) mod key;
pub(crate) mod lexer;
mod parsed;
mod parser;
pub(crate) mod resolve;
mod row_changes;
mod row_effect;
pub(crate) mod script;
mod server;
mod session;
mod table_name;
mod temporary;
pub(crate) mod token;
mod trigger;

pub use alter_effect::MovedColumn;
pub use create_table::CreateTable;
pub use effect::{Ddl, DdlKind};
pub use parsed::ParsedStatement;
pub use row_effect::RowEffect;
pub use server::SqlServer;
pub use session::DdlSession;
pub use table_name::TableName;
pub use temporary::TemporaryStatement;
pub use token::QuoteMode;
pub use trigger::{TriggerEvent, TriggerStatement};
