//! The index of a file: the file beside it, and the bytes of the log that bind an index to it.

use super::event_source::EventSource;
use super::file_list::{InputFile, InputSource};
use super::input::Input;
use crate::error::{Error, Result};
use crate::index::{BOUND_BYTES, Binding, INDEX_SUFFIX, Index, MAX_INDEX_BYTES};
use std::io;

impl InputFile {
    /// The index beside the file, if there is one that is of it; and a warning if there is another one.
    pub(super) fn index(&mut self) -> (Option<Index>, Option<String>) {
        let label = format!("{}{INDEX_SUFFIX}", self.label);
        match self.read_index() {
            Ok(index) => (index, None),
            Err(error) => (
                None,
                Some(format!(
                    "{label} is not used, and the file is read completely: {}; `binarrow index` writes the index again",
                    error.marked()
                )),
            ),
        }
    }

    fn read_index(&mut self) -> Result<Option<Index>> {
        let Some(mut input) = self.open_index()? else { return Ok(None) };
        let bytes = read_range(&mut *input, 0, MAX_INDEX_BYTES + 1)
            .map_err(|error| Error::of_read(0, error))?;
        if bytes.len() as u64 > MAX_INDEX_BYTES {
            return Err(Error::malformed("the index is larger than any index"));
        }
        let index = Index::decode(&bytes)?;
        let own = self.binding(index.binding)?;
        match own == Some(index.binding) {
            true => Ok(Some(index)),
            false => Err(Error::malformed(
                "it is the index of another file, or the file has changed since",
            )),
        }
    }

    fn open_index(&self) -> Result<Option<Box<dyn Input>>> {
        let found = match &self.source {
            InputSource::Path(path) => {
                let mut name = path.clone().into_os_string();
                name.push(INDEX_SUFFIX);
                Self::at_path(name, 1).open_stored().map(Some)
            }
            InputSource::Stored(file) => {
                return file
                    .open_beside(INDEX_SUFFIX)
                    .map_err(|error| Error::io("cannot open the index", error));
            }
            InputSource::Bytes(_) | InputSource::Open(_) | InputSource::Live(_) => Ok(None),
        };
        match found {
            Ok(Some(EventSource::Bytes(input))) => Ok(Some(input)),
            Err(error) if !error.is_not_found() => Err(error),
            _ => Ok(None),
        }
    }

    /// The binding of an index of this file, with what `other` says about the log; `None` if the size of the file is not known.
    pub(crate) fn binding(&mut self, other: Binding) -> Result<Option<Binding>> {
        let EventSource::Bytes(mut input) = self.open_stored()? else { return Ok(None) };
        let Some(size) = input.size().ok().flatten() else { return Ok(None) };
        let mut checksum = |from: u64| -> Result<u32> {
            let bytes = read_range(&mut *input, from, BOUND_BYTES.min(size - from))
                .map_err(|error| Error::of_read(from, error))?;
            Ok(crc32fast::hash(&bytes))
        };
        let (head, tail) = (checksum(0)?, checksum(size.saturating_sub(BOUND_BYTES))?);
        Ok(Some(Binding { stored_bytes: size, head, tail, ..other }))
    }
}

/// Up to `len` bytes from an offset; fewer at the end of the input.
fn read_range(input: &mut dyn Input, from: u64, len: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let mut buffer = vec![0; CHUNK.min(len as usize)];
    while (bytes.len() as u64) < len {
        let left = (len - bytes.len() as u64).min(buffer.len() as u64) as usize;
        let room = buffer.get_mut(..left).unwrap_or_default();
        match input.read_at(from + bytes.len() as u64, room) {
            Ok(0) => break,
            Ok(count) => bytes.extend_from_slice(room.get(..count).unwrap_or_default()),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(bytes)
}

const CHUNK: usize = 1 << 20;
