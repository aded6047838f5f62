//! Damaged input is an error with file, offset and event type; it returns no row and never causes a
//! panic.
//!
//! Numbers such as H4 are those of the project's original list of hostile input.
//!
//! | number | where |
//! |---|---|
//! | H1 to H3 | [`damage`] |
//! | H4, H19, H24, H25 | [`events`]; status variables: `transactions/groups.rs` |
//! | H5, H6, H11, H16 | [`table_maps`] |
//! | H7 to H10, H12, H13 | [`rows`] |
//! | H14, H15 | [`documents`]; diffs: `partial_json.rs` |
//! | H17 | [`payloads`]; one that is larger than the memory after decompression: `memory.rs` |
//! | H18, H23 | `mariadb.rs`, `memory.rs` |
//! | H20 to H22 | [`gtids`] |
//!
//! Time and memory: `memory.rs` checks the peak of memory for files with wrong lengths, and for
//! decompression bombs.

mod damage;
mod documents;
mod events;
mod files;
mod gtids;
mod payloads;
mod rows;
mod table_maps;

use crate::log::{
    Event, Log, T, TABLE_MAP, WRITE_ROWS, begin, gtid, input, stop, transaction, xid,
};
use crate::rows::{decode, options, segments_of};
use binarrow::{Error, ErrorKind};
pub(crate) use documents::documents_that_lie;

/// Decodes a good transaction, then one that contains `events`, then a good one. The event `broken`
/// must be the one that fails; only the first transaction returns rows.
pub(crate) fn hostile(events: impl IntoIterator<Item = Event>, broken: usize) -> Error {
    let events: Vec<Event> = events.into_iter().collect();
    let without = hostile_in(&Log::without_checksums(), events.clone(), broken);
    let error = hostile_in(&Log::mysql(), events, broken);
    assert_eq!(error.message(), without.message());
    error
}

fn hostile_in(log: &Log, events: Vec<Event>, broken: usize) -> Error {
    let log = log.clone().with(transaction(1, [1])).with([gtid(2), begin()]);
    let first = log.starts.len();
    let log = log.with(events).with([xid()]).with(transaction(3, [3])).with([stop()]);
    let (offset, code) =
        (log.starts[first + broken], log.bytes[log.starts[first + broken] as usize + 4]);
    for options in [options(), segments_of(1)] {
        let outcome = decode(log.clone().inputs(), &options);
        assert_eq!(outcome.inserted(), [1], "{:?}", outcome.error);
        let error = outcome.failure();
        assert!(matches!(error.kind(), ErrorKind::Malformed | ErrorKind::Unsupported), "{error:?}");
        assert_located(error, offset, binarrow::binlog::EventType(code).name());
    }
    decode(log.inputs(), &options()).error.unwrap()
}

/// The rows that events cause inside a transaction.
pub(crate) fn harmless(events: impl IntoIterator<Item = Event>) -> Vec<String> {
    let log = Log::mysql().with([gtid(1), begin()]).with(events).with([xid(), stop()]);
    let outcome = decode(log.inputs(), &options()).ok();
    outcome.changes()
}

pub(crate) fn failure(bytes: Vec<u8>) -> Error {
    let outcome = decode(vec![input("binlog.000001", 1, bytes)], &options());
    assert_eq!(outcome.rows, []);
    outcome.error.unwrap()
}

pub(crate) fn assert_located(error: &Error, offset: u64, event: &str) {
    assert_eq!((error.offset(), error.event()), (Some(offset), Some(event)), "{error:?}");
    assert!(error.file().is_some(), "{error:?}");
}

/// A table map with these types and metadata; all columns are nullable; `optional` follows.
pub(crate) fn map_of(types: &[u8], metadata: &[u8], optional: &[u8]) -> Event {
    let mut body = T.id.to_le_bytes()[..6].to_vec();
    body.extend([1, 0, 1, b'd', 0, 1, b't', 0, types.len() as u8]);
    body.extend(types);
    body.push(metadata.len() as u8);
    body.extend(metadata);
    body.extend(vec![0xff; types.len().div_ceil(8)]);
    body.extend(optional);
    Event::new(TABLE_MAP, body)
}

/// The optional metadata of one column that is not UNSIGNED.
pub(crate) const SIGNED: [u8; 3] = [1, 1, 0];

/// A Write_rows of one row of one column that is not NULL.
pub(crate) fn one_cell(cell: &[u8]) -> Event {
    let mut body = T.id.to_le_bytes()[..6].to_vec();
    body.extend([1, 0, 2, 0, 1, 0xff, 0xfe]);
    body.extend(cell);
    Event::new(WRITE_ROWS, body)
}
