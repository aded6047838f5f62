//! Stores of histories: their interface, and their rows.
//!
//! A store does not interpret the SQL, the positions and the catalogs in its rows. It keeps rows in order, with one writer per
//! source.
//! Implementations: [`MemoryStore`](super::MemoryStore), and those in `crate::store`.

use crate::ddl::TableName;
use crate::error::{Error, Result};
use crate::position::{Position, file_number};
use std::fmt;
use std::path::Path;
use std::time::Duration;

/// A store of the histories of many sources. All calls may fail with an error of the file or server.
pub trait Store: Send {
    /// Its place for messages, without a password: a file, or a server and database.
    fn place(&self) -> String;

    /// The tables that it writes to, if it is a database of a server: the log of this server contains their changes.
    fn own_tables(&self) -> Vec<TableName> {
        Vec::new()
    }

    /// The sources in the store.
    fn sources(&mut self) -> Result<Vec<String>>;

    /// Makes this store the only writer of a source, until it is dropped.
    ///
    /// # Errors
    /// Another process is the writer: an [`ErrorKind::Config`](crate::ErrorKind::Config) with its host, its process and its start.
    fn lock(&mut self, source: &str) -> Result<()>;

    /// Like [`Self::lock`]. If another process is the writer, returns its description.
    ///
    /// # Errors
    /// The store can only be read: an [`ErrorKind::Config`](crate::ErrorKind::Config).
    fn try_lock(&mut self, source: &str) -> Result<Option<String>>;

    /// The timelines of a source, by their ids.
    fn timelines(&mut self, source: &str) -> Result<Vec<TimelineRow>>;

    /// At most `limit` entries of a timeline in a range, in order, without checkpoints, which change nothing.
    fn changes(&mut self, source: &str, range: EntryRange, limit: usize) -> Result<Vec<EntryRow>>;

    /// The last entry of a timeline up to and including `until`. With `only_complete`, of the entries that contain all tables.
    fn last_entry(
        &mut self,
        source: &str,
        timeline: u64,
        until: EntryKey,
        only_complete: bool,
    ) -> Result<Option<EntryRow>>;

    /// The last entry, by timeline and key, at or before a time.
    fn last_by_time(&mut self, source: &str, timestamp: i64) -> Result<Option<EntryRow>>;

    /// Makes all changes or none. They survive a loss of power after the return. The store must be locked.
    fn write(&mut self, source: &str, writes: &[StoreWrite]) -> Result<()>;

    /// Writes a copy of the complete store into a new file, while others may read and write the store.
    ///
    /// # Errors
    /// The store is not in a file, or the copy cannot be written.
    fn copy_to(&mut self, _path: &Path) -> Result<()> {
        Err(Error::config(format!("{}: only a history in a file can be copied", self.place())))
    }

    /// The interval at which the end of a timeline is written if there is nothing else to write.
    fn flush_interval(&self, _server: Option<&str>) -> Duration {
        Duration::from_secs(1)
    }
}

/// A change of a store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StoreWrite {
    /// A timeline, which replaces one with the same id.
    Timeline(TimelineRow),
    /// An entry, which replaces one with the same key.
    Entry(EntryRow),
    /// Removes the entries in a range, of one kind or of all kinds.
    RemoveEntries(EntryRange, Option<EntryKind>),
    /// Removes a timeline and its entries.
    RemoveTimeline(u64),
}

/// The stored form of a timeline.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TimelineRow {
    /// Its number: later ones are greater.
    pub id: u64,
    /// The server; `None` if the log was read from files.
    pub server: Option<String>,
    /// Its start: a position as JSON.
    pub from: String,
    /// Its end: a position as JSON.
    pub reached: String,
    /// Incremented whenever stored entries are rewritten, not merely appended.
    pub revision: u64,
    /// The creation time of the file that it begins in, in seconds since 1970 UTC; 0 if it is not known.
    pub from_file_time: u32,
    /// The creation time of the file that it ends in; 0 if it is not known.
    pub reached_file_time: u32,
}

