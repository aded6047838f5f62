//! SQL that reverses the changes of batches, or repeats them.
//!
//! Input: the changes of a log, read with [`types`] and [`ENVELOPE`]. Output: bytes of SQL, with the
//! transactions and the rows of each transaction in reverse order, or for [`Direction::Redo`] in the
//! order of the log. Nothing is executed here. Called by `python`.
//!
//! ```text
//! RowsEvent ─── sql_writer ─ event_rows (stored_cells) ─┐
//! ChangeBatch ─ part ─────── batch_rows (cells) ────────┴─ statement ─ run_writer ─ block ─ a temporary file ─ pieces
//!                                                          literal     joined       ordered, with transactions
//! ```
//!
//! Usually the threads that decode the events write SQL directly from them. Batches are needed for filters, for rows that actions
//! of foreign keys changed, and for events with changes inside JSON documents.
//!
//! A segment of the log is a block of text, and blocks are returned from the last to the first. So
//! the memory does not depend on the number of changes, and not on the size of a transaction.

mod batch_rows;
mod block;
mod cells;
mod changes;
mod columns;
mod event_rows;
mod header;
mod joined;
mod literal;
mod options;
mod part;
mod rows;
mod run;
mod run_writer;
mod same;
mod script;
mod spare;
mod sql_writer;
mod statement;
mod stored_cells;
mod table;
mod transaction;
mod zone;

use crate::columnar::{
    Enumeration, EnvelopeColumn, Geometry, InvalidText, Json, Profile, Time, TypeOptions, ZeroDates,
};
pub use options::{Picked, UndoOptions};
pub use script::{Piece, UndoScript};
pub use sql_writer::SqlWriter;
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
/// character set other than Unicode, latin1 and ASCII may then be refused.
pub const fn types(is_filtered: bool) -> TypeOptions {
    TypeOptions {
        zero_dates: ZeroDates::Text,
        time: Time::Text,
        enumeration: Enumeration::Dictionary,
        geometry: Geometry::Mysql,
        json: Json::Bytes,
        invalid_text: if is_filtered { InvalidText::Error } else { InvalidText::Binary },
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
