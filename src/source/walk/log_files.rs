//! The files of a log, in order: from a list, or from a server's dump.

use crate::cancel::CancelToken;
use crate::error::{Error, ErrorKind, Result};
use crate::index::Index;
use crate::position::{Position, file_number};
use crate::source::event_source::EventSource;
use crate::source::feed::{FileFeed, ResumePoint};
use crate::source::file_list::InputFile;
use crate::source::log_name::name_logs;
use crate::source::segment::FILE_NUMBER_SHIFT;
use std::collections::HashMap;

/// The files of a log.
pub(crate) struct LogFiles {
    list: Vec<InputFile>,
    /// Index of the open file, or of the next one to open.
    current: usize,
    /// Provides files that are not in the list yet.
    feed: Option<Box<dyn FileFeed>>,
    /// The successor that the previous file names.
    successor: Option<Successor>,
    cancel: CancelToken,
}

/// The file that follows another one.
pub(super) enum Successor {
    /// Its name, from the Rotate event.
    Named(String),
    /// Its number, if there is no Rotate event.
    Numbered(u64),
}

impl LogFiles {
    /// A list of files, in log order.
    pub(super) fn of_list(mut list: Vec<InputFile>) -> Result<Self> {
        name_logs(&mut list);
        list.iter().try_for_each(check_number)?;
        let mut labels = HashMap::new();
        for file in &list {
            if let Some(other) = labels.insert(&file.name, &file.label) {
                return Err(Error::config(format!(
                    "two inputs have the name {} ({other}, {}): their positions and versions could not be distinguished; read one of \
                     them, or each alone",
                    file.name, file.label
                )));
            }
        }
        Ok(Self { list, current: 0, feed: None, successor: None, cancel: CancelToken::default() })
    }

    /// Files as a feed provides them.
    pub(super) fn of_feed(feed: Box<dyn FileFeed>) -> Self {
        Self {
            list: Vec::new(),
            current: 0,
            feed: Some(feed),
            successor: None,
            cancel: CancelToken::default(),
        }
    }

    /// True if a server still writes the log.
    pub(crate) fn is_live(&self) -> bool {
        self.feed.is_some()
    }

    /// The feed of a live log.
    pub(crate) fn feed(&mut self) -> Option<&mut dyn FileFeed> {
        match &mut self.feed {
            Some(feed) => Some(&mut **feed),
            None => None,
        }
    }

    /// The token that cancels the read.
    pub(crate) fn cancel(&self) -> &CancelToken {
        &self.cancel
    }

    /// Sets the token that cancels the reading of inputs.
    pub(super) fn cancel_with(&mut self, cancel: &CancelToken) {
        self.cancel = cancel.clone();
    }

    /// The files of the list.
    pub(crate) fn list(&self) -> &[InputFile] {
        &self.list
    }

    /// Index of the open file.
    pub(crate) fn index(&self) -> usize {
        self.current
    }

    /// The open file, or the next one to open.
    pub(crate) fn current(&self) -> Option<&InputFile> {
        self.list.get(self.current)
    }

    /// Begins with the file at an index.
    pub(super) fn begin_with(&mut self, index: usize) {
        self.current = index;
    }

    /// True if no file follows the open one.
    pub(super) fn is_last(&self) -> bool {
        self.current + 1 == self.list.len() && self.feed.is_none()
    }

    /// Asks the feed for the next file, if the list has no more. Returns the place at which the log continues if the file does
    /// not follow the previous one.
    pub(super) fn fetch(&mut self, position: &Position) -> Result<Option<ResumePoint>> {
        if self.current < self.list.len() {
            return Ok(None);
        }
        let Some(feed) = &mut self.feed else { return Ok(None) };
        let Some(next) = feed.next_file(position)? else { return Ok(None) };
        check_number(&next.file)?;
        self.list.push(next.file);
        Ok(next.moved.map(|begin| *begin))
    }

    /// Checks that the current file is the one that the previous file names. False if it is another file and gaps are allowed.
    pub(super) fn check_successor(&mut self, allow_gaps: bool) -> Result<bool> {
        let (Some(file), Some(expected)) = (self.list.get(self.current), self.successor.take())
        else {
            return Ok(true);
        };
        if expected.is(file) {
            return Ok(true);
        }
        if allow_gaps {
            return Ok(false);
        }
        Err(Error::config(format!(
            "the file before {} continues in {expected}: files are missing or out of order; \
                 ⟦gaps=allow⟧ continues",
            file.name
        )))
    }

