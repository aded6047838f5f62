//! A reader of variants, and the values that it must return.

use super::super::{encode, write_text};
use super::*;
use crate::error::DecodeError;
use crate::value::Cell;
use proptest::prelude::*;
use serde_json::{Value as Json, json};

fn encoded(document: &[u8]) -> Result<(Vec<u8>, Vec<u8>)> {
    let (mut value, mut metadata) = (vec![0xee], vec![0xee]);
    VariantEncoder::default().encode(document, &mut value, &mut metadata)?;
    Ok((value.split_off(1), metadata.split_off(1)))
}

fn int(bytes: &[u8], at: usize, len: usize) -> usize {
    bytes[at..at + len].iter().rev().fold(0, |number, byte| number << 8 | usize::from(*byte))
}

/// Returns the keys, and true if the dictionary is marked as sorted.
fn keys(metadata: &[u8]) -> (Vec<String>, bool) {
    assert_eq!(metadata[0] & 15, 1);
    let width = usize::from(metadata[0] >> 6) + 1;
    let count = int(metadata, 1, width);
    let offset = |place: usize| int(metadata, 1 + width * (1 + place), width);
    let start = 1 + width * (count + 2);
    assert_eq!(metadata.len(), start + offset(count));
    let key = |place| {
        String::from_utf8(metadata[start + offset(place)..start + offset(place + 1)].into())
            .unwrap()
    };
    ((0..count).map(key).collect(), metadata[0] & 0x10 != 0)
}

/// Returns the value at `at` as JSON, and the position after it.
fn read(value: &[u8], at: usize, keys: &[String]) -> (Json, usize) {
    let header = value[at] >> 2;
    match (value[at] & 3, header) {
        (1, len) => {
            let end = at + 1 + usize::from(len);
            (String::from_utf8(value[at + 1..end].into()).unwrap().into(), end)
        }
        (0, 0) => (Json::Null, at + 1),
        (0, 1) => (true.into(), at + 1),
        (0, 2) => (false.into(), at + 1),
        (0, 3) => ((value[at + 1] as i8).into(), at + 2),
        (0, 4) => (i16::from_le_bytes(value[at + 1..at + 3].try_into().unwrap()).into(), at + 3),
        (0, 5) => (i32::from_le_bytes(value[at + 1..at + 5].try_into().unwrap()).into(), at + 5),
        (0, 6) => (i64::from_le_bytes(value[at + 1..at + 9].try_into().unwrap()).into(), at + 9),
        (0, 7) => (f64::from_le_bytes(value[at + 1..at + 9].try_into().unwrap()).into(), at + 9),
        (0, 10) => {
            assert_eq!(value[at + 1], 0, "only numbers above i64 become decimals here");
            let number = u128::from_le_bytes(value[at + 2..at + 18].try_into().unwrap());
            (u64::try_from(number).unwrap().into(), at + 18)
        }
        (0, 16) => {
            let end = at + 5 + int(value, at + 1, 4);
            (String::from_utf8(value[at + 5..end].into()).unwrap().into(), end)
        }
        (kind @ (2 | 3), header) => {
            let (id_bytes, is_large) = match kind {
                2 => (usize::from(header >> 2 & 3) + 1, header & 0x10 != 0),
                _ => (0, header & 4 != 0),
            };
            let width = usize::from(header & 3) + 1;
            let count_bytes = if is_large { 4 } else { 1 };
            let count = int(value, at + 1, count_bytes);
            assert_eq!(is_large, count > 255);
            let ids = at + 1 + count_bytes;
            let offsets = ids + count * id_bytes;
            let start = offsets + (count + 1) * width;
            let end = start + int(value, offsets + count * width, width);
            let mut ends = Vec::new();
            let mut fields = Vec::new();
            for place in 0..count {
                let (field, end) =
                    read(value, start + int(value, offsets + place * width, width), keys);
                ends.push(end);
                let id = if kind == 2 { int(value, ids + place * id_bytes, id_bytes) } else { 0 };
                fields.push((id, field));
            }
            assert_eq!(ends.into_iter().max().unwrap_or(start), end);
            let is_rising = |pair: &[(usize, Json)]| pair[0].0 < pair[1].0;
            if kind == 3 {
                return (fields.into_iter().map(|(_, field)| field).collect(), end);
            }
            assert!(fields.windows(2).all(is_rising));
            (fields.into_iter().map(|(id, field)| (keys[id].clone(), field)).collect(), end)
        }
        other => panic!("{other:?}"),
    }
}

