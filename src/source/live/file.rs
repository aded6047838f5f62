//! One file of a server's log as an input, while the server sends it.
//!
//! It looks like the file itself: the magic bytes, the format description, then the events at their own offsets. What lies
//! between the format description and the start, and what the server passes over, are holes: a read there gives nothing,
//! and [`Input::after_hole`] says where to go on. So is a heartbeat, where it is wanted: a hole of no length. Events go
//! straight to who reads; only what was given back can be read again.

use super::spool::Spool;
use super::stream::{Received, Stream, is_own};
use crate::binlog::{
    ChecksumAlgorithm, EventHeader, EventType, FIRST_EVENT_AT, FormatDescription, Heartbeat,
    HeartbeatOffset, MAGIC, Rotate,
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
    /// Offset of the first event behind the format description.
    first: u64,
    /// Offset behind the last event that came.
    end: u64,
    /// What came and was not read yet, or can be read again: the bytes before `end`.
    spool: Spool,
    /// Whether what comes can be read again.
    keeps: bool,
    /// Where the event at hand is, where that is not the end of the spool.
    hole_to: Option<u64>,
    /// An event that came, behind a hole.
    waiting: Vec<u8>,
    /// Whether the stream has gone on to another file, or ended.
    ended: bool,
    /// Whether it goes on elsewhere.
    left: bool,
    /// Whether heartbeats are wanted.
    tells_heartbeats: bool,
    /// Whether one came that the reader was not told of.
    heard: bool,
}

impl LiveFile {
    /// A file whose next event is its format description, and then that at `offset`.
    pub(super) fn new(shared: Arc<Mutex<Shared>>, name: String, offset: u64) -> Self {
        let tells_heartbeats = lock(&shared).stream.options.heartbeats;
        Self {
            tells_heartbeats,
            heard: false,
            shared,
            name,
            head: Vec::new(),
            first: offset,
            end: offset,
            spool: Spool::new(offset, MAX_IN_MEMORY),
            keeps: false,
            hole_to: None,
            waiting: Vec::new(),
            ended: false,
            left: false,
        }
    }

    fn read_head(&mut self) -> Result<()> {
        while self.head.is_empty() && !self.ended {
            self.receive(&mut [], true)?;
        }
        Ok(())
    }

    /// Takes events from the stream until there is something to read, and more that have already arrived; returns the number of
    /// their bytes in `buffer`. The bytes that did not fit are in the spool. `None` if there are none and it may not wait.
    fn receive(&mut self, buffer: &mut [u8], waits: bool) -> Result<Option<usize>> {
        let shared = Arc::clone(&self.shared);
        let mut shared = lock(&shared);
        let Shared { stream, next } = &mut *shared;
        let had_head = !self.head.is_empty();
        let begin = self.end;
        let mut filled = 0;
        loop {
            let received = if filled == 0 && waits {
                stream.next_event(&self.name, self.end)?
            } else {
                match stream.next_ready(&self.name, self.end) {
                    Some(received) => received,
                    // Events that have arrived are not delayed.
                    None => return Ok(Some(filled).filter(|filled| *filled > 0)),
                }
            };
            match received {
                Received::Event => {
                    let room = buffer.get_mut(filled..).unwrap_or_default();
                    match self.take(stream.event(), room, stream.is_mariadb(), next) {
                        Ok(count) => filled += count,
                        Err(error) if filled == 0 => return Err(error),
                        Err(error) => {
                            stream.fail(error);
                            return Ok(Some(filled));
                        }
                    }
                }
                Received::End => self.ended = true,
                Received::Left => (self.ended, self.left) = (true, true),
            }
            let is_done = !had_head || self.ended || self.hole_to.is_some() || self.heard;
            // The spool may hold what came before, and a heartbeat or a new connection's first events bring nothing.
            let is_spooled = self.end > begin + filled as u64;
            if is_done || is_spooled {
                return Ok(Some(filled));
            }
        }
    }