/// A row of a history.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EntryRow {
    /// Its timeline.
    pub timeline: u64,
    /// Its key in the timeline.
    pub key: EntryKey,
    /// Its kind.
    pub kind: EntryKind,
    /// Microseconds since 1970 UTC.
    pub timestamp: i64,
    /// The position after it, as JSON.
    pub position: String,
    /// The default database of a statement.
    pub database: String,
    /// The settings on which the meaning of the body depends, as JSON.
    pub details: String,
    /// The text of a statement, or a compressed script.
    pub body: Vec<u8>,
    /// CRC32 of the other fields.
    pub checksum: u32,
}

impl EntryRow {
    /// The correct checksum.
    pub fn sum(&self) -> u32 {
        let mut hasher = crc32fast::Hasher::new();
        for number in [self.timeline, self.key.file, self.key.offset, self.key.ordinal.into()] {
            hasher.update(&number.to_le_bytes());
        }
        hasher.update(&self.timestamp.to_le_bytes());
        let kind = self.kind.name();
        for text in [kind, &self.position, &self.database, &self.details] {
            hasher.update(&(text.len() as u64).to_le_bytes());
            hasher.update(text.as_bytes());
        }
        hasher.update(&self.body);
        hasher.finalize()
    }
}

/// The place of an entry in its timeline.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct EntryKey {
    /// The number of the file.
    pub file: u64,
    /// Offset in the file: the end of the transaction.
    pub offset: u64,
    /// The number of the entry among those of one position.
    pub ordinal: u32,
}

impl EntryKey {
    /// The first key.
    pub const FIRST: Self = Self { file: 0, offset: 0, ordinal: 0 };
    /// The last key.
    pub const LAST: Self = Self { file: u64::MAX, offset: u64::MAX, ordinal: u32::MAX };

    /// The key of an entry at a position.
    pub fn of(position: &Position, ordinal: u32) -> Self {
        let file = file_number(&position.file).unwrap_or_default();
        Self { file, offset: position.offset, ordinal }
    }

    /// The key after all entries at a position.
    pub fn end_of(position: &Position) -> Self {
        Self::of(position, u32::MAX)
    }

    /// The last key before it.
    #[must_use]
    pub fn previous(self) -> Option<Self> {
        let Self { file, offset, ordinal } = self;
        if let Some(ordinal) = ordinal.checked_sub(1) {
            return Some(Self { file, offset, ordinal });
        }
        if let Some(offset) = offset.checked_sub(1) {
            return Some(Self { file, offset, ordinal: u32::MAX });
        }
        Some(Self { file: file.checked_sub(1)?, offset: u64::MAX, ordinal: u32::MAX })
    }
}

/// A range of entries of a timeline.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EntryRange {
    /// The timeline.
    pub timeline: u64,
    /// Entries after this key; `None` for all from the beginning of the timeline.
    pub after: Option<EntryKey>,
    /// Entries up to this key.
    pub until: EntryKey,
}

impl EntryRange {
    /// True if the key is in the range.
    pub fn contains(&self, key: EntryKey) -> bool {
        self.after.is_none_or(|after| key > after) && key <= self.until
    }
}

/// The kind of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum EntryKind {
    /// The structures of all tables, which do not come from the log.
    Baseline,
    /// The structures of some tables, which do not come from the log.
    Tables,
    /// A statement.
    Ddl,
    /// The result of the entries before it.
    Checkpoint,
}

impl EntryKind {
    /// All kinds.
    pub const ALL: [Self; 4] = [Self::Baseline, Self::Tables, Self::Ddl, Self::Checkpoint];

    /// Its name in a store.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Baseline => "baseline",
            Self::Tables => "tables",
            Self::Ddl => "ddl",
            Self::Checkpoint => "checkpoint",
        }
    }

    /// The kind with a name.
    pub fn by_name(name: &str) -> Result<Self> {
        let found = Self::ALL.into_iter().find(|kind| kind.name() == name);
        found.ok_or_else(|| {
            Error::malformed(format!("the history is damaged: it has no entries of kind {name:?}"))
        })
    }

    /// True if its content does not follow from the entries before it.
    pub const fn is_given(self) -> bool {
        !matches!(self, Self::Checkpoint)
    }

    /// True if a catalog can begin with it.
    pub const fn is_complete(self) -> bool {
        matches!(self, Self::Baseline | Self::Checkpoint)
    }
}

impl fmt::Display for EntryKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
