//! The order of a table's rows: by its key, in the server's own order.
//!
//! Rows are read in parts, each of which begins after the last key of the part before. The server compares keys, by the column's
//! collation: binarrow never does. The condition is written out, because the servers read the index from its start for
//! `(a, b) > (1, 2)`.
//!
//! <https://dev.mysql.com/doc/refman/en/range-optimization.html>

use super::image::CellForm;
use crate::charset::Charset;
use crate::error::{Error, Result};
use crate::position::KeyValues;
use crate::protocol::BinaryRow;
use crate::schema::{
    Column, ColumnType, Index, IndexKind, KeyPart, TableSchema, quoted, quoted_name,
};
use std::sync::Arc;

/// A key by which rows are read in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct LoadKey {
    /// The name of its index.
    index: String,
    columns: Vec<KeyColumn>,
}

/// A column of a key.
#[derive(Debug, Clone, PartialEq, Eq)]
struct KeyColumn {
    /// Its index in the table.
    index: usize,
    name: Arc<str>,
    kind: KeyKind,
    /// Its name, type and collation.
    description: String,
}

/// The rows on one side of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    /// The rows after the key.
    After,
    /// The rows before the key.
    Before,
    /// The rows before the key, and its own.
    UpTo,
}

/// The way to write a value in SQL.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum KeyKind {
    /// Digits.
    Number,
    /// Digits and signs between quotes: times, UUIDs and addresses.
    Quoted,
    /// Bytes.
    Bytes,
    /// Text in a character set.
    Text(Charset),
}

impl LoadKey {
    /// The key by which the rows of a table can be read in order; `None` if it has none.
    pub(super) fn of(table: &TableSchema) -> Option<Self> {
        let is_usable = |index: &&Index| index.visible && index.identifies_rows(&table.columns);
        let of_kind =
            |kind| table.indexes.iter().filter(is_usable).filter(move |index| index.kind == kind);
        of_kind(IndexKind::Primary).chain(of_kind(IndexKind::Unique)).find_map(|index| {
            let name = match index.kind {
                IndexKind::Primary => "PRIMARY",
                IndexKind::Unique | IndexKind::Other => index.name.as_deref()?,
            };
            Self::of_parts(table, name, &index.parts)
        })
    }

    fn of_parts(table: &TableSchema, index: &str, parts: &[KeyPart]) -> Option<Self> {
        let column = |part: &KeyPart| {
            let column = table.columns.get(part.column).filter(|_| part.prefix == 0)?;
            let name = column.name.clone()?;
            let collation = column.collation.map(|collation| format!(" {}", collation.0));
            let description =
                format!("{name} {}{}", column.sql_type(), collation.unwrap_or_default());
            Some(KeyColumn { index: part.column, name, kind: KeyKind::of(column)?, description })
        };
        let columns = parts.iter().map(column).collect::<Option<Vec<_>>>()?;
        Some(Self { index: index.to_owned(), columns })
    }

    /// The indexes of its columns in the table.
    pub(super) fn columns(&self) -> impl Iterator<Item = usize> {
        self.columns.iter().map(|column| column.index)
    }

    /// The names of its columns.
    pub(super) fn names(&self) -> Vec<String> {
        self.columns.iter().map(|column| column.name.to_string()).collect()
    }

    /// The columns with their types: values of the key belong to this key only.
    pub(super) fn description(&self) -> Vec<String> {
        self.columns.iter().map(|column| column.description.clone()).collect()
    }

    /// True if values belong to this key.
    pub(super) fn has(&self, key: &KeyValues) -> bool {
        key.columns == self.description() && key.values.len() == self.columns.len()
    }

    /// The clause that makes the server use the index.
    pub(super) fn hint(&self) -> String {
        format!("FORCE INDEX ({})", quoted_name(&self.index))
    }

    /// The clause that permits the server to use the index, and no other. With [`Self::hint`], MySQL 8 and later estimates no rows.
    pub(super) fn weak_hint(&self) -> String {
        format!("USE INDEX ({})", quoted_name(&self.index))
    }

    /// The order of the rows.
    pub(super) fn order(&self) -> String {
        let names: Vec<_> = self.columns.iter().map(|column| quoted_name(&column.name)).collect();
        names.join(", ")
    }

    /// The opposite order.
    pub(super) fn reverse_order(&self) -> String {
        let names = self.columns.iter().map(|column| format!("{} DESC", quoted_name(&column.name)));
        names.collect::<Vec<_>>().join(", ")
    }

