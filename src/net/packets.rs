//! Packets over a transport: they are read and written completely, with or without compression, and
//! their sequence ids are checked.

use super::transport::Transport;
use crate::error::{DecodeError, Error, ErrorKind, Result};
use crate::protocol::{
    Compression, FRAME_HEADER_LEN, FrameHeader, Frames, HEADER_LEN, PacketHeader, write_packets,
};
use std::io::{self, Read, Write};
use std::ops::Range;

/// The packets of a connection.
pub(super) struct Packets {
    pub(super) transport: Transport,
    /// The bytes that were read from the transport, up to `filled`.
    raw: Buffer,
    /// The content of frames, if they are compressed.
    plain: Buffer,
    frames: Option<Frames>,
    /// A payload that was received in pieces.
    joined: Vec<u8>,
    /// The place of the last payload, if it was received in one piece.
    last: Option<Range<usize>>,
    sequence_id: u8,
    frame_id: u8,
    /// True if no byte may be read after a packet: the following bytes may be TLS, and bytes that
    /// came before TLS must not be treated as part of it.
    exact: bool,
    largest: usize,
    /// An error that was found while no caller waited.
    failed: Option<Error>,
    /// The number of bytes that were read from the transport.
    pub(super) bytes_read: u64,
}

/// Bytes that were read but not used yet.
#[derive(Default)]
struct Buffer {
    bytes: Vec<u8>,
    start: usize,
    end: usize,
}

impl Buffer {
    fn have(&self) -> usize {
        self.end - self.start
    }

    fn take(&mut self, len: usize) -> Range<usize> {
        let from = self.start;
        self.start += len;
        from..self.start
    }

    /// Returns space for `more` bytes after the existing ones.
    fn room(&mut self, more: usize) -> &mut [u8] {
        if self.start == self.end {
            (self.start, self.end) = (0, 0);
        }
        if self.bytes.len() < self.end + more {
            self.bytes.copy_within(self.start..self.end, 0);
            self.end -= self.start;
            self.start = 0;
            if self.bytes.len() < self.end + more {
                self.bytes.resize(self.end + more, 0);
            }
        }
        let end = self.end;
        self.bytes.get_mut(end..).unwrap_or_default()
    }

    fn first<const N: usize>(&self) -> Option<[u8; N]> {
        self.bytes.get(self.start..self.end)?.first_chunk().copied()
    }
}

impl Packets {
    pub(super) fn new(transport: Transport) -> Self {
        Self {
            transport,
            raw: Buffer::default(),
            plain: Buffer::default(),
            frames: None,
            joined: Vec::new(),
            last: None,
            sequence_id: 0,
            frame_id: 0,
            exact: true,
            largest: MAX_LOGIN_PACKET,
            failed: None,
            bytes_read: 0,
        }
    }

    /// Called after the login: from now on packets may be larger, compressed, and read ahead.
    pub(super) fn logged_in(&mut self, compression: Compression) {
        self.exact = false;
        self.largest = MAX_ANSWER_PACKET;
        self.frames = (compression != Compression::None).then(|| Frames::new(compression));
    }

    /// Called before the log's events or rows of tables are received, which may be large.
    pub(super) fn expect_large(&mut self) {
        self.largest = MAX_PACKET;
    }

    /// Called before answers that are not large.
    pub(super) fn expect_answers(&mut self) {
        self.largest = MAX_ANSWER_PACKET;
    }

    /// Called before a new command.
    pub(super) fn start_command(&mut self) {
        self.sequence_id = 0;
        self.frame_id = 0;
    }

    /// Sends a payload.
    pub(super) fn write(&mut self, payload: &[u8]) -> Result<()> {
        let mut out = zeroize::Zeroizing::new(Vec::with_capacity(payload.len() + HEADER_LEN));
        write_packets(payload, &mut self.sequence_id, &mut out);
        if let Some(frames) = &self.frames {
            let mut packed = Vec::new();
            frames.pack(&out, &mut self.frame_id, &mut packed);
            *out = packed;
        }
        self.transport
            .write_all(&out)
            .and_then(|()| self.transport.flush())
            .map_err(|error| Error::lost("cannot write to the server", error))
    }

    /// True if the next packet has arrived completely. Reads the data that has arrived, without
    /// waiting. False for a packet in several pieces, which may be large: it is read piece by
    /// piece.
    pub(super) fn is_ready(&mut self) -> bool {
        loop {
            let header = self.buffer().first().map(PacketHeader::decode);
            if let Some(header) = header
                && (header.is_continued() || HEADER_LEN + header.len <= self.buffer().have())
            {
                return !header.is_continued();
            }
            let frame = self.raw.first().map(FrameHeader::decode);
            let has_frame = self.frames.is_some()
                && frame.is_some_and(|frame| FRAME_HEADER_LEN + frame.len <= self.raw.have());
            if self.failed.is_some() || !(has_frame || self.transport.is_ready()) {
                return false;
            }
            // An error is reported when the packet is read.
            self.failed =
                if has_frame { self.unpack_frame().err() } else { self.read_some(1).err() };
        }
    }

    /// Reads the next packet and returns its payload.
    pub(super) fn read(&mut self) -> Result<&[u8]> {
        self.advance()?;
        Ok(self.payload())
    }

