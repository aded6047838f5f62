use super::*;
use crate::limits::MAX_JSON_DEPTH;
use proptest::prelude::*;

fn text(document: &[u8]) -> Result<String> {
    let mut out = b"before:".to_vec();
    let result = write_text(document, &mut out);
    let out = String::from_utf8(out).unwrap().split_off(7);
    assert!(result.is_ok() || out.is_empty());
    // If the text can be written, the variant can be written, and vice versa.
    let variant = VariantEncoder::default().encode(document, &mut Vec::new(), &mut Vec::new());
    let is_twice = |error: DecodeError| matches!(error, DecodeError::Invalid { what, .. } if what.contains("twice"));
    assert!(variant.is_ok() == result.is_ok() || variant.is_err_and(is_twice));
    result.map(|()| out)
}

/// A small array with one entry: `kind` and an offset, with `body` after the header.
fn array_of(kind: u8, body: &[u8]) -> Vec<u8> {
    let size = (7 + body.len()) as u16;
    [&[1, 0][..], &size.to_le_bytes(), &[kind, 7, 0], body].concat()
}

/// `depth` nested arrays.
fn nested(depth: usize) -> Vec<u8> {
    let mut bytes = vec![0, 0, 4, 0];
    for _ in 1..depth {
        bytes = array_of(2, &bytes);
    }
    bytes.insert(0, 2);
    bytes
}

