//! The Arrow field of a MySQL column, with MySQL's properties of the column as metadata.

use super::mask::Mask;
use super::type_options::{Geometry, Json, TypeOptions};
use crate::schema::{Column, ColumnType, TableSchema};
use arrow_schema::{DataType, Field};
use std::collections::HashMap;

/// Returns the field of column `index`. It is always nullable, because an image can leave out any
/// column.
pub(super) fn field(
    name: &str,
    data_type: DataType,
    table: &TableSchema,
    index: usize,
    column: &Column,
    options: &TypeOptions,
    mask: Option<Mask>,
) -> Field {
    let shown = mask.map(|mask| mask.shown(column));
    let column = shown.as_ref().unwrap_or(column);
    let mut metadata = HashMap::new();
    let mut put = |key: &str, value: String| {
        metadata.insert(key.to_owned(), value);
    };
    put("mysql.type", column.sql_type());
    put("mysql.nullable", column.nullable.to_string());
    put("mysql.ordinal_position", (index + 1).to_string());
    if column.column_type.is_numeric()
        && column.column_type != ColumnType::Year
        && let Some(unsigned) = column.unsigned
    {
        put("mysql.unsigned", unsigned.to_string());
    }
    if let Some(collation) = column.collation {
        put("mysql.charset", collation.charset().name().to_owned());
        put("mysql.collation", collation.0.to_string());
    }
    if let Some(visible) = column.visible {
        put("mysql.visible", visible.to_string());
    }
    if let Some(ordinal) = table.primary_key.iter().position(|part| part.column == index) {
        put("mysql.primary_key", (ordinal + 1).to_string());
    }
    if let Some(members) = &column.members {
        let members: Vec<&str> = members.iter().map(AsRef::as_ref).collect();
        put("mysql.members", serde_json::to_string(&members).unwrap_or_default());
    }
    if let Some(geometry_type) = column.geometry_type {
        put("mysql.geometry_type", geometry_type.sql().to_owned());
    }
    if let Some(mask) = mask {
        put("binarrow.mask", mask.as_str().to_owned());
    }
    // Spark does not accept the extension types that pyarrow creates from these names.
    match column.column_type {
        _ if options.is_spark() => {}
        ColumnType::Json { .. } | ColumnType::JsonText { .. }
            if matches!(options.json, Json::Text | Json::Diff) =>
        {
            put("ARROW:extension:name", "arrow.json".into());
            put("ARROW:extension:metadata", String::new());
        }
        ColumnType::Json { .. } if options.json == Json::Variant => {
            put("ARROW:extension:name", "arrow.parquet.variant".into());
            put("ARROW:extension:metadata", String::new());
        }
        ColumnType::Geometry { .. } if options.geometry == Geometry::Wkb => {
            put("ARROW:extension:name", "geoarrow.wkb".into());
            put("ARROW:extension:metadata", "{}".into());
        }
        _ => {}
    }
    Field::new(name, data_type, true).with_metadata(metadata)
}