fn decoded(document: &[u8]) -> Json {
    let (value, metadata) = encoded(document).unwrap();
    let (keys, is_sorted) = keys(&metadata);
    let utf16 = |key: &String| key.encode_utf16().collect::<Vec<_>>();
    assert!(keys.windows(2).all(|pair| utf16(&pair[0]) < utf16(&pair[1])));
    assert_eq!(is_sorted, keys.is_sorted());
    let (json, end) = read(&value, 0, &keys);
    assert_eq!(end, value.len());
    json
}

#[test]
fn vectors() {
    for (json, value, metadata) in [
        (
            json!({"b": 1, "a": [true]}),
            &[2, 2, 0, 1, 0, 5, 7, 3, 1, 0, 1, 4, 0x0c, 1][..],
            &[0x11, 2, 0, 1, 2, b'a', b'b'][..],
        ),
        (json!(null), &[0], &[0x11, 0, 0]),
        (json!([]), &[3, 0, 0], &[0x11, 0, 0]),
        (json!({}), &[2, 0, 0], &[0x11, 0, 0]),
        (json!("x"), &[5, b'x'], &[0x11, 0, 0]),
        (json!(1.5), &[0x1c, 0, 0, 0, 0, 0, 0, 0xf8, 0x3f], &[0x11, 0, 0]),
        // For Spark, U+FFFF is above the emoji; in the order of bytes it is below.
        (
            json!({"\u{ffff}": 2, "😀": 1}),
            &[2, 2, 0, 1, 2, 0, 4, 0x0c, 2, 0x0c, 1],
            &[1, 2, 0, 4, 7, 0xf0, 0x9f, 0x98, 0x80, 0xef, 0xbf, 0xbf],
        ),
    ] {
        let (found, dictionary) = encoded(&encode::document(&json, false)).unwrap();
        assert_eq!(decoded(&encode::document(&json, false)), json);
        assert_eq!((found.as_slice(), dictionary.as_slice()), (value, metadata), "{json}");
    }
    let empty = encoded(&[]).unwrap();
    assert_eq!(empty, (vec![0], vec![0x11, 0, 0]));
}

#[test]
fn opaque_values() {
    let opaque = |field_type: u8, data: &[u8]| {
        let document = [&[0x0f, field_type, data.len() as u8][..], data].concat();
        encoded(&document).map(|(value, _)| value)
    };
    let string = |text: &str| [&[(text.len() as u8) << 2 | 1][..], text.as_bytes()].concat();
    for (field_type, packed, expected) in [
        (10, 0x198b_e400_0000_0000, [&[11 << 2][..], &15_417i32.to_le_bytes()].concat()),
        (
            12,
            0x198b_e4b7_ad00_0001,
            [&[13 << 2][..], &1_332_070_245_000_001i64.to_le_bytes()].concat(),
        ),
        (
            7,
            0x198b_e4b7_ad00_0001,
            [&[13 << 2][..], &1_332_070_245_000_001i64.to_le_bytes()].concat(),
        ),
        (10, 0, string("0000-00-00")),
        (12, 0, string("0000-00-00 00:00:00.000000")),
        (11, -1, string("-00:00:00.000001")),
    ] {
        assert_eq!(opaque(field_type, &i64::to_le_bytes(packed)).unwrap(), expected);
    }
    assert!(opaque(10, &[0; 7]).is_err());
    assert_eq!(opaque(252, b"\xffU").unwrap(), [15 << 2, 2, 0, 0, 0, 0xff, b'U']);
    assert_eq!(
        opaque(246, &[6, 3, 0x80, 0x7b, 0x01, 0xc8]).unwrap(),
        [8 << 2, 3, 0x40, 0xe2, 1, 0]
    );
    assert!(opaque(246, &[6, 3, 0x80]).is_err());
    // DECIMAL(66,30) with all digits 9: too large for a variant's decimal.
    let least =
        [&[66, 30, 0x7a, 0x0a, 0x1f, 0][..], &[0xc4, 0x65, 0x36, 0].repeat(6), &[0xfc, 0x18]];
    let text = format!("-{}.{}", "9".repeat(35), "9".repeat(30));
    let expected = [&[16 << 2, text.len() as u8, 0, 0, 0][..], text.as_bytes()].concat();
    assert_eq!(opaque(246, &least.concat()).unwrap(), expected);
}

