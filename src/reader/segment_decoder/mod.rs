//! Decodes a segment to batches: a pure function, except for buffers and table maps that are kept
//! for speed.
//!
//! Input: a segment. Output: batches, items and the segment's end, in log order. Called by `read`.
//! Each file passes its results to the next one:
//!
//! ```text
//! mod: spans and items ─ events: events of a span ─ rows: rows of an event ─ batches: batches of a table ─ emit
//! ```

mod batches;
mod events;
mod fragments;
mod map_cache;
mod output;
mod parent;
mod passed_over;
mod rows;
mod rows_builder;
mod slot;
mod span_context;
mod statement_in_force;
mod unlogged;

pub use output::Output;

use super::options::DecodeOptions;
use crate::error::{Error, ErrorKind, Result};
use crate::position::Position;
use crate::source::{
    FileContext, LargeTransaction, LogItem, PlacedItem, Segment, Span, SpentSegment,
};
use events::EventDecoder;
use output::Emit;
use span_context::SpanContext;
use std::sync::Arc;

/// Decodes segments. The state that it keeps between them affects only the speed.
pub struct SegmentDecoder {
    events: EventDecoder,
    spent: Option<SpentSegment>,
}

impl SegmentDecoder {
    /// Creates a decoder.
    pub fn new(options: Arc<DecodeOptions>) -> Self {
        Self { events: EventDecoder::new(options), spent: None }
    }

    /// Decodes a segment. Full batches are passed to `emit`, then the segment's end. Before an
    /// error, complete rows are passed to `emit`. Returns false if `emit` needs no more output.
    pub fn decode(&mut self, mut segment: Segment, emit: &mut Emit<'_>) -> Result<bool> {
        let turn = segment.turn.take();
        if let Some(turn) = &turn {
            turn.wait();
        }
        let rows = &mut self.events.rows;
        rows.begin_segment(&mut segment);
        let mut start = Arc::clone(&segment.start);
        let result = self.decode_spans(&mut segment, &mut start, emit);
        let rows = &mut self.events.rows;
        let flushed = match &result {
            Ok(true) => rows.flush_all(&start, Some(&segment.end), &segment.bytes, emit),
            Ok(false) => Ok(false),
            // Rows of the events before the damaged one are complete.
            Err(_) => rows.flush_all(&start, None, &segment.bytes, emit),
        };
        let is_done = matches!((&result, &flushed), (Ok(_), Ok(true)));
        let open = if is_done { rows.open_changes(&segment) } else { None };
        let stats = Box::new(std::mem::take(&mut rows.stats));
        let warnings = std::mem::take(&mut segment.warnings);
        let position = Arc::clone(&segment.end);
        self.spent = Some(segment.spent());
        if !flushed? {
            return Ok(false);
        }
        result?;
        Ok(emit(Output::End { position, open, stats, warnings }))
    }

    /// Returns the memory of the last segment, for reuse.
    pub fn take_spent(&mut self) -> Option<SpentSegment> {
        self.spent.take()
    }

    /// `start` is the position at which to resume before the next rows: after the last item.
    fn decode_spans(
        &mut self,
        segment: &mut Segment,
        start: &mut Arc<Position>,
        emit: &mut Emit<'_>,
    ) -> Result<bool> {
        let mut items = std::mem::take(&mut segment.items).into_iter();
        let mut catalogs = segment.catalogs.iter().peekable();
        if catalogs.peek().is_none() {
            self.events.rows.maps.begin_catalog(None);
        }
        for (number, span) in segment.spans.iter().enumerate() {
            while let Some((_, catalog)) = catalogs.next_if(|(before, _)| *before <= number) {
                self.events.rows.maps.begin_catalog(Some(Arc::clone(catalog)));
            }
            // An item is large, and most spans have no item before them. It is moved only if it is returned.
            let is_before = |placed: &PlacedItem| placed.spans_before <= number;
            while items.as_slice().first().is_some_and(is_before) {
                let Some(placed) = items.next() else { break };
                if !self.emit_item(placed.item, start, &segment.bytes, emit)? {
                    return Ok(false);
                }
            }
            let found = segment.bytes.get(span.bytes.clone()).zip(segment.files.get(span.file));
            let (bytes, file) = found
                .ok_or_else(|| Error::new(ErrorKind::Internal, "a span beyond its segment"))?;
            let context = SpanContext {
                span,
                file,
                start,
                transaction: span.more.as_ref().map(|more| more.transaction),
                buffer: Some(segment.bytes.as_slice()),
            };
            let rows_events = self.events.rows.stats.rows_events;
            let continues = self
                .events
                .decode_span(&context, bytes, emit)
                .map_err(|error| error.in_file(&file.label))?;
            let stats = &mut self.events.rows.stats;
            if stats.rows_events > rows_events {
                stats.count_transaction(span.commit_version);
                note_large(span, file, &mut stats.largest);
            }
            if !continues {
                return Ok(false);
            }
        }
        for PlacedItem { item, .. } in items {
            if !self.emit_item(item, start, &segment.bytes, emit)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Returns an item, after all rows before it.
    fn emit_item(
        &mut self,
        item: LogItem,
        start: &mut Arc<Position>,
        buffer: &[u8],
        emit: &mut Emit<'_>,
    ) -> Result<bool> {
        if !self.events.rows.flush_all(start, Some(&item.before), buffer, emit)? {
            return Ok(false);
        }
        *start = Arc::clone(&item.position);
        Ok(emit(Output::Item(item)))
    }
}

/// Adds a span's transaction to the largest ones, if it is one of them.
fn note_large(span: &Span, file: &FileContext, largest: &mut Vec<LargeTransaction>) {
    let bytes = span.extent.end - span.extent.start;
    if largest.len() == LargeTransaction::KEPT
        && largest.last().is_some_and(|least| least.bytes >= bytes)
    {
        return;
    }
    LargeTransaction {
        bytes,
        file: Arc::clone(&file.name),
        offset: span.extent.start,
        commit_timestamp: span.commit_timestamp,
    }
    .note(largest);
}
