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
    /// Index in `bytes` of the first byte that is kept.
    begin: usize,
    /// Index in `bytes` of the next event.
    next: usize,
    /// Index in `bytes` after the last byte of the file. The bytes after it are free space from an earlier use.
    filled: usize,
    /// Offset in the file of the first byte that is kept.
    start: u64,
    chunk: usize,
    /// The number of bytes that are taken at a time, approximately.
    taken: usize,
    /// Buffers for reuse.
    spare: Vec<Vec<u8>>,
}

impl Window {
    /// A window at `offset`, which is filled by reads of at least `chunk` bytes. `name` is the file's name in messages.
    pub(crate) fn new(name: Arc<str>, offset: u64, chunk: usize) -> Self {
        Self {
            name,
            bytes: Vec::new(),
            begin: 0,
            next: 0,
            filled: 0,
            start: offset,
            chunk,
            taken: usize::MAX,
            spare: Vec::new(),
        }
    }

    /// Sets the approximate number of bytes that are taken at a time. Reads then end soon after them, because the bytes after
    /// them are copied to the next buffer.
    pub(crate) fn set_take_size(&mut self, bytes: usize) {
        self.taken = bytes;
    }

    /// Offset of the next event.
    #[inline]
    pub(crate) fn offset(&self) -> u64 {
        self.start + self.kept() as u64
    }

    /// Offset of the first byte that is kept.
    pub(crate) fn start(&self) -> u64 {
        self.start
    }

    /// Number of bytes that are kept, up to the next event.
    #[inline]
    pub(crate) fn kept(&self) -> usize {
        self.next - self.begin
    }

    /// The bytes that are kept, and those that were read ahead.
    pub(crate) fn bytes(&self) -> &[u8] {
        self.bytes.get(self.begin..self.filled).unwrap_or_default()
    }

    /// The bytes of the next event, of which there are `len`.
    pub(crate) fn event(&self, len: usize) -> &[u8] {
        self.bytes.get(self.next..self.next + len).unwrap_or_default()
    }

    /// The bytes from the next event on.
    #[inline]
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
        self.move_to_front();
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
        self.take_until(self.kept())
    }

    /// Takes a buffer back that [`Self::take_until`] returned: new memory costs more.
    pub(crate) fn recycle(&mut self, buffer: Vec<u8>) {
        let is_of_use = (1..=MAX_SPARE_BYTES).contains(&buffer.capacity());
        if self.spare.len() < MAX_SPARE && is_of_use {
            self.spare.push(buffer);
        }
    }

    /// The first `len` bytes that are kept, which are then no longer kept here; they are not beyond the next event.
    pub(crate) fn take_until(&mut self, len: usize) -> Vec<u8> {
        if len == 0 {
            return Vec::new();
        }
        let end = self.begin + len;
        let mut other = self.spare.pop().unwrap_or_default();
        let taken = if len < self.filled - end {
            // The larger part stays in its place.
            other.clear();
            other.extend_from_slice(self.bytes.get(self.begin..end).unwrap_or_default());
            self.begin = end;
            other
        } else {
            let rest = self.bytes.get(end..self.filled).unwrap_or_default();
            let (next, filled) = (self.next - end, rest.len());
            // The bytes of a used buffer after the rest are free space: no new memory is needed.
            match other.get_mut(..filled) {
                Some(room) => room.copy_from_slice(rest),
                None => {
                    other.clear();
                    other.extend_from_slice(rest);
                }
            }
            let mut taken = std::mem::replace(&mut self.bytes, other);
            taken.truncate(end);
            taken.drain(..self.begin);
            (self.begin, self.next, self.filled) = (0, next, filled);
            taken
        };
        self.start += len as u64;
        taken
    }

    /// Drops the bytes before the next event.
    pub(crate) fn release(&mut self) {
        self.start = self.offset();
        self.begin = self.next;
        let unread = self.unread();
        if self.bytes.capacity() > MAX_SPARE_BYTES && unread.len() <= self.chunk {
            self.bytes = unread.to_vec();
            (self.begin, self.next, self.filled) = (0, 0, self.bytes.len());
        }
    }

    /// Drops all bytes that are kept and continues at `offset`.
    pub(crate) fn jump(&mut self, offset: u64) {
        let within = offset.checked_sub(self.start).and_then(|skip| usize::try_from(skip).ok());
        match within.filter(|skip| *skip <= self.bytes().len()) {
            Some(skip) => self.next = self.begin + skip,
            None => {
                (self.begin, self.next, self.filled) = (0, 0, 0);
                self.start = offset;
            }
        }
        self.release();
    }

    /// Moves the bytes to the start of the buffer.
    fn move_to_front(&mut self) {
        if self.begin > 0 {
            self.bytes.copy_within(self.begin..self.filled, 0);
            self.next -= self.begin;
            self.filled -= self.begin;
            self.begin = 0;
        }
    }

    /// Reads until `len` bytes are available from the next event on, or the input ends; returns the number of available bytes.
    fn fill(&mut self, input: &mut dyn Input, len: usize) -> Result<usize> {
        self.move_to_front();
        let wanted = self.next + len;
        while self.filled < wanted {
            let missing = (wanted - self.filled).min(MAX_READ).max(self.read_size());
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

    /// The minimum number of bytes of the next read.
    fn read_size(&self) -> usize {
        let left = self.taken.saturating_sub(self.filled - self.begin);
        self.chunk.min(left.saturating_add(AFTER_TAKEN))
    }

    /// The file's first 4 bytes. This is called before all else, on a window at 0.
    pub(crate) fn magic(&mut self, input: &mut dyn Input) -> Result<[u8; 4]> {
        let have = self.fill(input, FIRST_EVENT_AT as usize)?.min(FIRST_EVENT_AT as usize);
        let mut magic = [0; 4];
        for (to, from) in magic.iter_mut().zip(self.event(have)) {
            *to = *from;
        }
        self.next = have;
        self.release();
        Ok(magic)
    }
}

/// The name of the type code in a header whose other fields may be wrong.
fn event_name(header: &[u8]) -> &'static str {
    header.get(4).map_or("event header", |code| crate::binlog::EventType(*code).name())
}