    /// Sets the name of the next file, from a Rotate event.
    pub(super) fn set_successor(&mut self, name: String) {
        self.successor = Some(Successor::Named(name));
    }

    /// The next file need not follow the one before.
    pub(super) fn forget_successor(&mut self) {
        self.successor = None;
    }

    /// The name of the file that follows the last one, if its Rotate event says so.
    pub(crate) fn successor(&self) -> Option<&str> {
        match &self.successor {
            Some(Successor::Named(name)) => Some(name),
            _ => None,
        }
    }

    /// Continues with the next file.
    pub(super) fn advance(&mut self) {
        // A server that was stopped or killed continues in the file with the next number.
        if let Some(file) = self.list.get(self.current)
            && file.numbered
        {
            self.successor.get_or_insert(Successor::Numbered(file.number + 1));
        }
        self.current += 1;
    }

    /// Opens a file of the list.
    pub(crate) fn open(&mut self, index: usize) -> Result<EventSource> {
        let source = self.list.get_mut(index).ok_or_else(no_file)?.open()?;
        Ok(source.cancellable(&self.cancel))
    }

    /// The index of the current file, if there is one; and a warning if it is not used.
    pub(super) fn index_of_current(&mut self) -> (Option<Index>, Option<String>) {
        self.list.get_mut(self.current).map_or((None, None), InputFile::index)
    }

    /// Takes back a source that may be needed again. A feed opens its files again instead.
    pub(crate) fn put_back(&mut self, index: usize, source: EventSource) {
        if let Some(file) = self.list.get_mut(index) {
            file.put_back(source);
        }
    }

    /// Takes the list, for another walk over it.
    pub(super) fn lend_list(&mut self) -> Vec<InputFile> {
        std::mem::take(&mut self.list)
    }

    /// Takes a list back.
    pub(super) fn take_back(&mut self, list: Vec<InputFile>) {
        self.list = list;
    }

    /// The index of the file that a position names, by its name or by the last part of a path.
    pub(crate) fn index_of(&self, name: &str) -> Result<usize> {
        if name.is_empty() && self.list.len() == 1 {
            return Ok(0);
        }
        let base =
            std::path::Path::new(name).file_name().and_then(|base| base.to_str()).unwrap_or(name);
        let by_name = self.list.iter().position(|file| *file.name == *base);
        let index = by_name.or_else(|| self.list.iter().position(|file| file.is_called(base)));
        index.ok_or_else(|| {
            let names: Vec<&str> = self.list.iter().take(5).map(|file| &*file.name).collect();
            Error::config(format!("no file {base:?} among the input ({} …)", names.join(", ")))
        })
    }

    /// Finds the file of a position, and replaces its name in the position with the one that this read uses.
    pub(super) fn resolve(&self, position: &mut Position) -> Result<usize> {
        let index = self.index_of(&position.file)?;
        if let Some(file) = self.list.get(index) {
            position.file = file.name.to_string();
        }
        for prepared in &mut position.prepared {
            if let Some(file) = self.list.iter().find(|file| file.is_called(&prepared.file)) {
                prepared.file = file.name.to_string();
            }
        }
        Ok(index)
    }

    /// The file after `file`, which is complete. `None` if `file` does not have a name of a server's log.
    pub(super) fn name_after(&self, file: &str) -> Option<String> {
        let number = file_number(file)?;
        if let Some(name) = self.successor() {
            return Some(name.to_owned());
        }
        let (base, digits) = file.rsplit_once('.')?;
        let number = number.checked_add(1)?;
        Some(format!("{base}.{number:0width$}", width = digits.len()))
    }
}

/// A number that does not fit into `_commit_version` is refused.
fn check_number(file: &InputFile) -> Result<()> {
    match file.number < MAX_FILE_NUMBER {
        true => Ok(()),
        false => Err(Error::config(format!(
            "the number of {} is too large for _commit_version",
            file.name
        ))),
    }
}

impl Successor {
    /// True if `file` is this file, or has no number.
    fn is(&self, file: &InputFile) -> bool {
        !file.numbered
            || match self {
                Self::Named(name) => *name == *file.name,
                Self::Numbered(number) => *number == file.number,
            }
    }
}

impl std::fmt::Display for Successor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Named(name) => f.write_str(name),
            Self::Numbered(number) => write!(f, "number {number}"),
        }
    }
}

pub(crate) fn no_file() -> Error {
    Error::new(ErrorKind::Internal, "no file is open where one must be")
}

/// The first number that does not fit above 40 bits of a signed 64-bit number.
const MAX_FILE_NUMBER: u64 = 1 << (63 - FILE_NUMBER_SHIFT);
