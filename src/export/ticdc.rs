//! TiCDC's row changed events, as its log prints them.
//!
//! ```text
//! {"start-ts":…,"commit-ts":…,"row-id":3,"table":{"db-name":"shop","tbl-name":"user","tbl-id":0,"is-partition":false},
//!  "table-info-version":0,"replica-id":0,
//!  "columns":[{"name":"id","type":3,"flag":139,"value":3},{"name":"name","type":15,"flag":0,"value":"amF2YQ=="}],
//!  "pre-columns":null}
//! ```
//!
//! `commit-ts` is `_commit_version`, which increases from commit to commit as in TiDB, but is not a
//! time. Values that only TiDB has (ids and versions of its tables) are 0. A column that the row
//! does not contain is null instead of an object.
//!
//! <https://docs.pingcap.com/tidb/stable/ticdc-open-protocol#column-type-code>

use super::cell::{CellWriter, cells, encoded, encoded_text, integer, json, plain_numbers, quoted};
use super::nested::{Nested, Side, SideColumn, unfit};
use crate::charset::Collation;
use crate::error::Result;
use crate::reader::ChangeBatch;
use crate::schema::{Column, ColumnType, Generated, IndexKind, RowKey, TableSchema};
use arrow_array::Array;
use arrow_array::cast::AsArray;
use arrow_array::types::{
    Decimal128Type, Decimal256Type, DecimalType, Float32Type, Int8Type, Int16Type, Int32Type,
    Int64Type, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_schema::DataType;
use std::io::Write;
use std::sync::Arc;

pub(super) fn write(change: &ChangeBatch, out: &mut Vec<u8>) -> Result<()> {
    let nested = Nested::try_new(change)?;
    let versions = nested.numbers::<Int64Type>("_commit_version")?;
    let table = nested.plan.shown_table();
    let mut middle = b",\"table\":{\"db-name\":".to_vec();
    json(&*table.database, &mut middle);
    middle.extend_from_slice(b",\"tbl-name\":");
    json(&*table.table, &mut middle);
    middle.extend_from_slice(
        b",\"tbl-id\":0,\"is-partition\":false},\"table-info-version\":0,\"replica-id\":0,\"columns\":",
    );
    let before = columns(&nested, &nested.before)?;
    let after = columns(&nested, &nested.after)?;
    for row in 0..nested.rows() {
        let version = versions.value(row);
        out.extend_from_slice(b"{\"start-ts\":");
        integer(version - 1, out);
        out.extend_from_slice(b",\"commit-ts\":");
        integer(version, out);
        out.extend_from_slice(b",\"row-id\":");
        let newest = if nested.op(row) == "d" { &before } else { &after };
        integer(row_id(newest, row), out);
        out.extend_from_slice(&middle);
        write_side(&nested.after, &after, row, out);
        out.extend_from_slice(b",\"pre-columns\":");
        write_side(&nested.before, &before, row, out);
        out.extend_from_slice(b"}\n");
    }
    Ok(())
}

/// A column of one side, with the part that is the same in each of its objects.
struct EventColumn<'b> {
    index: usize,
    /// `{"name":…,"type":…,"flag":…,"value":`
    head: Vec<u8>,
    values: &'b dyn Array,
    writer: Box<dyn CellWriter + 'b>,
    /// `None` if it is not the complete key, or not an integer.
    row_id: Option<Box<dyn Fn(usize) -> i64 + 'b>>,
}

fn columns<'b>(nested: &Nested<'b>, side: &Side<'b>) -> Result<Vec<EventColumn<'b>>> {
    let table = nested.plan.shown_table();
    let flags = flags(table);
    let columns = side.columns(nested.plan)?.into_iter().map(|column| {
        let SideColumn { name, index, values, .. } = column;
        let mut head = b"{\"name\":".to_vec();
        json(name, &mut head);
        head.extend_from_slice(b",\"type\":");
        integer(i64::from(type_code(&column.column.column_type)), &mut head);
        head.extend_from_slice(b",\"flag\":");
        integer(i64::from(flags.get(index).copied().unwrap_or_default()), &mut head);
        head.extend_from_slice(b",\"value\":");
        let is_key = matches!(table.row_key(), RowKey::Columns([part]) if part.column == index);
        let row_id = if is_key { integer_reader(values) } else { None };
        Ok(EventColumn { index, head, values, writer: writer(&column)?, row_id })
    });
    columns.collect()
}

