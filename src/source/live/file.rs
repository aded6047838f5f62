//! One file of a server's log, while the server sends it.
//!
//! It returns the format description and then the file's events, at their own offsets. The parts
//! between the format description and the start, and the parts that the server skips, are gaps.

use super::stream::{Received, Stream};
use crate::binlog::{
    ChecksumAlgorithm, EventHeader, EventType, FIRST_EVENT_AT, FormatDescription, Heartbeat,
    HeartbeatOffset,
};
use crate::error::{Error, ErrorKind, Result};
use crate::net::{NextFile, artificial_body, is_own, next_file, resolve};
use crate::source::event_source::{Event, LiveEvents, NextEvent};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The stream, and the file after the current one.
pub(super) struct Shared {
    pub(super) stream: Stream,
    pub(super) next: Option<NextFile>,
}

impl Shared {
    pub(super) fn new(stream: Stream, next: Option<NextFile>) -> Arc<Mutex<Self>> {
        Arc::new(Mutex::new(Self { stream, next }))
    }
}

/// The current file.
pub(super) struct LiveFile {
    shared: Arc<Mutex<Shared>>,
    state: FileState,
    /// True if the stream's last event is the event at `state.end`, and was not returned.
    is_waiting: bool,
}

/// The name of the file, and how far it was received.
struct FileState {
    name: String,
    /// The time in the format description, once it was received: the time when the file was created.
    created: Option<u32>,
    /// Offset of the next event.
    end: u64,
    /// True if a heartbeat was received that was not reported.
    has_heartbeat: bool,
    /// Set once the stream has continued in another file, or has ended.
    ended: Option<NextEvent>,
}

/// An event that was received.
enum Taken {
    /// An event of the file.
    Own,
    /// The format description.
    Format,
    /// Another event, which the server made for this reader.
    Other,
}

impl LiveFile {
    /// A file whose next event is its format description, and then the event at `offset`.
    pub(super) fn new(shared: Arc<Mutex<Shared>>, name: String, offset: u64) -> Self {
        let state =
            FileState { name, created: None, end: offset, has_heartbeat: false, ended: None };
        Self { shared, state, is_waiting: false }
    }
}

impl LiveEvents for LiveFile {
    fn next(&mut self, offset: u64, bytes: &mut Vec<u8>, may_wait: bool) -> Result<NextEvent> {
        let Self { shared, state, is_waiting } = self;
        let mut shared = lock(shared);
        let Shared { stream, next } = &mut *shared;
        loop {
            if state.created.is_some() {
                if offset < state.end {
                    return Ok(NextEvent::Gap(state.end));
                }
                if std::mem::take(&mut state.has_heartbeat) && stream.options.heartbeats {
                    return Ok(NextEvent::Heartbeat);
                }
            }
            if std::mem::take(is_waiting) {
                let header = EventHeader::decode(stream.event())?;
                return Ok(state.append(header, stream.event(), bytes));
            }
            if let Some(ended) = state.ended {
                return Ok(ended);
            }
            let received = match may_wait {
                true => Some(stream.next_event(&state.name, state.end)?),
                false => stream.next_ready(&state.name, state.end),
            };
            let header = match received {
                Some(Received::Event(header)) => header,
                Some(Received::End) => {
                    state.ended = Some(NextEvent::End);
                    continue;
                }
                Some(Received::Left) => {
                    state.ended = Some(NextEvent::Left);
                    continue;
                }
                None => return Ok(NextEvent::Pending),
            };
            let event = stream.event();
            match state.take(&header, event, stream.is_mariadb(), next)? {
                Taken::Other => {}
                Taken::Format => return state.begin(header, event, bytes),
                Taken::Own if offset < state.end => *is_waiting = true,
                Taken::Own => return Ok(state.append(header, event, bytes)),
            }
        }
    }
}

impl FileState {
    /// Takes an event. The offset of an event of the file is then `end`.
    fn take(
        &mut self,
        header: &EventHeader,
        event: &[u8],
        is_mariadb: bool,
        next: &mut Option<NextFile>,
    ) -> Result<Taken> {
        match header.event_type {
            EventType::ROTATE if !is_own(header) => {
                let file = next_file(event)?;
                if file.name != self.name {
                    *next = Some(file);
                    self.ended = Some(NextEvent::End);
                }
            }
            EventType::FORMAT_DESCRIPTION if self.created.is_none() => return Ok(Taken::Format),
            // Each connection sends it again, with the time when the file was created.
            EventType::FORMAT_DESCRIPTION => {
                if self.created != Some(header.timestamp) {
                    return Err(Error::new(
                        ErrorKind::ServerIdentity,
                        "the server has created a file of this name again: the log was reset, and changes may be lost",
                    ));
                }
            }
            event_type if event_type.is_heartbeat() => self.heartbeat(header, event, is_mariadb)?,
            _ if !is_own(header) => {}
            _ => {
                if header.log_pos != 0 {
                    self.end = resolve(self.end, header.log_pos.wrapping_sub(header.event_size))?;
                }
                return Ok(Taken::Own);
            }
        }
        Ok(Taken::Other)
    }

    /// Appends an event to `bytes`.
    fn append(&mut self, header: EventHeader, event: &[u8], bytes: &mut Vec<u8>) -> NextEvent {
        bytes.extend_from_slice(event);
        let (offset, len) = (self.end, event.len());
        self.end += len as u64;
        NextEvent::Event(Event { header, offset, len })
    }

    /// Appends the format description to `bytes`.
    fn begin(
        &mut self,
        header: EventHeader,
        event: &[u8],
        bytes: &mut Vec<u8>,
    ) -> Result<NextEvent> {
        let (from, len) = (bytes.len(), event.len());
        bytes.extend_from_slice(event);
        if header.log_pos == 0 {
            renew_checksum(bytes.get_mut(from..).unwrap_or_default())?;
        }
        self.created = Some(header.timestamp);
        if self.end == FIRST_EVENT_AT {
            self.end += len as u64;
        }
        Ok(NextEvent::Event(Event { header, offset: FIRST_EVENT_AT, len }))
    }

    /// A heartbeat contains the offset up to which the server has skipped events since the last one.
    fn heartbeat(&mut self, header: &EventHeader, event: &[u8], is_mariadb: bool) -> Result<()> {
        let heartbeat = Heartbeat::decode(header, artificial_body(event), is_mariadb)?;
        self.has_heartbeat = true;
        if heartbeat.file == self.name.as_bytes() {
            let to = match heartbeat.offset {
                HeartbeatOffset::Unknown => return Ok(()),
                HeartbeatOffset::Low(low) => resolve(self.end, low)?,
                HeartbeatOffset::Complete(offset) => offset,
            };
            self.end = self.end.max(to);
        }
        Ok(())
    }
}

/// If a dump begins within a file, the server changes the format description, and updates its checksum only if the other events
/// of the file have one.
fn renew_checksum(event: &mut [u8]) -> Result<()> {
    let format = FormatDescription::decode(event)?;
    if format.has_checksum
        && format.checksum == ChecksumAlgorithm::Off
        && let Some((covered, stored)) = event.split_last_chunk_mut()
    {
        *stored = crc32fast::hash(covered).to_le_bytes();
    }
    Ok(())
}

pub(super) fn lock(shared: &Mutex<Shared>) -> MutexGuard<'_, Shared> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}
