//! The structure of a table: the types that all layers share.
//!
//! Contains [`ColumnType`], [`Column`], [`Index`], [`RowKey`] and [`TableSchema`]. Created by
//! `binlog::table_map` and `history`, read by `columnar`.

mod column;
mod column_type;
mod complete;
mod index;
mod logged;
mod name_case;
mod sql_text;
mod table_schema;

pub use column::{Column, DeclaredAttributes, Generated};
pub use column_type::{ColumnType, GeometryType};
pub use index::{Index, IndexKind, KeyPart, RowKey};
pub use logged::RowMetadata;
pub use name_case::{NameCase, folded};
pub(crate) use sql_text::{quoted, quoted_name};
pub use table_schema::{TableSchema, full_name};
