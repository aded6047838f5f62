//! The oracle is a tree of values: after the same diffs, its encoding must consist of the same
//! bytes.

use super::super::write_text;
use super::*;
use crate::limits::MAX_JSON_DEPTH;
use proptest::prelude::*;

#[derive(Debug, Clone, PartialEq)]
enum Json {
    Null,
    Int(i32),
    Big(i64),
    Text(String),
    Array(Vec<Json>),
    Object(BTreeMap<(usize, String), Json>),
}

impl Json {
    fn object<'k>(members: impl IntoIterator<Item = (&'k str, Self)>) -> Self {
        let sorted = |(key, value): (&str, Self)| ((key.len(), key.to_owned()), value);
        Self::Object(members.into_iter().map(sorted).collect())
    }

    /// Encodes the tree as a document. `gap` bytes are left free before each value, as after
    /// in-place updates.
    fn document(&self, gap: usize) -> Vec<u8> {
        let (code, mut bytes) = self.encode(gap);
        bytes.insert(0, code);
        bytes
    }

    fn encode(&self, gap: usize) -> (u8, Vec<u8>) {
        match self {
            Self::Null => (4, vec![0]),
            Self::Int(number) => match i16::try_from(*number) {
                Ok(number) => (5, number.to_le_bytes().to_vec()),
                Err(_) => (7, number.to_le_bytes().to_vec()),
            },
            Self::Big(number) => (9, number.to_le_bytes().to_vec()),
            Self::Text(text) => {
                let mut bytes = Vec::new();
                let mut len = text.len();
                while len > 0x7f {
                    bytes.push(len as u8 | 0x80);
                    len >>= 7;
                }
                bytes.push(len as u8);
                bytes.extend_from_slice(text.as_bytes());
                (0x0c, bytes)
            }
            Self::Array(cells) => {
                let values: Vec<_> = cells.iter().map(|cell| cell.encode(gap)).collect();
                container(2, &[], &values, gap)
            }
            Self::Object(members) => {
                let keys: Vec<&str> = members.keys().map(|(_, key)| key.as_str()).collect();
                let values: Vec<_> = members.values().map(|value| value.encode(gap)).collect();
                container(0, &keys, &values, gap)
            }
        }
    }

    fn at(&mut self, way: &[Step]) -> Option<&mut Self> {
        way.iter().try_fold(self, |value, step| match (value, step) {
            (Self::Object(members), Step::Member(key)) => {
                members.get_mut(&(key.len(), key.clone()))
            }
            (Self::Array(cells), Step::Cell(index)) => cells.get_mut(*index),
            _ => None,
        })
    }
}

/// Encodes a container of the type `code` (or of the next type, if it is large).
fn container(code: u8, keys: &[&str], values: &[(u8, Vec<u8>)], gap: usize) -> (u8, Vec<u8>) {
    let large_code = |code: &u8| matches!(code, 1 | 3);
    let write = |w: usize| {
        let inlined = |code: u8| matches!(code, 4 | 5) || w == 4 && code == 7;
        let put = |number: usize, out: &mut Vec<u8>| out.extend(&number.to_le_bytes()[..w]);
        let key_entries = if code == 0 { keys.len() * (w + 2) } else { 0 };
        let mut offset = 2 * w + key_entries + values.len() * (1 + w);
        let mut header = Vec::new();
        let mut body = Vec::new();
        for key in keys {
            put(offset, &mut header);
            header.extend((key.len() as u16).to_le_bytes());
            body.extend_from_slice(key.as_bytes());
            offset += key.len();
        }
        for (code, bytes) in values {
            header.push(*code);
            if inlined(*code) {
                header.extend(bytes);
                header.resize(header.len() + w - bytes.len(), 0);
            } else {
                body.resize(body.len() + gap, 0xee);
                put(offset + gap, &mut header);
                body.extend(bytes);
                offset += gap + bytes.len();
            }
        }
        let mut out = Vec::new();
        put(values.len(), &mut out);
        put(offset, &mut out);
        out.extend(header);
        out.extend(body);
        out
    };
    let small = write(2);
    if small.len() > 0xffff || values.len() > 0xffff || values.iter().any(|(c, _)| large_code(c)) {
        return (code + 1, write(4));
    }
    (code, small)
}

#[derive(Debug, Clone)]
enum Step {
    Member(String),
    Cell(usize),
}

fn path_text(way: &[Step]) -> String {
    way.iter().fold("$".to_owned(), |path, step| match step {
        Step::Member(key) => {
            let mut quoted = Vec::new();
            super::super::escape::quote(key.as_bytes(), &mut quoted);
            format!("{path}.{}", String::from_utf8(quoted).unwrap())
        }
        Step::Cell(index) => format!("{path}[{index}]"),
    })
}

fn lenenc(len: usize, out: &mut Vec<u8>) {
    match len {
        0..=0xfa => out.push(len as u8),
        0xfb..=0xffff => {
            out.push(0xfc);
            out.extend(&len.to_le_bytes()[..2]);
        }
        _ => {
            out.push(0xfd);
            out.extend(&len.to_le_bytes()[..3]);
        }
    }
}

fn diff(operation: u8, path: &str, value: Option<&Json>) -> Vec<u8> {
    let mut out = vec![operation];
    lenenc(path.len(), &mut out);
    out.extend_from_slice(path.as_bytes());
    if let Some(value) = value {
        let document = value.document(0);
        lenenc(document.len(), &mut out);
        out.extend(document);
    }
    out
}

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

