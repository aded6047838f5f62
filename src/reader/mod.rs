//! Decodes segments to batches, in one thread or several, and returns them in log order.
//!
//! Input: files and options. Output: [`ChangeBatch`]es. [`SegmentDecoder`] is a pure function of a
//! segment; [`Reader`] owns the threads. Called by `python`, or by a Rust program directly.
//!
//! ```text
//! Segments ─ segment ──┬─ SegmentDecoder ─ channel ─┐
//!                      └─ SegmentDecoder ─ channel ─┴─ drained in log order ─ Reader::next
//! ```

mod batch;
mod event_info;
mod event_list;
mod event_options;
mod hexdump;
mod in_flight;
mod index_build;
mod index_rule;
mod known_tables;
mod options;
mod parts;
mod pipeline;
mod read;
mod resume;
mod rows_writer;
mod segment_decoder;
mod statement;
mod stats;
mod table_metadata;
mod unlogged_changes;

pub use batch::ChangeBatch;
pub use event_info::EventInfo;
pub use event_list::EventList;
pub use event_options::{EventListOptions, EventPlace, EventTypeFilter};
pub use hexdump::hexdump;
pub use index_build::{INDEX_SEGMENT_BYTES, build_index};
pub use known_tables::KnownTables;
pub use options::{BatchLimits, DecodeOptions, ReadOptions};
pub use parts::{Part, Parts};
pub use pipeline::Waiter;
pub use read::{Poll, Reader, adapt};
pub use resume::{Progress, Reach, TableKey, Tracker, Upto};
pub use rows_writer::{RowsWriter, TableWriter, WrittenRows};
pub use segment_decoder::{Output, SegmentDecoder};
pub use stats::{GhostTable, Stats, TableStats};
pub use unlogged_changes::{Reaction, UnloggedChanges, UnloggedCount, UnloggedCounts};

use crate::binlog::{EventType, FormatDescription, TableMap};
use crate::cancel::CancelToken;
use crate::change::TableFilter;
use crate::columnar::{PlanOptions, TablePlan};
use crate::error::{Error, Result};
use crate::history::SchemaHistory;
use crate::source::{InputFile, LogOptions, TableHistory};
use arrow_schema::SchemaRef;
use std::sync::Arc;
use std::time::Duration;

/// The schema of a table's batches, from its first Table_map event in `files`.
pub fn infer_schema(
    files: Vec<InputFile>,
    database: &str,
    table: &str,
    options: &PlanOptions,
    cancel: &CancelToken,
) -> Result<SchemaRef> {
    let look = |format: &FormatDescription, body: &[u8]| {
        let map = TableMap::decode(body, format.table_id_width(EventType::TABLE_MAP))?;
        if map.database != database.as_bytes() || map.table != table.as_bytes() {
            return Ok(None);
        }
        TablePlan::try_new(&map, format, options).map(|plan| Some(plan.schema))
    };
    event_list::find_table_map(files, look, cancel)?
        .ok_or_else(|| Error::schema(format!("no change of table {database}.{table} in the input")))
}

/// The schema of a table's batches, with the structures of a history, for the table's first rows in
/// `files`.
pub fn infer_schema_by(
    history: &Arc<SchemaHistory>,
    files: Vec<InputFile>,
    (database, table): (&str, &str),
    plan: PlanOptions,
    cancel: &CancelToken,
) -> Result<SchemaRef> {
    let history = Some(TableHistory::Shared(Arc::clone(history)));
    let tables = TableFilter::exactly(database, table);
    let options = ReadOptions {
        cut: LogOptions { history, skip_statements: true, ..LogOptions::default() },
        decode: DecodeOptions { tables, plan, ..DecodeOptions::default() },
        threads: 1,
        uses_indexes: false,
    };
    let mut reader = Reader::try_new(files, options)?;
    loop {
        match reader.poll(ASK_AGAIN)? {
            Poll::Batch(batch) => return Ok(Arc::clone(&batch.plan.schema)),
            Poll::End => {
                return Err(Error::schema(format!(
                    "no change of table {database}.{table} in the input"
                )));
            }
            Poll::Pending | Poll::Item(_) => cancel.check()?,
        }
    }
}

/// Time between two checks of the token.
const ASK_AGAIN: Duration = Duration::from_millis(50);
