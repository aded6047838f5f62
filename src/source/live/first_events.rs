//! The first events of a file, which describe the file.

use super::stream::{Received, Stream};
use crate::binlog::{EventHeader, EventType, FormatDescription};
use crate::error::Result;
use crate::net::is_own;

/// The first events of a file, from a dump that begins there.
pub(super) struct FirstEvents<'s> {
    stream: &'s mut Stream,
    format: Option<FormatDescription>,
    /// The maximum number of events that are still read.
    left: usize,
}

impl<'s> FirstEvents<'s> {
    pub(super) fn new(stream: &'s mut Stream, count: usize) -> Self {
        Self { stream, format: None, left: count }
    }

    /// True once the format description was read.
    pub(super) fn has_started(&self) -> bool {
        self.format.is_some()
    }

    /// The next event of the file, from its format description on: its header, its body, and the format.
    pub(super) fn next(&mut self) -> Result<Option<(EventHeader, &[u8], &FormatDescription)>> {
        while self.left > 0 {
            self.left -= 1;
            // Without the name of a file, a lost connection is an error.
            let Received::Event(header) = self.stream.next_event("", 0)? else { break };
            if !is_own(&header) {
                continue;
            }
            if self.format.is_none() {
                if header.event_type != EventType::FORMAT_DESCRIPTION {
                    continue;
                }
                self.format = Some(FormatDescription::decode(self.stream.event())?);
            }
            let Some(format) = &self.format else { break };
            return Ok(Some((header, format.checksum.body(self.stream.event())?, format)));
        }
        Ok(None)
    }
}
