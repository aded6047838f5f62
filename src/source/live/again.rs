//! A part of a log file that is asked for a second time: the rows of an XA transaction that was prepared earlier.

use super::spool::Spool;
use super::stream::is_own;
use crate::binlog::{EventHeader, EventType, MAGIC};
use crate::net::Dump;
use crate::source::input::Input;
use std::io;

/// A file from one of its events on, up to where it ends now.
pub(super) struct FileAgain {
    dump: Option<Dump>,
    head: Vec<u8>,
    spool: Spool,
}

impl FileAgain {
    /// What a dump sends that begins at `offset`.
    pub(super) fn new(dump: Dump, offset: u64) -> Self {
        Self {
            dump: Some(dump),
            head: Vec::new(),
            spool: Spool::new(offset, crate::limits::MAX_IN_MEMORY),
        }
    }

    fn receive(&mut self) -> io::Result<()> {
        let Some(dump) = &mut self.dump else { return Ok(()) };
        let event = dump.next_event().map_err(io::Error::other)?;
        let Some(event) = event else {
            self.dump = None;
            return Ok(());
        };
        let header = EventHeader::decode(event).map_err(io::Error::other)?;
        match header.event_type {
            EventType::FORMAT_DESCRIPTION if self.head.is_empty() => {
                self.head.extend_from_slice(&MAGIC);
                self.head.extend_from_slice(event);
            }
            _ if is_own(event) => self.spool.push(event)?,
            _ => {}
        }
        Ok(())
    }
}

impl Input for FileAgain {
    fn read_at(&mut self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        while self.dump.is_some() && (self.head.is_empty() || offset >= self.spool.end()) {
            self.receive()?;
        }
        if let Some(rest) = usize::try_from(offset)
            .ok()
            .and_then(|at| self.head.get(at..))
            .filter(|rest| !rest.is_empty())
        {
            let len = rest.len().min(buffer.len());
            if let (Some(to), Some(from)) = (buffer.get_mut(..len), rest.get(..len)) {
                to.copy_from_slice(from);
            }
            return Ok(len);
        }
        if offset < self.spool.start() || offset >= self.spool.end() {
            return Ok(0);
        }
        self.spool.read_at(offset, buffer)
    }

    fn size(&mut self) -> io::Result<Option<u64>> {
        Ok(None)
    }
}
