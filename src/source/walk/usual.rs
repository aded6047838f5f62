//! Usual transactions: a GTID, BEGIN, a few rows events and a Xid. Most transactions have this form. They are read in one step if
//! they are complete in memory. All other transactions, and all errors, are read event by event.

use crate::binlog::{
    CHECKSUM_LEN, ChecksumAlgorithm, EventHeader, EventType, FormatDescription, Query, XidEvent,
    table_id_and_flags,
};
use crate::change::{LoggedGtid, Transaction, TransactionEvent};
use crate::limits::MAX_EVENT_SIZE;
use crate::source::classify::gtid;
use crate::source::event_source::Event;
use std::ops::Range;

/// A complete transaction.
pub(super) struct UsualTransaction {
    /// Its properties.
    pub(super) transaction: Transaction,
    /// Its GTID, if it has one.
    pub(super) gtid: Option<LoggedGtid>,
    /// The number of its rows events.
    pub(super) rows_events: u32,
    /// The offsets from its first Table_map event, if it has one, to its last event.
    pub(super) rows: Range<u64>,
    /// Its last event.
    pub(super) last: Event,
}

impl UsualTransaction {
    /// The usual transaction at the start of `bytes`, which are at offset `start`, if there is one of at most `limit` bytes.
    pub(super) fn find(
        (bytes, start): (&[u8], u64),
        format: &FormatDescription,
        verify_checksum: bool,
        limit: usize,
    ) -> Option<Self> {
        let bytes = bytes.get(..limit).unwrap_or(bytes);
        let last_at = last_event(bytes)?;
        let check = |event: &[u8]| !verify_checksum || format.checksum.check(event).is_ok();
        let body = |event| body(event, format.checksum);

        let (_, first) = event_at(bytes, 0)?;
        let header = EventHeader::decode(first).ok()?;
        let opening = check(first).then(|| gtid(&header, body(first)?).ok())??;
        let TransactionEvent::Gtid {
            gtid,
            mut begins,
            commit_timestamp,
            original_commit_timestamp,
            mut thread_id,
            without_effect: false,
        } = opening
        else {
            return None;
        };
        let (mut at, mut rows_at, mut rows_events) = (first.len(), first.len(), 0);
        while at < last_at {
            let (event_type, event) = event_at(bytes, at)?;
            at += event.len();
            match event_type {
                EventType::QUERY if !begins && rows_events == 0 && check(event) => {
                    let query = Query::decode(body(event)?).ok()?;
                    if query.sql != b"BEGIN" {
                        return None;
                    }
                    begins = true;
                    thread_id.get_or_insert(query.thread_id);
                    rows_at = at;
                }
                EventType::TABLE_MAP if begins && check(event) => {}
                // Workers check the rows.
                _ if begins && event_type.is_rows() && !event_type.is_pre_ga() => {
                    let id_width = format.table_id_width(event_type);
                    table_id_and_flags(body(event)?, id_width).ok()?;
                    rows_events += 1;
                }
                _ => return None,
            }
        }
        let (_, event) = event_at(bytes, last_at)?;
        let last = EventHeader::decode(event).ok()?;
        let xid = check(event).then(|| XidEvent::decode(body(event)?).ok())??.xid;
        let header_time = i64::from(header.timestamp) * 1_000_000;
        let commit_timestamp = commit_timestamp.unwrap_or(header_time);
        let rows_end = start + last_at as u64;
        begins.then(|| Self {
            transaction: Transaction {
                original_commit_timestamp,
                thread_id,
                xid: Some(xid),
                ..Transaction::new(start, commit_timestamp, header.server_id)
            },
            gtid,
            rows_events,
            rows: start + rows_at as u64..rows_end,
            last: Event { header: last, offset: rows_end, len: event.len() },
        })
    }
}

/// The place of the Xid event of a transaction that begins with a GTID.
fn last_event(bytes: &[u8]) -> Option<usize> {
    let mut at = 0;
    for number in 0..MAX_EVENTS {
        let (event_type, event) = event_at(bytes, at)?;
        match event_type {
            EventType::GTID
            | EventType::ANONYMOUS_GTID
            | EventType::GTID_TAGGED
            | EventType::MARIADB_GTID
                if number == 0 => {}
            EventType::XID if number > 0 => return Some(at),
            _ if number == 0 => return None,
            _ => {}
        }
        at += event.len();
    }
    None
}

/// The type and the bytes of an event, if it is complete.
#[inline]
fn event_at(bytes: &[u8], at: usize) -> Option<(EventType, &[u8])> {
    let rest = bytes.get(at..)?;
    let [_, _, _, _, event_type, _, _, _, _, size @ .., _, _, _, _, _, _] =
        rest.first_chunk::<{ EventHeader::LEN }>()?;
    let size = u32::from_le_bytes(*size);
    let is_size = (EventHeader::LEN as u32..=MAX_EVENT_SIZE).contains(&size);
    Some((EventType(*event_type), is_size.then(|| rest.get(..size as usize))??))
}

/// The bytes between an event's header and its checksum.
#[inline]
fn body(event: &[u8], checksum: ChecksumAlgorithm) -> Option<&[u8]> {
    let end = match checksum {
        ChecksumAlgorithm::Off => event.len(),
        ChecksumAlgorithm::Crc32 => event.len().checked_sub(CHECKSUM_LEN)?,
    };
    event.get(EventHeader::LEN..end)
}

/// Transactions with more events than this are read event by event.
const MAX_EVENTS: usize = 128;
