//! How a transaction ends, found by its headers before any of its rows is handed out.

use super::classify::{Classified, Skips, body, check_crc, classify};
use super::input::Input;
use crate::binlog::{EventHeader, EventType, FormatDescription, PartialRowData};
use crate::change::{Group, GroupTracker, Outcome, Verdict};
use crate::error::{Error, Result};
use crate::limits::MAX_READ;

/// The end of a group that was looked for.
#[derive(Debug)]
pub(super) struct FoundEnd {
    /// Offset after the group's last whole event.
    pub(super) end: u64,
    /// How it ended; `None` where the input ends first.
    pub(super) outcome: Option<Outcome>,
    /// The group with what was undone in it.
    pub(super) group: Option<Group>,
}

/// Takes a statement of the group: header, body, offset, the number of rows events before it, and true if it is skipped.
pub(super) type OnStatement<'f> = dyn FnMut((&EventHeader, &[u8]), (u64, u32), bool) + 'f;

/// Walks from the group's first event at `start` to its end. Bodies of rows events are not read.
pub(super) fn look_ahead(
    input: &mut dyn Input,
    start: u64,
    format: &FormatDescription,
    skips: &Skips,
    verify_checksum: bool,
    on_statement: &mut OnStatement<'_>,
) -> Result<FoundEnd> {
    let mut walk = HeaderWalk { input, bytes: Vec::new(), filled: 0, start, read_size: LARGE_READ };
    let mut tracker = GroupTracker::default();
    let mut offset = start;
    loop {
        let Some(head) = walk.bytes_at(offset, EventHeader::LEN)? else {
            return Ok(FoundEnd { end: offset, outcome: None, group: tracker.take() });
        };
        let header = EventHeader::decode(head)
            .map_err(|error| Error::from(error).at_event(offset, "event header"))?;
        let size = header.event_size as usize;
        let end = offset + u64::from(header.event_size);
        let at = |error: Error| error.at_event(offset, header.event_type.name());
        let wanted = if needs_body(header.event_type) { size } else { size.min(ROWS_HEAD) };
        let Some(event) = walk.bytes_at(offset, wanted)? else {
            return Ok(FoundEnd { end: offset, outcome: None, group: tracker.take() });
        };
        let body = if wanted == size {
            if verify_checksum && needs_body(header.event_type) {
                check_crc(event, format.checksum).map_err(at)?;
            }
            body(event, format.checksum).map_err(at)?
        } else {
            event.get(EventHeader::LEN..).unwrap_or_default()
        };
        let classified = classify(&header, body, format, skips).map_err(at)?;
        if let Classified::Group(event) = &classified
            && event.is_other_statement()
        {
            let rows_before = tracker.group().map_or(0, |group| group.rows_events);
            on_statement((&header, body), (offset, rows_before), event.is_skipped());
        }
        walk.after_event_of(size);
        // The last byte must be there, or the event is cut.
        if walk.bytes_at(end - 1, 1)?.is_none() {
            return Ok(FoundEnd { end: offset, outcome: None, group: tracker.take() });
        }
        // What belongs to no group is passed over, as the cutter does.
        if let Classified::Group(event) = classified {
            let verdict =
                tracker.on_event(event, offset, header.timestamp, header.server_id).map_err(at)?;
            if let Verdict::Ends(outcome) = verdict {
                return Ok(FoundEnd { end, outcome: Some(outcome), group: tracker.take() });
            }
        }
        offset = end;
    }
}

/// Whether more than the head of an event says what it does to its group. Workers check the others' checksums.
const fn needs_body(event_type: EventType) -> bool {
    !event_type.carries_rows() && !matches!(event_type, EventType::TRANSACTION_PAYLOAD)
}

/// Header, table id and flags; behind a fragment's own head.
const ROWS_HEAD: usize = EventHeader::LEN + PartialRowData::MAX_HEAD + EventHeader::LEN + 8;

/// Bytes at rising offsets, read in large pieces where events are small and in small ones where they are large.
struct HeaderWalk<'i> {
    input: &'i mut dyn Input,
    bytes: Vec<u8>,
    filled: usize,
    start: u64,
    read_size: usize,
}

impl HeaderWalk<'_> {
    /// `len` bytes at `offset`; `None` where the input ends before.
    fn bytes_at(&mut self, offset: u64, len: usize) -> Result<Option<&[u8]>> {
        let index =
            |start: u64| offset.checked_sub(start).and_then(|index| usize::try_from(index).ok());
        let held = index(self.start).filter(|index| index.saturating_add(len) <= self.filled);
        let at = match held {
            Some(at) => at,
            None => {
                self.refill(offset, len)?;
                0
            }
        };
        Ok(self.bytes.get(at..at + len).filter(|_| at + len <= self.filled))
    }

    fn refill(&mut self, offset: u64, len: usize) -> Result<()> {
        let wanted = len.max(self.read_size);
        self.start = offset;
        self.filled = 0;
        while self.filled < len {
            let room = wanted.min(self.filled + MAX_READ);
            if self.bytes.len() < room {
                self.bytes.resize(room, 0);
            }
            let to = self.bytes.get_mut(self.filled..room).unwrap_or_default();
            match self.input.read_at(offset + self.filled as u64, to) {
                Ok(0) => break,
                Ok(count) => self.filled += count,
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(error) => return Err(Error::of_read(offset, error)),
            }
        }
        Ok(())
    }

    fn after_event_of(&mut self, size: usize) {
        self.read_size = if size < LARGE_EVENT { LARGE_READ } else { SMALL_READ };
    }
}

const SMALL_READ: usize = 64;
const LARGE_READ: usize = 64 << 10;
const LARGE_EVENT: usize = 4 << 10;
