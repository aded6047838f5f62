//! The sources of bytes: files, memory, streams. The only module for reading files that does I/O.

use crate::platform;
use std::fs::File;
use std::io::{self, Read};

/// Bytes that can be read at any offset.
pub trait Input: Send {
    /// Reads up to `buffer.len()` bytes at `offset`; 0 is the end.
    fn read_at(&mut self, offset: u64, buffer: &mut [u8]) -> io::Result<usize>;

    /// The current size, if it is known without reading.
    fn size(&mut self) -> io::Result<Option<u64>>;
}

/// A file of the file system, which is read at offsets.
#[derive(Debug)]
pub struct FileInput(pub File);

impl Input for FileInput {
    fn read_at(&mut self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        platform::read_at(&self.0, buffer, offset)
    }

    fn size(&mut self) -> io::Result<Option<u64>> {
        self.0.metadata().map(|metadata| Some(metadata.len()))
    }
}

/// Bytes in memory.
#[derive(Debug)]
pub struct BytesInput<B>(pub B);

impl<B: AsRef<[u8]> + Send> Input for BytesInput<B> {
    fn read_at(&mut self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        let start = usize::try_from(offset).unwrap_or(usize::MAX);
        let rest = self.0.as_ref().get(start..).unwrap_or_default();
        let len = rest.len().min(buffer.len());
        if let (Some(to), Some(from)) = (buffer.get_mut(..len), rest.get(..len)) {
            to.copy_from_slice(from);
        }
        Ok(len)
    }

    fn size(&mut self) -> io::Result<Option<u64>> {
        Ok(Some(self.0.as_ref().len() as u64))
    }
}

/// A stream that cannot seek (a pipe). Its bytes are kept in a temporary file, so that the end of a
/// transaction can be read before its rows are returned, without keeping it in memory.
#[derive(Debug)]
pub struct SpooledInput<R> {
    stream: R,
    spool: File,
    spooled: u64,
    ended: bool,
}

impl<R: Read + Send> SpooledInput<R> {
    /// Creates a temporary file for `stream`. The file has no name, and is deleted when this value
    /// is dropped.
    pub fn try_new(stream: R) -> io::Result<Self> {
        Ok(Self { stream, spool: tempfile::tempfile()?, spooled: 0, ended: false })
    }

    /// Reads the stream to its end, and returns its size.
    pub(super) fn read_to_end(&mut self) -> io::Result<u64> {
        self.fill(u64::MAX)?;
        Ok(self.spooled)
    }

    fn fill(&mut self, until: u64) -> io::Result<()> {
        let mut chunk = vec![0; SPOOL_CHUNK];
        while self.spooled < until && !self.ended {
            let count = match self.stream.read(&mut chunk) {
                Ok(count) => count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            self.ended = count == 0;
            let read = chunk.get(..count).unwrap_or_default();
            platform::write_all_at(&self.spool, read, self.spooled)?;
            self.spooled += count as u64;
        }
        Ok(())
    }
}

impl<R: Read + Send> Input for SpooledInput<R> {
    fn read_at(&mut self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        // It reads no more than is available: a short read is sufficient, and the caller may want
        // to stop.
        self.fill(offset.saturating_add(1))?;
        platform::read_at(&self.spool, buffer, offset)
    }

    fn size(&mut self) -> io::Result<Option<u64>> {
        Ok(self.ended.then_some(self.spooled))
    }
}

/// A stream that cannot seek, for a reader that never goes back: skipped bytes are read and
/// dropped. Only its first bytes can be read again: they show whether it is compressed.
#[derive(Debug)]
pub struct ForwardInput<R> {
    stream: R,
    at: u64,
    head: Vec<u8>,
}

impl<R: Read> ForwardInput<R> {
    /// Reads `stream` from its beginning.
    pub const fn new(stream: R) -> Self {
        Self { stream, at: 0, head: Vec::new() }
    }
}

impl<R: Read + Send> Input for ForwardInput<R> {
    fn read_at(&mut self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        let first = usize::try_from(offset).ok().and_then(|offset| self.head.get(offset..));
        if let Some(first) = first.filter(|first| !first.is_empty()) {
            let len = first.len().min(buffer.len());
            if let (Some(to), Some(from)) = (buffer.get_mut(..len), first.get(..len)) {
                to.copy_from_slice(from);
            }
            return Ok(len);
        }
        let Some(skip) = offset.checked_sub(self.at) else {
            return Err(io::Error::other("a stream cannot be read again"));
        };
        let skipped = io::copy(&mut (&mut self.stream).take(skip), &mut io::sink())?;
        self.at += skipped;
        if skipped < skip {
            return Ok(0);
        }
        let count = self.stream.read(buffer)?;
        if self.at == self.head.len() as u64 {
            let missing = HEAD.saturating_sub(self.head.len());
            self.head.extend(buffer.iter().take(count.min(missing)));
        }
        self.at += count as u64;
        Ok(count)
    }

    fn size(&mut self) -> io::Result<Option<u64>> {
        Ok(None)
    }
}

const SPOOL_CHUNK: usize = 1 << 20;

/// The first bytes of a stream that can be read again.
const HEAD: usize = 4;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_is_read_forward_only() {
        let mut input = ForwardInput::new(&b"0123456789"[..]);
        let mut buffer = [0; 3];
        assert_eq!((input.read_at(0, &mut buffer[..1]).unwrap(), buffer[0]), (1, b'0'));
        assert_eq!((input.read_at(0, &mut buffer[..1]).unwrap(), buffer[0]), (1, b'0'));
        assert_eq!((input.read_at(2, &mut buffer).unwrap(), &buffer), (3, b"234"));
        assert_eq!((input.read_at(7, &mut buffer).unwrap(), &buffer), (3, b"789"));
        assert!(input.read_at(4, &mut buffer).is_err());
        assert_eq!(input.read_at(20, &mut buffer).unwrap(), 0);
    }

    #[test]
    fn a_spooled_stream_reads_like_bytes() {
        let bytes: Vec<u8> = (0..3_000_000_u32).map(|n| n as u8).collect();
        let mut spooled = SpooledInput::try_new(bytes.as_slice()).unwrap();
        let mut plain = BytesInput(bytes.as_slice());
        for (offset, len) in [(0, 10), (2_999_990, 100), (5, 7), (4_000_000, 1)] {
            let (mut a, mut b) = (vec![0; len], vec![0; len]);
            let read =
                (spooled.read_at(offset, &mut a).unwrap(), plain.read_at(offset, &mut b).unwrap());
            assert_eq!(read.0, read.1);
            assert_eq!(a, b);
        }
        assert_eq!(spooled.size().unwrap(), Some(3_000_000));
    }
}
