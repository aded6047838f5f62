//! The target of table structures that are given as SQL text.

use super::event::{assert_plan, format_description};
use super::split;
use binarrow::binlog::TableMap;
use binarrow::columnar::{ColumnNames, PlanOptions, TablePlan};
use binarrow::history::Schemas;
use std::sync::Arc;

/// A dump, and one table's statement laid over what a log says of the table.
///
/// ```text
/// options 1, table map's length 2, its body, SQL
/// ```
pub(crate) fn create_table(data: &[u8]) {
    let [choice, a, b, data @ ..] = data else { return };
    let (map, text) = split(data, u16::from_le_bytes([*a, *b]));
    let Ok(text) = std::str::from_utf8(text) else { return };
    let mut dump = Schemas::default();
    let _ = dump.add_text(text);
    let Ok(map) = TableMap::decode(map, 6) else { return };
    let format = format_description(choice & 2 == 2);
    let Ok(logged) = map.schema(&format) else { return };
    let mut one = Schemas::default();
    let _ = one.add_table(&logged.database, &logged.table, text);
    for schemas in [dump, one] {
        assert!(!schemas.advice(&logged.database, &logged.table).is_empty());
        let options = PlanOptions {
            column_names: ColumnNames::Positional,
            schemas: Arc::new(schemas),
            ..PlanOptions::default()
        };
        if let Ok(plan) = TablePlan::try_new(&map, &format, &options) {
            // The log's types say how the rows are to be read; no statement changes that.
            for (column, logged) in plan.table.columns.iter().zip(&logged.columns) {
                assert_eq!(column.nullable, logged.nullable);
            }
            assert_plan(plan, map.types.len());
        }
    }
}
