//! Reads events while their rows are not needed: only the beginnings of events of files.

use super::spool::Spool;
use crate::binlog::{EventHeader, PartialRowData};
use crate::error::{Error, Result};
use crate::limits::MAX_READ;
use crate::source::event_source::{Event, LiveEvents, NextEvent};
use crate::source::input::Input;

/// A reader of the beginnings of events: large pieces where events are small, small ones where they are large.
pub(super) struct HeadReader {
    /// Offset of the next event.
    next: u64,
    bytes: Vec<u8>,
    filled: usize,
    /// Offset of the first byte in `bytes`.
    start: u64,
    read_size: usize,
    /// The bytes of the next event that were read.
    event: Vec<u8>,
}

impl HeadReader {
    /// Starts at the event at `offset`, of which the bytes in `event` were read.
    pub(super) fn new(offset: u64, event: Vec<u8>) -> Self {
        Self {
            next: offset,
            bytes: Vec::new(),
            filled: 0,
            start: offset,
            read_size: LARGE_READ,
            event,
        }
    }

    /// Offset of the next event.
    pub(super) fn offset(&self) -> u64 {
        self.next
    }

    /// The bytes of the next event that were read.
    pub(super) fn event(&self) -> &[u8] {
        &self.event
    }

    /// Continues after an event of `len` bytes.
    pub(super) fn advance(&mut self, len: usize) {
        self.next += len as u64;
        self.event.clear();
    }

    /// The next event of a dump, which is received completely and added to `spool`.
    pub(super) fn receive(
        &mut self,
        events: &mut dyn LiveEvents,
        spool: Option<&mut Spool>,
        may_wait: bool,
    ) -> Result<NextEvent> {
        if !self.event.is_empty() {
            let header = EventHeader::decode(&self.event)?;
            let len = self.event.len();
            return Ok(NextEvent::Event(Event { header, offset: self.next, len }));
        }
        let next = loop {
            match events.next(self.next, &mut self.event, may_wait)? {
                // It says nothing about the transaction.
                NextEvent::Heartbeat => {}
                next => break next,
            }
        };
        if let Some(spool) = spool {
            spool.push(&self.event)?;
        }
        Ok(next)
    }

    /// The next event of a file. At the end of the file, and if it ends inside the event, returns [`NextEvent::End`].
    pub(super) fn peek(&mut self, input: &mut dyn Input) -> Result<NextEvent> {
        let offset = self.next;
        let Some(head) = self.bytes_at(input, offset, EventHeader::LEN)? else {
            return Ok(NextEvent::End);
        };
        let header = EventHeader::decode(head)
            .map_err(|error| Error::from(error).at_event(offset, "event header"))?;
        let size = header.event_size as usize;
        let wanted = if header.event_type.carries_rows() { size.min(ROWS_HEAD) } else { size };
        let mut event = std::mem::take(&mut self.event);
        event.clear();
        match self.bytes_at(input, offset, wanted)? {
            Some(bytes) => event.extend_from_slice(bytes),
            None => return Ok(NextEvent::End),
        }
        self.event = event;
        self.read_size = if size < LARGE_EVENT { LARGE_READ } else { SMALL_READ };
        // Without its last byte the event is incomplete.
        let is_complete =
            wanted == size || self.bytes_at(input, offset + size as u64 - 1, 1)?.is_some();
        Ok(match is_complete {
            true => NextEvent::Event(Event { header, offset, len: size }),
            false => NextEvent::End,
        })
    }

    /// `len` bytes at `offset`; `None` if the input ends before.
    fn bytes_at(
        &mut self,
        input: &mut dyn Input,
        offset: u64,
        len: usize,
    ) -> Result<Option<&[u8]>> {
        let index =
            |start: u64| offset.checked_sub(start).and_then(|index| usize::try_from(index).ok());
        let held = index(self.start).filter(|index| index.saturating_add(len) <= self.filled);
        let at = match held {
            Some(at) => at,
            None => {
                self.refill(input, offset, len)?;
                0
            }
        };
        Ok(self.bytes.get(at..at + len).filter(|_| at + len <= self.filled))
    }

    fn refill(&mut self, input: &mut dyn Input, offset: u64, len: usize) -> Result<()> {
        let wanted = len.max(self.read_size);
        self.start = offset;
        self.filled = 0;
        while self.filled < len {
            let room = wanted.min(self.filled + MAX_READ);
            if self.bytes.len() < room {
                self.bytes.resize(room, 0);
            }
            let to = self.bytes.get_mut(self.filled..room).unwrap_or_default();
            match input.read_at(offset + self.filled as u64, to) {
                Ok(0) => break,
                Ok(count) => self.filled += count,
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(error) => return Err(Error::of_read(offset, error)),
            }
        }
        Ok(())
    }
}

/// Header, table id and flags, after the beginning of a fragment.
const ROWS_HEAD: usize = EventHeader::LEN + PartialRowData::MAX_HEAD + EventHeader::LEN + 8;

const SMALL_READ: usize = 64;
const LARGE_READ: usize = 64 << 10;
const LARGE_EVENT: usize = 4 << 10;
