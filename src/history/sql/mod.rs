//! SQL text, of either server: tokens, and what statements say, before any server makes something of it.
//!
//! ```text
//! text ─ token ─ cursor ─ create_table, column, data_type ─ CreateTable
//!                       ├ statement ─ Ddl: the tables that a statement changes, by its head
//!                       │   └ alter_rows: the effect of an ALTER TABLE on rows
//!                       └ row_changes: recognizes statements that change no rows
//! ```

pub(in crate::history) mod alter_rows;
pub(in crate::history) mod alter_table;
pub(in crate::history) mod column;
pub(in crate::history) mod create_table;
pub(in crate::history) mod cursor;
pub(in crate::history) mod data_type;
pub(in crate::history) mod key;
pub(in crate::history) mod row_changes;
pub(in crate::history) mod script;
pub(in crate::history) mod statement;
pub(in crate::history) mod temporary;
pub(in crate::history) mod token;
pub(in crate::history) mod trigger;
