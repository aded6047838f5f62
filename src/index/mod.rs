//! The index of a log: what its parts contain, so that a reader can skip parts unread.
//!
//! In: the bytes of an index file; or the contents of a log's segments. Out: the segments that may be skipped, or the bytes of an
//! index file. Called by `source` and `reader`. No I/O.
//!
//! ```text
//! "binarrow-index" | version u8 | binding | maps | segments | CRC32 of all before it, u32
//! binding:  size u64 of the file as it is stored | CRC32 u32 of its first bytes | CRC32 u32 of its last bytes
//!           | size u64 of the log | bytes of a segment u64 | largest size of the index u64
//! maps:     count | Table_map bodies without the table id: length, bytes
//! segment:  bytes since the previous segment | its bytes | flags u8 | first commit i64, microseconds to the last one
//!           | GTIDs | count, tables
//! table:    map | inserts | updates | deletes | bytes of rows events | count, columns
//! column:   number | forms u8 | smallest and largest integer | length, Bloom filter
//! ```
//!
//! Only simple transactions are in segments: GTID, `BEGIN`, table maps, rows, and the commit. All other events are between
//! segments, and are always read.

mod bloom;
mod decode;
mod encode;
mod fit;

use crate::position::GtidState;
pub use bloom::{Bloom, hash_of_bytes, hash_of_integer};
pub use fit::{ColumnContent, fit};
use std::ops::Range;

/// The end of the name of an index file: it is the name of the log with this suffix.
pub const INDEX_SUFFIX: &str = ".binarrow-index";

/// The number of bytes at the start and at the end of a file that bind an index to it.
pub const BOUND_BYTES: u64 = 4096;

/// The size of an index file that is read at most.
pub const MAX_INDEX_BYTES: u64 = 256 << 20;

/// The index of one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Index {
    /// The file that it is of.
    pub binding: Binding,
    /// The bodies of Table_map events, without the table id.
    pub maps: Vec<Vec<u8>>,
    /// The segments in log order.
    pub segments: Vec<IndexedSegment>,
}

/// The properties of the file that an index is of.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Binding {
    /// The size of the file as it is stored.
    pub stored_bytes: u64,
    /// The CRC32 of its first bytes, which contain the format description.
    pub head: u32,
    /// The CRC32 of its last bytes, which contain the checksum of the last event.
    pub tail: u32,
    /// The size of the log, which is larger if the file is compressed.
    pub log_bytes: u64,
    /// The approximate size of a segment.
    pub segment_bytes: u64,
    /// The size that the index has at most.
    pub most_bytes: u64,
}

/// A run of simple transactions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexedSegment {
    /// The offsets of its first event and after its last one.
    pub range: Range<u64>,
    /// True if its changes may have changed rows that no event contains: by foreign keys, or through a MERGE table.
    pub may_lack_changes: bool,
    /// The earliest and the latest commit, in microseconds since 1970 UTC.
    pub times: (i64, i64),
    /// The GTIDs of its transactions, if the log has GTIDs.
    pub gtids: Option<GtidState>,
    /// The tables of its Table_map events.
    pub tables: Vec<IndexedTable>,
}

/// A table in a segment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexedTable {
    /// The number of its map.
    pub map: usize,
    /// The number of inserted rows.
    pub inserts: u64,
    /// The number of updated rows.
    pub updates: u64,
    /// The number of deleted rows.
    pub deletes: u64,
    /// The facts about its columns, before and after changes.
    pub columns: Vec<IndexedColumn>,
}

/// The values of a column in a segment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexedColumn {
    /// Its number in the table.
    pub column: usize,
    /// The smallest and the largest integer, if they are known; `Some(None)` if all values are NULL.
    pub range: Option<Option<(i128, i128)>>,
    /// The values that are not NULL, if there is a Bloom filter of them.
    pub bloom: Option<Bloom>,
}

/// The first bytes of an index file.
const MAGIC: &[u8] = b"binarrow-index";

/// The version of an index file.
pub const INDEX_VERSION: u8 = 1;

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn index() -> Index {
        let column = |column, range, hashes: &[u64]| IndexedColumn {
            column,
            range,
            bloom: (!hashes.is_empty()).then(|| Bloom::of(hashes, 10)),
        };
        let table =
            |map, columns| IndexedTable { map, inserts: 3, updates: 0, deletes: 1 << 40, columns };
        let segment = |range, gtids, tables| IndexedSegment {
            range,
            may_lack_changes: false,
            times: (-5, 1 << 60),
            gtids,
            tables,
        };
        let uuid = "3e11fa47-71ca-11e1-9e33-c80aa9429562:1-5:7";
        Index {
            binding: Binding {
                stored_bytes: 9000,
                head: 1,
                tail: 2,
                log_bytes: 90_000,
                segment_bytes: 1000,
                most_bytes: 500,
            },
            maps: vec![b"one".to_vec(), Vec::new()],
            segments: vec![
                segment(
                    200..1000,
                    Some(GtidState::Mysql(uuid.parse().unwrap())),
                    vec![table(
                        1,
                        vec![column(0, Some(Some((-(1 << 63), (1 << 64) - 1))), &[1, 2, 3])],
                    )],
                ),
                segment(
                    1000..1001,
                    Some(GtidState::Mariadb("0-1-5,3-1-7".parse().unwrap())),
                    Vec::new(),
                ),
                segment(
                    5000..90_000,
                    None,
                    vec![table(0, vec![column(7, Some(None), &[]), column(9, None, &[4])])],
                ),
            ],
        }
    }

    #[test]
    fn what_is_encoded_is_decoded() {
        let bytes = index().encode();
        assert_eq!(Index::decode(&bytes).unwrap(), index());
    }

    #[test]
    fn every_flip_and_cut_is_noticed() {
        let bytes = index().encode();
        for at in 0..bytes.len() {
            assert!(Index::decode(&bytes[..at]).is_err());
            for bit in 0..8 {
                let mut damaged = bytes.clone();
                damaged[at] ^= 1 << bit;
                assert!(Index::decode(&damaged).is_err(), "{at} {bit}");
            }
        }
    }

    proptest! {
        /// With a correct checksum, any content is safe.
        #[test]
        fn any_content_is_safe(at in 15_usize..200, byte: u8, rest: Vec<u8>) {
            let mut bytes = index().encode();
            bytes.truncate(bytes.len() - 4);
            if let Some(place) = bytes.get_mut(at) {
                *place = byte;
            }
            bytes.extend(rest);
            bytes.extend(crc32fast::hash(&bytes).to_le_bytes());
            if let Ok(found) = Index::decode(&bytes) {
                prop_assert_eq!(Index::decode(&found.encode()).unwrap(), found);
            }
        }

        #[test]
        fn a_bloom_filter_contains_its_values(hashes: Vec<u64>, bits in 1_u32..12) {
            let bloom = Bloom::of(&hashes, bits);
            prop_assert!(hashes.iter().all(|hash| bloom.may_contain(*hash)));
        }
    }
}
