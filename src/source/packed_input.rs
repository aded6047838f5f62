//! Compressed files: gzip (RFC 1952) and zstd (RFC 8878), read as the log that they contain.
//!
//! The first bytes show the compression, whatever the name of the file is. A file may consist of several members or frames. It is
//! decompressed once, from the front; the log goes to a temporary file, so that a part of it can be read again.

use super::input::{Input, SpooledInput};
use crate::error::{Error, Result};
use flate2::read::MultiGzDecoder;
use std::io::{self, Read};

/// A supported compression.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Packer {
    Gzip,
    Zstd,
}

impl Packer {
    /// The compression of a file, by its first bytes.
    fn of(magic: &[u8]) -> Option<Self> {
        match magic {
            [0x1f, 0x8b, ..] => Some(Self::Gzip),
            [0x28, 0xb5, 0x2f, 0xfd] => Some(Self::Zstd),
            // A skippable frame, with which `pzstd` and seekable files begin.
            [0x50..=0x5f, 0x2a, 0x4d, 0x18] => Some(Self::Zstd),
            _ => None,
        }
    }

    /// The suffix that the names of such files have.
    const fn suffix(self) -> &'static str {
        match self {
            Self::Gzip => ".gz",
            Self::Zstd => ".zst",
        }
    }

    const fn name(self) -> &'static str {
        match self {
            Self::Gzip => "gzip",
            Self::Zstd => "zstd",
        }
    }
}

/// The name of a file without the suffix of a supported compression.
pub(crate) fn unpacked_name(name: &str) -> &str {
    let stem = |packer: Packer| name.strip_suffix(packer.suffix()).filter(|stem| !stem.is_empty());
    stem(Packer::Gzip).or_else(|| stem(Packer::Zstd)).unwrap_or(name)
}

