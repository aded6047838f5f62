//! Target for the index of a file: decoding and encoding must return the same index.

use binarrow::index::Index;

/// The bytes of an index file; also with a correct checksum, because a wrong one ends decoding.
pub(crate) fn index(data: &[u8]) {
    check(data);
    let content = data.get(..data.len().saturating_sub(4)).unwrap_or_default();
    check(&[content, &crc32fast::hash(content).to_le_bytes()].concat());
}

fn check(file: &[u8]) {
    let Ok(index) = Index::decode(file) else { return };
    for segment in &index.segments {
        for table in &segment.tables {
            for bloom in table.columns.iter().filter_map(|column| column.bloom.as_ref()) {
                bloom.may_contain(file.len() as u64);
            }
        }
    }
    assert_eq!(Index::decode(&index.encode()).ok(), Some(index));
}
