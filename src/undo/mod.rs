//! SQL that reverses the changes of batches, or repeats them.
//!
//! Input: batches in the nested layout, read with [`types`] and [`ENVELOPE`]. Output: bytes of SQL,
//! with the transactions and the rows of each transaction in reverse order, or for
//! [`Direction::Redo`] in the order of the log. Nothing is executed here. Called by `python`.
//!
//! ```text
//! ChangeBatch ─ changes ─ part ── runs of changes as text ── block ── a temporary file ── pieces
//!                         statement, joined (rows per statement)   ordered, with transactions
//!                         cells (one function per column)
//!                         literal (text, bytes, numbers)
//! ```
//!
//! A segment of the log is a block of text, and blocks are returned from the last to the first. So
//! the memory does not depend on the number of changes, and not on the size of a transaction.

mod block;
mod cells;
mod changes;
mod columns;
mod header;
mod joined;
mod literal;
mod options;
mod part;
mod same;
mod script;
mod statement;
mod table;
mod zone;

use crate::binlog::RowsKind;
use crate::columnar::{
    Enumeration, EnvelopeColumn, Geometry, InvalidText, Json, Profile, Time, TypeOptions, ZeroDates,
};
pub use options::{Picked, UndoOptions};
pub use script::UndoScript;
pub use table::TableCounts;
pub use zone::Zone;

/// The effect of the SQL.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Direction {
    /// Rows become as they were before the changes.
    Undo,
    /// Rows become as they were after the changes.
    Redo,
}

/// The Arrow types of the batches: values as they are stored.
///
/// With `is_filtered`, text is converted to UTF-8, because filters compare text. Text of a
/// character set other than Unicode, latin1 and ASCII may then be refused. If a direction is given,
/// only the keys of rows that the script deletes are decoded, unless a filter needs other columns.
pub const fn types(is_filtered: bool, direction: Option<Direction>) -> TypeOptions {
    TypeOptions {
        zero_dates: ZeroDates::Text,
        time: Time::Text,
        enumeration: Enumeration::Dictionary,
        geometry: Geometry::Mysql,
        json: Json::Bytes,
        invalid_text: if is_filtered { InvalidText::Error } else { InvalidText::Binary },
        key_of: match direction {
            Some(Direction::Undo) if !is_filtered => Some(RowsKind::Write),
            Some(Direction::Redo) if !is_filtered => Some(RowsKind::Delete),
            _ => None,
        },
        ..TypeOptions::new(Profile::Native)
    }
}

/// The columns of the envelope of the batches.
pub const ENVELOPE: [EnvelopeColumn; 8] = [
    EnvelopeColumn::CommitVersion,
    EnvelopeColumn::CommitTimestamp,
    EnvelopeColumn::ChangeOrdinal,
    EnvelopeColumn::BinlogFile,
    EnvelopeColumn::BinlogPosition,
    EnvelopeColumn::Gtid,
    EnvelopeColumn::ThreadId,
    EnvelopeColumn::Present,
];
