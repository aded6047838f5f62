//! Compressed frames: they contain the packets after a login that agreed on compression.
//!
//! ```text
//! compressed length u24 | sequence id u8 | plain length u24 | zlib or zstd stream
//! ```
//!
//! If the plain length is 0, the bytes are not compressed. A packet may span frames, and a frame
//! may contain many packets.
//!
//! <https://dev.mysql.com/doc/dev/mysql-server/latest/page_protocol_basic_compression.html>

use super::login::Compression;
use crate::error::DecodeError;
use crate::wire::{DeflateForm, Inflater, Result};
use flate2::write::ZlibEncoder;
use std::io::Write;

/// The number of bytes of a frame's header.
pub const FRAME_HEADER_LEN: usize = 7;

/// The header of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FrameHeader {
    /// The number of bytes that follow.
    pub len: usize,
    /// The number of the frame within this command.
    pub sequence_id: u8,
    /// The length after decompression; 0 if the bytes are not compressed.
    pub plain_len: usize,
}

impl FrameHeader {
    /// Decodes the seven bytes of a header.
    pub const fn decode([a, b, c, sequence_id, x, y, z]: [u8; FRAME_HEADER_LEN]) -> Self {
        Self {
            len: u32::from_le_bytes([a, b, c, 0]) as usize,
            sequence_id,
            plain_len: u32::from_le_bytes([x, y, z, 0]) as usize,
        }
    }
}

/// Packs and unpacks the frames of a connection.
pub struct Frames {
    compression: Compression,
    inflater: Inflater,
    unzstd: Option<zstd::bulk::Decompressor<'static>>,
}

impl Frames {
    /// Creates frames with this compression.
    pub fn new(compression: Compression) -> Self {
        Self { compression, inflater: Inflater::default(), unzstd: None }
    }

    /// Unpacks a frame and appends exactly the number of bytes that its header contains to `out`.
    pub fn unpack(&mut self, header: FrameHeader, body: &[u8], out: &mut Vec<u8>) -> Result<()> {
        const WHAT: &str = "compressed packet";
        if header.plain_len == 0 {
            out.extend_from_slice(body);
            return Ok(());
        }
        let damaged = || DecodeError::Deflate { what: WHAT };
        match self.compression {
            Compression::None => Err(damaged()),
            Compression::Zlib => {
                let len = header.plain_len as u64;
                let plain = self.inflater.inflate(body, DeflateForm::Zlib, len, WHAT)?;
                out.extend_from_slice(plain);
                Ok(())
            }
            Compression::Zstd => {
                let unzstd = match &mut self.unzstd {
                    Some(unzstd) => unzstd,
                    none => none.insert(zstd::bulk::Decompressor::new().map_err(|_| damaged())?),
                };
                let start = out.len();
                out.resize(start + header.plain_len, 0);
                let room = out.get_mut(start..).unwrap_or_default();
                match unzstd.decompress_to_buffer(body, room) {
                    Ok(len) if len == header.plain_len => Ok(()),
                    _ => {
                        out.truncate(start);
                        Err(damaged())
                    }
                }
            }
        }
    }

    /// Appends `packets` to `out` in frames; `sequence_id` increases by the number of frames.
    pub fn pack(&self, packets: &[u8], sequence_id: &mut u8, out: &mut Vec<u8>) {
        for piece in packets.chunks(MAX_PLAIN) {
            let packed = match self.compression {
                _ if piece.len() < MIN_PACKED => None,
                // Clients send short statements. The compression of zstd would be a twentieth of the library.
                Compression::None | Compression::Zstd => None,
                Compression::Zlib => deflate(piece),
            };
            let packed = packed.filter(|packed| packed.len() < piece.len());
            let plain_len = if packed.is_some() { piece.len() } else { 0 };
            let body = packed.as_deref().unwrap_or(piece);
            out.extend((body.len() as u32).to_le_bytes().iter().take(3));
            out.push(*sequence_id);
            out.extend((plain_len as u32).to_le_bytes().iter().take(3));
            out.extend_from_slice(body);
            *sequence_id = sequence_id.wrapping_add(1);
        }
    }
}

fn deflate(piece: &[u8]) -> Option<Vec<u8>> {
    let mut encoder = ZlibEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(piece).ok()?;
    encoder.finish().ok()
}

/// Shorter pieces are not compressed; servers have the same limit.
const MIN_PACKED: usize = 50;

/// The largest number of plain bytes in a frame.
const MAX_PLAIN: usize = 0xff_ffff;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_packed_comes_back() {
        for compression in [Compression::Zlib, Compression::Zstd, Compression::None] {
            let mut frames = Frames::new(compression);
            for len in [0, 1, 49, 50, 100_000, MAX_PLAIN + 10] {
                let plain: Vec<u8> = (0..len).map(|at| (at / 100) as u8).collect();
                let (mut packed, mut id) = (Vec::new(), 255);
                frames.pack(&plain, &mut id, &mut packed);
                let (mut rest, mut out) = (packed.as_slice(), Vec::new());
                while let Some((header, tail)) = rest.split_first_chunk() {
                    let header = FrameHeader::decode(*header);
                    frames.unpack(header, &tail[..header.len], &mut out).unwrap();
                    rest = &tail[header.len..];
                }
                assert_eq!(out, plain);
                assert!(len < 1000 || compression != Compression::Zlib || packed.len() < len / 2);
            }
        }
    }

    #[test]
    fn what_a_server_packed() {
        for (compression, body) in bodies() {
            let header = FrameHeader { len: body.len(), sequence_id: 0, plain_len: PLAIN.len() };
            let mut out = vec![1];
            Frames::new(compression).unpack(header, &body, &mut out).unwrap();
            assert_eq!(out.split_first(), Some((&1, &PLAIN[..])));
        }
    }

    const PLAIN: [u8; 1000] = [7; 1000];

    /// The compressed bytes of a frame, as servers send them.
    fn bodies() -> [(Compression, Vec<u8>); 2] {
        let zstd = zstd::bulk::compress(&PLAIN, 3).unwrap();
        [(Compression::Zlib, deflate(&PLAIN).unwrap()), (Compression::Zstd, zstd)]
    }

    #[test]
    fn lengths_that_lie() {
        for (compression, body) in bodies() {
            let mut frames = Frames::new(compression);
            let body = body.as_slice();
            for plain_len in [1, 999, 1001, MAX_PLAIN] {
                let header = FrameHeader { len: body.len(), sequence_id: 0, plain_len };
                let mut out = vec![1];
                assert!(frames.unpack(header, body, &mut out).is_err());
                assert_eq!(out, [1]);
            }
        }
    }
}
