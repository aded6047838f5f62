//! Compares the rows of two copies of a table by hashes.
//!
//! Input: the hash of the key and the hash of all cells of each row, and the changes in the log between the two copies.
//! Output: the keys whose rows differ. Called by `python`.
//!
//! A row belongs to one of [`PARTS`] parts, by the hash of its key. The sums of the hashes of a part do not depend on the
//! order of its rows. The rows of parts whose sums differ are then compared one by one.
//!
//! | file | does |
//! |---|---|
//! | `collected_rows.rs` | the rows of one copy, as the sums and the chosen rows collect them |
//! | `sums.rs` | the number and the sum of the hashes of each part |
//! | `changes.rs` | the rows that the log changed between the two copies |
//! | `chosen_rows.rs` | the rows of parts that differ |

mod changes;
mod chosen_rows;
mod collected_rows;
mod sums;

pub use changes::RowChanges;
pub use chosen_rows::{ChosenRows, Difference};
pub use collected_rows::CollectedRows;
pub use sums::RowSums;

/// The number of parts of a table: 1.5 MiB of sums.
pub const PARTS: u32 = 1 << PART_BITS;

const PART_BITS: u32 = 16;

/// The part of a row.
pub fn part_of(key: u128) -> u32 {
    // Only the upper bits remain.
    (key >> (u128::BITS - PART_BITS)) as u32
}