    /// Waits for the next packet; then [`Self::payload`] returns its payload.
    pub(super) fn advance(&mut self) -> Result<()> {
        let mut header = self.header()?;
        self.last = None;
        if !header.is_continued() {
            self.fill(header.len)?;
            self.last = Some(self.buffer().take(header.len));
            return Ok(());
        }
        self.joined.clear();
        loop {
            if self.joined.len() + header.len > self.largest {
                return Err(too_large(self.joined.len() + header.len, self.largest));
            }
            self.fill(header.len)?;
            let buffer = if self.frames.is_some() { &mut self.plain } else { &mut self.raw };
            let range = buffer.take(header.len);
            self.joined.extend_from_slice(buffer.bytes.get(range).unwrap_or_default());
            if !header.is_continued() {
                return Ok(());
            }
            header = self.header()?;
        }
    }

    /// The payload of the last packet.
    pub(super) fn payload(&self) -> &[u8] {
        let buffer = if self.frames.is_some() { &self.plain } else { &self.raw };
        match self.last.clone() {
            Some(range) => buffer.bytes.get(range).unwrap_or_default(),
            None => &self.joined,
        }
    }

    fn buffer(&mut self) -> &mut Buffer {
        if self.frames.is_some() { &mut self.plain } else { &mut self.raw }
    }

    fn header(&mut self) -> Result<PacketHeader> {
        self.fill(HEADER_LEN)?;
        let buffer = self.buffer();
        let header = PacketHeader::decode(buffer.first().unwrap_or_default());
        buffer.take(HEADER_LEN);
        if header.len > self.largest {
            return Err(too_large(header.len, self.largest));
        }
        // Servers differ in numbering packets inside compressed frames: from zero, or continuing
        // the frame's sequence id.
        if self.frames.is_none() && header.sequence_id != self.sequence_id {
            if (header.sequence_id, self.sequence_id) == (0, 1) {
                // A packet that answers no command: MySQL 8.0.24 and later send an error before they end an idle connection.
                let message = "the server ended the connection while it waited for a command";
                return Err(Error::new(ErrorKind::ConnectionLost, message));
            }
            return Err(Error::malformed(format!(
                "the server's packets are out of order: received {} instead of {}",
                header.sequence_id, self.sequence_id
            )));
        }
        self.sequence_id = self.sequence_id.wrapping_add(1);
        Ok(header)
    }

    /// Reads until `len` bytes are available.
    fn fill(&mut self, len: usize) -> Result<()> {
        if self.frames.is_none() {
            return self.fill_raw(len);
        }
        while self.plain.have() < len {
            self.unpack_frame()?;
        }
        Ok(())
    }

    /// Appends the content of the next frame to the plain bytes.
    fn unpack_frame(&mut self) -> Result<()> {
        if let Some(error) = self.failed.take() {
            return Err(error);
        }
        self.fill_raw(FRAME_HEADER_LEN)?;
        let header = FrameHeader::decode(self.raw.first().unwrap_or_default());
        self.raw.take(FRAME_HEADER_LEN);
        if header.sequence_id != self.frame_id {
            return Err(Error::malformed(format!(
                "the server's compressed packets are out of order: received {} instead of {}",
                header.sequence_id, self.frame_id
            )));
        }
        if header.len == 0 {
            return Err(Error::malformed("the server sent an empty compressed packet"));
        }
        self.frame_id = self.frame_id.wrapping_add(1);
        self.fill_raw(header.len)?;
        let range = self.raw.take(header.len);
        let body = self.raw.bytes.get(range).unwrap_or_default();
        let unpacked = header.plain_len.max(header.len);
        let Some(frames) = &mut self.frames else { return Ok(()) };
        self.plain.room(unpacked);
        let end = self.plain.end;
        self.plain.bytes.truncate(end);
        frames.unpack(header, body, &mut self.plain.bytes)?;
        self.plain.end = self.plain.bytes.len();
        Ok(())
    }

    fn fill_raw(&mut self, len: usize) -> Result<()> {
        while self.raw.have() < len {
            if let Some(error) = self.failed.take() {
                return Err(error);
            }
            self.read_some(len - self.raw.have())?;
        }
        Ok(())
    }

    /// Reads once: `missing` bytes, or more if bytes may be read ahead.
    fn read_some(&mut self, missing: usize) -> Result<()> {
        let room = if self.exact { missing } else { missing.clamp(READ_AHEAD, MAX_ROOM) };
        let to = self.raw.room(room);
        let to = if self.exact { to.get_mut(..missing).unwrap_or_default() } else { to };
        match self.transport.read(to) {
            Ok(0) => {
                let closed = io::ErrorKind::UnexpectedEof.into();
                Err(Error::lost("the connection was lost", closed))
            }
            Ok(count) => {
                self.raw.end += count;
                self.bytes_read += count as u64;
                Ok(())
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(()),
            Err(error) => Err(Error::lost("cannot read from the server", error)),
        }
    }
}

fn too_large(value: usize, limit: usize) -> Error {
    DecodeError::Limit { what: "a packet of the server", value: value as u64, limit: limit as u64 }
        .into()
}

/// The maximum size of a packet during the login.
const MAX_LOGIN_PACKET: usize = 64 << 10;

/// The maximum size of a packet in an answer.
const MAX_ANSWER_PACKET: usize = 64 << 20;

/// The size of the largest event, and the byte before it.
const MAX_PACKET: usize = (1 << 30) + 1;

/// The number of bytes that one read requests.
const READ_AHEAD: usize = 256 << 10;

/// The largest buffer that a length alone allocates, before its bytes arrive.
const MAX_ROOM: usize = 4 << 20;
