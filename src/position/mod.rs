//! Positions in a log: file and offset, MySQL's GTID sets, MariaDB's GTIDs, ids of XA transactions.
//!
//! In: text, JSON, the bytes of events. Out: values that compare, join and print exactly. No I/O. Called by the events of
//! `binlog` that carry such values, by the sources, and by callers who store a [`Position`] and continue there.

mod ahead;
mod ahead_check;
mod gtid;
mod gtid_interval;
mod gtid_set;
mod gtid_state;
mod load_progress;
mod mariadb_gtid;
mod number;
mod order;
mod place;
#[allow(clippy::module_inception)] // the file has the name of its type
mod position;
mod stored_load;
mod stored_position;
mod varint;
mod xid;

pub use ahead::Ahead;
pub use gtid::{Gtid, Tsid};
pub(crate) use gtid::{MAX_GNO, decode_tag};
pub use gtid_set::GtidSet;
pub use gtid_state::GtidState;
pub use load_progress::{ChunkCount, KeyValues, LoadProgress, RowsRead, TableLoad};
pub use mariadb_gtid::{MariadbGtid, MariadbGtidPosition};
pub use order::PositionFields;
pub use place::{OFFSET_VERSION, Place, Time};
pub use position::{Position, PreparedRange, compare_files, file_number};
pub use stored_position::POSITION_VERSION;
pub(crate) use varint::{decode_varint, decode_varint_signed, encode_varint};
pub use xid::Xid;