    /// The condition of the rows on one side of a key: `(a > 1 OR (a = 1 AND b > 2))`.
    ///
    /// # Errors
    /// The values are not those of such a key.
    pub(super) fn condition(&self, side: Side, key: &KeyValues) -> Result<String> {
        if !self.has(key) {
            return Err(not_of_key());
        }
        let mut terms = Vec::with_capacity(self.columns.len());
        for (count, (column, value)) in self.columns.iter().zip(&key.values).enumerate() {
            let operator = match side {
                Side::After => ">",
                Side::Before => "<",
                // Only the last columns of equal keys are compared with equality.
                Side::UpTo if count + 1 < self.columns.len() => "<",
                Side::UpTo => "<=",
            };
            let last =
                format!("{} {operator} {}", quoted_name(&column.name), column.kind.literal(value)?);
            terms.push(match count {
                0 => last,
                _ => format!("({} AND {last})", self.equal(key, count)?),
            });
        }
        Ok(format!("({})", terms.join(" OR ")))
    }

    /// The condition of the rows whose first `count` columns have the values of a key, and whose next column has at least a value.
    ///
    /// # Errors
    /// The values are not those of such a key.
    pub(super) fn starting_at(
        &self,
        key: &KeyValues,
        count: usize,
        value: &[u8],
    ) -> Result<String> {
        let column = self.columns.get(count).ok_or_else(not_of_key)?;
        let last = format!("{} >= {}", quoted_name(&column.name), column.kind.literal(value)?);
        Ok(match count {
            0 => last,
            _ => format!("{} AND {last}", self.equal(key, count)?),
        })
    }

    /// The kinds of its columns.
    pub(super) fn kinds(&self) -> impl Iterator<Item = KeyKind> {
        self.columns.iter().map(|column| column.kind)
    }

    /// The first columns have the values of a key.
    fn equal(&self, key: &KeyValues, count: usize) -> Result<String> {
        let terms = self.columns.iter().zip(&key.values).take(count).map(|(column, value)| {
            Ok(format!("{} = {}", quoted_name(&column.name), column.kind.literal(value)?))
        });
        Ok(terms.collect::<Result<Vec<_>>>()?.join(" AND "))
    }
}

impl KeyKind {
    /// `None` for a column whose values the servers do not compare by index, or round.
    fn of(column: &Column) -> Option<Self> {
        use ColumnType as T;
        Some(match column.column_type {
            T::Tiny | T::Short | T::Int24 | T::Long | T::LongLong | T::Decimal { .. } => {
                Self::Number
            }
            T::Date
            | T::Time2 { .. }
            | T::DateTime2 { .. }
            | T::Timestamp2 { .. }
            | T::Uuid
            | T::Inet4
            | T::Inet6 => Self::Quoted,
            T::Char { .. } | T::VarChar { .. } => match column.collation?.charset() {
                Charset::Binary => Self::Bytes,
                Charset::Unknown => return None,
                charset => Self::Text(charset),
            },
            _ => return None,
        })
    }

    fn literal(self, value: &[u8]) -> Result<String> {
        let text = || std::str::from_utf8(value).map_err(|_| not_of_key());
        let all = |is_part: fn(&u8) -> bool| !value.is_empty() && value.iter().all(is_part);
        match self {
            Self::Number if all(|byte| byte.is_ascii_digit() || matches!(byte, b'-' | b'.')) => {
                Ok(text()?.to_owned())
            }
            Self::Quoted if all(|byte| byte.is_ascii_hexdigit() || b"-.: ".contains(byte)) => {
                Ok(quoted(text()?))
            }
            Self::Number | Self::Quoted => Err(not_of_key()),
            Self::Bytes => Ok(hex("_binary", value)),
            Self::Text(charset) => Ok(hex(&format!("_{}", charset.name()), value)),
        }
    }
}

fn hex(introducer: &str, value: &[u8]) -> String {
    format!("{introducer} X'{}'", crate::wire::to_hex(value))
}

fn not_of_key() -> Error {
    Error::config("the stored values of a key are not values of the table's key")
}

/// Reads the keys of rows.
#[derive(Debug)]
pub(super) struct KeyReader {
    /// The indexes of the key's columns in the result, and whether they are unsigned numbers.
    columns: Vec<(usize, bool)>,
    description: Vec<String>,
}

impl KeyReader {
    pub(super) fn new(key: &LoadKey, columns: Vec<(usize, bool)>) -> Self {
        Self { columns, description: key.description() }
    }

