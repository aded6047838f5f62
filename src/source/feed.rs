//! Files that are not all known before: those of a log that is written while it is read.

use super::event_source::LiveEvents;
use super::file_list::InputFile;
use crate::baseline::Baseline;
use crate::error::Result;
use crate::position::{GtidState, Position};
use crate::schema::NameCase;

/// A file that comes next.
pub struct FedFile {
    /// The file.
    pub file: InputFile,
    /// Where the reader stands now, where the file does not follow the one before it.
    pub moved: Option<Box<ResumePoint>>,
}

/// Where reading begins.
#[derive(Debug, Clone, Default)]
pub struct ResumePoint {
    /// The position that the first row comes after.
    pub position: Position,
    /// By GTID, what was read already although it may come again.
    pub already_read: Option<GtidState>,
    /// The meaning of letter case in names of tables at the server.
    pub name_case: NameCase,
}

/// Provides one file after the other.
pub trait FileFeed: Send {
    /// The file after the last one, for a reader that stands at `position`; `None` where the log ends.
    fn next_file(&mut self, position: &Position) -> Result<Option<FedFile>>;

    /// The events of a file from `offset` on, a second time. This need not be a file that this feed has provided.
    fn reopen(&mut self, file: &str, offset: u64) -> Result<Box<dyn LiveEvents>>;

    /// The files from another place on, beside these.
    fn again(&mut self, from: &Position) -> Result<Box<dyn FileFeed>>;

    /// The files that there are now, in order, and where each ends.
    fn files(&mut self) -> Result<Vec<(String, u64)>>;

    /// The structures of the server's tables as they are now.
    fn structures(&mut self) -> Result<Baseline>;
}
