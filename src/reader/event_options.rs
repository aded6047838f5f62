//! What `inspect` is to show: places, tables, event types.

use super::event_info::SeenEvent;
use crate::binlog::EventType;
use crate::change::{TableFilter, matches_glob};
use crate::error::{Error, Result};

/// Which events to show, and what of them.
#[derive(Debug, Clone, Default)]
pub struct EventListOptions {
    /// Verify the CRC32 of every event.
    pub verify_checksum: bool,
    /// The first event to show.
    pub start: Option<EventPlace>,
    /// The first event not to show any more.
    pub stop: Option<EventPlace>,
    /// Only Table_map and rows events of these tables.
    pub tables: Option<TableFilter>,
    /// Only these types; an event in a Transaction_payload event counts for itself.
    pub types: Option<EventTypeFilter>,
    /// Show statements whole, values and all.
    pub queries: bool,
    /// Give the columns and the key of each Table_map event.
    pub table_metadata: bool,
    /// Give the bytes of each event.
    pub data: bool,
}

impl EventListOptions {
    /// Whether the events end before this one.
    pub(super) fn ends_before(&self, event: &SeenEvent<'_>) -> bool {
        match &self.stop {
            None => false,
            Some(EventPlace::At(file, offset)) => **event.file == **file && event.offset >= *offset,
            Some(EventPlace::Time(time)) => !event.compressed && event.is_since(*time),
        }
    }

    /// Whether the event is one of those asked for.
    pub(super) fn wants(&self, event: &SeenEvent<'_>) -> bool {
        self.types.as_ref().is_none_or(|types| types.accepts(event.header.event_type))
            && self.tables.as_ref().is_none_or(|tables| {
                event.table().is_some_and(|name| tables.accepts(&name.database, &name.table))
            })
    }
}

/// A place among the events.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EventPlace {
    /// An event's offset in one of the files; an empty name is that of the only file.
    At(String, u64),
    /// The first event that is not older, in seconds since 1970 UTC.
    Time(i64),
}

/// Which event types are wanted, by code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventTypeFilter([bool; 256]);

impl EventTypeFilter {
    /// From names as `SHOW BINLOG EVENTS` prints them, in any case, with `*` and `?`; or codes.
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
                    "no event type is called {pattern:?}: write a name as inspect prints it, with * and ? as wildcards, or a code"
                )));
            }
        }
        Ok(Self(wanted))
    }

    fn accepts(&self, event_type: EventType) -> bool {
        self.0.get(usize::from(event_type.0)).copied().unwrap_or_default()
    }
}
