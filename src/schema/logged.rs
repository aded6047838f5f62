//! The metadata of a known table that a server's log will contain: the reverse of `complete.rs`.

use super::{Column, ColumnType, TableSchema};
use crate::charset::Collation;

/// The amount of metadata about tables in a server's log: `binlog_row_metadata`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RowMetadata {
    /// FULL: includes names, members and the primary key.
    Full,
    /// MINIMAL: signs, character sets and kinds of geometries.
    Minimal,
    /// Types only: MariaDB's NO_LOG, and versions without the variable.
    NoLog,
}

impl TableSchema {
    /// The structure of this table that the log will contain.
    pub fn as_logged(&self, metadata: RowMetadata, is_mariadb: bool) -> Self {
        let columns = self.columns.iter().map(|column| column.as_logged(metadata, is_mariadb));
        Self {
            database: self.database.clone(),
            table: self.table.clone(),
            columns: columns.collect(),
            primary_key: match metadata {
                RowMetadata::Full => self.primary_key.clone(),
                RowMetadata::Minimal | RowMetadata::NoLog => Vec::new(),
            },
            indexes: Vec::new(),
            comment: None,
        }
    }
}

impl Column {
    fn as_logged(&self, metadata: RowMetadata, is_mariadb: bool) -> Self {
        use ColumnType as T;
        let is_all = metadata == RowMetadata::Full;
        let is_some = metadata != RowMetadata::NoLog;
        let column_type = match &self.column_type {
            T::Uuid | T::Inet6 => T::Char { max_bytes: 16 },
            T::Inet4 => T::Char { max_bytes: 4 },
            T::VectorVarBinary { max_bytes } => T::VarChar { max_bytes: *max_bytes },
            T::TimeOld { .. } => T::TimeOld { fsp: None },
            T::DateTimeOld { .. } => T::DateTimeOld { fsp: None },
            T::TimestampOld { .. } => T::TimestampOld { fsp: None },
            other => other.clone(),
        };
        let collation = match &column_type {
            T::Enum { .. } | T::Set { .. } => self.collation.filter(|_| is_all),
            T::Geometry { .. } => (is_mariadb && is_some).then_some(Collation::BINARY),
            T::Vector { .. } => (!is_mariadb && is_some).then_some(Collation::BINARY),
            logged if logged.is_character() && is_some => Some(
                self.collation.filter(|_| *logged == self.column_type).unwrap_or(Collation::BINARY),
            ),
            _ => None,
        };
        let is_number = column_type.is_numeric() && is_some;
        Self {
            name: self.name.clone().filter(|_| is_all),
            nullable: self.nullable,
            unsigned: is_number.then(|| self.unsigned.unwrap_or(false)),
            collation,
            members: self.members.clone().filter(|_| is_all),
            geometry_type: self.geometry_type.filter(|_| is_some),
            dimension: self.dimension.filter(|_| is_some && !is_mariadb),
            visible: (is_all && !is_mariadb).then(|| self.visible.unwrap_or(true)),
            generated: None,
            comment: None,
            declared: None,
            column_type,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_logged_of_a_column() {
        use ColumnType as T;
        let column = |column_type: T| Column {
            unsigned: Some(true),
            collation: Some(Collation(45)),
            members: Some(["a".into()].into()),
            visible: Some(false),
            comment: Some("c".into()),
            ..Column::new(Some("c".into()), column_type)
        };
        let enumerated = column(T::Enum { bytes: 1 });
        let full = enumerated.as_logged(RowMetadata::Full, false);
        assert_eq!(full, Column { unsigned: None, comment: None, ..enumerated.clone() });
        let minimal = enumerated.as_logged(RowMetadata::Minimal, true);
        assert_eq!(minimal, Column::new(None, T::Enum { bytes: 1 }));
        let number = column(T::Long);
        assert_eq!(number.as_logged(RowMetadata::Minimal, false).unsigned, Some(true));
        assert_eq!(number.as_logged(RowMetadata::NoLog, false), Column::new(None, T::Long));
        let text = column(T::VarChar { max_bytes: 40 });
        assert_eq!(text.as_logged(RowMetadata::Minimal, false).collation, Some(Collation(45)));
        assert_eq!(text.as_logged(RowMetadata::Full, true).visible, None);
        for (known, logged) in [
            (T::Uuid, T::Char { max_bytes: 16 }),
            (T::Inet6, T::Char { max_bytes: 16 }),
            (T::Inet4, T::Char { max_bytes: 4 }),
            (T::VectorVarBinary { max_bytes: 8 }, T::VarChar { max_bytes: 8 }),
        ] {
            let known = Column { collation: None, ..column(known) };
            let found = known.as_logged(RowMetadata::Full, true);
            assert_eq!((found.column_type, found.collation), (logged, Some(Collation::BINARY)));
        }
    }
}
