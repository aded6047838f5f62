//! Decoders of binary log events, one file per event: they return views that borrow from the bytes.
//! No I/O.
//!
//! Input: the bytes of one event. Output: a struct that borrows from them. A decoder expects the
//! event's body, without the 19-byte header and without the checksum, unless its documentation says
//! otherwise. Called by `source` (events that are not rows) and by `reader` (rows).
//!
//! ```text
//! timestamp u32 | type u8 | server_id u32 | event_size u32 | log_pos u32 | flags u16 | post-header and body | CRC32
//! ```
//!
//! <https://dev.mysql.com/doc/dev/mysql-server/latest/page_protocol_replication_binlog_event.html>

pub mod checksum;
mod compressed;
mod event_type;
mod format_description;
mod gtid;
mod gtid_tagged;
mod header;
mod heartbeat;
mod incident;
mod mariadb_gtid;
mod mariadb_gtid_list;
mod name;
mod optional_metadata;
mod partial_row_data;
mod previous_gtids;
mod query;
mod query_kind;
mod query_text;
mod rotate;
mod rows;
mod rows_query;
mod table_map;
mod transaction_payload;
mod value_options;
mod xa_prepare;
mod xid;

pub use checksum::{CHECKSUM_LEN, ChecksumAlgorithm};
pub use compressed::Compressed;
pub use event_type::{EventType, RowsKind};
pub use format_description::FormatDescription;
pub use gtid::GtidEvent;
pub use header::EventHeader;
pub use heartbeat::{Heartbeat, Offset as HeartbeatOffset};
pub use incident::Incident;
pub use mariadb_gtid::MariadbGtidEvent;
pub use mariadb_gtid_list::MariadbGtidList;
pub use optional_metadata::OptionalMetadata;
pub use partial_row_data::{FragmentOrder, PartialRowData};
pub use previous_gtids::PreviousGtids;
pub use query::{Query, StatusVariable, StatusVariables};
pub use query_kind::QueryKind;
pub use rotate::{FIRST_EVENT_AT, Rotate};
pub use rows::{DUMMY_TABLE_ID, RowsEvent, STMT_END, table_id_and_flags};
pub use rows_query::RowsQuery;
pub use table_map::TableMap;
pub use transaction_payload::{Compression, TransactionPayload};
pub use value_options::partial_columns;
pub use xa_prepare::XaPrepare;
pub use xid::XidEvent;

/// The first bytes of a binary log file.
pub const MAGIC: [u8; 4] = *b"\xfebin";

/// The first bytes of an encrypted binary log file.
pub const ENCRYPTED_MAGIC: [u8; 4] = *b"\xfdbin";
