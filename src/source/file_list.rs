//! The files to read: their names, and the places of their bytes.

use super::event_source::{EventSource, LiveEvents};
use super::input::{BytesInput, FileInput, Input};
use super::packed_input::{packer_of, unpacked, unpacked_name};
use crate::error::{Error, ErrorKind, Result};
use crate::position::file_number;
use crate::url::{base_name, shown};
use std::fmt;
use std::fs::File;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

/// An input: its name, its number, and the source of its bytes.
pub struct InputFile {
    /// The name in positions and batches: the one in the server's log if it is known, otherwise the path's last part, without the
    /// suffix of a compressed file.
    pub name: Arc<str>,
    /// The path's last part.
    pub given: Arc<str>,
    /// The name in messages: the path as it was given, or a URI without its secret parts.
    pub label: Arc<str>,
    /// The number for `_commit_version`: the number at the end of the name, otherwise the place in
    /// the list, from 1.
    pub number: u64,
    /// True if the number is a part of the name, so that missing files are noticed.
    pub numbered: bool,
    /// True if the caller set the name, so that it does not change.
    pub is_named: bool,
    /// The source of the bytes.
    pub source: InputSource,
}

/// The source of an input's bytes.
pub enum InputSource {
    /// A file of the file system, which is opened when it is read.
    Path(PathBuf),
    /// A file elsewhere, which is opened when it is read.
    Stored(Arc<dyn StoredFile>),
    /// Bytes in memory.
    Bytes(Arc<dyn AsRef<[u8]> + Send + Sync>),
    /// An open input, which is taken when it is read, and kept from then on.
    Open(Option<Box<dyn Input>>),
    /// A file of a server's log, as its dump sends it; it is taken when it is read.
    Live(Option<Box<dyn LiveEvents>>),
}

/// A file that is not in the file system, for example in an object store.
pub trait StoredFile: Send + Sync {
    /// The URI of the file.
    fn uri(&self) -> &str;

    /// Its size, if it was listed with the name.
    fn known_len(&self) -> Option<u64>;

    /// Opens it. The input may be open several times at once.
    fn open(&self) -> io::Result<Box<dyn Input>>;

    /// Opens the file whose name is the name of this one with a suffix; `None` if there is none.
    fn open_beside(&self, suffix: &str) -> io::Result<Option<Box<dyn Input>>>;
}

impl fmt::Debug for InputFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("InputFile").field("name", &self.name).field("number", &self.number).finish()
    }
}

impl InputFile {
    /// Creates an input at `place` (from 1) of the list. `name` is a path, a URI, a name, or empty.
    pub fn new(name: &str, place: u64, source: InputSource) -> Self {
        let base = base_name(name);
        let log_name = unpacked_name(base);
        let number = file_number(log_name);
        let unnamed = format!("<input {place}>");
        let or_unnamed = |name: &str| if name.is_empty() { (*unnamed).into() } else { name.into() };
        Self {
            name: or_unnamed(log_name),
            given: or_unnamed(base),
            is_named: false,
            label: or_unnamed(&shown(name)),
            number: number.unwrap_or(place),
            numbered: number.is_some(),
            source,
        }
    }

    /// Returns the same file with its name in the server's log, or with its name elsewhere in a read.
    #[must_use]
    pub fn named(mut self, name: &str) -> Self {
        self.take_name(name);
        self.is_named = true;
        self
    }

    pub(super) fn take_name(&mut self, name: &str) {
        if let Some(number) = file_number(name).filter(|_| *self.name != *name) {
            self.number = number;
            self.numbered = true;
        }
        self.name = name.into();
    }

    /// True if a position's file is this one, by its name in the log or by its own.
    pub(crate) fn is_called(&self, name: &str) -> bool {
        *self.name == *name || *self.given == *name
    }

    /// Creates an input for the file at `path`.
    pub fn at_path(path: impl Into<PathBuf>, place: u64) -> Self {
        let path = path.into();
        Self::new(&path.to_string_lossy(), place, InputSource::Path(path.clone()))
    }

