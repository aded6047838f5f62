//! Completes a table structure from the log with a known structure from elsewhere.

use super::{Column, ColumnType, TableSchema};
use crate::charset::Collation;
use crate::error::Error;
use std::sync::Arc;

impl TableSchema {
    /// Returns this structure of the log, completed with `known`. The metadata in the log takes
    /// precedence; metadata that it does not contain comes from `known`.
    ///
    /// Both must be structures of the same table at the same time: with the same number of columns
    /// and the same types, and, if the log contains them, with the same names, signs, character
    /// sets and members.
    ///
    /// # Errors
    /// A contradiction is an [`ErrorKind::Schema`](crate::ErrorKind::Schema) that names both.
    pub fn complete(self, known: &Self) -> Result<Self, Error> {
        let name = self.full_name();
        self.completed(known).map_err(|what| Self::does_not_fit(&name, &what))
    }

    /// Creates the error for a given structure that contradicts the log.
    pub(crate) fn does_not_fit(name: &str, what: &str) -> Error {
        Error::schema(format!(
            "the structure given for table {name} does not fit the log: {what}; the table may have been altered since: \
             give the structure that it had here, and read what was logged under another one by itself (start, stop)"
        ))
    }

    /// Like [`Self::complete`]; the error is the difference.
    pub(crate) fn completed(self, known: &Self) -> Result<Self, String> {
        if self.columns.len() != known.columns.len() {
            let (logged, given) = (self.columns.len(), known.columns.len());
            return Err(format!("the log has {logged} columns, the given structure {given}"));
        }
        // A log that contains the names of columns also contains the primary key, if there is one.
        let has_key = self.columns.iter().all(|column| column.name.is_some());
        let mut columns = Vec::with_capacity(self.columns.len());
        for (index, (logged, known)) in self.columns.into_iter().zip(&known.columns).enumerate() {
            let (in_log, given) = (logged.sql_type(), known.sql_type());
            let column = logged.complete(known).map_err(|what| {
                let name = known.name.as_deref().unwrap_or("?");
                let in_log = in_log_words(&in_log, &what);
                format!("column {} `{name}` is {given} there and {in_log} in the log", index + 1)
            })?;
            columns.push(column);
        }
        let primary_key = match has_key {
            true => self.primary_key,
            false => known.primary_key.clone(),
        };
        Ok(Self {
            database: self.database,
            table: self.table,
            columns,
            primary_key,
            indexes: known.indexes.clone(),
            comment: known.comment.clone(),
        })
    }
}

/// A difference between two columns that their types do not show.
enum Difference {
    Type,
    Name(Arc<str>),
    Charset(Collation, Collation),
    Members,
}

fn in_log_words(in_log: &str, what: &Difference) -> String {
    match what {
        Difference::Type => in_log.to_owned(),
        Difference::Name(name) => format!("`{name}`"),
        Difference::Charset(logged, known) => format!(
            "{in_log} of character set {} (not {})",
            logged.charset().name(),
            known.charset().name()
        ),
        Difference::Members => format!("{in_log} of other members"),
    }
}

impl Column {
    fn complete(self, known: &Self) -> Result<Self, Difference> {
        let column_type = self.completed_type(known).ok_or(Difference::Type)?;
        if let (Some(logged), Some(known)) = (&self.name, &known.name)
            && logged.to_lowercase() != known.to_lowercase()
        {
            return Err(Difference::Name(Arc::clone(logged)));
        }
        if differ(&self.unsigned, &known.unsigned)
            || differ(&self.geometry_type, &known.geometry_type)
            || differ(&self.dimension, &known.dimension)
        {
            return Err(Difference::Type);
        }
        if let (Some(logged), Some(known)) = (self.collation, known.collation)
            && logged.charset() != known.charset()
        {
            return Err(Difference::Charset(logged, known));
        }
        if let (Some(logged), Some(known)) = (&self.members, &known.members)
            && !logged.iter().map(|member| printed(member)).eq(known.iter().map(|m| printed(m)))
        {
            return Err(Difference::Members);
        }
        // The log contains bytes with the collation `binary`; the known type is text without a
        // collation.
        let is_written_out =
            matches!(column_type, ColumnType::Uuid | ColumnType::Inet4 | ColumnType::Inet6);
        Ok(Self {
            name: self.name.or_else(|| known.name.clone()),
            nullable: self.nullable,
            unsigned: self.unsigned.or(known.unsigned),
            collation: if is_written_out { None } else { self.collation.or(known.collation) },
            members: self.members.or_else(|| known.members.clone()),
            geometry_type: self.geometry_type.or(known.geometry_type),
            dimension: self.dimension.or(known.dimension),
            visible: self.visible.or(known.visible),
            generated: self.generated.or(known.generated),
            comment: self.comment.or_else(|| known.comment.clone()),
            declared: self.declared.or_else(|| known.declared.clone()),
            column_type,
        })
    }