/// The number of bytes that are read after those that are taken: most events that begin in the taken bytes end in these.
const AFTER_TAKEN: usize = 64 << 10;

/// Buffers kept for use again.
const MAX_SPARE: usize = 2;

/// A larger buffer, that of a large event, is freed.
pub(crate) const MAX_SPARE_BYTES: usize = 32 << 20;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::input::BytesInput;
    use proptest::prelude::*;

    /// Events without a body, each with a number.
    const COUNT: u32 = 200;

    fn events() -> Vec<u8> {
        let event = |number: u32| {
            let size = EventHeader::LEN as u32 + number % 7;
            let header = [&number.to_le_bytes()[..], &[2], &[0; 4], &size.to_le_bytes(), &[0; 6]];
            let mut event = header.concat();
            event.resize(size as usize, 1);
            event
        };
        (0..COUNT).flat_map(event).collect()
    }

    /// The bytes after a segment are copied to the next buffer, so there are few of them.
    #[test]
    fn little_is_read_after_a_segment() {
        const SEGMENT: usize = 600 << 10;
        let event = |size: u32| {
            let mut event = vec![0; size as usize];
            event[9..13].copy_from_slice(&size.to_le_bytes());
            event
        };
        let file: Vec<u8> = (0..500).flat_map(|number| event(8000 + number % 9)).collect();
        let mut input = BytesInput(file.as_slice());
        let mut window = Window::new("f".into(), 0, 256 << 10);
        window.set_take_size(SEGMENT);
        let mut segments = 0;
        while let NextEvent::Event(event) = window.read(&mut input).unwrap() {
            window.advance(event.len);
            if window.kept() >= SEGMENT {
                assert!(window.unread().len() <= AFTER_TAKEN, "{}", window.unread().len());
                let taken = window.take_kept();
                window.recycle(taken);
                segments += 1;
            }
        }
        assert_eq!(segments, 6);
    }

    proptest! {
        /// The bytes that are taken are those of the file, in any order of calls.
        #[test]
        fn bytes_of_the_file(
            steps in prop::collection::vec((0u8..6, 0usize..40), 0..200),
            (chunk, taken) in (1usize..400, 0usize..800),
        ) {
            let file = events();
            let mut input = BytesInput(file.as_slice());
            let mut window = Window::new("f".into(), 0, chunk);
            window.set_take_size(taken);
            let mut starts = vec![0];
            for (step, number) in steps {
                match step {
                    0..=2 => {
                        for _ in 0..number {
                            let NextEvent::Event(event) = window.read(&mut input).unwrap() else { break };
                            let bytes = &file[event.offset as usize..][..event.len];
                            prop_assert_eq!(window.event(event.len), bytes);
                            starts.push(event.end());
                            window.advance(event.len);
                        }
                    }
                    3 => {
                        let (start, len) = (window.start() as usize, window.kept() * number / 40);
                        let taken = window.take_until(len);
                        prop_assert_eq!(&taken, &file[start..start + len]);
                        window.recycle(taken);
                    }
                    4 => window.release(),
                    _ => window.jump(starts[number * (starts.len() - 1) / 39]),
                }
                let (start, held) = (window.start() as usize, window.bytes().len());
                prop_assert_eq!(window.bytes(), &file[start..start + held]);
                prop_assert_eq!(window.start() + window.kept() as u64, window.offset());
            }
        }
    }
}
