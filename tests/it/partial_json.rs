//! Partial_update_rows events: the log contains only the changes of documents.

use crate::log::{Event, Log, begin, gtid, payload, xid};
use crate::rows::{Outcome, decode, options};
use binarrow::ErrorKind;
use binarrow::change::UpdateRule;
use binarrow::columnar::{EnvelopeColumn, Json};

const PARTIAL_UPDATE_ROWS: u8 = 39;

/// `{"age": 25}`; or `{"age": 26}`, if the fourth last byte is changed.
const DOCUMENT: &[u8] = b"\0\x01\0\x0e\0\x0b\0\x03\0\x05\x19\0age";

/// REPLACE $.age 26
const AGE: &[u8] = b"\0\x05$.age\x03\x05\x1a\0";

/// Table `d.t` of `id INT PRIMARY KEY`, `a JSON`, `v VARCHAR(2000)`, `b JSON`.
fn table_map() -> Event {
    let mut body = vec![140, 0, 0, 0, 0, 0, 1, 0, 1, b'd', 0, 1, b't', 0];
    body.extend([4, 3, 245, 15, 245, 4, 4, 0x40, 0x1f, 4, 0b1110]);
    body.extend([1, 1, 0]); // SIGNEDNESS: signed
    body.extend([2, 3, 0xfc, 0xff, 0]); // DEFAULT_CHARSET: utf8mb4_0900_ai_ci
    body.extend([4, 9, 2, b'i', b'd', 1, b'a', 1, b'v', 1, b'b']); // COLUMN_NAME
    body.extend([8, 1, 0]); // SIMPLE_PRIMARY_KEY
    Event::new(19, body)
}

fn partial_update(before: u8, after: u8, images: &[u8]) -> Event {
    let mut body = vec![140, 0, 0, 0, 0, 0, 1, 0, 2, 0, 4, before, after];
    body.extend(images);
    Event::new(PARTIAL_UPDATE_ROWS, body)
}

fn json_cell(document: &[u8]) -> Vec<u8> {
    [&(document.len() as u32).to_le_bytes(), document].concat()
}

/// A before image: `id`, `a`, no `v`, `b`.
fn before(id: i32) -> Vec<u8> {
    [&[0b1111_0100][..], &id.to_le_bytes(), &json_cell(DOCUMENT), &json_cell(b"\x0c\x01x")].concat()
}

/// An after image: diffs change `a`, and `b` is unchanged.
fn after(id: i32, diffs: &[u8]) -> Vec<u8> {
    [&[1, 0b11, 0b1111_0100][..], &id.to_le_bytes(), &json_cell(diffs), &json_cell(b"")].concat()
}

fn read(event: &Event, json: Json, compressed: bool) -> Outcome {
    read_by(UpdateRule::default(), event, json, compressed)
}

fn read_by(rule: UpdateRule, event: &Event, json: Json, compressed: bool) -> Outcome {
    let mut options = options();
    options.decode.update_rule = rule;
    options.decode.plan.types.json = json;
    options.decode.plan.envelope.columns.push(EnvelopeColumn::Present);
    let events = [table_map(), event.clone(), xid()];
    let log = match compressed {
        false => Log::mysql().with([gtid(1), begin()]).with(events),
        true => {
            let inner = [vec![begin()], events.to_vec()].concat();
            Log::mysql().with([gtid(1), payload(true, inner)])
        }
    };
    decode(log.inputs(), &options)
}

/// Each row as its change and its cells.
fn rows(outcome: &Outcome) -> Vec<(String, Vec<Option<String>>)> {
    outcome.rows.iter().map(|row| (row.change.clone(), row.cells.clone())).collect()
}

fn cells(cells: [Option<&str>; 4]) -> Vec<Option<String>> {
    cells.map(|cell| cell.map(str::to_owned)).to_vec()
}

