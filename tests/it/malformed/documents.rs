//! Invalid JSON documents.

use super::{hostile, map_of, one_cell};
use binarrow::limits::MAX_JSON_DEPTH;
use std::time::{Duration, Instant};

/// H14. `memory.rs` checks that they use little memory.
#[test]
fn documents() {
    for (document, words) in documents_that_lie() {
        let cell = [&(document.len() as u32).to_le_bytes(), &document[..]].concat();
        let start = Instant::now();
        let error = hostile([map_of(&[245], &[4], &[]), one_cell(&cell)], 1);
        assert!(error.message().contains(words), "{error}");
        assert!(start.elapsed() < Duration::from_secs(10), "{words}: {:?}", start.elapsed());
    }
}

/// Documents, each with words of its error.
pub(crate) fn documents_that_lie() -> Vec<(Vec<u8>, &'static str)> {
    // A small array whose cells all refer to one value at the end.
    let shared = |count: u16, code: u8, value: &[u8]| {
        let header = 4 + 3 * count;
        let mut document = vec![2];
        document.extend(count.to_le_bytes());
        document.extend((header + value.len() as u16).to_le_bytes());
        for _ in 0..count {
            document.push(code);
            document.extend(header.to_le_bytes());
        }
        document.extend(value);
        document
    };
    let string = [&[0xa0, 0x9c, 1][..], &[b'x'; 20_000]].concat();
    // Nested arrays of two cells that refer to the same array: each level doubles the text.
    let doubling = (0..60).fold(vec![0, 0, 4, 0], |inner, _| shared(2, 2, &inner)[1..].to_vec());
    vec![
        (b"\x02\x01\0\x07\0\x02\0\0".to_vec(), "JSON value offset"),
        (b"\x02\x01\0\x07\0\x02\x04\0".to_vec(), "JSON value offset"),
        (b"\x00\x01\0\x0b\0\0\0\x01\0\x04\0\0".to_vec(), "JSON key offset"),
        (shared(5000, 0x0c, &string), "bytes used by the values"),
        ([&[2][..], &doubling].concat(), "bytes used by the values"),
        (deep(100_000), "depth"),
        (deep(MAX_JSON_DEPTH + 1), "depth"),
        (b"\x02\xff\xff\x04\0".to_vec(), "JSON value entries"),
        (b"\x03\xff\xff\xff\xff\x08\0\0\0".to_vec(), "JSON value entries"),
        (b"\x02\0\0\xff\xff".to_vec(), "JSON container"),
        (b"\x0c\x80\x80\x80\x80\x80\x01x".to_vec(), "JSON"),
        (b"\x0c\xff\xff\xff\xff\x0fx".to_vec(), "JSON"),
        (b"\x04\x09".to_vec(), "JSON literal"),
        (b"\x02\x01\0\x0f\0\x03\x07\0\0\0\0\0\x08\0\0\0".to_vec(), "large JSON container"),
        (b"\x0d\0".to_vec(), "JSON type"),
        (b"\x0f\xf6\x02\x42\x00".to_vec(), "decimal"),
    ]
}

/// `depth` nested arrays.
fn deep(depth: usize) -> Vec<u8> {
    let mut document = vec![3];
    for level in (1..depth).rev() {
        document.extend(1_u32.to_le_bytes());
        document.extend((13 * level as u32 + 8).to_le_bytes());
        document.push(3);
        document.extend(13_u32.to_le_bytes());
    }
    document.extend([0, 0, 0, 0, 8, 0, 0, 0]);
    document
}
