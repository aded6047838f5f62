//! The events of a span, in order: fragments are joined, compressed transactions are unpacked, rows events go to `rows`.

use super::fragments::Fragments;
use super::output::Emit;
use super::rows::RowsDecoder;
use super::span_context::{EventPlace, SpanContext};
use crate::binlog::{
    ChecksumAlgorithm, EventHeader, EventType, PartialRowData, TransactionPayload,
};
use crate::change::{Transaction, TransactionEnd};
use crate::error::{Error, Result};
use crate::reader::options::DecodeOptions;
use crate::source::Unpacker;
use std::sync::Arc;

/// Decodes the events of spans.
pub(super) struct EventDecoder {
    pub(super) rows: RowsDecoder,
    options: Arc<DecodeOptions>,
    fragments: Fragments,
    /// The number of rows events of the transaction so far.
    rows_events: u32,
    /// Decompresses transactions.
    unpacker: Unpacker,
}

impl EventDecoder {
    pub(super) fn new(options: Arc<DecodeOptions>) -> Self {
        Self {
            rows: RowsDecoder::new(Arc::clone(&options)),
            options,
            fragments: Fragments::default(),
            rows_events: 0,
            unpacker: Unpacker::default(),
        }
    }

    /// Decodes the events of a span.
    pub(super) fn decode_span(
        &mut self,
        context: &SpanContext<'_>,
        bytes: &[u8],
        emit: &mut Emit<'_>,
    ) -> Result<bool> {
        self.rows.begin_span(context)?;
        self.fragments.clear();
        self.rows_events = context.span.rows_before;
        let mut at = 0;
        while let Some(rest) = bytes.get(at..).filter(|rest| !rest.is_empty()) {
            let offset = context.span.offset + at as u64;
            let (header, event) = EventHeader::first_event(rest)?;
            let located = |error: Error| error.at_event(offset, header.event_type.name());
            let event = event.ok_or_else(|| located(Error::malformed("the event is cut")))?;
            if !self.decode_event(context, &header, event, offset, emit).map_err(located)? {
                return Ok(false);
            }
            at += event.len();
        }
        if context.span.ends_transaction
            && !self.options.emit_uncommitted
            && let Some(delivered) = context.delivered()
        {
            delivered.check_end()?;
        }
        Ok(true)
    }

    fn decode_event(
        &mut self,
        context: &SpanContext<'_>,
        header: &EventHeader,
        event: &[u8],
        offset: u64,
        emit: &mut Emit<'_>,
    ) -> Result<bool> {
        let checksum = context.file.format.checksum;
        if header.event_type != EventType::MARIADB_PARTIAL_ROW_DATA {
            self.fragments.expect_none()?;
        }
        match header.event_type {
            // The checksum of this event was checked when it was read.
            EventType::TABLE_MAP => {
                let body = checksum.body(event)?;
                self.rows.on_table_map(body, &context.file.format)?;
                Ok(true)
            }
            EventType::TRANSACTION_PAYLOAD => {
                self.check(event, checksum)?;
                self.decode_payload(context, checksum.body(event)?, offset, emit)
            }
            EventType::MARIADB_PARTIAL_ROW_DATA => {
                self.check(event, checksum)?;
                let fragment = PartialRowData::decode(checksum.body(event)?)?;
                if !self.fragments.take(&fragment, offset)? {
                    return Ok(true);
                }
                let number = self.next_rows_event();
                let (header, body) = self.fragments.event(checksum)?;
                let offset = self.fragments.offset();
                let place = EventPlace { offset, number, body_at: None };
                self.rows.decode(context, &header, body, place, emit)
            }
            event_type if event_type.is_rows() => {
                self.check(event, checksum)?;
                let number = self.next_rows_event();
                let body = checksum.body(event)?;
                let in_span = (offset - context.span.offset) as usize + EventHeader::LEN;
                let body_at = Some(context.span.bytes.start + in_span);
                let place = EventPlace { offset, number, body_at };
                self.rows.decode(context, header, body, place, emit)
            }
            event_type => {
                if self.rows.statement.is_wanted() {
                    self.rows.statement.on_event(event_type, checksum.body(event)?)?;
                }
                Ok(true)
            }
        }
    }

    fn check(&self, event: &[u8], checksum: ChecksumAlgorithm) -> Result<()> {
        match self.options.verify_checksum {
            true => checksum.check(event),
            false => Ok(()),
        }
    }

    fn next_rows_event(&mut self) -> u32 {
        let number = self.rows_events;
        self.rows_events += 1;
        number
    }

    /// Decodes the events of a compressed transaction.
    fn decode_payload(
        &mut self,
        context: &SpanContext<'_>,
        body: &[u8],
        offset: u64,
        emit: &mut Emit<'_>,
    ) -> Result<bool> {
        let format = &context.file.format;
        let mut unpacker = std::mem::take(&mut self.unpacker);
        let mut payload = unpacker.unpack(TransactionPayload::decode(body)?)?;
        let end = payload.end(format)?;
        let kept: Vec<(u64, u64, u32)> = match (&end.outcome, &end.group) {
            _ if self.options.emit_uncommitted => vec![(0, end.len, 0)],
            (TransactionEnd::Committed, Some(group)) => group.kept(end.len).collect(),
            (TransactionEnd::Prepared(_), Some(group)) if context.span.was_prepared => {
                group.kept(end.len).collect()
            }
            (TransactionEnd::RolledBack, group) => {
                let dropped = group.as_ref().map_or(0, |group| group.rows_events);
                self.rows.stats.dropped_rows_events += u64::from(dropped);
                Vec::new()
            }
            _ => {
                return Err(Error::malformed("a compressed transaction that does not commit"));
            }
        };
        // Events outside the compressed transaction belong to the XA COMMIT, if there is one.
        let inside = end.group.as_ref().map(|group| group.transaction);
        let context = &SpanContext {
            transaction: context.transaction.map(|outside| Transaction {
                thread_id: inside.and_then(|t| t.thread_id).or(outside.thread_id),
                xid: inside.and_then(|t| t.xid).or(outside.xid),
                ..outside
            }),
            buffer: payload.memory(),
            ..*context
        };
        let mut continues = true;
        let result = payload.for_each(|header, body, at| {
            if header.event_type == EventType::TABLE_MAP {
                self.rows.define_map(body, format)?;
            } else if header.event_type.is_rows() {
                let number = self.next_rows_event();
                if kept.iter().any(|(from, to, _)| (*from..*to).contains(&at)) {
                    let body_at = context.buffer.map(|_| at as usize + EventHeader::LEN);
                    let place = EventPlace { offset, number, body_at };
                    continues = self.rows.decode(context, header, body, place, emit)?;
                }
            } else {
                self.rows.statement.on_event(header.event_type, body)?;
            }
            Ok(continues)
        });
        self.rows.end_payload(context, result.is_err())?;
        result?;
        unpacker.shrink();
        self.unpacker = unpacker;
        Ok(continues)
    }
}
