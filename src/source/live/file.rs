//! One file of a server's log as an input, while the server sends it: what came can be read again until it is let go.
//!
//! It looks like the file itself: the magic bytes, the format description, then the events at their own offsets. What lies
//! between the format description and the start, and what the server passes over, are holes: a read there gives nothing,
//! and [`Input::after_hole`] says where to go on.

use super::spool::Spool;
use super::stream::{Stream, is_own};
use crate::binlog::{EventHeader, EventType, FIRST_EVENT_AT, MAGIC, Rotate};
use crate::error::{Error, Result};
use crate::source::input::Input;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The stream, and what it said of the file after the one at hand.
pub(super) struct Shared {
    pub(super) stream: Stream,
    pub(super) next: Option<NextFile>,
}

/// The file that the events to come are of.
pub(super) struct NextFile {
    pub(super) name: String,
    /// Offset of its first event that comes.
    pub(super) offset: u64,
}

/// The file at hand.
pub(super) struct LiveFile {
    shared: Arc<Mutex<Shared>>,
    name: String,
    /// Magic bytes and format description.
    head: Vec<u8>,
    spool: Spool,
    /// Where the event at hand is, where that is not the end of the spool.
    hole_to: Option<u64>,
    /// An event that came, behind a hole.
    waiting: Vec<u8>,
    /// Whether the stream has gone on to another file, or ended.
    ended: bool,
}

impl LiveFile {
    /// A file whose next event is its format description, and then that at `offset`.
    pub(super) fn new(shared: Arc<Mutex<Shared>>, name: String, offset: u64) -> Self {
        Self {
            shared,
            name,
            head: Vec::new(),
            spool: Spool::new(offset, MAX_IN_MEMORY),
            hole_to: None,
            waiting: Vec::new(),
            ended: false,
        }
    }

    fn read_head(&mut self) -> Result<()> {
        while self.head.is_empty() && !self.ended {
            self.receive()?;
        }
        Ok(())
    }

    /// Takes the next event from the stream.
    fn receive(&mut self) -> Result<()> {
        let shared = Arc::clone(&self.shared);
        let mut shared = lock(&shared);
        let end = self.spool.end();
        let Shared { stream, next } = &mut *shared;
        let Some(event) = stream.next_event(&self.name, end)? else {
            self.ended = true;
            return Ok(());
        };
        let header = EventHeader::decode(event)?;
        if header.event_size as usize != event.len() {
            return Err(Error::malformed(format!(
                "the server sent {} bytes for an event of {}",
                event.len(),
                header.event_size
            )));
        }
        match header.event_type {
            EventType::ROTATE if !is_own(event) => {
                let rotate = rotate(event)?;
                if rotate.name != self.name {
                    *next = Some(rotate);
                    self.ended = true;
                }
            }
            EventType::FORMAT_DESCRIPTION if self.head.is_empty() => {
                self.head.extend_from_slice(&MAGIC);
                self.head.extend_from_slice(event);
                if end == FIRST_EVENT_AT {
                    self.spool.restart(self.head.len() as u64);
                }
            }
            EventType::HEARTBEAT => {
                // It tells of what was passed over; offsets beyond 4 GiB it cannot tell, or tells in another way.
                if header.log_pos != 0 {
                    let to = resolve(end, header.log_pos);
                    if to != end && to - end < 1 << 31 {
                        self.hole_to = Some(to);
                    }
                }
            }
            _ if !is_own(event) => {}
            _ => {
                let size = u64::from(header.event_size);
                let begin = match header.log_pos {
                    0 => end,
                    log_pos => resolve(end, log_pos.wrapping_sub(header.event_size)),
                };
                if begin == end {
                    self.spool.push(event).map_err(spool_failed)?;
                } else {
                    debug_assert!(size > 0);
                    self.hole_to = Some(begin);
                    event.clone_into(&mut self.waiting);
                }
            }
        }
        Ok(())
    }

    fn copy_head(&self, offset: u64, buffer: &mut [u8]) -> usize {
        let rest = self.head.get(offset as usize..).unwrap_or_default();
        let len = rest.len().min(buffer.len());
        if let (Some(to), Some(from)) = (buffer.get_mut(..len), rest.get(..len)) {
            to.copy_from_slice(from);
        }
        len
    }
}

impl Input for LiveFile {
    fn read_at(&mut self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        self.read_head().map_err(io::Error::other)?;
        if offset < self.head.len() as u64 {
            return Ok(self.copy_head(offset, buffer));
        }
        if offset < self.spool.start() {
            // Between the format description and the first event that came.
            return Ok(0);
        }
        while offset >= self.spool.end() && !self.ended && self.hole_to.is_none() {
            self.receive().map_err(io::Error::other)?;
        }
        self.spool.read_at(offset.min(self.spool.end()), buffer)
    }

    fn size(&mut self) -> io::Result<Option<u64>> {
        Ok(None)
    }

    fn after_hole(&mut self, offset: u64) -> io::Result<Option<u64>> {
        if offset < self.spool.start() {
            return Ok(Some(self.spool.start()));
        }
        match self.hole_to.take() {
            Some(to) if offset == self.spool.end() => {
                self.spool.restart(to);
                let waiting = std::mem::take(&mut self.waiting);
                self.spool.push(&waiting)?;
                Ok(Some(to))
            }
            hole => {
                self.hole_to = hole;
                Ok(None)
            }
        }
    }

    fn is_ready(&mut self, offset: u64) -> bool {
        offset < self.spool.end() || self.ended || lock(&self.shared).stream.is_ready()
    }

    fn forget(&mut self, offset: u64) {
        if self.hole_to.is_none() && offset >= self.spool.start() {
            self.spool.forget(offset);
        }
    }
}

/// Which file comes, as an artificial Rotate event says. Whether that has a checksum depends on the file before, on the server's
/// setting and on ours: its bytes tell.
pub(super) fn rotate(event: &[u8]) -> Result<NextFile> {
    let whole = event.get(EventHeader::LEN..).unwrap_or_default();
    let body = match event.split_last_chunk() {
        Some((covered, stored)) if crc32fast::hash(covered) == u32::from_le_bytes(*stored) => {
            covered.get(EventHeader::LEN..).unwrap_or_default()
        }
        _ => whole,
    };
    let rotate = Rotate::decode(body)?;
    Ok(NextFile { name: rotate.file.to_owned(), offset: rotate.position })
}

/// The offset near `end` that has these lower 32 bits.
fn resolve(end: u64, low: u32) -> u64 {
    let candidate = (end & !u64::from(u32::MAX)) | u64::from(low);
    if candidate < end { candidate + (1 << 32) } else { candidate }
}

pub(super) fn lock(shared: &Mutex<Shared>) -> MutexGuard<'_, Shared> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

fn spool_failed(error: io::Error) -> Error {
    Error::io("cannot write to the temporary folder", error)
}

/// A transaction that is larger goes to a temporary file until its end is known.
const MAX_IN_MEMORY: usize = crate::limits::MAX_IN_MEMORY;

#[cfg(test)]
mod tests {
    use super::resolve;

    #[test]
    fn offsets_of_more_than_32_bits() {
        assert_eq!(resolve(100, 200), 200);
        assert_eq!(resolve(100, 100), 100);
        assert_eq!(resolve((1 << 32) - 10, 20), (1 << 32) + 20);
        assert_eq!(resolve((5 << 32) + 7, 7), (5 << 32) + 7);
    }
}
