//! The most that is taken from bytes that may be hostile, and why no honest log has more.
//!
//! Besides these, a length or count is believed only as far as there are bytes for it: room is made for what is there,
//! never for what is said to be there. An error names the limit. Sizes are in bytes.
//!
//! | what | limit |
//! |---|---|
//! | an event | [`MAX_EVENT_SIZE`] |
//! | what it is read, unpacked and kept in | [`MAX_READ`], [`MAX_IN_MEMORY`], [`MAX_INFLATED`], [`MAX_PAYLOAD_SIZE`] |
//! | a transaction | [`MAX_ROWS_EVENTS`], [`MAX_TABLE_MAPS`], [`MAX_SAVEPOINTS`] |
//! | a table map | [`MAX_COLUMNS`], [`MAX_NAME_BYTES`], [`MAX_ENUM_MEMBERS`], [`MAX_SET_MEMBERS`] |
//! | batches under construction | [`MAX_OPEN_COLUMNS`], and what the reader's options say |
//! | a JSON document | [`MAX_JSON_DEPTH`] |
//! | GTIDs, XA transactions, file names | [`MAX_TAG_BYTES`], [`MAX_XID_PART_BYTES`], [`MAX_FILE_NAME_BYTES`] |

/// An event: `max_log_event_size` of the servers, which is also what a replica asks for in `max_allowed_packet`.
pub const MAX_EVENT_SIZE: u32 = 1 << 30;

/// What one read of a file asks for: an event's size that lies makes room for this much at the most.
pub const MAX_READ: usize = 4 << 20;

/// What of a compressed transaction is unpacked in one piece. A larger one is unpacked event by event.
pub const MAX_IN_MEMORY: usize = 64 << 20;

/// What a compressed transaction unpacks to in all. It says how long one event may keep a reader busy, not what room it
/// takes, and a reader can be told less. Servers set no limit to it, but the packed event is no larger than
/// [`MAX_EVENT_SIZE`], and this is a thousand times as much.
pub const MAX_PAYLOAD_SIZE: u64 = 1 << 40;

/// What one deflate stream of MariaDB inflates to, rows or a cell: the largest event, which no cell exceeds either
/// (`max_allowed_packet` stops there).
pub const MAX_INFLATED: u64 = 1 << 30;

/// Rows events of a transaction: `_change_ordinal` keeps their number in 31 bits.
pub const MAX_ROWS_EVENTS: u32 = i32::MAX as u32;

/// Table maps of one statement. A statement opens far fewer tables, with its triggers and foreign keys. It is also how
/// many different maps are remembered from statement to statement, to spare parsing them again.
pub const MAX_TABLE_MAPS: usize = 65_536;

/// Savepoints of a transaction that are in force at a time, and places in it that were rolled back. Frameworks set one for
/// each nested block, under a name of its own, and the log does not say when they are released.
pub const MAX_SAVEPOINTS: usize = 1 << 22;

/// Columns of a table: `MAX_FIELDS` of the servers.
pub const MAX_COLUMNS: usize = 4096;

/// A database's or table's name: 64 characters of up to 3 bytes.
pub const MAX_NAME_BYTES: usize = 192;

/// Members of an ENUM.
pub const MAX_ENUM_MEMBERS: usize = 65_535;

/// Members of a SET: one a bit.
pub const MAX_SET_MEMBERS: usize = 64;

/// Columns of all the batches that a decoder builds at a time; each takes some hundred bytes, without a row. With more,
/// the batches go out as they are.
pub const MAX_OPEN_COLUMNS: usize = 1 << 18;

/// Containers within containers: `JSON_DOCUMENT_MAX_DEPTH`, the server refuses deeper documents.
pub const MAX_JSON_DEPTH: usize = 100;

/// The tag of a GTID.
pub const MAX_TAG_BYTES: usize = 32;

/// Each of the two parts of an XA transaction's name: `MAXGTRIDSIZE` and `MAXBQUALSIZE`.
pub const MAX_XID_PART_BYTES: usize = 64;

/// The name of the next file: `FN_REFLEN`, without its NUL.
pub const MAX_FILE_NAME_BYTES: usize = 511;
