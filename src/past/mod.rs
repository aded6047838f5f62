//! The rows that a table had at a place in the log.
//!
//! Input: the changes since that place, then the rows that the table has now. Output: record batches of the rows that it had.
//! Called by `python`.
//!
//! ```text
//! changes since then ──> PastRows ──> rows before the changes
//! rows now ────────────>          ──> rows now, without those that changes wrote
//! ```
//!
//! With a key, the first change of a key decides: the row before it, or no row if it is an insert. The other rows that the table
//! has now were not changed. Changes that the rows do not contain yet do no harm, so the place of the rows need not be exact.
//!
//! `PastRows` also finds the rows at a later place, from the rows at an earlier place and the changes between both. Then the changes
//! are added in reverse order, and the rows before and after each change are exchanged, so the last change of a key decides.
//!
//! Without a key, rows are counted: rows now, plus rows before changes, minus rows after changes. The place must be exact.
//!
//! | file | does |
//! |---|---|
//! | `rows.rs` | `PastRows` |
//! | `table.rs` | the columns of the table that identify and compare rows |
//! | `keyed.rs` | the first change of each key |
//! | `counted.rs` | the number of equal rows |

mod counted;
mod keyed;
mod rows;
mod table;

pub use rows::{KnownRows, PastRows, envelope};
