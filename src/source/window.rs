//! Bytes of an input, read ahead in pieces, with an event at a time looked at in place.

use super::input::Input;
use crate::binlog::{EventHeader, FIRST_EVENT_AT};
use crate::error::{Error, Result};
use crate::limits::MAX_READ;
use std::sync::Arc;

/// A buffer over a part of an input: from the start of the segment at hand to what has been read ahead.
pub(crate) struct Window {
    input: Box<dyn Input>,
    name: Arc<str>,
    bytes: Vec<u8>,
    /// How much of `bytes` holds input; the rest is room that was made before.
    filled: usize,
    /// Offset in the input of the first byte.
    start: u64,
    /// Index in `bytes` of the next event.
    next: usize,
    chunk: usize,
    /// Buffers that were used before, to be used again.
    spare: Vec<Vec<u8>>,
}

/// What stands at the window's next place.
#[derive(Debug)]
pub(crate) enum RawEvent {
    /// A whole event, `len` bytes at index `at`.
    Whole {
        /// Its header.
        header: EventHeader,
        /// Index of its first byte in the window.
        at: usize,
        /// Its bytes, the checksum included.
        len: usize,
    },
    /// The input ends here, between events.
    End,
    /// The input ends in the middle of an event.
    Cut,
}

impl Window {
    /// A window at `offset`.
    pub(crate) fn new(input: Box<dyn Input>, name: Arc<str>, offset: u64, chunk: usize) -> Self {
        Self {
            input,
            name,
            bytes: Vec::new(),
            filled: 0,
            start: offset,
            next: 0,
            chunk,
            spare: Vec::new(),
        }
    }

    /// Offset of the next event.
    pub(crate) fn offset(&self) -> u64 {
        self.start + self.next as u64
    }

    /// Offset of the first byte kept.
    pub(crate) fn start(&self) -> u64 {
        self.start
    }

    /// Bytes from the first kept to the next event.
    pub(crate) fn kept(&self) -> usize {
        self.next
    }

    /// The input behind it.
    pub(crate) fn input(&mut self) -> &mut dyn Input {
        &mut *self.input
    }

    /// What is before the first byte kept will not be read again.
    pub(crate) fn release(&mut self) {
        self.input.forget(self.start);
    }

    /// Whether the input goes on behind a hole, at which the next event is then. A hole of no length tells of a heartbeat.
    pub(crate) fn pass_hole(&mut self) -> Result<bool> {
        let offset = self.offset();
        match self.input.after_hole(offset) {
            Ok(Some(to)) => {
                if to != offset {
                    self.jump(to);
                }
                Ok(true)
            }
            Ok(None) => Ok(false),
            Err(error) => Err(Error::of_read(offset, error).in_file(&self.name)),
        }
    }

    /// Lets the input be read again from the first byte kept on.
    pub(crate) fn give_back(&mut self) -> Result<()> {
        let held = self.bytes.get(..self.filled).unwrap_or_default();
        self.input
            .give_back(self.start, held)
            .map_err(|error| Error::of_read(self.start, error).in_file(&self.name))
    }

    /// Gives the input back.
    pub(crate) fn into_input(self) -> Box<dyn Input> {
        self.input
    }

    /// Bytes of an event that [`Self::peek`] found.
    pub(crate) fn event(&self, at: usize, len: usize) -> &[u8] {
        self.bytes.get(at..at + len).unwrap_or_default()
    }

    /// Looks at the next event without passing it.
    pub(crate) fn peek(&mut self) -> Result<RawEvent> {
        // A call that may wait always has a result.
        Ok(self.look(true)?.unwrap_or(RawEvent::Cut))
    }

    /// Looks at the next event without consuming it and without waiting for it: `None` if it is not written yet.
    pub(crate) fn peek_ready(&mut self) -> Result<Option<RawEvent>> {
        self.look(false)
    }

    fn look(&mut self, waits: bool) -> Result<Option<RawEvent>> {
        let Some(have) = self.ensure(EventHeader::LEN, waits)? else { return Ok(None) };
        if have == 0 {
            return Ok(Some(RawEvent::End));
        }
        let head = self.event(self.next, have.min(EventHeader::LEN));
        if have < EventHeader::LEN {
            return Ok(Some(RawEvent::Cut));
        }
        let header = EventHeader::decode(head)
            .map_err(|error| Error::from(error).at_event(self.offset(), event_name(head)))?;
        let len = header.event_size as usize;
        let Some(have) = self.ensure(len, waits)? else { return Ok(None) };
        Ok(Some(match have < len {
            true => RawEvent::Cut,
            false => RawEvent::Whole { header, at: self.next, len },
        }))
    }

