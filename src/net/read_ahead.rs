//! A socket with TLS that is read in large pieces: rustls itself reads only a few kilobytes at a
//! time.

use super::socket::Socket;
use std::io::{self, Read, Write};

/// A socket and the bytes that were read ahead.
#[derive(Debug)]
pub(super) struct ReadAhead {
    pub(super) socket: Socket,
    bytes: Box<[u8]>,
    start: usize,
    end: usize,
}

impl ReadAhead {
    pub(super) fn new(socket: Socket) -> Self {
        Self { socket, bytes: vec![0; SIZE].into_boxed_slice(), start: 0, end: 0 }
    }

    /// True if bytes can be read without waiting.
    pub(super) fn has_bytes(&self) -> bool {
        self.start < self.end || self.socket.has_bytes()
    }
}

impl Read for ReadAhead {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.start == self.end {
            self.start = 0;
            self.end = 0;
            self.end = self.socket.read(&mut self.bytes)?;
        }
        let mut held = self.bytes.get(self.start..self.end).unwrap_or_default();
        let count = held.read(buffer)?;
        self.start += count;
        Ok(count)
    }
}

impl Write for ReadAhead {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.socket.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.socket.flush()
    }
}

/// The size of several records of TLS, but small enough for the CPU's cache.
const SIZE: usize = 64 << 10;
