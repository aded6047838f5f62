//! Where histories are kept: what a store must do, and the rows that it keeps.
//!
//! A store knows nothing of SQL that it keeps, of positions or catalogs: it keeps rows, in order, and one writer a source.
//! Implementations: [`MemoryStore`](super::MemoryStore), and those in `crate::store`.

use crate::ddl::TableName;
use crate::error::{Error, Result};
use crate::position::{Position, file_number};
use std::fmt;
use std::time::Duration;

/// Rows of histories, of many sources. All calls may fail with what is wrong with the place that it keeps them in.
pub trait Store: Send {
    /// Where it is, for messages: a file, or a server and database. No password.
    fn place(&self) -> String;

    /// Tables that it writes to, where it is a database of a server: changes of them are in that server's log.
    fn own_tables(&self) -> Vec<TableName> {
        Vec::new()
    }

    /// The sources that it has rows of.
    fn sources(&mut self) -> Result<Vec<String>>;

    /// Makes this store the only writer of a source, until it is dropped.
    ///
    /// # Errors
    /// Another is: an [`ErrorKind::Config`](crate::ErrorKind::Config) that names its host, its process and since when.
    fn lock(&mut self, source: &str) -> Result<()>;

    /// The same without waiting; if another process is the writer, returns its description.
    ///
    /// # Errors
    /// The store can only be read: an [`ErrorKind::Config`](crate::ErrorKind::Config).
    fn try_lock(&mut self, source: &str) -> Result<Option<String>>;

    /// The timelines of a source, by their ids.
    fn timelines(&mut self, source: &str) -> Result<Vec<TimelineRow>>;

    /// The entries of a timeline in a range, in order, at most `limit`; but for checkpoints, which change nothing.
    fn changes(&mut self, source: &str, range: EntryRange, limit: usize) -> Result<Vec<EntryRow>>;

    /// The last entry of a timeline up to and with `until`: of those that hold all tables, or of all.
    fn last_entry(
        &mut self,
        source: &str,
        timeline: u64,
        until: EntryKey,
        only_whole: bool,
    ) -> Result<Option<EntryRow>>;

    /// The last entry, by timeline and place, whose time is at or before `timestamp`.
    fn last_by_time(&mut self, source: &str, timestamp: i64) -> Result<Option<EntryRow>>;

    /// Does all of it or nothing, durably: it survives the loss of power when this returns. The store must be locked.
    fn write(&mut self, source: &str, writes: &[StoreWrite]) -> Result<()>;

    /// How often it may be told how far a history reaches, where there is nothing else to write.
    fn flush_interval(&self, _server: Option<&str>) -> Duration {
        Duration::from_secs(1)
    }
}

/// A change of a store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StoreWrite {
    /// A timeline, in the place of what has its id.
    Timeline(TimelineRow),
    /// An entry, in the place of what has its key.
    Entry(EntryRow),
    /// Removes entries in a range, of one kind or of all.
    RemoveEntries(EntryRange, Option<EntryKind>),
    /// Removes a timeline and its entries.
    RemoveTimeline(u64),
}

/// A run of one server's log that a history knows whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TimelineRow {
    /// Its number: later ones are greater.
    pub id: u64,
    /// The server; `None` if the log was read from files.
    pub server: Option<String>,
    /// Where it begins, as a position's JSON.
    pub from: String,
    /// How far it reaches, as a position's JSON.
    pub reached: String,
    /// Incremented whenever stored entries are rewritten, not merely appended.
    pub revision: u64,
    /// The creation time of the file that it begins in, in seconds since 1970 UTC; 0 if it is not known.
    pub from_begun: u32,
    /// The creation time of the file that it ends in; 0 if it is not known.
    pub reached_begun: u32,
}

/// A row of a history.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EntryRow {
    /// The timeline that it is of.
    pub timeline: u64,
    /// Its place in that.
    pub key: EntryKey,
    /// Its kind.
    pub kind: EntryKind,
    /// Microseconds since 1970 UTC.
    pub timestamp: i64,
    /// The position after it, as JSON.
    pub position: String,
    /// A statement's default database.
    pub database: String,
    /// The settings on which the meaning of the body depends, as JSON.
    pub details: String,
    /// A statement's text, or a compressed script.
    pub body: Vec<u8>,
    /// CRC32 of all else.
    pub checksum: u32,
}

impl EntryRow {
    /// The checksum that it should have.
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
    /// Among those of one place.
    pub ordinal: u32,
}

impl EntryKey {
    /// Before all others.
    pub const FIRST: Self = Self { file: 0, offset: 0, ordinal: 0 };
    /// Behind all others.
    pub const LAST: Self = Self { file: u64::MAX, offset: u64::MAX, ordinal: u32::MAX };

    /// At a position.
    pub fn of(position: &Position, ordinal: u32) -> Self {
        let file = file_number(&position.file).unwrap_or_default();
        Self { file, offset: position.offset, ordinal }
    }

    /// Behind all that is in force at a position.
    pub fn end_of(position: &Position) -> Self {
        Self::of(position, u32::MAX)
    }

    /// The last place before it.
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

/// Entries of a timeline.
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
    /// The structures of all tables, from elsewhere than the log.
    Baseline,
    /// The structures of some tables, from elsewhere than the log.
    Tables,
    /// A statement.
    Ddl,
    /// All that follows from the entries before it.
    Checkpoint,
}

impl EntryKind {
    /// All of them.
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

    /// By its name.
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
    pub const fn is_whole(self) -> bool {
        matches!(self, Self::Baseline | Self::Checkpoint)
    }
}

impl fmt::Display for EntryKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
