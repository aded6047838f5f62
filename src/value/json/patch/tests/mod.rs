//! The oracle is a tree of values: after the same diffs, its encoding must consist of the same
//! bytes.

mod random;
mod tree;

use super::super::write_text;
use super::*;
use crate::limits::MAX_JSON_DEPTH;
use tree::{Json, diff};

fn patched(document: &[u8], diffs: &[u8]) -> Result<Vec<u8>> {
    let mut out = b"kept".to_vec();
    let result = apply_diffs(document, diffs, &mut out);
    assert_eq!(&out[..4], b"kept");
    match result {
        Ok(()) => Ok(out.split_off(4)),
        Err(error) => {
            assert_eq!(out.len(), 4);
            Err(error)
        }
    }
}

fn text(document: &[u8]) -> String {
    let mut out = Vec::new();
    write_text(document, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

fn ints(numbers: impl IntoIterator<Item = i32>) -> Json {
    Json::Array(numbers.into_iter().map(Json::Int).collect())
}

#[test]
fn what_a_server_logged() {
    let before = Json::object([("age", Json::Int(25)), ("name", Json::Text("Ann".into()))]);
    let after = patched(&before.document(0), b"\0\x05$.age\x03\x05\x1a\0").unwrap();
    assert_eq!(text(&after), r#"{"age": 26, "name": "Ann"}"#);
}

#[test]
fn arrays() {
    for (operation, path, expected) in [
        (0, "$[1]", "[1, 9, 3]"),
        (0, "$[last]", "[1, 2, 9]"),
        (0, "$[last-2]", "[9, 2, 3]"),
        (1, "$[0]", "[9, 1, 2, 3]"),
        (1, "$[2]", "[1, 2, 9, 3]"),
        (1, "$[3]", "[1, 2, 3, 9]"),
        (1, "$[4294967295]", "[1, 2, 3, 9]"),
        (1, "$[last]", "[1, 2, 9, 3]"),
        (1, "$[last-9]", "[9, 1, 2, 3]"),
        (2, "$[0]", "[2, 3]"),
        (2, "$[last-1]", "[1, 3]"),
        (0, "$", "9"),
    ] {
        let value = (operation < 2).then_some(&Json::Int(9));
        let after = patched(&ints(1..4).document(0), &diff(operation, path, value)).unwrap();
        assert_eq!(text(&after), expected, "{operation} {path}");
    }
}

#[test]
fn diffs_that_do_not_fit() {
    let document =
        Json::object([("a", ints(1..4)), ("b", Json::Int(1)), ("c", Json::object([]))]).document(0);
    for (operation, path) in [
        (0, "$.x"),
        (0, "$.a[3]"),
        (0, "$.a[last-3]"),
        (0, "$.a.a"),
        (0, "$.b[0]"),
        (0, "$.b.b"),
        (0, "$[0]"),
        (0, "$.c.x"),
        (1, "$"),
        (1, "$.a"),
        (1, "$.b.b"),
        (1, "$.b[0]"),
        (1, "$.c[0]"),
        (1, "$.a.x"),
        (1, "$.x.y"),
        (2, "$"),
        (2, "$.x"),
        (2, "$.a[3]"),
        (2, "$.a[4294967295]"),
        (2, "$.a[4294967296]"),
        (2, "$.c[last]"),
        (3, "$.b"),
        (127, "$.b"),
    ] {
        let value = (operation != 2).then_some(&Json::Null);
        let diffs = diff(operation, path, value);
        assert!(patched(&document, &diffs).is_err(), "{operation} {path}");
        // The same after a diff that can be applied.
        let both = [diff(2, "$.c", None), diffs].concat();
        assert!(patched(&document, &both).is_err(), "{operation} {path}");
    }
    let twice = diff(2, "$.b", None).repeat(2);
    assert!(patched(&document, &twice).is_err());
    let again = [diff(2, "$.b", None), diff(1, "$.b", Some(&Json::Null))].concat();
    assert_eq!(
        text(&patched(&document, &again).unwrap()),
        r#"{"a": [1, 2, 3], "b": null, "c": {}}"#
    );
}

#[test]
fn keys_too_long_for_an_entry() {
    let document = Json::object([("a", Json::Null)]).document(0);
    let insert = |len: usize| {
        let path = format!("$.{}", "x".repeat(len));
        patched(&document, &diff(1, &path, Some(&Json::Null)))
    };
    assert!(text(&insert(0xffff).unwrap()).len() > 0xffff);
    assert!(matches!(insert(0x1_0000), Err(DecodeError::Limit { .. })));
    assert!(matches!(insert(1 << 20), Err(DecodeError::Limit { .. })));
}

#[test]
fn containers_shorter_than_their_header() {
    for document in [&b"\0\x02\0\x02\0"[..], b"\x02\0\0\x03\0", b"\x03\0\0\0\0\x07\0\0\0"] {
        assert!(patched(document, b"").is_err());
        let value = [&[0, 1, b'$', document.len() as u8][..], document].concat();
        assert!(patched(b"\x05\x01\0", &value).is_err());
    }
}

#[test]
fn documents_of_no_bytes() {
    assert_eq!(patched(b"", b"").unwrap(), [4, 0]);
    assert!(patched(b"", &diff(1, "$.a", Some(&Json::Null))).is_err());
    assert_eq!(text(&patched(b"", &diff(0, "$", Some(&Json::Int(1)))).unwrap()), "1");
}

#[test]
fn a_container_grows_and_shrinks() {
    let long = Json::Text("x".repeat(65_500));
    let small = Json::object([("a", ints([100_000, 7])), ("b", Json::Int(1_000_000))]);
    let grown = Json::object([
        ("a", ints([100_000, 7])),
        ("b", Json::Int(1_000_000)),
        ("long", long.clone()),
        ("m", Json::Int(5)),
    ]);
    let diffs = [diff(1, "$.long", Some(&long)), diff(1, "$.m", Some(&Json::Int(5)))].concat();
    assert_eq!(small.document(0)[0], 0);
    assert_eq!(grown.document(0)[0], 1);
    assert_eq!(patched(&small.document(0), &diffs).unwrap(), grown.document(0));
    let diffs = [diff(2, "$.m", None), diff(2, "$.long", None)].concat();
    assert_eq!(patched(&grown.document(0), &diffs).unwrap(), small.document(0));
    // A large child makes its parents large.
    let outer = |inner: &Json| Json::Array(vec![Json::Array(vec![inner.clone()])]);
    let diffs = diff(0, "$[0][0]", Some(&grown));
    assert_eq!(patched(&outer(&small).document(0), &diffs).unwrap(), outer(&grown).document(0));
}

#[test]
fn as_deep_as_documents_go() {
    let mut document = Json::Int(1);
    for _ in 0..MAX_JSON_DEPTH {
        document = Json::Array(vec![document]);
    }
    let path = format!("${}", "[0]".repeat(MAX_JSON_DEPTH));
    let after = patched(&document.document(0), &diff(0, &path, Some(&Json::Int(2)))).unwrap();
    assert_eq!(
        text(&after),
        format!("{}2{}", "[".repeat(MAX_JSON_DEPTH), "]".repeat(MAX_JSON_DEPTH))
    );
    // One container more than the limit: no server writes such a document, and no part of it is
    // returned.
    let after = patched(&document.document(0), &diff(0, &path, Some(&ints([2])))).unwrap();
    assert!(write_text(&after, &mut Vec::new()).is_err());
}

#[test]
fn objects_out_of_order() {
    let mut document = Json::object([("a", Json::Int(1)), ("b", Json::Int(2))]).document(0);
    let keys = document.len() - 2;
    document[keys..].copy_from_slice(b"ba");
    let diffs = diff(1, "$.c", Some(&Json::Null));
    assert!(matches!(patched(&document, &diffs), Err(DecodeError::Invalid { .. })));
    document[keys..].copy_from_slice(b"aa");
    assert!(matches!(patched(&document, &diffs), Err(DecodeError::Invalid { .. })));
}

/// Many cells whose offsets point to one long string: with a copy per cell, the output would be the
/// square of the document.
#[test]
fn values_that_share_bytes() {
    let count = 5_000u16;
    let header = 4 + 3 * count;
    let mut document = vec![2];
    document.extend(count.to_le_bytes());
    document.extend((header + 20_003).to_le_bytes());
    for _ in 0..count {
        document.push(0x0c);
        document.extend(header.to_le_bytes());
    }
    document.extend([0xa0, 0x9c, 0x01]);
    document.extend([b'x'; 20_000]);
    assert!(matches!(patched(&document, &diff(2, "$[0]", None)), Err(DecodeError::Limit { .. })));
}

/// Many cells whose offsets point to one array, and each cell is opened separately.
#[test]
fn containers_that_share_bytes() {
    let inner = ints(0..10_000).encode(0).1;
    let count = 1_000_u16;
    let header = 4 + 3 * count;
    let mut document = vec![2];
    document.extend(count.to_le_bytes());
    document.extend((header + inner.len() as u16).to_le_bytes());
    for _ in 0..count {
        document.push(2);
        document.extend(header.to_le_bytes());
    }
    document.extend(&inner);
    let diffs: Vec<u8> =
        (0..count).flat_map(|index| diff(2, &format!("$[{index}][0]"), None)).collect();
    assert!(matches!(patched(&document, &diffs), Err(DecodeError::Limit { .. })));
}

#[test]
fn cells_moved_again_and_again() {
    let document = ints(std::iter::repeat_n(1, 1_000_000)).document(0);
    let honest = diff(2, "$[0]", None).repeat(2_000);
    assert!(patched(&document, &honest).is_ok());
    let hostile = diff(2, "$[0]", None).repeat(500_000);
    assert!(matches!(patched(&document, &hostile), Err(DecodeError::Limit { .. })));
}
