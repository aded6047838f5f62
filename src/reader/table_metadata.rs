//! The columns and the key of a Table_map event, in the lines of WL#4618 as `mysqlbinlog --print-table-metadata` writes them.
//!
//! ```text
//! # Columns(`id` INT UNSIGNED NOT NULL,
//! #         `name` VARCHAR(20) CHARSET latin1 COLLATE latin1_swedish_ci)
//! # Primary Key(id, name(10))
//! ```
//!
//! Metadata that the log does not contain is left out: names, members and the key with
//! `binlog_row_metadata=MINIMAL`; signs and character sets with MariaDB's NO_LOG, where text is
//! shown as bytes. Called by `event_info`.

use crate::binlog::{EventType, FormatDescription, TableMap};
use crate::charset::Collation;
use crate::error::Error;
use crate::schema::{Column, ColumnType, GeometryType, quoted_name};
use std::fmt::Write;

/// Returns the lines for the body of a Table_map event.
pub(super) fn table_metadata(body: &[u8], format: &FormatDescription) -> Result<String, Error> {
    let map = TableMap::decode(body, format.table_id_width(EventType::TABLE_MAP))?;
    let schema = map.schema(format)?;
    let has_generated_key = !format.is_mariadb && map.flags & GENERATED_INVISIBLE_KEY != 0;
    let mut out = String::from("# Columns(");
    for (index, column) in schema.columns.iter().enumerate() {
        if index > 0 {
            out.push_str(",\n#         ");
        }
        match has_generated_key && index == 0 {
            true => out.push_str(GENERATED_COLUMN),
            false => put_column(&mut out, column, format.is_mariadb),
        }
    }
    out.push_str(")\n");
    if has_generated_key {
        out.push_str("# Primary Key(my_row_id)\n");
    } else if !schema.primary_key.is_empty() {
        out.push_str("# Primary Key(");
        for (place, part) in schema.primary_key.iter().enumerate() {
            if place > 0 {
                out.push_str(", ");
            }
            match schema.columns.get(part.column).and_then(|column| column.name.as_deref()) {
                Some(name) => put_escaped(&mut out, name),
                None => put(&mut out, format_args!("@{}", part.column + 1)),
            }
            if part.prefix > 0 {
                put(&mut out, format_args!("({})", part.prefix));
            }
        }
        out.push_str(")\n");
    }
    Ok(out)
}

fn put_column(out: &mut String, column: &Column, is_mariadb: bool) {
    if let Some(name) = &column.name {
        put_escaped(out, &quoted_name(name));
        out.push(' ');
    }
    put_type(out, column, is_mariadb);
    if column.unsigned == Some(true) {
        out.push_str(" UNSIGNED");
    }
    if !column.nullable {
        out.push_str(" NOT NULL");
    }
    if let Some(members) = &column.members {
        out.push('(');
        for (place, member) in members.iter().enumerate() {
            out.push_str(if place > 0 { ", '" } else { "'" });
            put_escaped(out, member);
            out.push('\'');
        }
        out.push(')');
    }
    let is_listed = matches!(column.column_type, ColumnType::Enum { .. } | ColumnType::Set { .. });
    if let Some(collation) = shown_collation(column, is_listed) {
        let charset = collation.charset().name();
        match collation.name(is_mariadb) {
            Some(name) => put(out, format_args!(" CHARSET {charset} COLLATE {name}")),
            None => put(out, format_args!(" CHARSET {charset} COLLATE {}", collation.0)),
        }
    }
    if column.visible == Some(false) {
        out.push_str(" INVISIBLE");
    }
}

/// The collation to print: bytes have none. ENUM and SET always have one, although only their
/// members are text.
fn shown_collation(column: &Column, is_listed: bool) -> Option<Collation> {
    column.collation.filter(|collation| {
        is_listed || (column.column_type.is_character() && *collation != Collation::BINARY)
    })
}

