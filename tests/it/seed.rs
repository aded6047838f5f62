//! The binlog that the project's first seed prints byte by byte: magic, format description, Table_map, Write_rows.
//!
//! Its format description has the in-use flag, its `log_pos` values match no offset, and it
//! contains no column names.

use crate::fixtures;
use crate::rows::{decode, options, read};
use binarrow::ErrorKind;
use binarrow::binlog::{EventHeader, EventType, FormatDescription, TableMap};
use binarrow::charset::Collation;
use binarrow::reader::ReadOptions;
use binarrow::source::InputFile;

fn bytes() -> Vec<u8> {
    let bytes = std::fs::read(fixtures::folder().join("seed-001.binlog")).unwrap();
    assert_eq!(bytes.len(), 230);
    bytes
}

fn input() -> Vec<InputFile> {
    vec![InputFile::at_path(fixtures::folder().join("seed-001.binlog"), 1)]
}

#[test]
fn one_insert() {
    let outcome = read(input(), options()).ok();
    let [row] = outcome.rows.as_slice() else { panic!("{:?}", outcome.rows) };
    assert_eq!(&*row.table, "zhjwpku.t");
    assert_eq!(row.change, "insert");
    assert_eq!(row.cells, [Some("1".to_owned()), Some("apple".to_owned()), None]);
    assert_eq!(*row.columns, ["@1", "@2", "@3"]);
    // The file has no number: its place in the list is used. The Table_map opens the group.
    assert_eq!((row.version, row.ordinal), (1 << 40 | 125, 0));
    assert_eq!(row.timestamp, 0x5fa6_ab40 * 1_000_000);
    assert_eq!(outcome.offset(), 230);
    let [warning] = outcome.warnings.as_slice() else { panic!("{:?}", outcome.warnings) };
    assert!(warning.contains("at offset 230 without a Rotate or Stop event"), "{warning}");
    assert_eq!(outcome.stats.transactions, 1);
}

#[test]
fn without_names_the_error_says_what_to_do() {
    let outcome = read(input(), ReadOptions::default());
    assert_eq!(outcome.rows, []);
    let error = outcome.failure();
    assert_eq!(error.kind(), ErrorKind::Schema);
    for word in ["zhjwpku.t", "binlog_row_metadata=FULL", "positional"] {
        assert!(error.message().contains(word), "{error}");
    }
    assert!(error.file().is_some_and(|file| file.ends_with("seed-001.binlog")), "{error}");
    assert_eq!((error.offset(), error.event()), (Some(184), Some("Write_rows")));
}

#[test]
fn the_table_map_contains_signs_and_collation() {
    let bytes = bytes();
    let format = FormatDescription::decode(&bytes[4..125]).unwrap();
    assert!(format.in_use);
    assert_eq!((&*format.server_version, format.version), ("8.0.22", (8, 0, 22)));
    let header = EventHeader::decode(&bytes[125..]).unwrap();
    assert_eq!(header.event_type, EventType::TABLE_MAP);
    assert_ne!(u64::from(header.log_pos), 184, "log_pos is of the file that the seed was cut from");

    let map = TableMap::decode(&bytes[144..180], 6).unwrap();
    assert_eq!(map.table_id, 140);
    let table = map.schema(&format).unwrap();
    assert_eq!(table.full_name(), "zhjwpku.t");
    let types: Vec<_> = table.columns.iter().map(binarrow::schema::Column::sql_type).collect();
    assert_eq!(types, ["int", "varchar(20)", "date"]);
    let unsigned: Vec<_> = table.columns.iter().map(|column| column.unsigned).collect();
    assert_eq!(unsigned, [Some(false), None, None]);
    let collations: Vec<_> = table.columns.iter().map(|column| column.collation).collect();
    assert_eq!(collations, [None, Some(Collation(255)), None]);
    assert!(table.columns.iter().all(|column| column.name.is_none()));
    let nullable: Vec<_> = table.columns.iter().map(|column| column.nullable).collect();
    assert_eq!(nullable, [false, false, true]);
}

#[test]
fn cut_anywhere_it_ends_cleanly_with_no_row() {
    let bytes = bytes();
    for end in 125..bytes.len() {
        let file = crate::log::input("seed.bin", 1, bytes[..end].to_vec());
        let outcome = decode(vec![file], &options()).ok();
        assert_eq!(outcome.rows, [], "{end}");
    }
}
