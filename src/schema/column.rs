//! A column at one place of the log.

use super::{ColumnType, GeometryType};
use crate::charset::Collation;
use std::sync::Arc;

/// A column as the log (or a history) tells it. What is not told is `None`, never a guess.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Column {
    /// The name; `None` where the log holds no names (`binlog_row_metadata=MINIMAL`).
    pub name: Option<Arc<str>>,
    /// The type with what its metadata says.
    pub column_type: ColumnType,
    /// Whether the column may be NULL.
    pub nullable: bool,
    /// Whether a number is UNSIGNED; `None` where the log does not say.
    pub unsigned: Option<bool>,
    /// The collation of a text, ENUM or SET column; binary for BINARY, VARBINARY and BLOB.
    pub collation: Option<Collation>,
    /// The members of an ENUM or SET column, in order.
    pub members: Option<Arc<[Arc<str>]>>,
    /// The declared kind of a GEOMETRY column.
    pub geometry_type: Option<GeometryType>,
    /// The declared dimension of a VECTOR column.
    pub dimension: Option<u32>,
    /// Whether `SELECT *` shows the column; `None` where the log does not say.
    pub visible: Option<bool>,
    /// Whether the server computes it; `None` where only the log tells of the column.
    pub generated: Option<Generated>,
    /// What its COMMENT says; `None` where it has none, or where only the log tells of the column.
    pub comment: Option<Arc<str>>,
}

/// Whether and how a server computes a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Generated {
    /// It does not.
    No,
    /// When the row is read.
    Virtual,
    /// When the row is written; MariaDB's ROW START and ROW END too.
    Stored,
}

impl Column {
    /// A column of which nothing more is told: it may be NULL, and all else is unknown.
    pub fn new(name: Option<Arc<str>>, column_type: ColumnType) -> Self {
        Self {
            name,
            column_type,
            nullable: true,
            unsigned: None,
            collation: None,
            members: None,
            geometry_type: None,
            dimension: None,
            visible: None,
            generated: None,
            comment: None,
        }
    }

    /// The type as SHOW CREATE TABLE writes it, as far as the log tells.
    pub fn sql_type(&self) -> String {
        self.column_type.sql(
            self.unsigned.unwrap_or(false),
            self.collation,
            self.members.as_deref(),
            self.geometry_type,
            self.dimension,
        )
    }
}