/// Writes the type in capitals, with lengths in characters.
fn put_type(out: &mut String, column: &Column, is_mariadb: bool) {
    use ColumnType as T;
    // Without a character set the column is printed as bytes: text, and lengths in characters,
    // would be a guess.
    let charset = column.collation.map(Collation::charset).filter(|charset| !charset.is_binary());
    let sized = |max_bytes: u16, text: &str, binary: &str| match charset {
        Some(charset) => {
            format!("{text}({})", usize::from(max_bytes) / charset.max_char_bytes().max(1))
        }
        None => format!("{binary}({max_bytes})"),
    };
    let blob = |length_bytes: u8| {
        let size = match length_bytes {
            1 => "TINY",
            2 => "",
            3 => "MEDIUM",
            _ => "LONG",
        };
        format!("{size}{}", if charset.is_some() { "TEXT" } else { "BLOB" })
    };
    let temporal = |name: &str, fsp: u8| match fsp {
        0 => name.to_owned(),
        fsp => format!("{name}({fsp})"),
    };
    let text = match &column.column_type {
        T::Tiny => "TINYINT".into(),
        T::Short => "SMALLINT".into(),
        T::Int24 => "MEDIUMINT".into(),
        T::Long => "INT".into(),
        T::LongLong => "BIGINT".into(),
        T::Float => "FLOAT".into(),
        T::Double => "DOUBLE".into(),
        T::Decimal { precision, scale } => format!("DECIMAL({precision},{scale})"),
        T::Bit { bits } => format!("BIT({bits})"),
        T::Year => "YEAR".into(),
        T::Date => "DATE".into(),
        T::Time2 { fsp } => temporal("TIME", *fsp),
        T::DateTime2 { fsp } => temporal("DATETIME", *fsp),
        T::Timestamp2 { fsp } => temporal("TIMESTAMP", *fsp),
        T::TimeOld { .. } => "TIME".into(),
        T::DateTimeOld { .. } => "DATETIME".into(),
        T::TimestampOld { .. } => "TIMESTAMP".into(),
        T::Char { max_bytes } => sized(*max_bytes, "CHAR", "BINARY"),
        T::VarChar { max_bytes } => sized(*max_bytes, "VARCHAR", "VARBINARY"),
        T::Blob { length_bytes } => blob(*length_bytes),
        T::Enum { .. } => "ENUM".into(),
        T::Set { .. } => "SET".into(),
        T::Json { .. } | T::JsonText { .. } => "JSON".into(),
        T::Geometry { .. } => match column.geometry_type {
            Some(GeometryType::GeometryCollection) if !is_mariadb => "GEOMCOLLECTION".into(),
            kind => kind.unwrap_or(GeometryType::Geometry).sql().to_ascii_uppercase(),
        },
        T::Vector { .. } | T::VectorVarBinary { .. } => match column.dimension {
            Some(dimension) => format!("VECTOR({dimension})"),
            None => "VECTOR".into(),
        },
        // One byte of the length contains the compression of the value.
        T::VarCharCompressed { max_bytes } => {
            let declared = max_bytes.saturating_sub(1);
            format!("{} COMPRESSED", sized(declared, "VARCHAR", "VARBINARY"))
        }
        T::BlobCompressed { length_bytes } => format!("{} COMPRESSED", blob(*length_bytes)),
        T::Uuid => "UUID".into(),
        T::Inet4 => "INET4".into(),
        T::Inet6 => "INET6".into(),
        T::TypedArray => "ARRAY".into(),
    };
    out.push_str(&text);
}

/// Writes the text on one line.
fn put_escaped(out: &mut String, text: &str) {
    for character in text.chars() {
        match character {
            '\0' => out.push_str("\\0"),
            '\x08' => out.push_str("\\b"),
            '\t' => out.push_str("\\t"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\'' => out.push_str("\\'"),
            '\\' => out.push_str("\\\\"),
            // A terminal must not interpret it as a command.
            other if other.is_control() => put(out, format_args!("\\x{:02x}", u32::from(other))),
            other => out.push(other),
        }
    }
}

fn put(out: &mut String, text: std::fmt::Arguments<'_>) {
    // Writing to a String cannot fail.
    let _ = out.write_fmt(text);
}

/// A flag of Table_map events of MySQL: the first column is a key that the server created.
const GENERATED_INVISIBLE_KEY: u16 = 4;

/// This column; it is the same in all such tables, with or without names in the log.
const GENERATED_COLUMN: &str = "`my_row_id` BIGINT UNSIGNED NOT NULL INVISIBLE AUTO_INCREMENT";
