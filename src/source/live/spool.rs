//! Bytes that came and may be asked for again: in memory while they are few, in a temporary file once they are many.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

/// A run of bytes, from `start` on. The front is forgotten, the back grows.
#[derive(Debug)]
pub(super) struct Spool {
    start: u64,
    memory: Vec<u8>,
    /// Bytes of `memory` that are forgotten.
    forgotten: usize,
    /// Where the bytes behind those in memory are, and how many.
    file: Option<(File, u64)>,
    limit: usize,
}

impl Spool {
    /// An empty spool at `start`, that keeps about `limit` bytes in memory.
    pub(super) fn new(start: u64, limit: usize) -> Self {
        Self { start, memory: Vec::new(), forgotten: 0, file: None, limit }
    }

    /// Offset of the first byte.
    pub(super) fn start(&self) -> u64 {
        self.start
    }

    /// Offset behind the last byte.
    pub(super) fn end(&self) -> u64 {
        let in_file = self.file.as_ref().map_or(0, |(_, len)| *len);
        self.start + (self.memory.len() - self.forgotten) as u64 + in_file
    }

    /// Whether it holds nothing.
    pub(super) fn is_empty(&self) -> bool {
        self.end() == self.start
    }

    /// Forgets everything, and goes on at `offset`.
    pub(super) fn restart(&mut self, offset: u64) {
        self.start = offset;
        self.memory.clear();
        self.forgotten = 0;
        self.file = None;
    }

    /// Appends bytes.
    pub(super) fn push(&mut self, bytes: &[u8]) -> io::Result<()> {
        if let Some((file, len)) = &mut self.file {
            file.write_all_at(bytes, *len)?;
            *len += bytes.len() as u64;
            return Ok(());
        }
        if self.memory.len() - self.forgotten + bytes.len() > self.limit {
            let file = tempfile::tempfile()?;
            file.write_all_at(bytes, 0)?;
            self.file = Some((file, bytes.len() as u64));
            return Ok(());
        }
        if self.forgotten * 2 >= self.memory.len() {
            self.memory.drain(..self.forgotten);
            self.forgotten = 0;
        }
        self.memory.extend_from_slice(bytes);
        Ok(())
    }

    /// Copies bytes at `offset`, as many as there are in one piece.
    pub(super) fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        let Some(at) = offset.checked_sub(self.start).and_then(|at| usize::try_from(at).ok())
        else {
            return Err(io::Error::other("what was forgotten cannot be read again"));
        };
        let at = at + self.forgotten;
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
        file.read_at(buffer.get_mut(..len).unwrap_or_default(), at)
    }

    /// Forgets what is before `offset`. What is in a file stays until all of it is forgotten.
    pub(super) fn forget(&mut self, offset: u64) {
        let offset = offset.min(self.end());
        if offset == self.end() {
            self.restart(offset);
            if self.memory.capacity() > self.limit / 4 {
                self.memory = Vec::new();
            }
            return;
        }
        let held = self.memory.len() - self.forgotten;
        let count = offset.saturating_sub(self.start).min(held as u64);
        self.forgotten += count as usize;
        self.start += count;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(spool: &Spool) -> Vec<u8> {
        let (mut out, mut buffer) = (Vec::new(), [0; 7]);
        loop {
            let offset = spool.start() + out.len() as u64;
            match spool.read_at(offset, &mut buffer).unwrap() {
                0 => return out,
                count => out.extend(&buffer[..count]),
            }
        }
    }

    #[test]
    fn what_was_pushed_and_not_forgotten() {
        for limit in [0, 10, 1000] {
            let mut spool = Spool::new(100, limit);
            let bytes: Vec<u8> = (0..200).collect();
            for piece in bytes.chunks(13) {
                spool.push(piece).unwrap();
            }
            assert_eq!((spool.start(), spool.end()), (100, 300));
            assert_eq!(all(&spool), bytes);
            spool.forget(105);
            let kept = (spool.start() - 100) as usize;
            assert!(kept <= 5);
            assert_eq!(all(&spool), bytes[kept..]);
            spool.forget(300);
            assert_eq!((spool.start(), spool.end()), (300, 300));
            spool.push(b"more").unwrap();
            assert_eq!(all(&spool), b"more");
            spool.restart(7);
            assert_eq!((spool.start(), spool.end(), all(&spool).len()), (7, 7, 0));
        }
    }
}
