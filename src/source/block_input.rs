//! Reads an input in large blocks, because each read of it costs a round trip.

use super::input::Input;
use std::io;

/// Serves small reads from one block of the input. While each read continues after the previous
/// one, each block is twice as large as the block before it. After a jump the blocks are small
/// again, so that a reader of a few bytes does not wait for megabytes.
pub struct BlockInput<I> {
    input: I,
    block: Vec<u8>,
    /// The offset of the block's first byte in the input.
    start: u64,
    filled: usize,
    size: usize,
}

impl<I: Input> BlockInput<I> {
    /// Creates a block input that has not read anything.
    pub const fn new(input: I) -> Self {
        Self { input, block: Vec::new(), start: 0, filled: 0, size: FIRST_BLOCK }
    }

    fn held(&self, offset: u64) -> &[u8] {
        let at = offset.checked_sub(self.start).and_then(|at| usize::try_from(at).ok());
        let block = self.block.get(..self.filled).unwrap_or_default();
        at.and_then(|at| block.get(at..)).unwrap_or_default()
    }

    fn fill(&mut self, offset: u64) -> io::Result<()> {
        let continues = self.filled > 0 && offset == self.start + self.filled as u64;
        self.size = if continues { (self.size * 2).min(LAST_BLOCK) } else { FIRST_BLOCK };
        self.filled = 0;
        self.start = offset;
        if self.block.len() < self.size {
            self.block.resize(self.size, 0);
        }
        let room = self.block.get_mut(..self.size).unwrap_or_default();
        self.filled = self.input.read_at(offset, room)?;
        Ok(())
    }
}

impl<I: Input> Input for BlockInput<I> {
    fn read_at(&mut self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        if self.held(offset).is_empty() {
            self.fill(offset)?;
        }
        let held = self.held(offset);
        let len = held.len().min(buffer.len());
        if let (Some(to), Some(from)) = (buffer.get_mut(..len), held.get(..len)) {
            to.copy_from_slice(from);
        }
        Ok(len)
    }

    fn size(&mut self) -> io::Result<Option<u64>> {
        self.input.size()
    }
}

const FIRST_BLOCK: usize = 256 << 10;
const LAST_BLOCK: usize = 8 << 20;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::input::BytesInput;

    struct Counting<'a>(BytesInput<&'a [u8]>, Vec<(u64, usize)>);

    impl Input for Counting<'_> {
        fn read_at(&mut self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
            self.1.push((offset, buffer.len()));
            self.0.read_at(offset, buffer)
        }

        fn size(&mut self) -> io::Result<Option<u64>> {
            self.0.size()
        }
    }

    #[test]
    fn small_reads_are_few_large_ones() {
        let bytes: Vec<u8> = (0..20_000_000_u32).map(|n| (n % 251) as u8).collect();
        let mut input = BlockInput::new(Counting(BytesInput(&bytes), Vec::new()));
        let mut read = Vec::new();
        let mut buffer = [0; 5000];
        loop {
            match input.read_at(read.len() as u64, &mut buffer).unwrap() {
                0 => break,
                count => read.extend_from_slice(&buffer[..count]),
            }
        }
        assert!(read == bytes);
        let sizes: Vec<usize> = input.input.1.iter().map(|(_, size)| size >> 10).collect();
        assert_eq!(sizes, [256, 512, 1024, 2048, 4096, 8192, 8192, 8192]);
        input.input.1.clear();
        for (offset, len) in [(7, 64), (100, 64), (9_000_000, 64), (9_000_100, 1000), (5, 2)] {
            let mut some = vec![0; len];
            assert_eq!(input.read_at(offset, &mut some).unwrap(), len);
            assert_eq!(some, bytes[offset as usize..offset as usize + len]);
        }
        let offsets: Vec<u64> = input.input.1.iter().map(|(offset, _)| *offset).collect();
        assert_eq!(offsets, [7, 9_000_000, 5]);
        assert_eq!(input.input.1[0].1, FIRST_BLOCK);
    }

    #[test]
    fn what_comes_later_is_read_later() {
        let mut input = BlockInput::new(BytesInput(b"abc".to_vec()));
        let mut buffer = [0; 8];
        assert_eq!(input.read_at(0, &mut buffer).unwrap(), 3);
        assert_eq!(input.read_at(3, &mut buffer).unwrap(), 0);
        input.input.0.extend_from_slice(b"de");
        assert_eq!((input.read_at(3, &mut buffer).unwrap(), &buffer[..2]), (2, &b"de"[..]));
        assert_eq!(input.read_at(99, &mut buffer).unwrap(), 0);
    }
}