#[test]
fn the_document_after_is_put_together() {
    let event = partial_update(0xff, 0xff, &[before(1), after(1, AGE)].concat());
    for compressed in [false, true] {
        let outcome = read(&event, Json::Text, compressed).ok();
        assert_eq!(
            rows(&outcome),
            [
                (
                    "update_preimage".to_owned(),
                    cells([Some("1"), Some(r#"{"age": 25}"#), None, Some(r#""x""#)])
                ),
                (
                    "update_postimage".to_owned(),
                    cells([Some("1"), Some(r#"{"age": 26}"#), None, Some(r#""x""#)])
                ),
            ]
        );
        let counts = outcome.stats.tables.values().next().unwrap();
        assert_eq!((counts.inserts, counts.updates, counts.deletes), (0, 1, 0));
        let outcome = read(&event, Json::Diff, compressed).ok();
        let diffs = r#"{"$diff":[{"op":"replace","path":"$.age","value":26}]}"#;
        assert_eq!(
            outcome.rows[1].cells,
            cells([Some("1"), Some(diffs), None, Some(r#"{"$diff":[]}"#)])
        );
    }
}

#[test]
fn a_changed_key_gives_complete_rows() {
    let event = partial_update(0xff, 0xff, &[before(1), after(2, AGE)].concat());
    for json in [Json::Text, Json::Diff] {
        let outcome = read(&event, json, false).ok();
        assert_eq!(outcome.rows[0].change, "delete");
        assert_eq!(outcome.rows[1].change, "insert");
        let expected = cells([Some("2"), Some(r#"{"age": 26}"#), None, Some(r#""x""#)]);
        assert_eq!(outcome.rows[1].cells, expected);
    }
}

#[test]
fn without_old_values() {
    let rule = |split_key_updates| UpdateRule { old_value: false, split_key_updates };
    let complete = |id| cells([Some(id), Some(r#"{"age": 26}"#), None, Some(r#""x""#)]);
    let deleted = || ("delete".to_owned(), cells([Some("1"), None, None, None]));
    let event = partial_update(0xff, 0xff, &[before(1), after(1, AGE)].concat());
    let outcome = read_by(rule(true), &event, Json::Text, false).ok();
    assert_eq!(rows(&outcome), [("update_postimage".to_owned(), complete("1"))]);
    assert_eq!(outcome.rows[0].ordinal, 1);
    let event = partial_update(0xff, 0xff, &[before(1), after(2, AGE)].concat());
    for (split, change) in [(true, "insert"), (false, "update_postimage")] {
        let outcome = read_by(rule(split), &event, Json::Text, false).ok();
        assert_eq!(rows(&outcome), [deleted(), (change.to_owned(), complete("2"))]);
        assert_eq!(outcome.rows[0].present.as_deref(), Some(&[0b0001][..]));
        assert_eq!(outcome.rows[1].present.as_deref(), Some(&[0b1111][..]));
    }
    // The after image leaves the key out, and contains a document whose value is not known.
    let before = [&[0xfe][..], &1_i32.to_le_bytes()].concat();
    let after = [&[1, 0b01, 0b1111_1100][..], &json_cell(b""), &json_cell(b"\x0c\x01y")].concat();
    let event = partial_update(0b0001, 0b1010, &[before, after].concat());
    for split in [true, false] {
        let outcome = read_by(rule(split), &event, Json::Text, false).ok();
        let postimage = cells([Some("1"), None, None, Some(r#""y""#)]);
        assert_eq!(rows(&outcome), [("update_postimage".to_owned(), postimage)]);
        assert_eq!(outcome.rows[0].present.as_deref(), Some(&[0b1001][..]));
    }
}

#[test]
fn bits_count_the_json_columns_of_the_table() {
    // Only `b` is in the after image: its bit is the second one.
    let image = |bits: u8, b: &[u8]| [&[1, bits, 0xfe][..], &json_cell(b)].concat();
    let diff = b"\0\x01$\x03\x05\x07\0";
    let event = partial_update(0xff, 0b1000, &[before(1), image(0b10, diff)].concat());
    let outcome = read(&event, Json::Text, false).ok();
    assert_eq!(outcome.rows[1].cells, cells([None, None, None, Some("7")]));
    let event = partial_update(0xff, 0b1000, &[before(1), image(0b01, b"\x0c\x01y")].concat());
    let outcome = read(&event, Json::Text, false).ok();
    assert_eq!(outcome.rows[1].cells, cells([None, None, None, Some(r#""y""#)]));
    // No value options.
    let plain = [&[0, 0xfe][..], &json_cell(b"\x0c\x01y")].concat();
    let event = partial_update(0xff, 0b1000, &[before(1), plain].concat());
    let outcome = read(&event, Json::Text, false).ok();
    assert_eq!(outcome.rows[1].cells, cells([None, None, None, Some(r#""y""#)]));
}

#[test]
fn where_the_document_before_is_missing() {
    let before = [&[0xfe][..], &1_i32.to_le_bytes()].concat();
    let after = |diffs: &[u8]| [&[1, 0b01, 0xfe][..], &json_cell(diffs)].concat();
    let event = partial_update(0b0001, 0b0010, &[before.clone(), after(AGE)].concat());
    let outcome = read(&event, Json::Text, false);
    assert_eq!(outcome.failure().kind(), ErrorKind::Unsupported);
    let message = outcome.failure().to_string();
    for word in ["binlog_row_value_options", "binlog_row_image=FULL", "json='diff'", "column a"] {
        assert!(message.contains(word), "{message}");
    }
    assert!(outcome.rows.is_empty());
    let outcome = read(&event, Json::Diff, false).ok();
    let diffs = r#"{"$diff":[{"op":"replace","path":"$.age","value":26}]}"#;
    assert_eq!(outcome.rows[1].cells, cells([None, Some(diffs), None, None]));
    // Unchanged, and its value is not known: left out.
    let event = partial_update(0b0001, 0b0010, &[before, after(b"")].concat());
    let outcome = read(&event, Json::Text, false).ok();
    assert_eq!(outcome.rows[1].cells, cells([None; 4]));
    assert_eq!(outcome.rows[0].present, Some(vec![0b0001]));
    assert_eq!(outcome.rows[1].present, Some(vec![0b0000]));
}

#[test]
fn a_document_that_was_null() {
    let before = [&[0b1111_1110][..], &1_i32.to_le_bytes()].concat();
    let event = |diffs: &[u8]| {
        let after = [&[1, 0b01, 0xfe][..], &json_cell(diffs)].concat();
        partial_update(0xff, 0b0010, &[before.clone(), after].concat())
    };
    assert_eq!(read(&event(b""), Json::Text, false).ok().rows[1].cells, cells([None; 4]));
    let outcome = read(&event(AGE), Json::Text, false);
    assert_eq!(outcome.failure().kind(), ErrorKind::Malformed);
}

/// H15 among others
#[test]
fn what_is_broken_is_an_error_without_rows() {
    let images = [before(1), after(1, AGE), before(2), after(2, AGE)].concat();
    let complete = partial_update(0xff, 0xff, &images);
    assert_eq!(read(&complete, Json::Text, false).ok().rows.len(), 4);
    let row = images.len() / 2;
    for end in 1..images.len() {
        let outcome = read(&partial_update(0xff, 0xff, &images[..end]), Json::Text, false);
        if end == row {
            assert_eq!(outcome.ok().rows.len(), 2);
            continue;
        }
        assert_eq!(outcome.failure().kind(), ErrorKind::Malformed, "{end}");
        assert_eq!(outcome.failure().event(), Some("Update_rows_partial"));
        assert!(outcome.rows.is_empty(), "{end}");
    }
    let long_path = [&b"\x02\xfd\0\0\x10$"[..], ".a".repeat(1 << 19).as_bytes()].concat();
    for (diffs, why) in [
        (&b"\x03\x05$.age\x03\x05\x1a\0"[..], "operation 3"),
        (b"\x7f\x05$.age", "operation 127"),
        (b"\x02\x06$.name", "missing path"),
        (b"\0\x06$.name\x03\x05\x1a\0", "missing path"),
        (b"\x01\x05$.age\x03\x05\x1a\0", "member that is there"),
        (b"\x02\x0d$[4294967296]", "index"),
        (b"\x02\x0d$[4294967295]", "cell of an object"),
        (b"\x02\x01$", "root"),
        (&AGE[..AGE.len() - 1], "cut"),
        (&long_path[..long_path.len() - 1], "long path, cut"),
        (&long_path, "long path"),
    ] {
        for json in [Json::Text, Json::Bytes] {
            let images = [before(1), after(1, diffs)].concat();
            let outcome = read(&partial_update(0xff, 0xff, &images), json, false);
            assert_eq!(outcome.failure().kind(), ErrorKind::Malformed, "{why}");
            assert!(outcome.rows.is_empty(), "{why}");
        }
    }
    let mut options = images.clone();
    options[before(1).len()] = 3;
    let outcome = read(&partial_update(0xff, 0xff, &options), Json::Text, false);
    assert_eq!(outcome.failure().kind(), ErrorKind::Unsupported);
}

#[test]
fn any_byte_changed_does_no_harm() {
    let images = [before(1), after(1, AGE)].concat();
    for place in 0..images.len() {
        for bit in 0..8 {
            let mut images = images.clone();
            images[place] ^= 1 << bit;
            for json in [Json::Text, Json::Bytes, Json::Diff] {
                let outcome = read(&partial_update(0xff, 0xff, &images), json, false);
                assert!(outcome.error.is_none() || outcome.rows.is_empty());
            }
        }
    }
}
