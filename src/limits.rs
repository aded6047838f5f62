//! Upper bounds on untrusted lengths and counts, with the reason for each.
//!
//! In addition to these limits, memory is allocated only for bytes that exist, never for a length
//! or count that is merely stated. An error contains the limit. Sizes are in bytes.
//!
//! | item | limit |
//! |---|---|
//! | an event | [`MAX_EVENT_SIZE`] |
//! | its buffers for reading, decompression and storage | [`MAX_READ`], [`MAX_IN_MEMORY`], [`MAX_INFLATED`] |
//! | a transaction | [`MAX_ROWS_EVENTS`], [`MAX_TABLE_MAPS`], [`MAX_SAVEPOINTS`] |
//! | a table map | [`MAX_COLUMNS`], [`MAX_NAME_BYTES`], [`MAX_ENUM_MEMBERS`], [`MAX_SET_MEMBERS`] |
//! | batches under construction | [`MAX_OPEN_COLUMNS`], and the reader's options |
//! | a JSON document | [`MAX_JSON_DEPTH`] |
//! | GTIDs, XA transactions, file names | [`MAX_TAG_BYTES`], [`MAX_XID_PART_BYTES`], [`MAX_FILE_NAME_BYTES`] |

/// The size of an event: `max_log_event_size` of the servers, which replicas also use as
/// `max_allowed_packet`.
pub const MAX_EVENT_SIZE: u32 = 1 << 30;

/// The size of one read of a file: a wrong event size allocates at most this much memory.
pub const MAX_READ: usize = 4 << 20;

/// The size up to which a compressed transaction is decompressed in one piece. A larger one is
/// decompressed event by event.
pub const MAX_IN_MEMORY: usize = 64 << 20;

/// The size of a decompressed deflate stream of MariaDB (rows or a cell): the largest event, which
/// no cell exceeds either (the maximum of `max_allowed_packet`).
pub const MAX_INFLATED: u64 = 1 << 30;

/// The number of rows events of a transaction: `_change_ordinal` contains their number in 31 bits.
pub const MAX_ROWS_EVENTS: u32 = i32::MAX as u32;

/// The number of table maps of one statement. A statement opens far fewer tables, including those
/// of its triggers and foreign keys. It is also the number of different table maps that are cached
/// from statement to statement.
pub const MAX_TABLE_MAPS: usize = 65_536;

/// The number of savepoints of a transaction that are in force at a time, and of parts that were
/// rolled back. Frameworks set a savepoint for each nested block, with a new name each time, and
/// the log does not contain their release.
pub const MAX_SAVEPOINTS: usize = 1 << 22;

/// The number of columns of a table: `MAX_FIELDS` of the servers.
pub const MAX_COLUMNS: usize = 4096;

/// The size of the name of a database or table: 64 characters of up to 3 bytes.
pub const MAX_NAME_BYTES: usize = 192;

/// The number of members of an ENUM.
pub const MAX_ENUM_MEMBERS: usize = 65_535;

/// The number of members of a SET: one per bit.
pub const MAX_SET_MEMBERS: usize = 64;

/// The number of columns of all batches that a decoder builds at a time; each column needs some
/// hundred bytes, even without rows. With more columns, the batches are returned early.
pub const MAX_OPEN_COLUMNS: usize = 1 << 18;

/// The depth of nested containers: `JSON_DOCUMENT_MAX_DEPTH`; the server refuses deeper documents.
pub const MAX_JSON_DEPTH: usize = 100;

/// The size of the tag of a GTID.
pub const MAX_TAG_BYTES: usize = 32;

/// The size of each of the two parts of an XA transaction's name: `MAXGTRIDSIZE` and
/// `MAXBQUALSIZE`.
pub const MAX_XID_PART_BYTES: usize = 64;

/// The size of the name of the next file: `FN_REFLEN`, without its NUL.
pub const MAX_FILE_NAME_BYTES: usize = 511;