    /// Creates an input for a file elsewhere.
    pub fn stored(file: Arc<dyn StoredFile>, place: u64) -> Self {
        Self::new(file.uri(), place, InputSource::Stored(Arc::clone(&file)))
    }

    /// Creates an input for bytes in memory.
    pub fn of_bytes(bytes: Arc<dyn AsRef<[u8]> + Send + Sync>, place: u64) -> Self {
        Self::new("", place, InputSource::Bytes(bytes))
    }

    /// Opens the input: the log that it contains, if it is compressed.
    pub fn open(&mut self) -> Result<EventSource> {
        match self.open_stored()? {
            EventSource::Bytes(input) => {
                let log = unpacked(input).map_err(|error| error.in_file(&self.label))?;
                Ok(EventSource::Bytes(log))
            }
            live @ EventSource::Live(_) => Ok(live),
        }
    }

    /// True if the input is compressed. An input that can be opened once only is not read.
    pub(super) fn is_packed(&mut self) -> Result<bool> {
        if matches!(self.source, InputSource::Open(_) | InputSource::Live(_)) {
            return Ok(false);
        }
        let EventSource::Bytes(mut input) = self.open_stored()? else { return Ok(false) };
        let packer = packer_of(&mut *input)
            .map_err(|error| Error::of_read(0, error).in_file(&self.label))?;
        Ok(packer.is_some())
    }

    /// Opens the input as it is stored.
    pub(super) fn open_stored(&mut self) -> Result<EventSource> {
        let in_use = || {
            let message = "an input that is in use cannot be opened a second time";
            Error::new(ErrorKind::Internal, message)
        };
        let failed = |error| Error::io("cannot open the file", error).in_file(&self.label);
        let input: Box<dyn Input> = match &mut self.source {
            InputSource::Path(path) => {
                // Opening a pipe would wait until its other end is opened.
                let metadata = std::fs::metadata(&*path).map_err(failed)?;
                if metadata.is_dir() {
                    let message = format!("{} is a directory, not a file", path.display());
                    return Err(Error::config(message));
                }
                if !metadata.is_file() {
                    return Err(Error::config(format!(
                        "{} is not a regular file: open it, and pass the file object",
                        path.display()
                    )));
                }
                Box::new(FileInput(File::open(&*path).map_err(failed)?))
            }
            InputSource::Stored(file) => file.open().map_err(failed)?,
            InputSource::Bytes(bytes) => Box::new(BytesInput(SharedBytes(Arc::clone(bytes)))),
            InputSource::Open(input) => input.take().ok_or_else(in_use)?,
            InputSource::Live(events) => {
                return events.take().map(EventSource::Live).ok_or_else(in_use);
            }
        };
        Ok(EventSource::Bytes(input))
    }

    /// The size, if it is known without opening the input; that of a log in a compressed file is not.
    pub fn known_len(&self) -> Option<u64> {
        if unpacked_name(&self.given) != &*self.given {
            return None;
        }
        match &self.source {
            InputSource::Path(path) => std::fs::metadata(path).ok().map(|metadata| metadata.len()),
            InputSource::Stored(file) => file.known_len(),
            InputSource::Bytes(bytes) => Some((**bytes).as_ref().len() as u64),
            InputSource::Open(_) | InputSource::Live(_) => None,
        }
    }

    /// Takes back an input that can be opened once only.
    pub(super) fn put_back(&mut self, source: EventSource) {
        if let (InputSource::Open(slot), EventSource::Bytes(input)) = (&mut self.source, source) {
            *slot = Some(input);
        }
    }
}

struct SharedBytes(Arc<dyn AsRef<[u8]> + Send + Sync>);

impl AsRef<[u8]> for SharedBytes {
    fn as_ref(&self) -> &[u8] {
        (*self.0).as_ref()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_without_a_number_takes_its_place() {
        let file = InputFile::at_path("/tmp/archive.bin", 7);
        assert_eq!((file.number, file.numbered, &*file.name), (7, false, "archive.bin"));
        assert_eq!(InputFile::at_path("/x/binlog.000042", 1).number, 42);
    }
}
