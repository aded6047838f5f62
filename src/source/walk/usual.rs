//! Usual transactions: a GTID, BEGIN, a few rows events and a Xid. Most transactions have this form. They are read in one step if
//! they are complete in memory. All other transactions, and all errors, are read event by event.

use crate::binlog::{
    CHECKSUM_LEN, ChecksumAlgorithm, EventHeader, EventType, FormatDescription, Query, XidEvent,
    table_id_and_flags,
};
use crate::change::TransactionEvent;
use crate::limits::MAX_EVENT_SIZE;
use crate::source::classify::gtid;

/// A complete transaction.
pub(super) struct UsualTransaction {
    /// The header of its first event.
    pub(super) first: EventHeader,
    /// The first event, classified.
    pub(super) opening: TransactionEvent,
    /// The id of the connection, from its BEGIN.
    pub(super) thread_id: Option<u32>,
    /// The number of its bytes before the first Table_map event.
    pub(super) rows_at: usize,
    /// The number of its rows events.
    pub(super) rows_events: u32,
    /// The number in its Xid event.
    pub(super) xid: u64,
    /// The header of its last event.
    pub(super) last: EventHeader,
    /// The number of its bytes before the last event.
    pub(super) last_at: usize,
}

impl UsualTransaction {
    /// The usual transaction at the start of `bytes`, if there is one of at most `limit` bytes.
    pub(super) fn find(
        bytes: &[u8],
        format: &FormatDescription,
        verify_checksum: bool,
        limit: usize,
    ) -> Option<Self> {
        let bytes = bytes.get(..limit).unwrap_or(bytes);
        let last_at = last_event(bytes)?;
        let check = |event: &[u8]| !verify_checksum || format.checksum.check(event).is_ok();
        let body = |event| body(event, format.checksum);

        let (mut at, mut is_first, mut begins) = (0, true, false);
        let (mut opening, mut thread_id, mut rows_events) = (None, None, 0);
        let mut rows_at = 0;
        while at < last_at {
            let (event_type, event) = event_at(bytes, at)?;
            at += event.len();
            if std::mem::take(&mut is_first) {
                let header = EventHeader::decode(event).ok()?;
                let event = check(event).then(|| gtid(&header, body(event)?).ok())??;
                if let TransactionEvent::Gtid { begins: value, .. } = &event {
                    begins = *value;
                }
                rows_at = at;
                opening = Some((header, event));
                continue;
            }
            match event_type {
                EventType::QUERY if !begins && rows_events == 0 && check(event) => {
                    let query = Query::decode(body(event)?).ok()?;
                    if query.sql != b"BEGIN" {
                        return None;
                    }
                    (begins, thread_id) = (true, Some(query.thread_id));
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
        let (first, opening) = opening?;
        begins.then_some(Self {
            first,
            opening,
            thread_id,
            rows_at,
            rows_events,
            xid,
            last,
            last_at,
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
