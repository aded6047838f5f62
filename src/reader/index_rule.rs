//! Decides by an index which segments of a file contain no row that a read returns.

use super::options::DecodeOptions;
use crate::binlog::{FormatDescription, RowsKind, TableMap};
use crate::columnar::{ColumnNames, PlanOptions, TablePlan};
use crate::filter::{BoundFilter, KnownValues};
use crate::index::{
    Index, IndexedColumn, IndexedSegment, IndexedTable, hash_of_bytes, hash_of_integer,
};
use crate::schema::{Column, ColumnType};
use crate::source::{SegmentRule, SkippedTable};
use arrow_schema::DataType;
use std::sync::Arc;

/// The options of a read, for which segments are chosen.
#[derive(Debug)]
pub(super) struct ReadRule(pub(super) DecodeOptions);

/// The use of a table's rows.
enum Use {
    /// They are not selected.
    None,
    /// They are needed, or it is not known whether they are.
    All,
    /// Those that a filter keeps.
    Some(Box<Filtered>),
}

struct Filtered {
    filter: BoundFilter,
    name: SkippedTable,
    /// For each column, the kind of values for which the index and the filter mean the same.
    columns: Vec<Kind>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Integer,
    Text,
    Other,
}

impl SegmentRule for ReadRule {
    fn skipped(&self, index: &Index, format: &FormatDescription) -> Vec<Option<Vec<SkippedTable>>> {
        let checks_unlogged = !self.0.unlogged.is_ignored();
        let uses: Vec<Use> = index.maps.iter().map(|map| self.use_of(map, format)).collect();
        // In other segments, no change can have effects that are not in the log, whatever foreign keys are known.
        let choose = |segment: &IndexedSegment| match checks_unlogged && segment.may_lack_changes {
            true => None,
            false => self.skipped_tables(segment, &uses),
        };
        index.segments.iter().map(choose).collect()
    }
}

impl ReadRule {
    fn use_of(&self, map: &[u8], format: &FormatDescription) -> Use {
        let options = &self.0;
        let Ok(map) = TableMap::decode(map, 0) else { return Use::All };
        let database = String::from_utf8_lossy(map.database);
        let table = String::from_utf8_lossy(map.table);
        if options.tables.ghost_left_out(&database, &table).is_some() {
            // A warning reports the table.
            return Use::All;
        }
        if !options.tables.accepts(&database, &table) {
            return Use::None;
        }
        if options.emit_uncommitted || options.plan.masks.is_any() {
            return Use::All;
        }
        // Errors are those of the read, which then reads the table.
        let Some(filter) = &options.filter else { return Use::All };
        let Ok(plan) = TablePlan::try_new(&map, format, &options.plan) else { return Use::All };
        let Ok(filter) = filter.bind(&plan) else { return Use::All };
        let Ok(indexed) = TablePlan::try_new(&map, format, &indexed_plan()) else {
            return Use::All;
        };
        let name = (Arc::clone(&plan.table.database), Arc::clone(&plan.table.table));
        let columns = kinds(&plan, &indexed);
        Use::Some(Box::new(Filtered { filter, name, columns }))
    }

    /// The tables of which the read would have seen rows, if it returns no row of the segment.
    fn skipped_tables(&self, segment: &IndexedSegment, uses: &[Use]) -> Option<Vec<SkippedTable>> {
        let mut seen = Vec::new();
        for table in &segment.tables {
            match uses.get(table.map)? {
                Use::None => {}
                Use::All => return None,
                Use::Some(filtered) => {
                    let values = Values { table, columns: &filtered.columns };
                    if table.columns.is_empty() || filtered.filter.may_keep(&values) {
                        return None;
                    }
                    if self.sees_rows(table) {
                        seen.push(filtered.name.clone());
                    }
                }
            }
        }
        Some(seen)
    }

    fn sees_rows(&self, table: &IndexedTable) -> bool {
        let counts = [
            (RowsKind::Write, table.inserts),
            (RowsKind::Update, table.updates),
            (RowsKind::Delete, table.deletes),
        ];
        counts.iter().any(|(kind, count)| *count > 0 && self.0.operations.accepts(*kind))
    }
}

/// The options with which the values in an index were read.
pub(super) fn indexed_plan() -> PlanOptions {
    PlanOptions { column_names: ColumnNames::Positional, ..PlanOptions::default() }
}

/// For each column of a table, the kind of its values if both plans read them in the same way.
fn kinds(plan: &TablePlan, indexed: &TablePlan) -> Vec<Kind> {
    let mut kinds = vec![Kind::Other; plan.table.columns.len()];
    for (field, (number, column)) in plan.selected_columns().enumerate() {
        let (Some(own), Some(field)) = (indexed.table.columns.get(number), plan.fields.get(field))
        else {
            continue;
        };
        let is_same = own.column_type == column.column_type
            && own.unsigned == column.unsigned
            && own.collation == column.collation;
        if let (true, Some(kind)) = (is_same, kinds.get_mut(number)) {
            *kind = match field.data_type() {
                data_type if is_integer(column) && is_number(data_type) => Kind::Integer,
                DataType::Utf8 if is_text(column) => Kind::Text,
                _ => Kind::Other,
            };
        }
    }
    kinds
}

/// True if a column contains integers.
pub(super) fn is_integer(column: &Column) -> bool {
    matches!(
        column.column_type,
        ColumnType::Tiny
            | ColumnType::Short
            | ColumnType::Int24
            | ColumnType::Long
            | ColumnType::LongLong
    )
}

/// True if a column contains text of limited length.
pub(super) fn is_text(column: &Column) -> bool {
    matches!(column.column_type, ColumnType::Char { .. } | ColumnType::VarChar { .. })
}

/// True for a type that represents every integer of a column exactly. A Boolean does not.
pub(super) fn is_number(data_type: &DataType) -> bool {
    data_type.is_integer() || matches!(data_type, DataType::Decimal128(_, 0))
}

/// The facts in an index about the values of a table in a segment.
struct Values<'i> {
    table: &'i IndexedTable,
    columns: &'i [Kind],
}

impl Values<'_> {
    fn column(&self, column: usize, kind: Kind) -> Option<&IndexedColumn> {
        let known = self.table.columns.iter().find(|known| known.column == column)?;
        self.columns.get(column).is_some_and(|own| *own == kind).then_some(known)
    }

    fn may_contain(&self, column: usize, kind: Kind, hash: u64) -> bool {
        let bloom = self.column(column, kind).and_then(|column| column.bloom.as_ref());
        bloom.is_none_or(|bloom| bloom.may_contain(hash))
    }
}

impl KnownValues for Values<'_> {
    fn range(&self, column: usize) -> Option<Option<(i128, i128)>> {
        self.column(column, Kind::Integer).and_then(|column| column.range)
    }

    fn may_contain_integer(&self, column: usize, value: i128) -> bool {
        self.may_contain(column, Kind::Integer, hash_of_integer(value))
    }

    fn may_contain_text(&self, column: usize, text: &[u8]) -> bool {
        self.may_contain(column, Kind::Text, hash_of_bytes(text))
    }
}
