//! Divides files into segments: runs of complete events that can be decoded alone.
//!
//! Input: files, bytes, streams. Output: [`Segment`]s in log order, each with the context that its
//! events need. Only headers and the small events that provide context are read. Called by
//! `reader`.
//!
//! ```text
//! a file: bytes ─ events are found by their headers ─┐
//!                                                    ├─ FileEvents ─ Walk ─ steps ─┬─ Segments ──> Segment, Segment, ...
//! a dump: LiveFile returns complete events ──────────┘                             └─ scan, split ──> positions
//! ```

mod block_input;
mod classify;
mod delivered;
mod event_source;
mod feed;
mod file_head;
mod file_list;
mod follower;
mod gtid_places;
mod index_file;
mod input;
mod listing;
mod live;
mod log_name;
mod logged_statement;
mod markers;
mod options;
mod packed_input;
mod payload;
mod plain_segments;
mod replaced_tables;
mod scan;
mod segment;
mod segment_rule;
mod segments;
mod split;
mod table_history;
mod walk;
mod window;

pub use block_input::BlockInput;
pub(crate) use classify::{encrypted, starts_encryption};
pub use delivered::{Delivered, Left, Turn};
pub(crate) use delivered::{add, only};
pub use event_source::{Event, EventSource, LiveEvents, NextEvent};
pub use feed::{FedFile, FileFeed, ResumePoint};
pub use file_list::{InputFile, InputSource, StoredFile};
pub use gtid_places::GtidPlaces;
pub use input::{BytesInput, FileInput, ForwardInput, Input, SpooledInput};
pub use listing::{Listed, Listing, check_folders, expand, folder, is_one_log, keep_logs};
pub(crate) use live::Connecting;
pub use live::{
    Connector, ForeignKeyQuestion, LiveCounters, LiveFeed, LiveOptions, LiveStart, file_start,
};
pub(crate) use log_name::name_logs;
pub use options::{LogOptions, Start, Stop};
pub(crate) use payload::{PayloadEvents, Unpacker};
pub use plain_segments::{PlainLog, PlainSegment, PlainTable, plain_segments};
pub use replaced_tables::{OnReplaced, ReplacedTables};
pub use scan::{RangeBounds, RangeEnd, range_end, replaced_tables};
pub use segment::{
    CarriedMap, CarriedStatement, FileContext, LargeTransaction, LogItem, PlacedItem, RowsSeen,
    Segment, Span, SpanDetails, SpentSegment,
};
pub(crate) use segment::{commit_version, start_of};
pub use segment_rule::{SegmentRule, SkippedTable};
pub use segments::Segments;
pub use split::{
    FileOf, OpenXa, PreparedPart, SPLIT_VERSION, Split, add_history, link_splits, scan_splits,
};
pub use table_history::TableHistory;
pub(crate) use walk::{FileEnd, FileEvents};