/// The compression of an input, whose first bytes are read.
pub(crate) fn packer_of(input: &mut dyn Input) -> io::Result<Option<Packer>> {
    let (mut magic, mut filled) = ([0; 4], 0);
    while let Some(room) = magic.get_mut(filled..).filter(|room| !room.is_empty()) {
        match input.read_at(filled as u64, room) {
            Ok(0) => break,
            Ok(count) => filled += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(Packer::of(magic.get(..filled).unwrap_or_default()))
}

/// The log in an input: the input itself unless it is compressed.
pub(crate) fn unpacked(mut input: Box<dyn Input>) -> Result<Box<dyn Input>> {
    let packer = packer_of(&mut *input).map_err(|error| Error::of_read(0, error))?;
    let Some(packer) = packer else { return Ok(input) };
    let spooled = Unpacked::try_new(input, packer)
        .and_then(SpooledInput::try_new)
        .map_err(|error| Error::io("cannot create a temporary file", error))?;
    Ok(Box::new(UnpackedInput(spooled)))
}

/// A log that is decompressed into a temporary file.
struct UnpackedInput(SpooledInput<Unpacked>);

impl Input for UnpackedInput {
    fn read_at(&mut self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.read_at(offset, buffer)
    }

    /// The size of the log, which is known after all of it was decompressed.
    fn size(&mut self) -> io::Result<Option<u64>> {
        self.0.read_to_end().map(Some)
    }
}

/// The decompressed bytes of an input, in order. After an error, every read returns it.
struct Unpacked {
    packer: Packer,
    decoder: Decoder,
    /// The number of bytes that were returned.
    at: u64,
    failure: Option<String>,
}

enum Decoder {
    Gzip(Box<MultiGzDecoder<Sequential>>),
    Zstd(Box<zstd::Decoder<'static, io::BufReader<Sequential>>>),
}

impl Unpacked {
    fn try_new(input: Box<dyn Input>, packer: Packer) -> io::Result<Self> {
        let source = Sequential { input, at: 0 };
        let decoder = match packer {
            Packer::Gzip => Decoder::Gzip(Box::new(MultiGzDecoder::new(source))),
            Packer::Zstd => Decoder::Zstd(Box::new(zstd::Decoder::new(source)?)),
        };
        Ok(Self { packer, decoder, at: 0, failure: None })
    }

    fn damaged(&self, reason: &str) -> io::Error {
        let name = self.packer.name();
        let message = format!(
            "the file is compressed with {name}, and is truncated or damaged ({reason}): the log after this offset cannot be read"
        );
        io::Error::other(Error::malformed(message).at_event(self.at, "compressed data"))
    }
}

impl Read for Unpacked {
    /// Fills the buffer, except at the end and before an error.
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if let Some(reason) = &self.failure {
            return Err(self.damaged(reason));
        }
        let mut filled = 0;
        while let Some(room) = buffer.get_mut(filled..).filter(|room| !room.is_empty()) {
            let read = match &mut self.decoder {
                Decoder::Gzip(decoder) => decoder.read(room),
                Decoder::Zstd(decoder) => decoder.read(room),
            };
            match read {
                Ok(0) => break,
                Ok(count) => filled += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                // The file itself cannot be read.
                Err(error) if error.get_ref().is_some_and(|inner| inner.is::<Error>()) => {
                    return Err(error);
                }
                Err(error) => {
                    let reason = match error.kind() {
                        io::ErrorKind::UnexpectedEof => "it ends too early".to_owned(),
                        _ => error.to_string(),
                    };
                    self.failure = Some(reason.clone());
                    if filled == 0 {
                        return Err(self.damaged(&reason));
                    }
                    break;
                }
            }
        }
        self.at += filled as u64;
        Ok(filled)
    }
}

/// The bytes of an input, in order.
struct Sequential {
    input: Box<dyn Input>,
    at: u64,
}

impl Read for Sequential {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let failed = |error| io::Error::other(Error::of_read(self.at, error));
        let count = match self.input.read_at(self.at, buffer) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => return Err(error),
            read => read.map_err(failed)?,
        };
        self.at += count as u64;
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::input::{BytesInput, ForwardInput};
    use flate2::{Compression, write::GzEncoder};
    use std::io::Write;

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    fn plain() -> Vec<u8> {
        (0..3_000_000_u32).map(|n| (n / 7) as u8 ^ (n % 13) as u8).collect()
    }

    fn read_all(input: &mut dyn Input) -> Result<Vec<u8>> {
        let (mut all, mut buffer) = (Vec::new(), vec![0; 70_000]);
        loop {
            match input.read_at(all.len() as u64, &mut buffer) {
                Ok(0) => return Ok(all),
                Ok(count) => all.extend_from_slice(&buffer[..count]),
                Err(error) => return Err(Error::of_read(all.len() as u64, error)),
            }
        }
    }

    #[test]
    fn members_are_read_as_one_log_and_again() {
        let plain = plain();
        let packed: Vec<u8> = plain.chunks(1_000_000).flat_map(gzip).collect();
        let mut input = unpacked(Box::new(BytesInput(packed))).unwrap();
        assert_eq!(input.size().unwrap(), Some(plain.len() as u64));
        for offset in [2_999_999, 5, 1_000_000] {
            let mut some = [0; 3];
            let count = input.read_at(offset as u64, &mut some).unwrap();
            assert!(count > 0 && some[..count] == plain[offset..offset + count]);
        }
        assert!(read_all(&mut *input).unwrap() == plain);
    }

    #[test]
    fn a_stream_that_is_read_once() {
        let plain = plain();
        let packed = std::io::Cursor::new(gzip(&plain));
        let mut input = unpacked(Box::new(ForwardInput::new(packed))).unwrap();
        assert!(read_all(&mut *input).unwrap() == plain);
        let bytes = std::io::Cursor::new(plain.clone());
        let mut input = unpacked(Box::new(ForwardInput::new(bytes))).unwrap();
        assert!(read_all(&mut *input).unwrap() == plain);
    }

    #[test]
    fn what_is_truncated_or_damaged_is_an_error_at_its_offset() {
        let plain = plain();
        let packed = gzip(&plain);
        for end in [3, packed.len() / 2, packed.len() - 1] {
            let mut input = unpacked(Box::new(BytesInput(packed[..end].to_vec()))).unwrap();
            for _ in 0..2 {
                let error = read_all(&mut *input).unwrap_err();
                assert!(error.offset().is_some_and(|offset| offset <= plain.len() as u64));
                assert!(error.to_string().contains("it ends too early"), "{error}");
            }
            assert!(input.size().is_err());
        }
        let mut damaged = packed.clone();
        damaged[packed.len() - 6] ^= 1;
        let error = read_all(&mut *unpacked(Box::new(BytesInput(damaged))).unwrap()).unwrap_err();
        assert!(error.to_string().contains("gzip"), "{error}");
    }

    #[test]
    fn names() {
        for (name, log) in [
            ("binlog.000001.gz", "binlog.000001"),
            ("binlog.000001.zst", "binlog.000001"),
            ("binlog.000001", "binlog.000001"),
            (".gz", ".gz"),
        ] {
            assert_eq!(unpacked_name(name), log);
        }
    }
}
