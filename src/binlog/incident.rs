//! Incident_event: an event on the server that caused a gap in the log.
//!
//! <https://dev.mysql.com/doc/dev/mysql-server/latest/classmysql_1_1binlog_1_1event_1_1Incident__event.html>

use crate::wire::{Reader, Result};

/// A gap in the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Incident<'a> {
    /// The kind of the incident: servers write [`Incident::LOST_EVENTS`] only.
    pub kind: u16,
    /// The server's message; may be empty.
    pub message: &'a [u8],
}

impl<'a> Incident<'a> {
    /// Changes were made that are not in the log.
    pub const LOST_EVENTS: u16 = 1;

    /// Decodes a body without its checksum.
    pub fn decode(body: &'a [u8]) -> Result<Self> {
        let mut reader = Reader::new(body);
        let kind = reader.u16("incident kind")?;
        let message = match reader.is_empty() {
            true => &[],
            false => {
                let len = reader.u8("incident message length")?;
                reader.take(usize::from(len), "incident message")?
            }
        };
        reader.finish("Incident event")?;
        Ok(Self { kind, message })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bodies() {
        let message = Incident { kind: Incident::LOST_EVENTS, message: b"lost" };
        assert_eq!(Incident::decode(b"\x01\0\x04lost"), Ok(message));
        assert_eq!(Incident::decode(b"\x01\0"), Ok(Incident { kind: 1, message: b"" }));
        for bad in [&b"\x01"[..], b"\x01\0\x05lost", b"\x01\0\x03lost"] {
            assert!(Incident::decode(bad).is_err());
        }
    }
}
