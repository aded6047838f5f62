//! Targets for the body of one event.

use binarrow::binlog::{
    FormatDescription, Incident, Query, Rotate, RowsQuery, TableMap, XaPrepare, XidEvent,
};
use binarrow::change::UpdateRule;
use binarrow::columnar::{ColumnNames, PlanOptions, TableBuilder, TablePlan};
use std::sync::Arc;

/// A table map, and everything that is built from it before the first row.
pub(crate) fn table_map(data: &[u8]) {
    let Some((&choice, data)) = data.split_first() else { return };
    let width = if choice & 1 == 1 { 4 } else { 6 };
    let Ok(map) = TableMap::decode(data, width) else { return };
    let options = PlanOptions { column_names: ColumnNames::Positional, ..PlanOptions::default() };
    if let Ok(plan) = TablePlan::try_new(&map, &format_description(choice & 2 == 2), &options) {
        assert_plan(plan, map.types.len());
    }
}

/// Checks that builders can be created for the plan of a table with this number of columns.
pub(crate) fn assert_plan(plan: TablePlan, columns: usize) {
    assert_eq!(plan.table.columns.len(), columns);
    for (index, column) in plan.table.columns.iter().enumerate() {
        assert!(!column.sql_type().is_empty());
        assert!(!plan.column_label(index).is_empty());
    }
    let mut builder =
        TableBuilder::try_new(Arc::new(plan), UpdateRule::default()).expect("builders as planned");
    assert_eq!(builder.finish().expect("an empty batch").num_rows(), 0);
}

/// The format description of a current server.
pub(crate) fn format_description(is_mariadb: bool) -> FormatDescription {
    FormatDescription {
        binlog_version: 4,
        server_version: "9.7.0".into(),
        created: 0,
        server_id: 1,
        checksum: binarrow::binlog::ChecksumAlgorithm::Off,
        has_checksum: true,
        is_mariadb,
        version: if is_mariadb { (11, 8, 9) } else { (9, 7, 0) },
        post_header_lengths: Vec::new(),
        timestamp: 0,
        in_use: false,
    }
}

/// A statement with its settings, and the other small events that provide context.
pub(crate) fn query(data: &[u8]) {
    if let Ok(query) = Query::decode(data) {
        for is_mariadb in [false, true] {
            let mut variables = query.status_variables(is_mariadb);
            // Each variable has at least the byte of its code.
            assert!(variables.by_ref().count() + variables.left() <= data.len());
        }
        query.kind();
    }
    let _ = XaPrepare::decode(data).map(|event| event.xid.to_string());
    let _ = (Rotate::decode(data), Incident::decode(data), XidEvent::decode(data));
    let _ = (RowsQuery::decode(data), FormatDescription::decode(data));
}
