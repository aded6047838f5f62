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
use std::io::{BufReader, Cursor, Read};
use zstd::zstd_safe::DCtx;

/// A decompressed payload, or the means to decompress it piece by piece.
pub(crate) enum Payload<'a> {
    /// The complete payload.
    Memory(&'a [u8]),
    /// A stream that is created again for each pass.
    Stream(TransactionPayload<'a>),
}

/// The end of the transaction in a payload, and the parts that were rolled back.
pub(crate) struct PayloadEnd {
    pub(crate) outcome: TransactionEnd,
    pub(crate) group: Option<EventGroup>,
    pub(crate) len: u64,
}

impl<'a> Payload<'a> {
    /// Decompresses the payload into `buffer` if it fits there.
    pub(crate) fn unpack(payload: TransactionPayload<'a>, buffer: &'a mut Vec<u8>) -> Result<Self> {
        if payload.compression == Compression::None {
            return Ok(Self::Memory(payload.payload));
        }
        buffer.clear();
        let limit = MAX_IN_MEMORY as u64;
        if payload.uncompressed_size.is_some_and(|size| size > limit) {
            return Ok(Self::Stream(payload));
        }
        let mut stream = open(&payload)?.take(limit + 1);
        stream.read_to_end(buffer).map_err(unpacking)?;
        if buffer.len() as u64 > limit {
            return Ok(Self::Stream(payload));
        }
        Ok(Self::Memory(buffer))
    }

    /// The decompressed events, if they are in memory.
    pub(crate) fn memory(&self) -> Option<&[u8]> {
        match self {
            Self::Memory(bytes) => Some(bytes),
            Self::Stream(_) => None,
        }
    }

    /// Calls `each` for each event: with its header, its body, and its offset in the payload.
    pub(crate) fn for_each(
        &self,
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
            Self::Stream(payload) => {
                let mut stream = open(payload)?;
                let mut event = Vec::new();
                let mut offset = 0;
                while let Some(header) = next_event(&mut stream, &mut event)? {
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
    pub(crate) fn end(&self, format: &FormatDescription) -> Result<PayloadEnd> {
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

fn open<'a>(payload: &TransactionPayload<'a>) -> Result<Box<dyn Read + 'a>> {
    Ok(match payload.compression {
        Compression::None => Box::new(payload.payload),
        Compression::Zstd => {
            Box::new(zstd::Decoder::with_buffer(payload.payload).map_err(unpacking)?)
        }
    })
}

/// Reads the first events of payloads. All of them use one decompressor, whose buffers are allocated once.
#[derive(Default)]
pub(crate) struct PayloadStarts {
    zstd: Option<DCtx<'static>>,
}

impl PayloadStarts {
    /// True if the first event of the payload is `XA START`. Decompresses only this event.
    pub(crate) fn is_xa_start(&mut self, payload: &TransactionPayload<'_>) -> Result<bool> {
        let (mut packed, mut event) = (payload.payload, Vec::new());
        let header = match payload.compression {
            Compression::None => next_event(&mut packed, &mut event)?,
            Compression::Zstd => {
                let zstd = self.zstd.get_or_insert_with(DCtx::create);
                next_event(&mut zstd::Decoder::with_context(packed, zstd), &mut event)?
            }
        };
        if header.is_none_or(|header| header.event_type != EventType::QUERY) {
            return Ok(false);
        }
        let query = Query::decode(event.get(EventHeader::LEN..).unwrap_or_default())?;
        Ok(matches!(query.kind(), QueryKind::XaStart(_)))
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