/// Choices that are taken from a list of numbers.
struct Choices<'n>(std::slice::Iter<'n, u32>);

impl Choices<'_> {
    fn below(&mut self, count: usize) -> usize {
        self.0.next().map_or(0, |number| *number as usize % count)
    }

    fn value(&mut self, depth: usize) -> Json {
        match self.below(if depth == 0 { 6 } else { 10 }) {
            0 => Json::Null,
            1 => Json::Int(self.below(60_000) as i32 - 30_000),
            2 => Json::Int(self.below(1 << 30) as i32 + 40_000),
            3 => Json::Big(self.below(1 << 31) as i64 - (1 << 40)),
            4 => Json::Text("é\"\n".repeat(self.below(40))),
            5 => Json::Text("long ".repeat(if self.below(8) == 0 { 14_000 } else { 30 })),
            6 | 7 => Json::Array((0..self.below(5)).map(|_| self.value(depth - 1)).collect()),
            _ => {
                let members: Vec<_> =
                    (0..self.below(6)).map(|_| (self.key(), self.value(depth - 1))).collect();
                Json::object(members)
            }
        }
    }

    fn key(&mut self) -> &'static str {
        ["", "a", "b", "ключ", "q\"uote", "\\u0041", "a.b[0]", "\0\n", "😀", "$"][self.below(10)]
    }

    /// Creates a diff that can be applied to the document, and applies it.
    fn change(&mut self, document: &mut Json) -> Option<Vec<u8>> {
        let mut way = Vec::new();
        loop {
            let parent = document.at(&way)?;
            let step = match &*parent {
                Json::Array(cells) => Step::Cell(self.below(cells.len() + 1)),
                Json::Object(members) if members.is_empty() || self.below(3) == 0 => {
                    Step::Member(self.key().to_owned())
                }
                Json::Object(members) => {
                    Step::Member(members.keys().nth(self.below(members.len()))?.1.clone())
                }
                _ => return None,
            };
            let mut longer = way.clone();
            longer.push(step.clone());
            let continues = self.below(2) == 0;
            match document.at(&longer) {
                Some(Json::Array(_) | Json::Object(_)) if continues => way = longer,
                Some(old) => {
                    let path = path_text(&longer);
                    match self.below(3) {
                        0 => {
                            let value = self.value(2);
                            let bytes = diff(0, &path, Some(&value));
                            *old = value;
                            return Some(bytes);
                        }
                        1 if matches!(step, Step::Cell(_)) => {
                            let value = self.value(2);
                            let bytes = diff(1, &path, Some(&value));
                            let Some(Json::Array(cells)) = document.at(&way) else { return None };
                            let Step::Cell(index) = step else { return None };
                            cells.insert(index, value);
                            return Some(bytes);
                        }
                        _ => {
                            match (document.at(&way)?, step) {
                                (Json::Array(cells), Step::Cell(index)) => {
                                    drop(cells.remove(index))
                                }
                                (Json::Object(members), Step::Member(key)) => {
                                    drop(members.remove(&(key.len(), key)));
                                }
                                _ => return None,
                            }
                            return Some(diff(2, &path, None));
                        }
                    }
                }
                None => {
                    let value = self.value(2);
                    let bytes = diff(1, &path_text(&longer), Some(&value));
                    match (document.at(&way)?, step) {
                        (Json::Array(cells), Step::Cell(_)) => cells.push(value),
                        (Json::Object(members), Step::Member(key)) => {
                            members.insert((key.len(), key), value);
                        }
                        _ => return None,
                    }
                    return Some(bytes);
                }
            }
        }
    }
}

proptest! {
    #[test]
    fn the_same_as_writing_it_in_full(numbers in proptest::collection::vec(any::<u32>(), 1..400), gap in 0..3usize) {
        let mut choices = Choices(numbers.iter());
        let members: Vec<_> = (0..1 + choices.below(8)).map(|_| (choices.key(), choices.value(4))).collect();
        let mut after = Json::object(members);
        let before = after.clone();
        let mut diffs = Vec::new();
        for _ in 0..1 + choices.below(10) {
            diffs.extend(choices.change(&mut after).unwrap_or_default());
        }
        let found = patched(&before.document(gap), &diffs).unwrap();
        prop_assert_eq!(text(&found), text(&after.document(0)));
        if gap == 0 {
            prop_assert_eq!(found, after.document(0));
        }
    }

    #[test]
    fn any_bytes_do_no_harm(
        numbers in proptest::collection::vec(any::<u32>(), 1..60),
        mut noise in proptest::collection::vec((any::<u16>(), any::<u8>()), 1..6),
        cut in 0..200usize,
    ) {
        let mut choices = Choices(numbers.iter());
        let members = vec![("a", choices.value(3)), ("b", choices.value(2))];
        let mut after = Json::object(members);
        let mut document = after.document(0);
        let mut diffs: Vec<u8> =
            (0..3).flat_map(|_| choices.change(&mut after).unwrap_or_default()).collect();
        let _ = patched(&document, &diffs[..cut.min(diffs.len())]);
        let (place, byte) = noise.pop().unwrap();
        if let Some(at) = diffs.len().checked_sub(1) {
            diffs[usize::from(place).min(at)] = byte;
        }
        let _ = patched(&document, &diffs);
        for (place, byte) in noise {
            let place = usize::from(place) % document.len();
            document[place] = byte;
        }
        if let Ok(after) = patched(&document, &diffs) {
            let _ = write_text(&after, &mut Vec::new());
        }
    }
}
