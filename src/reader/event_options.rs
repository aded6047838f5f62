//! The options of `inspect`: places, tables, event types.

use crate::binlog::EventType;
use crate::change::{TableFilter, matches_glob};
use crate::error::{Error, Result};

/// The events to show, and their parts.
#[derive(Debug, Clone, Default)]
pub struct EventListOptions {
    /// Verify the CRC32 of every event.
    pub verify_checksum: bool,
    /// The first event to show.
    pub start: Option<EventPlace>,
    /// The first event after those to show.
    pub stop: Option<EventPlace>,
    /// Only Table_map and rows events of these tables.
    pub tables: Option<TableFilter>,
    /// Only these types; an event in a Transaction_payload event is compared by its own type.
    pub types: Option<EventTypeFilter>,
    /// Show complete statements, with values.
    pub queries: bool,
    /// Return the columns and the key of each Table_map event.
    pub table_metadata: bool,
    /// Return the bytes of each event.
    pub data: bool,
}

/// A place among the events.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EventPlace {
    /// An event's offset in one of the files; an empty name means the only file.
    At(String, u64),
    /// The first event at this time or later, in seconds since 1970 UTC.
    Time(i64),
}

/// The selected event types, by code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventTypeFilter([bool; 256]);

impl EventTypeFilter {
    /// Creates a filter from names as `SHOW BINLOG EVENTS` prints them, ignoring letter case, with
    /// `*` and `?`; or from codes.
    pub fn try_new<S: AsRef<str>>(patterns: &[S]) -> Result<Self> {
        let mut wanted = [false; 256];
        for pattern in patterns.iter().map(AsRef::as_ref) {
            let lower = pattern.to_ascii_lowercase();
            let mut found = false;
            for (code, slot) in (0..=u8::MAX).zip(&mut wanted) {
                let name = EventType(code).name().to_ascii_lowercase();
                let is_meant = matches_glob(lower.as_bytes(), name.as_bytes())
                    || lower.parse::<u8>().is_ok_and(|given| given == code);
                *slot |= is_meant;
                found |= is_meant;
            }
            if !found {
                return Err(Error::config(format!(
                    "no event type has the name {pattern:?}: write a name as inspect prints it, with * and ? as wildcards, or a code"
                )));
            }
        }
        Ok(Self(wanted))
    }

    pub(super) fn accepts(&self, event_type: EventType) -> bool {
        self.0.get(usize::from(event_type.0)).copied().unwrap_or_default()
    }
}
