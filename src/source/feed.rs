//! Files that are not all known in advance: those of a log that is written while it is read.

use super::event_source::LiveEvents;
use super::file_list::InputFile;
use crate::baseline::Baseline;
use crate::error::Result;
use crate::position::{GtidState, Position};
use crate::schema::NameCase;

/// The next file.
pub struct FedFile {
    /// The file.
    pub file: InputFile,
    /// The position from which the reader continues, if the file does not follow the previous one.
    pub moved: Option<Box<ResumePoint>>,
}

/// The start of a read.
#[derive(Debug, Clone, Default)]
pub struct ResumePoint {
    /// The position after which the first row is.
    pub position: Position,
    /// The GTIDs of transactions that were read already and may be sent again.
    pub already_read: Option<GtidState>,
    /// The meaning of letter case in names of tables at the server.
    pub name_case: NameCase,
}

/// Provides the files of a log, one after another.
pub trait FileFeed: Send {
    /// Returns the file after the last one, for a reader at `position`; `None` if the log ends.
    fn next_file(&mut self, position: &Position) -> Result<Option<FedFile>>;

    /// Returns the events of a file from `offset` on, a second time. This need not be a file that
    /// this feed has provided.
    fn reopen(&mut self, file: &str, offset: u64) -> Result<Box<dyn LiveEvents>>;

    /// Returns the files from another position on, independently of these.
    fn again(&mut self, from: &Position) -> Result<Box<dyn FileFeed>>;

    /// The files that currently exist, in order, each with its size.
    fn files(&mut self) -> Result<Vec<(String, u64)>>;

    /// Reads the current structures of the server's tables.
    fn structures(&mut self) -> Result<Baseline>;
}