fn row_id(columns: &[EventColumn<'_>], row: usize) -> i64 {
    let key = columns.iter().find_map(|column| {
        column.row_id.as_ref().filter(|_| column.values.is_valid(row)).map(|id| id(row))
    });
    key.unwrap_or(0)
}

fn write_side(side: &Side<'_>, columns: &[EventColumn<'_>], row: usize, out: &mut Vec<u8>) {
    if !side.is_there(row) {
        out.extend_from_slice(b"null");
        return;
    }
    out.push(b'[');
    for (place, column) in columns.iter().enumerate() {
        if place > 0 {
            out.push(b',');
        }
        if !side.holds(row, column.index) {
            out.extend_from_slice(b"null");
            continue;
        }
        out.extend_from_slice(&column.head);
        match column.values.is_valid(row) {
            true => column.writer.write(row, out),
            false => out.extend_from_slice(b"null"),
        }
        out.push(b'}');
    }
    out.push(b']');
}

fn writer<'b>(column: &SideColumn<'b>) -> Result<Box<dyn CellWriter + 'b>> {
    use DataType as D;
    let values = column.values;
    Ok(match values.data_type() {
        // For TiDB, the value of a FLOAT is a DOUBLE.
        D::Float32 => cells(values.as_primitive::<Float32Type>(), |array, row, out| {
            json(&f64::from(array.value(row)), out);
        }),
        D::Boolean => cells(values.as_boolean(), |array, row, out| {
            integer(i64::from(array.value(row)), out);
        }),
        D::Decimal128(_, scale) => {
            let scale = usize::try_from(*scale).unwrap_or(0);
            cells(values.as_primitive::<Decimal128Type>(), move |array, row, out| {
                write_decimal(array.value(row), scale, out);
            })
        }
        // More than 38 digits: rare.
        D::Decimal256(precision, scale) => {
            let (precision, scale) = (*precision, *scale);
            cells(values.as_primitive::<Decimal256Type>(), move |array, row, out| {
                json(&Decimal256Type::format_decimal(array.value(row), precision, scale), out);
            })
        }
        D::Utf8 if matches!(column.column.column_type, ColumnType::Set { .. }) => {
            let members = column.column.members.as_deref().unwrap_or_default();
            cells(values.as_string::<i32>(), move |array, row, out| {
                let text = array.value(row);
                match set_bits(text, members) {
                    Some(bits) => json(&bits, out),
                    None => json(text, out), // the text of a mask
                }
            })
        }
        D::Utf8 if is_plain_text(&column.column.column_type) => quoted(values.as_string()),
        D::Utf8 => encoded_text(values.as_string()),
        D::Binary => encoded(values.as_binary()),
        D::List(_) => cells(values.as_list::<i32>(), |array, row, out| {
            let floats = array.value(row);
            let mut text = Vec::new();
            if let Some(floats) = floats.as_primitive_opt::<Float32Type>() {
                json(&floats.values()[..], &mut text);
            }
            json(&*String::from_utf8_lossy(&text), out);
        }),
        _ => return plain_numbers(values).ok_or_else(|| unfit(column.name)),
    })
}

/// A decimal as the server prints it, in quotes.
fn write_decimal(unscaled: i128, scale: usize, out: &mut Vec<u8>) {
    out.push(b'"');
    if unscaled < 0 {
        out.push(b'-');
    }
    let _ = write!(out, "{:0width$}", unscaled.unsigned_abs(), width = scale + 1);
    if scale > 0 {
        out.insert(out.len() - scale, b'.');
    }
    out.push(b'"');
}

/// The bits of a SET's members, as in the log.
fn set_bits(text: &str, members: &[Arc<str>]) -> Option<u64> {
    let parts = text.split(',').filter(|_| !text.is_empty());
    parts.map(|part| members.iter().position(|member| **member == *part)).try_fold(0, |bits, at| {
        let bit = u32::try_from(at?).ok().and_then(|at| 1_u64.checked_shl(at))?;
        Some(bits | bit)
    })
}

