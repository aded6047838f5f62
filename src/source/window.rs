//! A buffer of events: from the start of the current segment to the bytes that were read ahead.

use super::event_source::{Event, NextEvent};
use super::input::Input;
use crate::binlog::{EventHeader, FIRST_EVENT_AT};
use crate::error::{Error, Result};
use crate::limits::MAX_READ;
use std::sync::Arc;

/// A buffer over a part of a file.
pub(crate) struct Window {
    name: Arc<str>,
    bytes: Vec<u8>,
    /// The number of bytes of the file in `bytes`. The bytes after them are free space from an
    /// earlier use.
    filled: usize,
    /// Offset in the file of the first byte.
    start: u64,
    /// Index in `bytes` of the next event.
    next: usize,
    chunk: usize,
    /// Buffers for reuse.
    spare: Vec<Vec<u8>>,
}

impl Window {
    /// A window at `offset`, which is filled by reads of at least `chunk` bytes. `name` is the file's name in messages.
    pub(crate) fn new(name: Arc<str>, offset: u64, chunk: usize) -> Self {
        Self {
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

    /// Offset of the first byte that is kept.
    pub(crate) fn start(&self) -> u64 {
        self.start
    }

    /// Number of bytes that are kept, up to the next event.
    pub(crate) fn kept(&self) -> usize {
        self.next
    }

    /// All bytes in the buffer.
    pub(crate) fn bytes(&self) -> &[u8] {
        self.bytes.get(..self.filled).unwrap_or_default()
    }

    /// The bytes of the next event, of which there are `len`.
    pub(crate) fn event(&self, len: usize) -> &[u8] {
        self.bytes.get(self.next..self.next + len).unwrap_or_default()
    }

    /// The bytes from the next event on.
    pub(crate) fn unread(&self) -> &[u8] {
        self.bytes.get(self.next..self.filled).unwrap_or_default()
    }

    /// The next event, if all of it is in the buffer.
    #[inline]
    pub(crate) fn buffered(&self) -> Option<Event> {
        let (header, event) = EventHeader::first_event(self.unread()).ok()?;
        event.map(|event| Event { header, offset: self.offset(), len: event.len() })
    }

    /// The number of bytes that the next event needs at least, if it is not in the buffer.
    fn needed(&self) -> Result<usize> {
        let unread = self.unread();
        if unread.len() < EventHeader::LEN {
            return Ok(EventHeader::LEN);
        }
        let header = EventHeader::decode(unread)
            .map_err(|error| Error::from(error).at_event(self.offset(), event_name(unread)))?;
        Ok(header.event_size as usize)
    }

    /// The next event in `input`, which is not passed.
    pub(crate) fn read(&mut self, input: &mut dyn Input) -> Result<NextEvent> {
        loop {
            if let Some(event) = self.buffered() {
                return Ok(NextEvent::Event(event));
            }
            let needed = self.needed()?;
            let have = self.fill(input, needed)?;
            if have < needed {
                return Ok(if have == 0 { NextEvent::End } else { NextEvent::Cut });
            }
        }
    }

    /// The next event, which `receive` appends to the buffer, unless it is there already.
    pub(crate) fn receive(
        &mut self,
        receive: impl FnOnce(u64, &mut Vec<u8>) -> Result<NextEvent>,
    ) -> Result<NextEvent> {
        if let Some(event) = self.buffered() {
            return Ok(NextEvent::Event(event));
        }
        self.bytes.truncate(self.filled);
        let offset = self.offset();
        let next = receive(offset, &mut self.bytes).map_err(|error| error.in_file(&self.name))?;
        self.filled = self.bytes.len();
        Ok(next)
    }

    /// Appends bytes.
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        self.bytes.truncate(self.filled);
        self.bytes.extend_from_slice(bytes);
        self.filled = self.bytes.len();
    }

    /// Passes an event of `len` bytes.
    pub(crate) fn advance(&mut self, len: usize) {
        self.next += len;
    }

    /// The bytes up to the next event, which are no longer kept here.
    pub(crate) fn take_kept(&mut self) -> Vec<u8> {
        self.take_until(self.next)
    }

    /// Takes a buffer back that [`Self::take_until`] returned: new memory costs more.
    pub(crate) fn recycle(&mut self, buffer: Vec<u8>) {
        if self.spare.len() < MAX_SPARE && buffer.len() <= MAX_SPARE_BYTES {
            self.spare.push(buffer);
        }
    }

    /// The first `end` bytes, which are no longer kept here; `end` is not beyond the next event.
    pub(crate) fn take_until(&mut self, end: usize) -> Vec<u8> {
        let tail = self.bytes.get(end..self.filled).unwrap_or_default();
        let mut rest = self.spare.pop().unwrap_or_default();
        // The bytes of a used buffer after the tail are free space: no new memory is needed.
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

    /// Drops all bytes that are kept and continues at `offset`.
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

    /// Reads until `len` bytes are available from the next event on, or the input ends; returns the number of available bytes.
    fn fill(&mut self, input: &mut dyn Input, len: usize) -> Result<usize> {
        let wanted = self.next + len;
        while self.filled < wanted {
            let missing = (wanted - self.filled).min(MAX_READ).max(self.chunk);
            let room = self.filled + missing;
            if self.bytes.len() < room {
                self.bytes.resize(room, 0);
            }
            let offset = self.start + self.filled as u64;
            let buffer = self.bytes.get_mut(self.filled..room).unwrap_or_default();
            match input.read_at(offset, buffer) {
                Ok(0) => break,
                Ok(count) => self.filled += count,
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(error) => return Err(Error::of_read(offset, error).in_file(&self.name)),
            }
        }
        Ok(self.filled.saturating_sub(self.next))
    }

    /// The file's first 4 bytes. This is called before all else, on a window at 0.
    pub(crate) fn magic(&mut self, input: &mut dyn Input) -> Result<[u8; 4]> {
        let have = self.fill(input, FIRST_EVENT_AT as usize)?.min(FIRST_EVENT_AT as usize);
        let mut magic = [0; 4];
        for (to, from) in magic.iter_mut().zip(self.event(have)) {
            *to = *from;
        }
        self.next = have;
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

/// A larger buffer, that of a large event, is freed.
pub(crate) const MAX_SPARE_BYTES: usize = 32 << 20;