/// The widths of counts, ids and offsets depend on the sizes; headers are moved if the estimate was
/// wrong.
#[test]
fn sizes() {
    let numbers = |count: u64| (0..count).map(Json::from).collect::<Json>();
    let keys = |count: u64| (0..count).map(|i| (format!("k{i}"), Json::from(i))).collect::<Json>();
    let times = encode::document(&json!(["x"]), false);
    assert_eq!(decoded(&times), json!(["x"]));
    for count in [0, 1, 63, 84, 85, 86, 127, 255, 256, 257, 5_000, 30_000, 70_000] {
        for json in [numbers(count), keys(count), json!({"a": keys(count), "b": [numbers(count)]})]
        {
            for large in [false, true] {
                assert_eq!(decoded(&encode::document(&json, large)), json);
            }
        }
    }
    for len in [0, 1, 62, 63, 64, 249, 250, 251, 252, 65_530, 65_531, 65_532, 70_000, 1 << 24] {
        let json = json!([["x".repeat(len)], {"key": "y".repeat(len)}]);
        assert_eq!(decoded(&encode::document(&json, false)), json);
    }
}

#[test]
fn numbers() {
    for number in [0i64, 127, 128, 32_767, 32_768, i64::from(i32::MAX), 1 << 31, i64::MAX] {
        for number in [number, -number - 1] {
            assert_eq!(decoded(&encode::document(&json!([number]), false)), json!([number]));
        }
    }
    for number in [1u64 << 63, u64::MAX] {
        assert_eq!(decoded(&encode::document(&json!({"n": number}), false)), json!({"n": number}));
    }
}

#[test]
fn the_same_key_twice() {
    let mut document = encode::document(&json!({"a": 1, "b": 2}), false);
    assert!(encoded(&document).is_ok());
    let b = document.iter().rposition(|byte| *byte == b'b').unwrap();
    document[b] = b'a';
    assert!(matches!(encoded(&document), Err(DecodeError::Invalid { .. })));
}

/// The documents that were encoded before have no influence on the result.
#[test]
fn documents_do_not_know_each_other() {
    let broken_key = [0, 1, 0, 0x0c, 0, 0x0b, 0, 1, 0, 5, 1, 0, 0xff];
    let documents = [
        json!({"a": 1, "b": {"c": 2}}),
        json!({"a": 3, "b": {"c": 4}}),
        json!({"a": 3}),
        json!([]),
        json!({"c": {"b": 1}, "a": 5}),
        json!([{"a": 1, "b": 2}, {"b": 3, "a": 4}]),
    ];
    let mut encoder = VariantEncoder::default();
    for one in &documents {
        for next in &documents {
            for json in [one, next] {
                let document = encode::document(json, false);
                let (mut value, mut metadata) = (Vec::new(), Vec::new());
                encoder.encode(&document, &mut value, &mut metadata).unwrap();
                assert_eq!((value, metadata), encoded(&document).unwrap());
            }
            assert!(encoder.encode(&broken_key, &mut Vec::new(), &mut Vec::new()).is_err());
        }
    }
}

fn any_json() -> impl Strategy<Value = Json> {
    let leaf = prop_oneof![
        Just(Json::Null),
        any::<bool>().prop_map(Json::from),
        any::<i64>().prop_map(Json::from),
        any::<u64>().prop_map(Json::from),
        any::<i8>().prop_map(Json::from),
        // serde_json reads longer numbers with an error of one or two bits.
        any::<i32>().prop_map(|number| Json::from(f64::from(number) / 64.0)),
        any::<String>().prop_map(Json::from),
    ];
    leaf.prop_recursive(5, 60, 8, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..8).prop_map(Json::from),
            proptest::collection::hash_map("[a-d\u{e000}-\u{ffff}😀]{0,3}", inner, 0..8)
                .prop_map(|fields| fields.into_iter().collect()),
        ]
    })
}

proptest! {
    #[test]
    fn every_document_comes_back(json in any_json(), large: bool) {
        let document = encode::document(&json, large);
        prop_assert_eq!(&decoded(&document), &json);
        let mut text = Vec::new();
        write_text(&document, &mut text).unwrap();
        prop_assert_eq!(serde_json::from_slice::<Json>(&text).unwrap(), json);
    }

    #[test]
    fn changed_documents_do_no_harm(json in any_json(), place: prop::sample::Index, byte: u8) {
        let mut document = encode::document(&json, false);
        let place = place.index(document.len());
        document[place] = byte;
        let mut text = Vec::new();
        let printed = write_text(&document, &mut text);
        match encoded(&document) {
            Ok(_) => prop_assert!(printed.is_ok(), "{printed:?}"),
            Err(DecodeError::Invalid { what, .. }) if what.contains("same key twice") => {}
            Err(error) => prop_assert!(printed.is_err(), "{error}"),
        }
    }
}

