//! Structures of tables that do not come from table maps: from `CREATE TABLE` text, and over time, by the DDL in the log.
//!
//! In: SQL text, as SHOW CREATE TABLE, `mysqldump --no-data` and `mariadb-dump` print it or as people write it, and the
//! statements of a log ([`LoggedDdl`]). Out: [`TableSchema`](crate::schema::TableSchema).
//!
//! * [`Schemas`] contains the structures that a caller gives as text. Called by `columnar::table_plan` and `python::schemas`.
//! * A [`Catalog`] contains all tables at one position of the log. It applies the statements of the log, one after the other.
//! * A [`SchemaHistory`] contains the catalogs of all positions, in a [`Store`]. Called by `source::follower`.
//!
//! ```text
//! SchemaHistory ─ HistoryView ─ TimelineCursor ─ SharedIndex ─ HistoryIndex ─ FollowedStore ─ Store
//! ```
//!
//! A statement that cannot be parsed is an error that names the table and the line, never a guess.

mod baseline;
mod before;
mod catalog;
mod catalog_text;
mod encoding;
mod entry;
mod followed_store;
mod foreign_keys;
mod history_index;
mod logged_ddl;
mod memory_store;
mod schema_history;
mod schema_snapshot;
mod schemas;
mod secrets;
mod shared_index;
mod store;
mod stored_session;
mod timeline;
mod timeline_cursor;
mod view;

#[cfg(test)]
mod tests;

pub use baseline::{Baseline, Scope};
pub use before::tables_before;
pub use catalog::{
    AlteredColumn, Catalog, Followed, NewType, TableDefinition, TableState, ValueChange,
    altered_columns, complete_schema,
};
pub use catalog_text::CatalogText;
pub use entry::{Entry, EntryBody};
pub use foreign_keys::{Actions, ChildAction, ForeignKey, ForeignKeys, ReferentialAction};
pub use logged_ddl::{LoggedDdl, ParsedDdl};
pub use memory_store::MemoryStore;
pub use schema_history::SchemaHistory;
pub use schema_snapshot::{SNAPSHOT_VERSION, SchemaSnapshot};
pub use schemas::Schemas;
pub(crate) use secrets::without_secrets;
pub use store::{EntryKey, EntryKind, EntryRange, EntryRow, Store, StoreWrite, TimelineRow};
pub use timeline::Timeline;
pub use view::HistoryView;
