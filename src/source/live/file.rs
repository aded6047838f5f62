//! One file of a server's log as an input, while the server sends it: what came can be read again until it is let go.
//!
//! It looks like the file itself: the magic bytes, the format description, then the events at their own offsets. What lies
//! between the format description and the start, and what the server passes over, are holes: a read there gives nothing,
//! and [`Input::after_hole`] says where to go on.

use super::spool::Spool;
use super::stream::{Received, Stream, is_own};
use crate::binlog::{
    EventHeader, EventType, FIRST_EVENT_AT, Heartbeat, HeartbeatOffset, MAGIC, Rotate,
};
use crate::error::{Error, ErrorKind, Result};
use crate::source::input::Input;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The stream, and what it said of the file after the one at hand.
pub(super) struct Shared {
    pub(super) stream: Stream,
    pub(super) next: Option<NextFile>,
}

impl Shared {
    pub(super) fn new(stream: Stream, next: Option<NextFile>) -> Arc<Mutex<Self>> {
        Arc::new(Mutex::new(Self { stream, next }))
    }
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
    /// Whether it goes on elsewhere.
    left: bool,
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
            left: false,
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
        let Shared { stream, next } = &mut *shared;
        match stream.next_event(&self.name, self.spool.end())? {
            Received::Event => self.take(stream.event(), stream.is_mariadb(), next),
            Received::End => {
                self.ended = true;
                Ok(())
            }
            Received::Left => {
                (self.ended, self.left) = (true, true);
                Ok(())
            }
        }
    }

    fn take(&mut self, event: &[u8], is_mariadb: bool, next: &mut Option<NextFile>) -> Result<()> {
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
                if self.spool.end() == FIRST_EVENT_AT {
                    self.spool.restart(self.head.len() as u64);
                }
            }
            // It comes again on each connection, with the time when the file was begun.
            EventType::FORMAT_DESCRIPTION if !is_own(event) => {
                if self.head.get(MAGIC.len()..MAGIC.len() + TIMESTAMP_LEN)
                    != event.get(..TIMESTAMP_LEN)
                {
                    return Err(Error::new(
                        ErrorKind::ServerIdentity,
                        "the server has begun a file of this name anew: the log was reset, and changes may be lost",
                    ));
                }
            }
            event_type if event_type.is_heartbeat() => {
                self.heartbeat(&header, event, is_mariadb)?
            }
            _ if !is_own(event) => {}
            _ => {
                let end = self.spool.end();
                let begin = match header.log_pos {
                    0 => end,
                    log_pos => resolve(end, log_pos.wrapping_sub(header.event_size))?,
                };
                if begin == end {
                    self.spool.push(event).map_err(spool_failed)?;
                } else {
                    self.hole_to = Some(begin);
                    event.clone_into(&mut self.waiting);
                }
            }
        }
        Ok(())
    }

    /// A heartbeat tells of what was passed over since the last event.
    fn heartbeat(&mut self, header: &EventHeader, event: &[u8], is_mariadb: bool) -> Result<()> {
        let heartbeat = Heartbeat::decode(header, body(event), is_mariadb)?;
        if heartbeat.file != self.name.as_bytes() {
            return Ok(());
        }
        let end = self.spool.end();
        let to = match heartbeat.offset {
            HeartbeatOffset::Unknown => return Ok(()),
            HeartbeatOffset::Low(low) => resolve(end, low)?,
            HeartbeatOffset::Whole(offset) => offset,
        };
        if to > end {
            self.hole_to = Some(to);
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

    fn is_left(&self) -> bool {
        self.left
    }
}

/// Which file comes, as an artificial Rotate event says.
pub(super) fn rotate(event: &[u8]) -> Result<NextFile> {
    let rotate = Rotate::decode(body(event))?;
    Ok(NextFile { name: rotate.file.to_owned(), offset: rotate.position })
}

/// The body of an event that was made for us. Whether that has a checksum depends on the file before, on the server's setting and
/// on ours: its bytes tell.
fn body(event: &[u8]) -> &[u8] {
    let covered = match event.split_last_chunk() {
        Some((covered, stored)) if crc32fast::hash(covered) == u32::from_le_bytes(*stored) => {
            covered
        }
        _ => event,
    };
    covered.get(EventHeader::LEN..).unwrap_or_default()
}

/// The offset at or after `end` that has these lower 32 bits. One that would be far behind is one before it.
fn resolve(end: u64, low: u32) -> Result<u64> {
    let candidate = (end & !u64::from(u32::MAX)) | u64::from(low);
    let offset = if candidate < end { candidate + (1 << 32) } else { candidate };
    match offset - end < MAX_HOLE {
        true => Ok(offset),
        false => Err(Error::malformed(format!(
            "the server went back in its file, from offset {end} to one that ends in {low}"
        ))),
    }
}

pub(super) fn lock(shared: &Mutex<Shared>) -> MutexGuard<'_, Shared> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

fn spool_failed(error: io::Error) -> Error {
    Error::io("cannot write to the temporary folder", error)
}

/// What the server passes over at a time is less; the rest of 4 GiB is what an offset may be wrong by.
const MAX_HOLE: u64 = (1 << 32) - (256 << 20);

/// The first field of an event.
const TIMESTAMP_LEN: usize = 4;

/// A transaction that is larger goes to a temporary file until its end is known.
const MAX_IN_MEMORY: usize = crate::limits::MAX_IN_MEMORY;

#[cfg(test)]
mod tests {
    use super::resolve;

    #[test]
    fn offsets_of_more_than_32_bits() {
        for (end, low, offset) in [
            (100, 200, Some(200)),
            (100, 100, Some(100)),
            ((1 << 32) - 10, 20, Some((1 << 32) + 20)),
            ((5 << 32) + 7, 7, Some((5 << 32) + 7)),
            (1000, 900, None),
            ((1 << 32) + 10, 5, None),
        ] {
            assert_eq!(resolve(end, low).ok(), offset);
        }
    }
}