/// True if text is plain in an event: TiDB's strings are bytes.
fn is_plain_text(column_type: &ColumnType) -> bool {
    use ColumnType as T;
    matches!(
        column_type,
        T::Date
            | T::Time2 { .. }
            | T::TimeOld { .. }
            | T::DateTime2 { .. }
            | T::DateTimeOld { .. }
            | T::Timestamp2 { .. }
            | T::TimestampOld { .. }
            | T::Json { .. }
            | T::JsonText { .. }
    )
}

fn integer_reader<'b>(values: &'b dyn Array) -> Option<Box<dyn Fn(usize) -> i64 + 'b>> {
    macro_rules! numbers {
        ($($variant:ident $of:ty),+) => {
            match values.data_type() {
                $(DataType::$variant => {
                    let array = values.as_primitive::<$of>();
                    // TiDB's handle is signed, for columns of all types.
                    Some(Box::new(move |row| array.value(row) as i64))
                })+
                _ => None,
            }
        };
    }
    numbers!(
        Int8 Int8Type, Int16 Int16Type, Int32 Int32Type, Int64 Int64Type,
        UInt8 UInt8Type, UInt16 UInt16Type, UInt32 UInt32Type, UInt64 UInt64Type
    )
}

const fn type_code(column_type: &ColumnType) -> u8 {
    use ColumnType as T;
    match column_type {
        T::Tiny => 1,
        T::Short => 2,
        T::Long => 3,
        T::Float => 4,
        T::Double => 5,
        T::Timestamp2 { .. } | T::TimestampOld { .. } => 7,
        T::LongLong => 8,
        T::Int24 => 9,
        T::Date => 10,
        T::Time2 { .. } | T::TimeOld { .. } => 11,
        T::DateTime2 { .. } | T::DateTimeOld { .. } => 12,
        T::Year => 13,
        T::VarChar { .. } | T::VarCharCompressed { .. } => 15,
        T::Bit { .. } => 16,
        T::Vector { .. } | T::VectorVarBinary { .. } => 225,
        T::Json { .. } | T::JsonText { .. } | T::TypedArray => 245,
        T::Decimal { .. } => 246,
        T::Enum { .. } => 247,
        T::Set { .. } => 248,
        T::Blob { length_bytes } | T::BlobCompressed { length_bytes } => match length_bytes {
            1 => 249,
            3 => 250,
            4 => 251,
            _ => 252,
        },
        T::Char { .. } | T::Uuid | T::Inet4 | T::Inet6 => 254,
        T::Geometry { .. } => 255,
    }
}

const BINARY: u8 = 1;
const HANDLE_KEY: u8 = 2;
const GENERATED: u8 = 4;
const PRIMARY_KEY: u8 = 8;
const UNIQUE_KEY: u8 = 16;
const MULTIPLE_KEY: u8 = 32;
const NULLABLE: u8 = 64;
const UNSIGNED: u8 = 128;

/// The flags of each column. All columns of a key have its flags, as in TiCDC. If the table is known only from the log, only its
/// primary key is known.
fn flags(table: &TableSchema) -> Vec<u8> {
    let mut flags: Vec<u8> = table.columns.iter().map(of_column).collect();
    let mut set = |column: usize, flag: u8| {
        if let Some(flags) = flags.get_mut(column) {
            *flags |= flag;
        }
    };
    let is_several = |count: usize| if count > 1 { MULTIPLE_KEY } else { 0 };
    if let RowKey::Columns(parts) = table.row_key() {
        parts.iter().for_each(|part| set(part.column, HANDLE_KEY));
    }
    if table.indexes.is_empty() {
        let several = is_several(table.primary_key.len());
        table.primary_key.iter().for_each(|part| set(part.column, PRIMARY_KEY | several));
    }
    for index in &table.indexes {
        let several = is_several(index.parts.len() + usize::from(index.has_expression));
        let own = match index.kind {
            IndexKind::Primary => PRIMARY_KEY,
            IndexKind::Unique => UNIQUE_KEY,
            IndexKind::Other => 0,
        };
        index.parts.iter().for_each(|part| set(part.column, own | several));
        if index.kind == IndexKind::Other
            && let Some(first) = index.parts.first()
        {
            set(first.column, MULTIPLE_KEY);
        }
    }
    flags
}

