//! The events of a dump: those of a file, and those that the server makes for this reader.

use crate::binlog::{EventHeader, EventType, Rotate};
use crate::error::{Error, Result};

/// The file of the next events.
pub(crate) struct NextFile {
    /// Its name.
    pub(crate) name: String,
    /// Offset of the first event that is sent of it.
    pub(crate) offset: u64,
}

/// The header of an event that was received.
pub(crate) fn complete_event(event: &[u8]) -> Result<EventHeader> {
    match EventHeader::first_event(event)? {
        (header, Some(bytes)) if bytes.len() == event.len() => Ok(header),
        (header, _) => Err(Error::malformed(format!(
            "the server sent {} bytes for an event of {}",
            event.len(),
            header.event_size
        ))),
    }
}

/// True for the events at the start of every dump, which do not show that it continues.
pub(crate) fn is_opening(header: &EventHeader) -> bool {
    [EventType::ROTATE, EventType::FORMAT_DESCRIPTION].contains(&header.event_type)
}

/// True if an event is in the file, and not made for this reader.
pub(crate) fn is_own(header: &EventHeader) -> bool {
    let is_made_for_us = match header.event_type {
        event_type if event_type.is_heartbeat() => true,
        // If a dump begins within a file, the first events of the file are sent again.
        EventType::FORMAT_DESCRIPTION | EventType::MARIADB_START_ENCRYPTION => header.log_pos == 0,
        EventType::ROTATE => header.timestamp == 0,
        _ => false,
    };
    !is_made_for_us && !header.has(EventHeader::ARTIFICIAL)
}

/// The file that a Rotate event names that the server made for this reader.
pub(crate) fn next_file(event: &[u8]) -> Result<NextFile> {
    let rotate = Rotate::decode(artificial_body(event))?;
    Ok(NextFile { name: rotate.file.to_owned(), offset: rotate.position })
}

/// The body of an event that the server made for this reader. Such an event has a checksum or not, which depends on the previous
/// file and on settings: here it is detected from the bytes.
pub(crate) fn artificial_body(event: &[u8]) -> &[u8] {
    let covered = match event.split_last_chunk() {
        Some((covered, stored)) if crc32fast::hash(covered) == u32::from_le_bytes(*stored) => {
            covered
        }
        _ => event,
    };
    covered.get(EventHeader::LEN..).unwrap_or_default()
}

/// The offset at or after `end` that has these lower 32 bits. An offset that would be far after `end` is before it.
pub(crate) fn resolve(end: u64, low: u32) -> Result<u64> {
    let candidate = (end & !u64::from(u32::MAX)) | u64::from(low);
    let offset = if candidate < end { candidate + (1 << 32) } else { candidate };
    match offset - end < MAX_GAP {
        true => Ok(offset),
        false => Err(Error::malformed(format!(
            "the server went back in its file, from offset {end} to one that ends in {low}"
        ))),
    }
}

/// The server skips less than this at a time; the rest of 4 GiB is the largest possible error of an offset.
const MAX_GAP: u64 = (1 << 32) - (256 << 20);

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