fn row(encoder: &mut RowEncoder, cells: &[(&str, Cell<'_>)]) -> Json {
    let (mut value, mut metadata) = (Vec::new(), Vec::new());
    encoder.encode(cells.iter().copied(), &mut value, &mut metadata).unwrap();
    let (keys, _) = keys(&metadata);
    let (json, end) = read(&value, 0, &keys);
    assert_eq!(end, value.len());
    json
}

#[test]
fn rows_hold_cells_and_documents() {
    let document = json!({"id": 7, "z": [{"a": 1}, {"a": 2}], "a": {"id": null}});
    let other = json!([1, {"name": "x"}]);
    let (bytes, other_bytes) = (encode::document(&document, false), encode::document(&other, true));
    let mut encoder = RowEncoder::default();
    // The same columns twice, then other columns: the reused state must have no influence on the
    // result.
    for _ in 0..2 {
        let cells = [
            ("z", Cell::Document(&bytes)),
            ("id", Cell::Integer(300)),
            ("name", Cell::Text("Ana")),
            ("none", Cell::Null),
            ("a", Cell::Document(&other_bytes)),
            ("on", Cell::Bool(true)),
            ("list", Cell::Singles(&[])),
        ];
        let expected = json!({
            "z": document, "id": 300, "name": "Ana", "none": null, "a": other, "on": true, "list": []
        });
        assert_eq!(row(&mut encoder, &cells), expected);
    }
    assert_eq!(row(&mut encoder, &[("z", Cell::Double(1.5))]), json!({"z": 1.5}));
    assert_eq!(row(&mut encoder, &[]), json!({}));
    let names: Vec<String> = (0..400).map(|number| format!("column {number}")).collect();
    let wide: Vec<_> =
        names.iter().map(|name| (name.as_str(), Cell::Text("text of some length"))).collect();
    let read = row(&mut encoder, &wide);
    assert_eq!(read.as_object().unwrap().len(), 400);
}

#[test]
fn what_a_broken_document_leaves_is_not_the_next_rows() {
    let document = encode::document(&json!({"k": [1, 2]}), false);
    let mut encoder = RowEncoder::default();
    let (mut value, mut metadata) = (Vec::new(), Vec::new());
    for end in 1..document.len() {
        let cells = [("d", Cell::Document(&document[..end])), ("n", Cell::Null)];
        assert!(encoder.encode(cells.into_iter(), &mut value, &mut metadata).is_err(), "{end}");
        assert_eq!(
            row(&mut encoder, &[("d", Cell::Document(&document))]),
            json!({"d": {"k": [1, 2]}})
        );
    }
}

#[test]
fn scalars_of_rows() {
    let mut encoder = RowEncoder::default();
    for (cell, expected) in [
        (Cell::Single(1.5), &[14 << 2, 0, 0, 0xc0, 0x3f][..]),
        (Cell::Date(-1), &[11 << 2, 0xff, 0xff, 0xff, 0xff]),
        (Cell::Timestamp(1), &[12 << 2, 1, 0, 0, 0, 0, 0, 0, 0]),
        (Cell::DateTime(1), &[13 << 2, 1, 0, 0, 0, 0, 0, 0, 0]),
        (Cell::Interval(5), &[3 << 2, 5]),
        (Cell::Decimal(-150, 2), &[8 << 2, 2, 0x6a, 0xff, 0xff, 0xff]),
        (Cell::Binary(b"ab"), &[15 << 2, 2, 0, 0, 0, b'a', b'b']),
        (Cell::Singles(&[1.5]), &[3, 1, 0, 5, 14 << 2, 0, 0, 0xc0, 0x3f]),
    ] {
        let (mut value, mut metadata) = (Vec::new(), Vec::new());
        encoder.encode([("c", cell)].into_iter(), &mut value, &mut metadata).unwrap();
        assert_eq!(metadata, [0x11, 1, 0, 1, b'c']);
        assert_eq!(value[..5], [2, 1, 0, 0, expected.len() as u8]);
        assert_eq!(&value[5..], expected, "{cell:?}");
    }
}