#[test]
fn vectors() {
    for (document, expected) in [
        (
            &[0x00, 0x01, 0x00, 0x0c, 0x00, 0x0b, 0x00, 0x01, 0x00, 0x05, 0x01, 0x00, 0x61][..],
            r#"{"a": 1}"#,
        ),
        (
            &[2, 4, 0, 0x13, 0, 5, 1, 0, 0x0c, 0x10, 0, 4, 0, 0, 4, 1, 0, 2, 0x61, 0x62],
            r#"[1, "ab", null, true]"#,
        ),
        (&[2, 1, 0, 0x0b, 0, 7, 7, 0, 0xa0, 0x86, 1, 0], "[100000]"),
        (&[0x0c, 1, 0x78], r#""x""#),
        (&[0x0b, 0, 0, 0, 0, 0, 0, 0xf8, 0x3f], "1.5"),
        (
            &[
                0, 1, 0, 0x16, 0, 0x0b, 0, 1, 0, 0x0f, 0x0c, 0, 0x63, 0x0b, 8, 0xf1, 0xfb, 9, 0xee,
                0x77, 5, 0, 0,
            ],
            r#"{"c": "87:31:46.654321"}"#,
        ),
        (&[0x0f, 0x0a, 8, 0, 0, 0, 0, 0, 0xe4, 0x8b, 0x19], r#""2012-03-18""#),
        (
            &[0x0f, 0x0c, 8, 0, 0, 0, 0xad, 0xb7, 0xe4, 0x8b, 0x19],
            r#""2012-03-18 11:30:45.000000""#,
        ),
        (&[0x0f, 0xf6, 6, 6, 3, 0x80, 0x7b, 1, 0xc8], "123.456"),
        (&[0x0f, 0x0f, 1, 0x55], r#""base64:type15:VQ==""#),
        (&[], "null"),
        (&[4, 0], "null"),
        (&[4, 2], "false"),
        (&[5, 0xff, 0xff], "-1"),
        (&[6, 0xff, 0xff], "65535"),
        (&[7, 0, 0, 0, 0x80], "-2147483648"),
        (&[8, 0xff, 0xff, 0xff, 0xff], "4294967295"),
        (&[9, 0, 0, 0, 0, 0, 0, 0, 0x80], "-9223372036854775808"),
        (&[0x0a, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff], "18446744073709551615"),
        (&[2, 0, 0, 4, 0], "[]"),
        (&[0, 0, 0, 4, 0], "{}"),
        // A large array: the i32 is in its entry. There is a gap before the string, and there are
        // bytes after the end.
        (
            &[
                3, 2, 0, 0, 0, 0x15, 0, 0, 0, 7, 0xa0, 0x86, 1, 0, 0x0c, 0x13, 0, 0, 0, 0xff, 1,
                0x78, 0xff,
            ],
            r#"[100000, "x"]"#,
        ),
    ] {
        assert_eq!(text(document).unwrap(), expected);
    }
}

#[test]
fn rejects() {
    for (document, why) in [
        (&[2, 1, 0, 0x0b, 0, 7, 0x0b, 0, 0, 0, 0, 0][..], "offset at the size, nothing left"),
        (&[2, 1, 0, 0x0b, 0, 7, 0x0c, 0, 0, 0, 0, 0], "offset beyond the size"),
        (&[2, 1, 0, 0x0b, 0, 7, 0x08, 0, 0, 0, 0, 0], "value beyond the size"),
        (&[2, 1, 0, 0x0b, 0, 7, 0x03, 0, 0, 0, 0, 0], "offset into the header"),
        (&[2, 1, 0, 0x0b, 0, 2, 0x00, 0, 0, 0, 0, 0], "itself"),
        (&[2, 1, 0, 0x0c, 0, 7, 7, 0, 0, 0, 0, 0], "size beyond the bytes"),
        (&[2, 0xff, 0xff, 4, 0], "more entries than bytes"),
        (&[3, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0], "more entries than bytes, large"),
        (&[2, 0, 0, 3, 0], "size below the header's"),
        (&[4, 3], "literal"),
        (&[2, 1, 0, 7, 0, 4, 9, 0], "literal in an entry"),
        (&[0x0c, 0x80, 0x80, 0x80, 0x80, 0x80, 0x00], "length of six bytes"),
        (&[0x0c, 0xff, 0xff, 0xff, 0xff, 0x1f], "length above 2^32"),
        (&[0x0c, 2, 0x78], "string cut"),
        (&[0x0c, 1, 0xff], "not UTF-8"),
        (&[0x00, 1, 0, 0x0c, 0, 0x0b, 0, 1, 0, 5, 1, 0, 0xff], "key not UTF-8"),
        (&[0x00, 1, 0, 0x0c, 0, 0x0b, 0, 2, 0, 5, 1, 0, 0x61], "key beyond the size"),
        (&[0x00, 1, 0, 0x0c, 0, 0x0a, 0, 1, 0, 5, 1, 0, 0x61], "key in the header"),
        (&[0x0d], "type"),
        (&[0x0e, 0], "type"),
        (&[0x0b, 0, 0, 0, 0, 0, 0, 0xf0, 0x7f], "infinity"),
        (&[5, 0], "cut"),
        (&[2], "cut"),
        (&[0x0f, 0x0f], "cut"),
    ] {
        assert!(text(document).is_err(), "{why}");
    }
    let mut large_in_small = array_of(3, &[0, 0, 0, 0, 8, 0, 0, 0]);
    large_in_small.insert(0, 2);
    assert!(text(&large_in_small).is_err());
}

#[test]
fn depth() {
    let expected = format!("{}{}", "[".repeat(MAX_JSON_DEPTH), "]".repeat(MAX_JSON_DEPTH));
    assert_eq!(text(&nested(MAX_JSON_DEPTH)).unwrap(), expected);
    assert!(text(&nested(MAX_JSON_DEPTH + 1)).is_err());
    assert!(text(&nested(9_000)).is_err());
    // The same with large arrays, which can be nested as deep as the bytes allow.
    let mut bytes = Vec::new();
    for left in (0..100_000u32).rev() {
        let inner = if left == 0 { 0 } else { 1 };
        bytes.extend([inner, 0, 0, 0]);
        bytes.extend((8 + 13 * left).to_le_bytes());
        if left > 0 {
            bytes.extend([3, 13, 0, 0, 0]);
        }
    }
    bytes.insert(0, 3);
    assert!(matches!(text(&bytes), Err(DecodeError::Limit { .. })));
}

/// Nested arrays whose entries all point to one array: exponential without a budget.
#[test]
fn overlap_bomb() {
    let mut bytes = vec![0, 0, 4, 0];
    for _ in 0..20 {
        let header = 4 + 50 * 3;
        let mut outer = vec![50, 0];
        outer.extend(((header + bytes.len()) as u16).to_le_bytes());
        for _ in 0..50 {
            outer.push(2);
            outer.extend((header as u16).to_le_bytes());
        }
        outer.extend(&bytes);
        bytes = outer;
    }
    bytes.insert(0, 2);
    assert!(matches!(text(&bytes), Err(DecodeError::Limit { .. })));
}

/// Many entries that point to one long string: the output would be the square of the document.
#[test]
fn shared_string() {
    let count = 5_000u16;
    let header = 4 + 3 * count;
    let mut bytes = vec![2];
    bytes.extend(count.to_le_bytes());
    bytes.extend((header + 20_002).to_le_bytes());
    for _ in 0..count {
        bytes.push(0x0c);
        bytes.extend(header.to_le_bytes());
    }
    bytes.extend([0xa0, 0x9c, 0x01]);
    bytes.extend([b'x'; 20_000]);
    bytes[3..5].copy_from_slice(&(header + 20_003).to_le_bytes());
    assert!(matches!(text(&bytes), Err(DecodeError::Limit { .. })));
}

/// Documents with few different keys, some of which are long or need escapes.
fn documents() -> impl Strategy<Value = serde_json::Value> {
    use serde_json::Value;
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        (-300i64..300).prop_map(Value::from),
        (0u32..100_000).prop_map(|cents| Value::from(f64::from(cents) / 100.0)),
        "[a-z\"\\\\\n\u{e9}]{0,24}".prop_map(Value::from),
    ];
    let key = prop_oneof![
        "[a-d]{1,2}",
        Just("\"key\"".to_owned()),
        Just("k".repeat(40)),
        Just(String::new())
    ];
    leaf.prop_recursive(4, 30, 5, move |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            proptest::collection::btree_map(key.clone(), inner, 0..5)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

#[test]
fn shapes_of_small_and_large_objects_differ() {
    // The entries of two keys in a large object have as many bytes as those of three keys in a small one.
    let mut encoder = TextEncoder::default();
    let small = encode::document(&serde_json::json!({"": 1, "b": 2, "c": 3}), false);
    let large = encode::document(&serde_json::json!({"b": 2, "c": 3}), true);
    for document in [&small, &large, &small, &large] {
        let mut expected = Vec::new();
        write_text(document, &mut expected).unwrap();
        assert_eq!(encoder.encode(document).unwrap(), expected);
    }
}

#[test]
fn the_text_of_the_last_document() {
    let mut encoder = TextEncoder::default();
    let document = encode::document(&serde_json::json!({"a": [1, "b"]}), false);
    // This differs only in its last byte.
    let other = encode::document(&serde_json::json!({"a": [1, "c"]}), false);
    let null: &[u8] = b"";
    for (document, expected) in [
        (null, "null"),
        (&document, r#"{"a": [1, "b"]}"#),
        (&document, r#"{"a": [1, "b"]}"#),
        (&other, r#"{"a": [1, "c"]}"#),
        (null, "null"),
    ] {
        assert_eq!(encoder.encode(document).unwrap(), expected.as_bytes());
    }
    for damaged in [&document[..document.len() - 1], &document[..1]] {
        encoder.encode(&document).unwrap();
        for _ in 0..2 {
            assert!(encoder.encode(damaged).is_err());
        }
        assert_eq!(encoder.encode(null).unwrap(), b"null");
    }
    // Large documents are not remembered.
    let large = encode::document(&serde_json::json!(["x".repeat(1 << 20)]), true);
    for document in [&large, &document, &large] {
        let mut expected = Vec::new();
        write_text(document, &mut expected).unwrap();
        assert!(encoder.encode(document).unwrap() == expected);
    }
    assert_eq!(encoder.encode(null).unwrap(), b"null");
    encoder.encode(&document).unwrap();
    encoder.shrink();
    assert_eq!(encoder.encode(null).unwrap(), b"null");
}

proptest! {
    /// Earlier documents do not change the text of a document, even if one of them is damaged.
    #[test]
    fn shapes_change_no_text(
        values in proptest::collection::vec((documents(), any::<bool>()), 1..12),
        changes in proptest::collection::vec((0..24usize, 0..400usize, any::<u8>()), 0..4),
    ) {
        let mut all: Vec<_> =
            values.iter().map(|(value, large)| encode::document(value, *large)).collect();
        let changed: Vec<_> = changes
            .iter()
            .map(|(index, place, byte)| {
                let mut document = all[index % all.len()].clone();
                let place = place % document.len();
                document[place] = *byte;
                document
            })
            .collect();
        all.extend(changed);
        let mut encoder = TextEncoder::default();
        for document in all.iter().chain(&all) {
            let mut expected = Vec::new();
            let is_ok = text::Text::write(document, &mut expected).is_ok();
            let found = encoder.encode(document);
            prop_assert_eq!(found.is_ok(), is_ok);
            if let Ok(found) = found {
                prop_assert_eq!(found, expected);
            }
        }
    }

    #[test]
    fn any_bytes_do_no_harm(mut document in proptest::collection::vec(any::<u8>(), 0..200), kind in 0..16u8) {
        let _ = text(&document);
        // Most random first bytes are no type, and most random sizes are too large: correct them.
        if document.len() > 5 {
            let len = document.len() as u8;
            document[0] = kind;
            document[1] %= 16;
            document[2..5].copy_from_slice(&[0, len - 1, 0]);
            let _ = text(&document);
        }
    }

    #[test]
    fn any_change_does_no_harm(place in 0..23usize, byte: u8) {
        let mut document =
            [0, 1, 0, 0x16, 0, 0x0b, 0, 1, 0, 0x0f, 0x0c, 0, 0x63, 0x0b, 8, 0xf1, 0xfb, 9, 0xee, 0x77, 5, 0, 0];
        document[place] = byte;
        let _ = text(&document);
    }
}