    /// Takes one event; gives how many of its bytes went to `buffer`, all or none.
    fn take(
        &mut self,
        event: &[u8],
        buffer: &mut [u8],
        is_mariadb: bool,
        next: &mut Option<NextFile>,
    ) -> Result<usize> {
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
                if header.log_pos == 0 {
                    self.renew_head_checksum()?;
                }
                if self.end == FIRST_EVENT_AT {
                    self.end = self.head.len() as u64;
                    self.first = self.end;
                }
            }
            // It comes again on each connection, with the time when the file was begun.
            EventType::FORMAT_DESCRIPTION => {
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
                let begin = match header.log_pos {
                    0 => self.end,
                    log_pos => resolve(self.end, log_pos.wrapping_sub(header.event_size))?,
                };
                if begin != self.end {
                    self.hole_to = Some(begin);
                    event.clone_into(&mut self.waiting);
                    return Ok(0);
                }
                self.end += event.len() as u64;
                let may_go = !self.keeps && self.spool.is_empty();
                let Some(to) = buffer.get_mut(..event.len()).filter(|_| may_go) else {
                    if may_go {
                        self.spool.restart(begin);
                    }
                    self.spool.push(event).map_err(spool_failed)?;
                    return Ok(0);
                };
                to.copy_from_slice(event);
                return Ok(event.len());
            }
        }
        Ok(0)
    }

    /// Where a dump begins within a file, the server changes the format description, and renews its checksum only where the
    /// file's other events have one.
    fn renew_head_checksum(&mut self) -> Result<()> {
        let event = self.head.get_mut(MAGIC.len()..).unwrap_or_default();
        let format = FormatDescription::decode(event)?;
        if format.has_checksum
            && format.checksum == ChecksumAlgorithm::Off
            && let Some((covered, stored)) = event.split_last_chunk_mut()
        {
            *stored = crc32fast::hash(covered).to_le_bytes();
        }
        Ok(())
    }

    /// A heartbeat tells of what was passed over since the last event.
    fn heartbeat(&mut self, header: &EventHeader, event: &[u8], is_mariadb: bool) -> Result<()> {
        let heartbeat = Heartbeat::decode(header, body(event), is_mariadb)?;
        // Who looks ahead for a transaction's end would take it for the end of the input.
        self.heard = self.tells_heartbeats && !self.keeps;
        if heartbeat.file != self.name.as_bytes() {
            return Ok(());
        }
        let end = self.end;
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

    fn read(&mut self, offset: u64, buffer: &mut [u8], waits: bool) -> io::Result<usize> {
        self.read_head().map_err(io::Error::other)?;
        if offset < self.head.len() as u64 {
            return Ok(self.copy_head(offset, buffer));
        }
        if offset < self.first {
            // Between the format description and the first event that came.
            return Ok(0);
        }
        if offset == self.end {
            if !self.keeps {
                self.spool.restart(offset);
            }
            if self.ended || self.hole_to.is_some() || self.heard {
                return Ok(0);
            }
            let received = self.receive(buffer, waits).map_err(io::Error::other)?;
            let filled = received.ok_or(io::ErrorKind::WouldBlock)?;
            if filled > 0 || self.spool.is_empty() {
                return Ok(filled);
            }
        }
        self.spool.read_at(offset, buffer)
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
        self.read(offset, buffer, true)
    }

    fn read_ready(&mut self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        self.read(offset, buffer, false)
    }

    fn size(&mut self) -> io::Result<Option<u64>> {
        Ok(None)
    }

    fn after_hole(&mut self, offset: u64) -> io::Result<Option<u64>> {
        if offset < self.first {
            return Ok(Some(self.first));
        }
        let Some(to) = self.hole_to.filter(|_| offset == self.end) else {
            let is_heartbeat = offset == self.end && std::mem::take(&mut self.heard);
            return Ok(is_heartbeat.then_some(offset));
        };
        self.hole_to = None;
        self.spool.restart(to);
        let waiting = std::mem::take(&mut self.waiting);
        self.spool.push(&waiting)?;
        self.end = to + waiting.len() as u64;
        Ok(Some(to))
    }

    fn give_back(&mut self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        if self.keeps && offset >= self.spool.start() {
            return Ok(());
        }
        self.keeps = true;
        self.heard = false;
        if offset < self.first {
            // Nothing but the format description was read.
            return Ok(());
        }
        let unread = std::mem::replace(&mut self.spool, Spool::new(offset, MAX_IN_MEMORY));
        self.spool.push(bytes)?;
        let mut piece = vec![0; PIECE];
        while self.spool.end() < self.end {
            let count = unread.read_at(self.spool.end(), &mut piece)?;
            if count == 0 {
                return Err(io::Error::other("what a server sent is not all there any more"));
            }
            self.spool.push(piece.get(..count).unwrap_or_default())?;
        }
        Ok(())
    }

    fn forget(&mut self, offset: u64) {
        if offset > self.spool.start() {
            self.spool.forget(offset);
        }
        self.keeps = self.keeps && !self.spool.is_empty();
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
pub(super) fn resolve(end: u64, low: u32) -> Result<u64> {
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

/// What is copied at a time.
const PIECE: usize = 1 << 20;

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
