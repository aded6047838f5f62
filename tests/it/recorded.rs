//! Logs that real servers recorded for the tests: replaying their changes from empty tables gives
//! the result of `SELECT`.

use crate::fixtures::{Fixture, recorded};
use crate::rows::{Row, options, read};
use binarrow::cancel::CancelToken;
use binarrow::reader::{EventList, Reader, infer_schema};
use serde_json::Value;
use std::collections::BTreeMap;

#[test]
fn replaying_gives_what_select_gave() {
    let mut compared = 0;
    for fixture in recorded() {
        let Some(expected) = fixture.expected() else { continue };
        let outcome = read(fixture.paths(), options()).ok();
        let unfinished = usize::from(fixture.name.ends_with("unfinished"));
        assert_eq!(outcome.warnings.len(), unfinished, "{} {:?}", fixture.name, outcome.warnings);
        let truncated = truncations(&fixture);
        let mut tables: BTreeMap<&str, Vec<&Row>> = BTreeMap::new();
        let mut rows: Vec<&Row> = outcome.rows.iter().collect();
        rows.sort();
        for row in rows {
            if truncated.get(&*row.table).is_none_or(|version| row.version > *version) {
                apply(tables.entry(&row.table).or_default(), row, &fixture.name);
            }
        }
        for (table, expected) in expected.as_object().unwrap() {
            let mut found: Vec<Vec<Option<String>>> = tables
                .get(table.as_str())
                .map(|rows| rows.iter().map(|row| row.cells.clone()).collect())
                .unwrap_or_default();
            let mut expected: Vec<Vec<Option<String>>> = expected
                .as_array()
                .unwrap()
                .iter()
                .map(|row| row.as_array().unwrap().iter().map(text).collect())
                .collect();
            found.sort();
            expected.sort();
            assert_eq!(found, expected, "{} {table}", fixture.name);
        }
        compared += 1;
    }
    assert!(compared >= 8);
}

#[test]
fn every_event_is_listed() {
    for fixture in recorded() {
        let mut events = EventList::new(fixture.paths(), true);
        let mut ends = BTreeMap::new();
        while let Some(event) = events.next_event().unwrap() {
            let end = ends.entry(event.file.to_string()).or_insert(4);
            assert!(!event.info.contains("cannot be read"), "{} {event:?}", fixture.name);
            if event.compressed {
                assert!(event.offset < *end, "it is inside the previous event: {event:?}");
                continue;
            }
            assert_eq!(event.offset, *end, "{} {event:?}", fixture.name);
            *end += u64::from(event.header.event_size);
        }
        assert_eq!(ends.len(), fixture.files.len());
        for (end, file) in ends.values().zip(&fixture.files) {
            assert_eq!(*end, file.metadata().unwrap().len(), "{}", fixture.name);
        }
    }
}

#[test]
fn the_inferred_schema_is_that_of_the_first_batch() {
    for fixture in recorded() {
        let plan = options().decode.plan;
        let mut reader = Reader::try_new(fixture.paths(), options()).unwrap();
        let mut seen = BTreeMap::new();
        while let Some(change) = reader.next_batch().unwrap() {
            let name = (change.database.to_string(), change.table.to_string());
            seen.entry(name).or_insert_with(|| change.batch.schema());
        }
        let infer = |database: &str, table: &str| {
            infer_schema(fixture.paths(), database, table, &plan, &CancelToken::default())
        };
        for ((database, table), schema) in seen {
            let inferred = infer(&database, &table).unwrap();
            assert_eq!(inferred, schema, "{} {table}", fixture.name);
        }
        assert!(infer("d", "no_such").is_err());
    }
}

fn text(value: &Value) -> Option<String> {
    value.as_str().map(ToOwned::to_owned)
}

/// Applies a change to the rows of its table, as a replica without keys would.
fn apply<'r>(table: &mut Vec<&'r Row>, row: &'r Row, name: &str) {
    match row.change.as_str() {
        "insert" | "update_postimage" => table.push(row),
        _ => {
            // A column that was added later is in no image from before.
            let same = |other: &&Row| {
                row.columns.iter().all(|column| {
                    !other.columns.contains(column) || other.cell(column) == row.cell(column)
                })
            };
            let index = table.iter().position(same);
            let index = index.unwrap_or_else(|| panic!("{name}: no row for {row:#?}"));
            table.swap_remove(index);
        }
    }
}

/// The version of each table's last TRUNCATE.
fn truncations(fixture: &Fixture) -> BTreeMap<String, i64> {
    let mut events = EventList::new(fixture.paths(), true);
    let mut truncated = BTreeMap::new();
    while let Some(event) = events.next_event().unwrap() {
        if let Some((_, table)) = event.info.split_once("TRUNCATE TABLE ") {
            let number: i64 = event.file.rsplit_once('.').unwrap().1.parse().unwrap();
            let name = table.split_whitespace().next().unwrap();
            truncated.insert(format!("d.{name}"), number << 40 | event.offset as i64);
        }
    }
    truncated
}
