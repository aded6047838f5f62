//! Fits an index into a part of the size of its log. The smallest and largest values come first: those of all columns, of the key
//! alone, or none. Bloom filters get as many bits as there is room for after them, and are left out if these are too few.

use super::{Bloom, Index, IndexedColumn};
use crate::error::{Error, Result};

/// The values of a column in a table of a segment.
#[derive(Debug, Clone, Default)]
pub struct ColumnContent {
    /// Its number in the table.
    pub column: usize,
    /// True if it is a part of the key: its values get a Bloom filter.
    pub is_key: bool,
    /// The smallest and the largest integer; `Some(None)` if all are NULL; `None` if it does not contain integers.
    pub range: Option<Option<(i128, i128)>>,
    /// The hashes of the values, each once.
    pub hashes: Vec<u64>,
}

/// Adds the contents of columns to an index: by segment, by table, in the same order as there.
///
/// # Errors
/// Without any content, the index is too large.
pub fn fit(mut index: Index, contents: &[Vec<Vec<ColumnContent>>]) -> Result<Index> {
    let budget = index.binding.most_bytes as usize;
    for ranges in [Ranges::All, Ranges::Key, Ranges::None] {
        fill(&mut index, contents, ranges, 0);
        let size = index.encode().len();
        if size > budget {
            continue;
        }
        let keys = || contents.iter().flatten().flatten().filter(|column| column.is_key);
        let values: usize = keys().map(|column| column.hashes.len()).sum();
        // Each filter has a length, a number, and a last byte that is not full.
        let overhead = keys().count() * FILTER_OVERHEAD;
        let room = budget.saturating_sub(size + overhead) * 8;
        let bits = room.checked_div(values).unwrap_or(0).min(MOST_BITS) as u32;
        if bits >= LEAST_BITS {
            fill(&mut index, contents, ranges, bits);
        }
        return Ok(index);
    }
    Err(Error::unsupported(format!(
        "the log has too many tables for its size: an index of {budget} bytes cannot contain them"
    )))
}

/// The columns whose smallest and largest values are in the index.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Ranges {
    All,
    Key,
    None,
}

fn fill(index: &mut Index, contents: &[Vec<Vec<ColumnContent>>], ranges: Ranges, bits: u32) {
    for (segment, contents) in index.segments.iter_mut().zip(contents) {
        for (table, contents) in segment.tables.iter_mut().zip(contents) {
            let columns = contents.iter().map(|content| {
                let has_range = ranges == Ranges::All || (ranges == Ranges::Key && content.is_key);
                IndexedColumn {
                    column: content.column,
                    range: content.range.filter(|_| has_range),
                    bloom: (bits > 0 && content.is_key).then(|| Bloom::of(&content.hashes, bits)),
                }
            });
            let is_of_use =
                |column: &IndexedColumn| column.range.is_some() || column.bloom.is_some();
            table.columns = columns.filter(is_of_use).collect();
        }
    }
}

/// With fewer bits per value a Bloom filter skips too little.
const LEAST_BITS: u32 = 3;

/// More bits skip hardly more.
const MOST_BITS: usize = 12;

const FILTER_OVERHEAD: usize = 6;