fn of_column(column: &Column) -> u8 {
    use ColumnType as T;
    let has_charset = matches!(
        column.column_type,
        T::Char { .. }
            | T::VarChar { .. }
            | T::VarCharCompressed { .. }
            | T::Blob { .. }
            | T::BlobCompressed { .. }
            | T::Enum { .. }
            | T::Set { .. }
    );
    let is_binary = !has_charset || column.collation == Some(Collation::BINARY);
    let is_generated = matches!(column.generated, Some(Generated::Virtual | Generated::Stored));
    let flag = |is_set: bool, flag: u8| if is_set { flag } else { 0 };
    flag(is_binary, BINARY)
        | flag(is_generated, GENERATED)
        | flag(column.nullable, NULLABLE)
        | flag(column.unsigned == Some(true), UNSIGNED)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::{Index, KeyPart};

    fn key(kind: IndexKind, columns: &[usize]) -> Index {
        let parts = columns.iter().map(|column| KeyPart { column: *column, prefix: 0 }).collect();
        Index { parts, ..Index::new(kind, None) }
    }

    #[test]
    fn flags_of_keys() {
        let column = |nullable| Column { nullable, ..Column::new(None, ColumnType::Date) };
        let mut table = TableSchema {
            database: "shop".into(),
            table: "t".into(),
            columns: [false, false, true, true, false].map(column).to_vec(),
            primary_key: vec![KeyPart { column: 0, prefix: 0 }, KeyPart { column: 1, prefix: 0 }],
            indexes: Vec::new(),
            comment: None,
        };
        // the key is known from the log only
        assert_eq!(flags(&table), [1 | 2 | 8 | 32, 1 | 2 | 8 | 32, 1 | 64, 1 | 64, 1]);
        table.indexes = vec![
            key(IndexKind::Unique, &[0, 1]),
            key(IndexKind::Unique, &[2]),
            key(IndexKind::Other, &[4]),
            key(IndexKind::Other, &[3, 4]),
        ];
        // a unique key that the server uses as the primary key remains a unique key
        let unique = 1 | 2 | 16 | 32;
        assert_eq!(flags(&table), [unique, unique, 1 | 16 | 64, 1 | 32 | 64, 1 | 32]);
        table.primary_key.clear();
        table.indexes = vec![key(IndexKind::Primary, &[4]), key(IndexKind::Unique, &[0])];
        assert_eq!(flags(&table), [1 | 16, 1, 1 | 64, 1 | 64, 1 | 2 | 8]);
    }

    #[test]
    fn sets() {
        let members: Vec<Arc<str>> = ["a", "", "c"].map(Arc::from).to_vec();
        for (text, bits) in
            [("", Some(0)), ("a", Some(1)), ("a,c", Some(5)), ("a,,c", Some(7)), ("b", None)]
        {
            assert_eq!(set_bits(text, &members), bits, "{text}");
        }
    }

    #[test]
    fn decimals() {
        for (unscaled, scale, text) in
            [(0, 0, "0"), (-5, 2, "-0.05"), (12_345, 2, "123.45"), (-7, 0, "-7"), (0, 3, "0.000")]
        {
            let mut out = Vec::new();
            write_decimal(unscaled, scale, &mut out);
            assert_eq!(String::from_utf8(out).unwrap(), format!("\"{text}\""));
        }
    }

    #[test]
    fn flags_of_columns() {
        let id =
            Column { nullable: false, unsigned: Some(true), ..Column::new(None, ColumnType::Long) };
        assert_eq!(of_column(&id), 1 | 128);
        let text = |collation| Column {
            collation: Some(collation),
            generated: Some(Generated::Stored),
            ..Column::new(None, ColumnType::VarChar { max_bytes: 9 })
        };
        assert_eq!(of_column(&text(Collation(255))), 4 | 64);
        assert_eq!(of_column(&text(Collation::BINARY)), 1 | 4 | 64);
    }
}