    /// The key of a row whose columns have these forms.
    pub(super) fn read(
        &self,
        forms: &[CellForm],
        row: &BinaryRow<'_>,
    ) -> crate::wire::Result<KeyValues> {
        let mut texts = vec![Vec::new(); forms.len()];
        let mut values = row.values();
        for (index, (form, text)) in forms.iter().zip(&mut texts).enumerate() {
            if !row.is_null(index) {
                let is_unsigned = self.columns.contains(&(index, true));
                *text = form.text(is_unsigned, &mut values)?;
            }
        }
        let values = self.columns.iter().map(|(index, _)| texts.get(*index).cloned());
        Ok(KeyValues {
            columns: self.description.clone(),
            values: values.map(Option::unwrap_or_default).collect(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::charset::Collation;

    fn column(name: &str, column_type: ColumnType) -> Column {
        Column {
            nullable: false,
            unsigned: Some(false),
            ..Column::new(Some(name.into()), column_type)
        }
    }

    fn table(columns: Vec<Column>) -> TableSchema {
        let parts = (0..columns.len()).map(|column| KeyPart { column, prefix: 0 }).collect();
        TableSchema {
            database: "d".into(),
            table: "t".into(),
            columns,
            primary_key: Vec::new(),
            indexes: vec![Index { parts, ..Index::new(IndexKind::Primary, None) }],
            comment: None,
        }
    }

    fn key(key: &LoadKey, values: &[&[u8]]) -> KeyValues {
        let values = values.iter().map(|value| value.to_vec()).collect();
        KeyValues { columns: key.description(), values }
    }

    #[test]
    fn conditions() {
        let mut text = column("n`a", ColumnType::VarChar { max_bytes: 40 });
        text.collation = Some(Collation(255));
        let load = LoadKey::of(&table(vec![
            column("id", ColumnType::LongLong),
            text,
            column("at", ColumnType::DateTime2 { fsp: 3 }),
        ]))
        .unwrap();
        assert_eq!(load.hint(), "FORCE INDEX (`PRIMARY`)");
        assert_eq!(load.order(), "`id`, `n``a`, `at`");
        let values = key(&load, &[b"-7", b"it's", b"2026-11-23 00:00:00.500"]);
        assert_eq!(
            load.condition(Side::After, &values).unwrap(),
            "(`id` > -7 OR (`id` = -7 AND `n``a` > _utf8mb4 X'69742773') OR (`id` = -7 AND `n``a` = _utf8mb4 X'69742773' AND \
             `at` > '2026-11-23 00:00:00.500'))"
        );
        assert_eq!(
            load.condition(Side::UpTo, &values).unwrap(),
            "(`id` < -7 OR (`id` = -7 AND `n``a` < _utf8mb4 X'69742773') OR (`id` = -7 AND `n``a` = _utf8mb4 X'69742773' AND \
             `at` <= '2026-11-23 00:00:00.500'))"
        );
        assert_eq!(
            load.starting_at(&values, 1, b"x").unwrap(),
            "`id` = -7 AND `n``a` >= _utf8mb4 X'78'"
        );
        assert_eq!(load.reverse_order(), "`id` DESC, `n``a` DESC, `at` DESC");
    }

    #[test]
    fn values_of_a_stored_key_cannot_contain_sql() {
        let load = LoadKey::of(&table(vec![
            column("id", ColumnType::LongLong),
            column("day", ColumnType::Date),
        ]))
        .unwrap();
        for bad in [&b"1 OR 1=1"[..], b"", b"(1)", b"1;", b"\xff"] {
            load.condition(Side::After, &key(&load, &[bad, b"2026-01-01"])).unwrap_err();
        }
        for bad in [&b"' OR 1"[..], b"", b"\\", b"\n"] {
            load.condition(Side::After, &key(&load, &[b"1", bad])).unwrap_err();
        }
        let mut other = key(&load, &[b"1", b"2026-01-01"]);
        load.condition(Side::After, &other).unwrap();
        other.columns[0] = "id varchar(10) 255".into();
        load.condition(Side::After, &other).unwrap_err();
    }

    #[test]
    fn keys_without_an_order_that_can_be_written() {
        assert_eq!(LoadKey::of(&table(Vec::new())), None);
        assert_eq!(LoadKey::of(&table(vec![column("x", ColumnType::Float)])), None);
        let mut prefix = table(vec![column("id", ColumnType::Long)]);
        prefix.indexes[0].parts[0].prefix = 3;
        assert_eq!(LoadKey::of(&prefix), None);
        // The next key is taken, unless it is not visible.
        let mut index = Index::new(IndexKind::Unique, Some("second".into()));
        index.parts = vec![KeyPart { column: 0, prefix: 0 }];
        prefix.indexes.push(index);
        assert_eq!(LoadKey::of(&prefix).unwrap().hint(), "FORCE INDEX (`second`)");
        prefix.indexes[1].visible = false;
        assert_eq!(LoadKey::of(&prefix), None);
    }
}