    /// The type that both structures agree on; `None` if the known type is not logged as the type
    /// in the log.
    fn completed_type(&self, known: &Self) -> Option<ColumnType> {
        use ColumnType as T;
        let is_bytes = self.collation.is_none_or(|collation| collation == Collation::BINARY);
        Some(match (&self.column_type, &known.column_type) {
            (logged, known) if logged == known => known.clone(),
            (T::TimeOld { fsp: None }, T::Time2 { fsp }) => T::TimeOld { fsp: Some(*fsp) },
            (T::DateTimeOld { fsp: None }, T::DateTime2 { fsp }) => {
                T::DateTimeOld { fsp: Some(*fsp) }
            }
            (T::TimestampOld { fsp: None }, T::Timestamp2 { fsp }) => {
                T::TimestampOld { fsp: Some(*fsp) }
            }
            (T::Char { max_bytes: 16 }, T::Uuid) if is_bytes => T::Uuid,
            (T::Char { max_bytes: 4 }, T::Inet4) if is_bytes => T::Inet4,
            (T::Char { max_bytes: 16 }, T::Inet6) if is_bytes => T::Inet6,
            (T::VarChar { max_bytes }, T::VectorVarBinary { max_bytes: known }) => (is_bytes
                && max_bytes == known)
                .then_some(T::VectorVarBinary { max_bytes: *known })?,
            _ => return None,
        })
    }
}

/// A member as SHOW CREATE TABLE prints it: characters above U+FFFF are `?` there.
fn printed(member: &str) -> String {
    member.chars().map(|c| if c > '\u{ffff}' { '?' } else { c }).collect()
}

