//! Converts batches to the change events of other tools, one JSON object per line; and batches of
//! many tables to batches of one schema.
//!
//! Input: a batch in the nested layout, read with [`EventFormat::types`] and
//! [`EventFormat::envelope`], or as [`NestedJson`] requires. Output: bytes, or a batch. Pure
//! functions: they use no file and no clock. Called by `python`.
//!
//! ```text
//! ChangeBatch ─ nested (op, before, after, envelope) ─┬─ ticdc      {"commit-ts": …, "columns": […], "pre-columns": […]}
//!               cell (one writer per column)          ├─ debezium   {"before": …, "after": …, "source": …, "op": "u", …}
//!                                                     └─ nested_json  RecordBatch: table, op, before and after as documents
//! ```

mod cell;
mod debezium;
mod nested;
mod nested_json;
mod ticdc;

use crate::columnar::{Enumeration, EnvelopeColumn, Geometry, Time, TypeOptions, ZeroDates};
use crate::error::Result;
use crate::reader::ChangeBatch;
pub use nested_json::{AlteredTable, NestedJson};

/// The format of change events.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum EventFormat {
    /// TiCDC's row changed events.
    Ticdc,
    /// The values of Debezium's MySQL and MariaDB connectors, without their schemas.
    Debezium,
}

/// The parts of events that are not in the log.
#[derive(Debug, Clone, Copy)]
pub struct EventOptions<'o> {
    /// The format.
    pub format: EventFormat,
    /// Debezium's logical name of the server (`topic.prefix`).
    pub source_name: &'o str,
    /// Debezium's `ts_ms`: milliseconds since 1970 UTC of the export.
    pub processed_ms: i64,
}

impl EventFormat {
    /// The Arrow types that the format needs.
    pub const fn types(self) -> TypeOptions {
        let types = TypeOptions::new(crate::columnar::Profile::Native);
        match self {
            Self::Ticdc => TypeOptions {
                zero_dates: ZeroDates::Text,
                time: Time::Text,
                enumeration: Enumeration::Ordinal,
                geometry: Geometry::Mysql,
                ..types
            },
            Self::Debezium => {
                TypeOptions { enumeration: Enumeration::Text, geometry: Geometry::Mysql, ..types }
            }
        }
    }

    /// The columns of the envelope that the format needs, in addition to those that the nested
    /// layout always has. `_query` may be among them.
    pub const fn envelope(self) -> &'static [EnvelopeColumn] {
        use EnvelopeColumn as C;
        match self {
            Self::Ticdc => &[C::CommitVersion, C::Present],
            Self::Debezium => &[
                C::CommitTimestamp,
                C::ChangeOrdinal,
                C::Gtid,
                C::BinlogFile,
                C::BinlogPosition,
                C::ServerId,
                C::ThreadId,
                C::Present,
            ],
        }
    }
}

/// Appends an event for each change of the batch, each with a line feed.
///
/// # Errors
/// The batch is not in the nested layout, or was read with other types or columns.
pub fn write_events(
    change: &ChangeBatch,
    options: &EventOptions<'_>,
    out: &mut Vec<u8>,
) -> Result<()> {
    match options.format {
        EventFormat::Ticdc => ticdc::write(change, out),
        EventFormat::Debezium => debezium::write(change, options, out),
    }
}