    /// Passes an event of `len` bytes.
    pub(crate) fn advance(&mut self, len: usize) {
        self.next += len;
    }

    /// The bytes up to the next event, which are no longer kept here.
    pub(crate) fn take_kept(&mut self) -> Vec<u8> {
        self.take_until(self.next)
    }

    /// Takes a buffer back that [`Self::take_until`] gave: fresh memory costs more than it.
    pub(crate) fn recycle(&mut self, buffer: Vec<u8>) {
        if self.spare.len() < MAX_SPARE && buffer.len() <= MAX_SPARE_BYTES {
            self.spare.push(buffer);
        }
    }

    /// The first `end` bytes, which are no longer kept here; `end` is not beyond the next event.
    pub(crate) fn take_until(&mut self, end: usize) -> Vec<u8> {
        let tail = self.bytes.get(end..self.filled).unwrap_or_default();
        let mut rest = self.spare.pop().unwrap_or_default();
        // What a used buffer holds beyond the tail is room, already paid for.
        if rest.len() < tail.len() {
            rest.clear();
            rest.extend_from_slice(tail);
        } else if let Some(room) = rest.get_mut(..tail.len()) {
            room.copy_from_slice(tail);
        }
        self.filled = tail.len();
        let mut taken = std::mem::replace(&mut self.bytes, rest);
        taken.truncate(end);
        self.start += end as u64;
        self.next -= end;
        taken
    }

    /// Forgets all that is kept and goes on at `offset`.
    pub(crate) fn jump(&mut self, offset: u64) {
        let within = offset.checked_sub(self.start).and_then(|skip| usize::try_from(skip).ok());
        match within.filter(|skip| *skip <= self.filled) {
            Some(skip) => {
                self.next = skip;
                self.take_kept();
            }
            None => {
                self.filled = 0;
                self.start = offset;
                self.next = 0;
            }
        }
    }

    /// Reads until `len` bytes are available at the next place, or the input ends; returns the number of available bytes.
    /// `None` if it would have to wait for more and may not.
    fn ensure(&mut self, len: usize, waits: bool) -> Result<Option<usize>> {
        let wanted = self.next + len;
        while self.filled < wanted {
            let missing = (wanted - self.filled).min(MAX_READ).max(self.chunk);
            let room = self.filled + missing;
            if self.bytes.len() < room {
                self.bytes.resize(room, 0);
            }
            let offset = self.start + self.filled as u64;
            let buffer = self.bytes.get_mut(self.filled..room).unwrap_or_default();
            let read = match waits {
                true => self.input.read_at(offset, buffer),
                false => self.input.read_ready(offset, buffer),
            };
            let count = match read {
                Ok(count) => count,
                Err(error) if !waits && error.kind() == std::io::ErrorKind::WouldBlock => {
                    return Ok(None);
                }
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(Error::of_read(offset, error).in_file(&self.name)),
            };
            if count == 0 {
                break;
            }
            self.filled += count;
        }
        Ok(Some(self.filled.saturating_sub(self.next)))
    }

    /// The file's first 4 bytes, which [`Self::peek`] never sees: call before anything else, on a window at 0.
    pub(crate) fn magic(&mut self) -> Result<[u8; 4]> {
        let have = self.ensure(FIRST_EVENT_AT as usize, true)?.unwrap_or_default();
        let mut magic = [0; 4];
        for (to, from) in magic.iter_mut().zip(self.event(0, have.min(4))) {
            *to = *from;
        }
        self.next = have.min(4);
        self.take_kept();
        Ok(magic)
    }
}

/// The name of the type code in a header whose other fields may be wrong.
fn event_name(header: &[u8]) -> &'static str {
    header.get(4).map_or("event header", |code| crate::binlog::EventType(*code).name())
}

/// Buffers kept for use again.
const MAX_SPARE: usize = 2;

/// A larger buffer, that of a large event, is given back to the system.
pub(crate) const MAX_SPARE_BYTES: usize = 32 << 20;
