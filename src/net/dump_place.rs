//! The place of a dump in the log: the file, the offset and the format of its events.

use super::dump_event::{NextFile, is_own, next_file, resolve};
use crate::binlog::{EventHeader, EventType, FormatDescription};
use crate::error::{Error, Result};
use crate::position::{Position, compare_files};
use std::cmp::Ordering;

/// The place of a dump in the log.
#[derive(Debug, Default)]
pub(crate) struct DumpPlace {
    file: String,
    /// Offset of the next event.
    offset: u64,
    format: Option<FormatDescription>,
}

/// An event in a file of the log.
pub(crate) struct LogEvent<'d> {
    /// The name of its file.
    pub(crate) file: &'d str,
    /// The offset after it.
    pub(crate) end: u64,
    pub(crate) header: EventHeader,
    pub(crate) body: &'d [u8],
    /// The format of its file.
    pub(crate) format: &'d FormatDescription,
}

impl DumpPlace {
    /// A dump that begins at an event of a file.
    pub(crate) fn new(file: String, offset: u64) -> Self {
        Self { file, offset, format: None }
    }

    /// True once a format description was received.
    pub(crate) fn has_format(&self) -> bool {
        self.format.is_some()
    }

    /// The order of this place and a position.
    pub(super) fn order(&self, position: &Position) -> Ordering {
        let files = compare_files(&self.file, &position.file).unwrap_or(Ordering::Less);
        files.then(self.offset.cmp(&position.offset))
    }

    /// Moves past an event. True if it is in a file whose format is known, and was not made for this reader.
    pub(crate) fn pass(&mut self, header: &EventHeader, event: &[u8]) -> Result<bool> {
        if header.event_type == EventType::FORMAT_DESCRIPTION {
            self.format = Some(FormatDescription::decode(event)?);
        }
        if is_own(header) {
            self.offset = self.end_of(header);
            return Ok(self.format.is_some());
        }
        // Each file begins with an event that the server makes for this reader.
        if header.event_type == EventType::ROTATE {
            let NextFile { name, offset } = next_file(event)?;
            (self.file, self.offset) = (name, offset);
        }
        Ok(false)
    }

    /// The parts of an event that was passed; `None` if the format of its file is not known.
    pub(crate) fn event<'d>(
        &'d self,
        header: EventHeader,
        event: &'d [u8],
    ) -> Result<Option<LogEvent<'d>>> {
        let Some(format) = &self.format else { return Ok(None) };
        let body = format.checksum.body(event)?;
        Ok(Some(LogEvent { file: &self.file, end: self.offset, header, body, format }))
    }

    /// Adds the place to an error.
    pub(super) fn locate(&self, error: Error) -> Error {
        error.context(format_args!("{}:{}", self.file, self.offset))
    }

    /// Offset after an event. MariaDB's events of a transaction do not contain it from 11.4 on.
    fn end_of(&self, header: &EventHeader) -> u64 {
        let next = self.offset.saturating_add(u64::from(header.event_size));
        match header.log_pos {
            0 => next,
            log_pos => resolve(next, log_pos).unwrap_or(next),
        }
    }
}

impl LogEvent<'_> {
    /// Adds the place to an error.
    pub(crate) fn locate(&self, error: Error) -> Error {
        error.context(format_args!("{}:{}", self.file, self.end))
    }
}
