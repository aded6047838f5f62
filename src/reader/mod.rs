//! From segments to batches: decoding, on one thread or several, in log order.
//!
//! In: files and options. Out: [`ChangeBatch`]es. [`SegmentDecoder`] is a pure function of a segment; [`Reader`] owns the
//! threads. Called by `python`, or by a Rust program directly.
//!
//! ```text
//! Cutter ─ segments ─┬─ SegmentDecoder ─ channel ─┐
//!                    └─ SegmentDecoder ─ channel ─┴─ drained in log order ─ Reader::next
//! ```

mod batch;
mod event_info;
mod event_list;
mod event_options;
mod fragments;
mod hexdump;
mod in_flight;
mod map_cache;
mod options;
mod read;
mod segment_decoder;
mod statement;
mod statement_in_force;
mod stats;
mod table_metadata;

pub use batch::ChangeBatch;
pub use event_info::EventInfo;
pub use event_list::EventList;
pub use event_options::{EventListOptions, EventPlace, EventTypeFilter};
pub use hexdump::hexdump;
pub use options::{BatchLimits, DecodeOptions, ReadOptions};
pub use read::{Poll, Reader};
pub use segment_decoder::{Output, SegmentDecoder};
pub use stats::{GhostTable, Stats, TableStats};

use crate::binlog::{EventType, FormatDescription, TableMap};
use crate::columnar::{PlanOptions, TablePlan};
use crate::error::{Error, Result};
use crate::source::InputFile;
use arrow_schema::SchemaRef;

/// The schema of a table's batches, from its first Table_map event in `files`. `go_on` is asked now and then; where it
/// says no, the search ends with an error.
pub fn infer_schema(
    files: Vec<InputFile>,
    database: &str,
    table: &str,
    options: &PlanOptions,
    go_on: &mut dyn FnMut() -> bool,
) -> Result<SchemaRef> {
    let look = |format: &FormatDescription, body: &[u8]| {
        let map = TableMap::decode(body, format.table_id_width(EventType::TABLE_MAP))?;
        if map.database != database.as_bytes() || map.table != table.as_bytes() {
            return Ok(None);
        }
        TablePlan::try_new(&map, format, options).map(|plan| Some(plan.schema))
    };
    event_list::find_table_map(files, look, go_on)?
        .ok_or_else(|| Error::schema(format!("no change of table {database}.{table} in the input")))
}