/// True if both values are known and differ.
fn differ<T: PartialEq>(logged: &Option<T>, known: &Option<T>) -> bool {
    matches!((logged, known), (Some(logged), Some(known)) if logged != known)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::{GeometryType, Index, IndexKind, KeyPart};

    fn table(columns: Vec<Column>) -> TableSchema {
        let primary_key = vec![KeyPart { column: 0, prefix: 0 }];
        let indexes =
            vec![Index { parts: primary_key.clone(), ..Index::new(IndexKind::Primary, None) }];
        TableSchema {
            database: "shop".into(),
            table: "t".into(),
            columns,
            primary_key,
            indexes,
            comment: None,
        }
    }

    fn logged(column_type: ColumnType) -> TableSchema {
        TableSchema {
            primary_key: Vec::new(),
            indexes: Vec::new(),
            ..table(vec![Column::new(None, column_type)])
        }
    }

    fn known(column_type: ColumnType) -> TableSchema {
        table(vec![Column::new(Some("c".into()), column_type)])
    }

    #[test]
    fn what_the_log_leaves_out_is_taken_over() {
        let mut given = known(ColumnType::Enum { bytes: 1 });
        let column = &mut given.columns[0];
        column.members = Some(["a".into()].into());
        column.visible = Some(false);
        column.nullable = false;
        column.collation = Some(Collation(46));
        let completed = logged(ColumnType::Enum { bytes: 1 }).complete(&given).unwrap();
        assert_eq!(completed.primary_key, given.primary_key);
        assert_eq!(completed.indexes, given.indexes);
        assert_eq!(completed.columns[0], Column { nullable: true, ..given.columns[0].clone() });
        // the log says that the column may be NULL, and contains another collation of the same
        // character set
        let mut log = logged(ColumnType::Enum { bytes: 1 });
        log.columns[0].collation = Some(Collation(45));
        assert_eq!(log.complete(&given).unwrap().columns[0].collation, Some(Collation(45)));
    }

    #[test]
    fn types_that_the_log_does_not_contain() {
        use ColumnType as T;
        for (log, given, completed) in [
            (T::Char { max_bytes: 16 }, T::Uuid, Some(T::Uuid)),
            (T::Char { max_bytes: 16 }, T::Inet6, Some(T::Inet6)),
            (T::Char { max_bytes: 4 }, T::Inet4, Some(T::Inet4)),
            (T::Char { max_bytes: 15 }, T::Uuid, None),
            (T::VarChar { max_bytes: 16 }, T::Uuid, None),
            (
                T::VarChar { max_bytes: 12 },
                T::VectorVarBinary { max_bytes: 12 },
                Some(T::VectorVarBinary { max_bytes: 12 }),
            ),
            (T::VarChar { max_bytes: 16 }, T::VectorVarBinary { max_bytes: 12 }, None),
            (T::TimeOld { fsp: None }, T::Time2 { fsp: 3 }, Some(T::TimeOld { fsp: Some(3) })),
            (
                T::DateTimeOld { fsp: None },
                T::DateTime2 { fsp: 0 },
                Some(T::DateTimeOld { fsp: Some(0) }),
            ),
            (T::TimestampOld { fsp: None }, T::DateTime2 { fsp: 0 }, None),
            (T::Time2 { fsp: 0 }, T::Time2 { fsp: 1 }, None),
            (T::Long, T::LongLong, None),
        ] {
            let found = logged(log.clone()).complete(&known(given.clone()));
            let found = found.map(|table| table.columns[0].column_type.clone());
            assert_eq!(found.as_ref().ok(), completed.as_ref(), "{log:?} {given:?}");
        }
        let mut text = logged(T::Char { max_bytes: 16 });
        text.columns[0].collation = Some(Collation(45));
        assert!(text.complete(&known(T::Uuid)).is_err());
        let mut bytes = logged(T::Char { max_bytes: 16 });
        bytes.columns[0].collation = Some(Collation::BINARY);
        assert_eq!(bytes.complete(&known(T::Uuid)).unwrap().columns[0].collation, None);
    }

    #[test]
    fn contradictions_name_both() {
        let long = || known(ColumnType::Long);
        let with = |change: fn(&mut Column)| {
            let mut table = logged(ColumnType::Long);
            change(&mut table.columns[0]);
            table
        };
        let mut given = long();
        given.columns[0].unsigned = Some(false);
        given.columns[0].collation = Some(Collation(8));
        given.columns[0].members = Some(["a".into()].into());
        given.columns[0].geometry_type = Some(GeometryType::Point);
        let several = table(vec![Column::new(None, ColumnType::Long); 2]);
        for (log, what) in [
            (several, "the log has 2 columns, the given structure 1"),
            (logged(ColumnType::Date), "column 1 `c` is int there and date in the log"),
            (with(|c| c.name = Some("d".into())), "and `d` in the log"),
            (with(|c| c.unsigned = Some(true)), "and int unsigned in the log"),
            (with(|c| c.collation = Some(Collation(45))), "of character set utf8mb4 (not latin1)"),
            (with(|c| c.members = Some(["b".into()].into())), "of other members"),
            (with(|c| c.geometry_type = Some(GeometryType::Polygon)), "in the log"),
        ] {
            let message = log.complete(&given).unwrap_err().to_string();
            assert!(message.contains(what) && message.contains("shop.t"), "{message}");
        }
        // servers print ? for some characters of members; the log takes precedence
        let mut log = with(|c| c.members = Some(["🎉".into()].into()));
        given.columns[0] =
            Column { members: Some(["?".into()].into()), ..long().columns[0].clone() };
        log = log.complete(&given).unwrap();
        assert_eq!(log.columns[0].members.as_deref(), Some(&[Arc::from("🎉")][..]));
        // names of columns are not case-sensitive
        assert!(with(|c| c.name = Some("C".into())).complete(&given).is_ok());
    }
}
