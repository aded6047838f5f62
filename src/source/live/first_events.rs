//! The first events of a file, which describe the file.

use super::stream::{Received, Stream};
use crate::error::Result;
use crate::net::{DumpPlace, LogEvent};

/// The first events of a file, from a dump that begins there.
pub(super) struct FirstEvents<'s> {
    stream: &'s mut Stream,
    place: DumpPlace,
    /// The maximum number of events that are still read.
    left: usize,
}

impl<'s> FirstEvents<'s> {
    pub(super) fn new(stream: &'s mut Stream, count: usize) -> Self {
        Self { stream, place: DumpPlace::default(), left: count }
    }

    /// True once the format description was read.
    pub(super) fn has_started(&self) -> bool {
        self.place.has_format()
    }

    /// The next event of the file, from its format description on.
    pub(super) fn next(&mut self) -> Result<Option<LogEvent<'_>>> {
        while self.left > 0 {
            self.left -= 1;
            // Without the name of a file, a lost connection is an error.
            let Received::Event(header) = self.stream.next_event("", 0)? else { break };
            if self.place.pass(&header, self.stream.event())? {
                return self.place.event(header, self.stream.event());
            }
        }
        Ok(None)
    }
}
