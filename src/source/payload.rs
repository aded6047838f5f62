//! The events inside a Transaction_payload event: one after another, without checksums.
//!
//! A small payload is decompressed into memory. A large one is decompressed twice, in limited
//! memory: once to determine the end of the transaction, once to decode it.

use super::classify::{Skips, classify};
use crate::binlog::{
    Compression, EventHeader, EventType, FormatDescription, Query, QueryKind, TransactionPayload,
};
use crate::change::{EventEffect, EventGroup, TransactionEnd, TransactionTracker};
use crate::error::{Error, Result};
use crate::limits::MAX_IN_MEMORY;
use std::io::{self, BufReader, Cursor, Read};
use zstd::zstd_safe::{DCtx, InBuffer, OutBuffer, ResetDirective, get_error_name};

/// Decompresses payloads, one after another. All of them use one context and one buffer, whose memory is allocated once.
#[derive(Default)]
pub(crate) struct Unpacker {
    zstd: Option<DCtx<'static>>,
    buffer: Vec<u8>,
}

/// A decompressed payload, or the means to decompress it piece by piece.
pub(crate) enum Payload<'a> {
    /// The complete payload.
    Memory(&'a [u8]),
    /// A stream that is created again for each pass.
    Stream(PackedPayload<'a>),
}

/// A payload that is decompressed event by event.
pub(crate) struct PackedPayload<'a> {
    payload: &'a [u8],
    zstd: &'a mut DCtx<'static>,
    /// A buffer for an event.
    event: &'a mut Vec<u8>,
}

/// The end of the transaction in a payload, and the parts that were rolled back.
pub(crate) struct PayloadEnd {
    pub(crate) outcome: TransactionEnd,
    pub(crate) group: Option<EventGroup>,
    pub(crate) len: u64,
}

impl Unpacker {
    /// Decompresses the payload into memory if it fits there.
    pub(crate) fn unpack<'a>(&'a mut self, payload: TransactionPayload<'a>) -> Result<Payload<'a>> {
        let TransactionPayload { compression, uncompressed_size, payload } = payload;
        if compression == Compression::None {
            return Ok(Payload::Memory(payload));
        }
        let Self { zstd, buffer } = self;
        let zstd = zstd.get_or_insert_with(DCtx::create);
        buffer.clear();
        let may_fit = uncompressed_size.is_none_or(|size| size <= MAX_IN_MEMORY as u64);
        Ok(
            match may_fit && decompress(zstd, payload, buffer, MAX_IN_MEMORY).map_err(unpacking)? {
                true => Payload::Memory(buffer),
                false => {
                    *buffer = Vec::new();
                    Payload::Stream(PackedPayload { payload, zstd, event: buffer })
                }
            },
        )
    }

    /// Frees the buffer of a large payload.
    pub(crate) fn shrink(&mut self) {
        if self.buffer.capacity() > MAX_KEPT_BUFFER {
            self.buffer = Vec::new();
        }
    }

    /// True if the first event of the payload is `XA START`. Decompresses only the first part of the payload.
    pub(crate) fn is_xa_start(&mut self, payload: &TransactionPayload<'_>) -> Result<bool> {
        let (mut packed, event) = (payload.payload, &mut self.buffer);
        let header = match payload.compression {
            Compression::None => next_event(&mut packed, event)?,
            Compression::Zstd => {
                let zstd = self.zstd.get_or_insert_with(DCtx::create);
                next_event(&mut zstd::Decoder::with_context(packed, zstd), event)?
            }
        };
        if header.is_none_or(|header| header.event_type != EventType::QUERY) {
            return Ok(false);
        }
        let query = Query::decode(event.get(EventHeader::LEN..).unwrap_or_default())?;
        Ok(matches!(query.kind(), QueryKind::XaStart(_)))
    }
}

/// Appends all frames of `packed` to `buffer`; false if they have more than `limit` bytes.
fn decompress(
    zstd: &mut DCtx<'static>,
    packed: &[u8],
    buffer: &mut Vec<u8>,
    limit: usize,
) -> io::Result<bool> {
    let failed = |code| io::Error::other(get_error_name(code));
    zstd.reset(ResetDirective::SessionOnly).map_err(failed)?;
    let mut input = InBuffer::around(packed);
    let mut is_complete = true;
    while !is_complete || input.pos() < packed.len() {
        if buffer.len() == buffer.capacity() {
            // The size that the event states may be wrong.
            let wanted = buffer.len().max(packed.len().saturating_mul(USUAL_RATIO));
            buffer.reserve_exact(wanted.clamp(1, (limit + 1).saturating_sub(buffer.len()).max(1)));
        }
        let (read, written) = (input.pos(), buffer.len());
        let mut output = OutBuffer::around_pos(buffer, written);
        let missing = zstd.decompress_stream(&mut output, &mut input).map_err(failed)?;
        is_complete = missing == 0;
        let has_moved = input.pos() > read || buffer.len() > written;
        if !(is_complete || has_moved) {
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "incomplete frame"));
        }
        if buffer.len() > limit {
            return Ok(false);
        }
    }
    Ok(true)
}

