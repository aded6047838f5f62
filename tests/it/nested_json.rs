//! Changes of many tables as batches of one schema: each row of each table is returned, for all
//! limits.

use crate::fixtures;
use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, RecordBatch};
use binarrow::columnar::{EnvelopeColumn, Json, Layout, Profile, TypeOptions};
use binarrow::error::ErrorKind;
use binarrow::export::NestedJson;
use binarrow::reader::{BatchLimits, ReadOptions, Reader};
use serde_json::{Map, Value};

fn spark() -> ReadOptions {
    let mut options = ReadOptions::default();
    options.decode.plan.types = TypeOptions::new(Profile::Spark);
    options
}

/// Returns all batches, combined as the caller of a reader does it.
fn batches(mut options: ReadOptions) -> Vec<RecordBatch> {
    let mut nested_json = NestedJson::of(&mut options.decode).unwrap();
    let mut reader = Reader::try_new(fixtures::shop().paths(), options).unwrap();
    let mut batches = Vec::new();
    while let Some(change) = reader.next_batch().unwrap() {
        nested_json.take_in(change);
        while nested_json.fill().unwrap() {
            batches.push(nested_json.finish().unwrap());
        }
    }
    if nested_json.rows() > 0 {
        batches.push(nested_json.finish().unwrap());
    }
    assert!(batches.iter().all(|batch| batch.schema() == *nested_json.schema()));
    batches
}

/// Table, operation, version, ordinal, and the documents.
type Row = (String, String, i64, i64, Option<String>, Option<String>);

fn rows(batches: &[RecordBatch]) -> Vec<Row> {
    let of_batch = |batch: &RecordBatch| -> Vec<Row> {
        let text = |name: &str, row: usize| {
            let column = batch.column_by_name(name).unwrap().as_string::<i32>().clone();
            column.is_valid(row).then(|| column.value(row).to_owned())
        };
        let number = |name: &str, row: usize| {
            batch.column_by_name(name).unwrap().as_primitive::<Int64Type>().value(row)
        };
        let row = |row| {
            assert_eq!(text("_database", row).unwrap(), "shop");
            (
                text("_table", row).unwrap(),
                text("_op", row).unwrap(),
                number("_commit_version", row),
                number("_change_ordinal", row),
                text("before", row),
                text("after", row),
            )
        };
        (0..batch.num_rows()).map(row).collect()
    };
    let mut all: Vec<Row> = batches.iter().flat_map(of_batch).collect();
    all.sort_by_key(|row| (row.2, row.3));
    all
}

#[test]
fn replayed_they_are_the_tables() {
    let mut tables: std::collections::BTreeMap<String, std::collections::BTreeMap<String, Value>> =
        std::collections::BTreeMap::new();
    let key = |table: &str, row: &Map<String, Value>| {
        let key: &[&str] = match table {
            "order_items" => &["order_id", "line"],
            "products" => &["sku"],
            _ => &["id"],
        };
        let parts: Vec<_> = key.iter().map(|name| row[*name].to_string()).collect();
        parts.join(" ")
    };
    let found = rows(&batches(spark()));
    for (table, op, _, _, before, after) in &found {
        let parse = |text: &Option<String>| -> Option<Map<String, Value>> {
            text.as_ref().map(|text| serde_json::from_str(text).unwrap())
        };
        let (before, after) = (parse(before), parse(after));
        let sides = (before.is_some(), after.is_some());
        assert_eq!(
            sides,
            match op.as_str() {
                "c" => (false, true),
                "u" => (true, true),
                "d" => (true, false),
                other => panic!("{other}"),
            }
        );
        let state = tables.entry(table.clone()).or_default();
        if let Some(before) = before {
            // A column may have been added since.
            let removed = state.remove(&key(table, &before)).unwrap();
            let removed = removed.as_object().unwrap();
            assert!(removed.iter().all(|(name, value)| before[name] == *value));
        }
        if let Some(after) = after {
            let key = key(table, &after);
            assert!(state.insert(key, Value::Object(after)).is_none());
        }
    }
    let expected = fixtures::shop().expected().unwrap();
    for (table, counts) in expected["tables"].as_object().unwrap() {
        let table = table.strip_prefix("shop.").unwrap();
        assert_eq!(Value::from(tables[table].len()), counts["rows"], "{table}");
    }
}

#[test]
fn limits_cut_and_put_together() {
    let all = rows(&batches(spark()));
    for limits in [
        BatchLimits { rows: 1000, bytes: 1 << 20 },
        BatchLimits { rows: 1000, bytes: 2000 },
        BatchLimits { rows: 0, bytes: 0 },
    ] {
        let mut options = spark();
        options.decode.limits = limits;
        let found = batches(options);
        let most = limits.rows.max(1);
        // (the two rows of an update stay together)
        assert!(found.iter().all(|batch| (1..=most + 1).contains(&batch.num_rows())));
        if limits.rows == 1000 && limits.bytes > 2000 {
            // Batches combine the rows of four tables, although segments contain few rows of each.
            let full = found.iter().filter(|batch| batch.num_rows() >= most).count();
            assert_eq!(full, found.len() - 1);
        }
        assert_eq!(rows(&found), all);
    }
}

#[test]
fn the_envelope_that_is_asked_for() {
    let mut options = spark();
    options.decode.plan.types.json = Json::Variant;
    options.decode.plan.envelope.columns = vec![EnvelopeColumn::Present, EnvelopeColumn::Gtid];
    options.decode.plan.envelope.prefix = "x".into();
    let found = batches(options);
    let names: Vec<_> = found[0].schema().fields().iter().map(|f| f.name().clone()).collect();
    let expected = ["xdatabase", "xtable", "xop", "before", "after", "xpresent_before"];
    assert_eq!(names[..6], expected);
    assert_eq!(names[6..], ["xpresent_after", "xgtid"]);
    assert!(found[0].column(3).as_struct().column_by_name("metadata").is_some());
}

#[test]
fn the_text_of_the_envelope_counts_too() {
    let mut options = spark();
    options.decode.limits = BatchLimits { rows: 1000, bytes: 4000 };
    options.decode.plan.envelope.columns = vec![EnvelopeColumn::BinlogFile];
    let found = batches(options);
    let text = |batch: &RecordBatch, name: &str| {
        let column = batch.column_by_name(name).unwrap().as_string::<i32>();
        *column.value_offsets().last().unwrap() as usize
    };
    for batch in found.iter().rev().skip(1) {
        let bytes: usize =
            ["_op", "before", "after", "_binlog_file"].iter().map(|name| text(batch, name)).sum();
        assert!((4000..6000).contains(&bytes), "{bytes}");
        assert!(text(batch, "_binlog_file") > 0);
    }
}

#[test]
fn other_types_and_batches_are_refused() {
    let mut native = ReadOptions::default();
    let error = NestedJson::of(&mut native.decode).err().unwrap();
    assert_eq!(error.kind(), ErrorKind::Config);
    assert_eq!(native.decode.plan.layout, Layout::Flat, "nothing was changed");

    let mut nested_json = NestedJson::of(&mut spark().decode).unwrap();
    let mut flat = Reader::try_new(fixtures::shop().paths(), spark()).unwrap();
    nested_json.take_in(flat.next_batch().unwrap().unwrap());
    assert_eq!(nested_json.fill().unwrap_err().kind(), ErrorKind::Config);
}
