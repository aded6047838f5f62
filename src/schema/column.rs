//! A column at a position of the log.

use super::{ColumnType, GeometryType};
use crate::charset::Collation;
use std::sync::Arc;

/// A column as the log or a history describes it. A property that they do not contain is `None`, never a guess.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Column {
    /// The name; `None` if the log contains no names (`binlog_row_metadata=MINIMAL`).
    pub name: Option<Arc<str>>,
    /// The type, with its metadata.
    pub column_type: ColumnType,
    /// True if the column may be NULL.
    pub nullable: bool,
    /// True for an UNSIGNED number; `None` if the log does not contain the sign.
    pub unsigned: Option<bool>,
    /// The collation of a text, ENUM or SET column; binary for BINARY, VARBINARY and BLOB.
    pub collation: Option<Collation>,
    /// The members of an ENUM or SET column, in order.
    pub members: Option<Arc<[Arc<str>]>>,
    /// The declared kind of a GEOMETRY column.
    pub geometry_type: Option<GeometryType>,
    /// The declared dimension of a VECTOR column.
    pub dimension: Option<u32>,
    /// False for an INVISIBLE column; `None` if the log does not contain it.
    pub visible: Option<bool>,
    /// The kind of a generated column; `None` if only the log describes the column.
    pub generated: Option<Generated>,
    /// Its COMMENT; `None` if it has none, or if only the log describes the column.
    pub comment: Option<Arc<str>>,
    /// The attributes that rows do not depend on; `None` if only the log describes the column.
    pub declared: Option<Arc<DeclaredAttributes>>,
}

/// Attributes in CREATE TABLE that the log never contains.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct DeclaredAttributes {
    /// The type as SHOW CREATE TABLE writes it, if [`Column::sql_type`] differs: with display width, digits or ZEROFILL.
    pub sql_type: Option<Arc<str>>,
    /// The text after DEFAULT; `None` for DEFAULT NULL too.
    pub default: Option<Arc<str>>,
    /// True for AUTO_INCREMENT.
    pub auto_increment: bool,
    /// The value of ON UPDATE: `CURRENT_TIMESTAMP`, with the digits of a second.
    pub on_update: Option<Arc<str>>,
}

/// The kind of a generated column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Generated {
    /// Not generated.
    No,
    /// Computed when the row is read.
    Virtual,
    /// Computed when the row is written; also MariaDB's ROW START and ROW END.
    Stored,
}

impl Column {
    /// A column of which only the name and the type are known. It may be NULL.
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
            declared: None,
        }
    }

    /// The type as SHOW CREATE TABLE writes it, without display width, digits of FLOAT, and ZEROFILL.
    pub fn sql_type(&self) -> String {
        self.column_type.sql(
            self.unsigned.unwrap_or(false),
            self.collation,
            self.members.as_deref(),
            self.geometry_type,
            self.dimension,
        )
    }

    /// The type as SHOW CREATE TABLE writes it, as far as it is known.
    pub fn declared_type(&self) -> String {
        let declared = self.declared.as_ref().and_then(|declared| declared.sql_type.as_deref());
        declared.map_or_else(|| self.sql_type(), ToOwned::to_owned)
    }
}