impl<'a> Payload<'a> {
    /// The decompressed events, if they are in memory.
    pub(crate) fn memory(&self) -> Option<&'a [u8]> {
        match self {
            Self::Memory(bytes) => Some(bytes),
            Self::Stream(_) => None,
        }
    }

    /// Calls `each` for each event: with its header, its body, and its offset in the payload.
    pub(crate) fn for_each(
        &mut self,
        mut each: impl FnMut(&EventHeader, &[u8], u64) -> Result<bool>,
    ) -> Result<()> {
        match self {
            Self::Memory(bytes) => {
                let mut offset = 0;
                while let Some(rest) = bytes.get(offset..).filter(|rest| !rest.is_empty()) {
                    let (header, event) = EventHeader::first_event(rest)?;
                    let event = event.ok_or_else(cut)?;
                    let body = event.get(EventHeader::LEN..).unwrap_or_default();
                    let continues = each(&header, body, offset as u64)
                        .map_err(|error| within(error, &header, offset as u64))?;
                    if !continues {
                        break;
                    }
                    offset += event.len();
                }
                Ok(())
            }
            Self::Stream(PackedPayload { payload, zstd, event }) => {
                let mut stream = zstd::Decoder::with_context(*payload, zstd);
                let mut offset = 0;
                while let Some(header) = next_event(&mut stream, event)? {
                    let body = event.get(EventHeader::LEN..).unwrap_or_default();
                    if !each(&header, body, offset)
                        .map_err(|error| within(error, &header, offset))?
                    {
                        break;
                    }
                    offset += event.len() as u64;
                }
                Ok(())
            }
        }
    }

    /// Determines how the transaction ends.
    pub(crate) fn end(&mut self, format: &FormatDescription) -> Result<PayloadEnd> {
        let mut tracker = TransactionTracker::default();
        let mut end = None;
        self.for_each(|header, body, offset| {
            if end.is_some() {
                return Err(Error::malformed("events after the transaction's end"));
            }
            let classified = classify(header, body, format, &Skips::NONE)?;
            let Some(event) = classified.transaction_event() else {
                return Err(Error::malformed("an event that cannot be in a payload"));
            };
            if matches!(event, crate::change::TransactionEvent::Payload) {
                return Err(Error::malformed("a payload in a payload"));
            }
            let verdict = tracker.on_event(event, offset, header.timestamp, header.server_id)?;
            if let EventEffect::Ends(outcome) = verdict {
                let len = offset + u64::from(header.event_size);
                end = Some(PayloadEnd { outcome, group: tracker.take(), len });
            }
            Ok(true)
        })?;
        end.ok_or_else(|| Error::malformed("the compressed transaction has no end"))
    }
}

/// The events of a payload, one at a time: at most one decompressed event is in memory.
pub(crate) struct PayloadEvents {
    stream: Box<dyn Read + Send>,
    event: Vec<u8>,
    offset: u64,
}

impl PayloadEvents {
    /// Creates the events of `payload`, whose compressed bytes are copied.
    pub(crate) fn try_new(payload: &TransactionPayload<'_>) -> Result<Self> {
        let packed = Cursor::new(payload.payload.to_vec());
        let stream: Box<dyn Read + Send> = match payload.compression {
            Compression::None => Box::new(packed),
            // Headers are small reads.
            Compression::Zstd => {
                Box::new(BufReader::new(zstd::Decoder::with_buffer(packed).map_err(unpacking)?))
            }
        };
        Ok(Self { stream, event: Vec::new(), offset: 0 })
    }

    /// Passes the next event to `visit`: its header and its bytes, including the header. `None` at
    /// the end.
    pub(crate) fn next<T>(
        &mut self,
        visit: impl FnOnce(&EventHeader, &[u8]) -> Result<T>,
    ) -> Result<Option<T>> {
        let Some(header) = next_event(&mut *self.stream, &mut self.event)? else { return Ok(None) };
        let offset = self.offset;
        self.offset += self.event.len() as u64;
        visit(&header, &self.event).map(Some).map_err(|error| within(error, &header, offset))
    }
}

/// Reads a complete event; `None` at the end.
fn next_event(stream: &mut dyn Read, event: &mut Vec<u8>) -> Result<Option<EventHeader>> {
    event.clear();
    stream.take(EventHeader::LEN as u64).read_to_end(event).map_err(unpacking)?;
    if event.is_empty() {
        return Ok(None);
    }
    let header = EventHeader::decode(event)?;
    let rest = u64::from(header.event_size) - EventHeader::LEN as u64;
    stream.take(rest).read_to_end(event).map_err(unpacking)?;
    match event.len() == header.event_size as usize {
        true => Ok(Some(header)),
        false => Err(cut()),
    }
}

fn unpacking(error: std::io::Error) -> Error {
    Error::malformed(format!("the compressed transaction cannot be decompressed: {error}"))
}

fn cut() -> Error {
    Error::malformed("the payload ends in the middle of an event")
}

fn within(error: Error, header: &EventHeader, offset: u64) -> Error {
    error.context(format_args!("{} at {offset} of the payload", header.event_type.name()))
}

/// A larger buffer is freed.
const MAX_KEPT_BUFFER: usize = 16 << 20;

/// Payloads are usually compressed to at least this part of their size.
const USUAL_RATIO: usize = 4;
