//! Files that are not all known before: those of a log that is written while it is read.

use super::file_list::InputFile;
use super::input::Input;
use crate::error::Result;

/// Gives the cutter one file after the other.
pub trait FileFeed: Send {
    /// The file after the last one; `None` where the log ends.
    fn next_file(&mut self) -> Result<Option<InputFile>>;

    /// A file from `offset` on, a second time, whether or not this feed gave it.
    fn reopen(&mut self, file: &str, offset: u64) -> Result<Box<dyn Input>>;
}
