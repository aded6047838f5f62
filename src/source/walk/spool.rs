//! Events of a dump that are read again: in memory while they are few, in a temporary file once they are many.

use crate::error::{Error, Result};
use crate::limits::MAX_IN_MEMORY;
use crate::platform;
use crate::source::input::Input;
use std::fs::File;
use std::io;

/// The bytes of a file from an offset on, to which bytes are appended.
#[derive(Debug)]
pub(super) struct Spool {
    /// Offset of the first byte.
    start: u64,
    memory: Vec<u8>,
    /// The bytes after those in memory, and their number.
    file: Option<(File, u64)>,
    limit: usize,
}

impl Spool {
    /// Creates a spool that begins with `bytes` at `start`.
    pub(super) fn try_new(start: u64, bytes: &[u8]) -> Result<Self> {
        Self::with_limit(start, bytes, MAX_IN_MEMORY)
    }

    /// Creates a spool that keeps about `limit` bytes in memory.
    fn with_limit(start: u64, bytes: &[u8], limit: usize) -> Result<Self> {
        let mut spool = Self { start, memory: Vec::new(), file: None, limit };
        spool.push(bytes)?;
        Ok(spool)
    }

    /// Offset after the last byte.
    pub(super) fn end(&self) -> u64 {
        let in_file = self.file.as_ref().map_or(0, |(_, len)| *len);
        self.start + self.memory.len() as u64 + in_file
    }

    /// Appends bytes.
    pub(super) fn push(&mut self, bytes: &[u8]) -> Result<()> {
        self.try_push(bytes)
            .map_err(|error| Error::io("cannot write to the temporary folder", error))
    }

    fn try_push(&mut self, bytes: &[u8]) -> io::Result<()> {
        if let Some((file, len)) = &mut self.file {
            platform::write_all_at(file, bytes, *len)?;
            *len += bytes.len() as u64;
            return Ok(());
        }
        if self.memory.len() + bytes.len() > self.limit {
            let file = tempfile::tempfile()?;
            platform::write_all_at(&file, bytes, 0)?;
            self.file = Some((file, bytes.len() as u64));
            return Ok(());
        }
        self.memory.extend_from_slice(bytes);
        Ok(())
    }
}

impl Input for Spool {
    fn read_at(&mut self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        let Some(at) = offset.checked_sub(self.start).and_then(|at| usize::try_from(at).ok())
        else {
            return Err(io::Error::other("events that were not kept cannot be read again"));
        };
        if let Some(held) = self.memory.get(at..).filter(|held| !held.is_empty()) {
            let len = held.len().min(buffer.len());
            if let (Some(to), Some(from)) = (buffer.get_mut(..len), held.get(..len)) {
                to.copy_from_slice(from);
            }
            return Ok(len);
        }
        let Some((file, len)) = &self.file else { return Ok(0) };
        let at = (at - self.memory.len()) as u64;
        let left = usize::try_from(len.saturating_sub(at)).unwrap_or(usize::MAX);
        let len = buffer.len().min(left);
        platform::read_at(file, buffer.get_mut(..len).unwrap_or_default(), at)
    }

    fn size(&mut self) -> io::Result<Option<u64>> {
        Ok(Some(self.end()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_read_as_they_were_pushed() {
        for limit in [0, 10, 1000] {
            let mut spool = Spool::with_limit(100, &[], limit).unwrap();
            let bytes: Vec<u8> = (0..200).collect();
            for piece in bytes.chunks(13) {
                spool.push(piece).unwrap();
            }
            assert_eq!(spool.end(), 300);
            for from in [0, 5, 150] {
                let (mut read, mut buffer) = (Vec::<u8>::new(), [0; 7]);
                loop {
                    match spool.read_at(100 + (from + read.len()) as u64, &mut buffer).unwrap() {
                        0 => break,
                        count => read.extend(&buffer[..count]),
                    }
                }
                assert_eq!(read, bytes[from..]);
            }
            assert!(spool.read_at(99, &mut [0]).is_err());
        }
    }
}
