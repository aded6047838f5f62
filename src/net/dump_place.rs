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

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &[u8] = include_bytes!("../../tests/fixtures/mariadb10-images/binlog.000001");

    /// The events of the file, without its magic bytes.
    fn events() -> Vec<Vec<u8>> {
        let (mut events, mut rest) = (Vec::new(), &FILE[4..]);
        while !rest.is_empty() {
            let (_, event) = EventHeader::first_event(rest).unwrap();
            events.push(event.unwrap().to_vec());
            rest = &rest[event.unwrap().len()..];
        }
        events
    }

    fn pass(place: &mut DumpPlace, event: &[u8]) -> bool {
        place.pass(&EventHeader::decode(event).unwrap(), event).unwrap()
    }

    /// An event that the server makes for the reader: the file of the next event, and its offset.
    fn rotate(file: &str, offset: u64) -> Vec<u8> {
        let mut event = vec![0; EventHeader::LEN];
        event[4] = EventType::ROTATE.0;
        event.extend(offset.to_le_bytes());
        event.extend(file.as_bytes());
        let size = event.len() as u32;
        event[9..13].copy_from_slice(&size.to_le_bytes());
        event
    }

    #[test]
    fn a_file_from_its_start() {
        // From 11.4 on, MariaDB's events of a transaction do not contain their end.
        for has_ends in [true, false] {
            let mut place = DumpPlace::default();
            assert!(!pass(&mut place, &rotate("b.2", 4)));
            let mut end = 4;
            for (number, mut event) in events().into_iter().enumerate() {
                end += event.len() as u64;
                if !has_ends && number > 0 {
                    event[13..17].fill(0);
                }
                assert!(pass(&mut place, &event), "{number}");
                let header = EventHeader::decode(&event).unwrap();
                let found = place.event(header, &event).unwrap().unwrap();
                assert_eq!((found.file, found.end), ("b.2", end));
                let of_event = EventHeader::LEN + found.format.checksum.len();
                assert_eq!(found.body.len(), event.len() - of_event);
            }
            assert_eq!(end, FILE.len() as u64);
            let order = |file: &str, offset| place.order(&Position::in_file(file, offset));
            assert_eq!(order("b.2", end), Ordering::Equal);
            assert_eq!(order("b.2", end + 1), Ordering::Less);
            assert_eq!(order("b.1", end + 1), Ordering::Greater);
            assert_eq!(order("b.10", 4), Ordering::Less);
        }
    }

    #[test]
    fn a_file_from_its_middle() {
        let events = events();
        let from = 4 + events[0].len() as u64 + events[1].len() as u64;
        let mut place = DumpPlace::new("b.2".into(), from);
        assert!(!pass(&mut place, &rotate("b.2", from)));
        // Before the format is known, an event has no body.
        let mut early = DumpPlace::new("b.2".into(), from);
        assert!(!pass(&mut early, &events[2]));
        assert!(
            early.event(EventHeader::decode(&events[2]).unwrap(), &events[2]).unwrap().is_none()
        );
        // The format description is sent again, without its offset.
        let mut format = events[0].clone();
        format[13..17].fill(0);
        assert!(!pass(&mut place, &format));
        assert!(place.has_format());
        assert!(pass(&mut place, &events[2]));
        let end = from + events[2].len() as u64;
        assert_eq!(place.order(&Position::in_file("b.2", end)), Ordering::Equal);
    }
}
