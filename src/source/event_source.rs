//! The next event of a file, and the two sources of events: bytes, in which each event is found by
//! its header, and a server's dump, which returns complete events.

use super::input::Input;
use crate::binlog::EventHeader;
use crate::cancel::CancelToken;
use crate::error::{Error, Result};
use std::io;

/// An event that was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Event {
    /// Its header.
    pub header: EventHeader,
    /// The offset in the file.
    pub offset: u64,
    /// The number of its bytes, including the checksum.
    pub len: usize,
}

impl Event {
    /// The offset after it.
    pub(crate) fn end(&self) -> u64 {
        self.offset + self.len as u64
    }

    /// Adds the place of the event to an error.
    pub(crate) fn locate(&self, error: Error) -> Error {
        error.at_event(self.offset, self.header.event_type.name())
    }
}

/// The next event of a file, or its absence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NextEvent {
    /// An event.
    Event(Event),
    /// An event that has not arrived yet.
    Pending,
    /// Nothing up to this offset: the server skipped a part of the file.
    Gap(u64),
    /// The server's report that it is alive.
    Heartbeat,
    /// The end of the file.
    End,
    /// The end of the part of the file that is read: the log continues in another file, which
    /// contains the rest of this file again.
    Left,
    /// The end of the file, which is inside an event.
    Cut,
}

/// The events of one file of a log that is being written, as a server's dump sends them.
pub trait LiveEvents: Send {
    /// Appends the next event to `bytes` and returns it: first the format description, at offset 4, then the event at `offset`. If
    /// the next event is at a later offset, returns [`NextEvent::Gap`] until the caller continues there. With `may_wait`, waits for
    /// the next event.
    fn next(&mut self, offset: u64, bytes: &mut Vec<u8>, may_wait: bool) -> Result<NextEvent>;
}

/// The source of a file's events.
pub enum EventSource {
    /// The bytes of a file.
    Bytes(Box<dyn Input>),
    /// A server's dump.
    Live(Box<dyn LiveEvents>),
}

impl EventSource {
    /// Returns the source in a form that fails when the read is cancelled: otherwise a slow source
    /// would delay the end.
    pub(super) fn cancellable(self, cancel: &CancelToken) -> Self {
        let cancel = cancel.clone();
        match self {
            Self::Bytes(source) => Self::Bytes(Box::new(Cancellable { source, cancel })),
            Self::Live(source) => Self::Live(Box::new(Cancellable { source, cancel })),
        }
    }
}

/// A source that fails when its reader is cancelled.
struct Cancellable<S: ?Sized> {
    source: Box<S>,
    cancel: CancelToken,
}

impl Input for Cancellable<dyn Input> {
    fn read_at(&mut self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        self.cancel.check().map_err(io::Error::other)?;
        self.source.read_at(offset, buffer)
    }

    fn size(&mut self) -> io::Result<Option<u64>> {
        self.source.size()
    }
}

impl LiveEvents for Cancellable<dyn LiveEvents> {
    fn next(&mut self, offset: u64, bytes: &mut Vec<u8>, may_wait: bool) -> Result<NextEvent> {
        // Events are small: checking for an interrupt at each of them would take too long.
        match self.cancel.is_cancelled() {
            true => Err(Error::cancelled()),
            false => self.source.next(offset, bytes, may_wait),
        }
    }
}
