//! Segments of one transaction that is known to have happened: too large for one segment, or prepared before.

use super::classify::{body, ends_statement};
use super::delivered::Delivered;
use super::segment::{CarriedMap, CarriedStatement, FileContext, RowsSeen, Span, SpanDetails};
use super::window::{RawEvent, Window};
use crate::binlog::{
    EventHeader, EventType, PartialRowData, Query, RowsQuery, STMT_END, table_id_and_flags,
};
use crate::change::{Group, GroupGtid, Transaction};
use crate::error::{Error, Result};
use crate::limits::MAX_EVENT_SIZE;
use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

/// What is known of a transaction from its end, or from its XA COMMIT.
pub(super) struct Committed {
    pub(super) transaction: Transaction,
    pub(super) gtid: Option<GroupGtid>,
    pub(super) was_prepared: bool,
    /// The part of it that is left out, if the read was resumed.
    pub(super) delivered: Option<Arc<Delivered>>,
    /// From its first event to the end of the last.
    pub(super) extent: Range<u64>,
}

impl Committed {
    pub(super) fn of(group: &Group, end: u64) -> Self {
        Self {
            transaction: group.transaction,
            gtid: group.gtid.clone(),
            was_prepared: false,
            extent: group.transaction.start..end,
            delivered: None,
        }
    }
}

/// How to cut.
pub(super) struct CutSize {
    /// About how large pieces are.
    pub(super) bytes: usize,
    /// Whether each carries the statement that its first rows come from.
    pub(super) carries_statements: bool,
}

/// Cuts a transaction between events; the context goes from one segment to the next.
pub(super) struct RangeCutter {
    window: Window,
    file: Arc<FileContext>,
    commit_version: i64,
    committed: Committed,
    /// Parts whose rows happened, each with the number of rows events before it; the next part first.
    parts: VecDeque<(u64, u64, u32)>,
    rows_events: u32,
    maps: Vec<(u64, CarriedMap)>,
    statement: CarriedStatement,
    size: CutSize,
    /// Whether the last event is a part of a rows event that goes on in the next one.
    in_fragments: bool,
    /// Whether that rows event is the last of its statement.
    fragments_end: bool,
}

impl RangeCutter {
    pub(super) fn new(
        window: Window,
        file: Arc<FileContext>,
        commit_version: i64,
        committed: Committed,
        parts: impl Iterator<Item = (u64, u64, u32)>,
        size: CutSize,
    ) -> Self {
        let parts: VecDeque<_> = parts.filter(|(start, end, _)| start < end).collect();
        let mut cutter = Self {
            window,
            file,
            commit_version,
            committed,
            parts,
            rows_events: 0,
            maps: Vec::new(),
            statement: CarriedStatement::default(),
            size,
            in_fragments: false,
            fragments_end: false,
        };
        cutter.enter_part();
        cutter
    }

    /// The window, to go on with after the last segment.
    pub(super) fn into_window(self) -> Window {
        self.window
    }

    /// Takes a buffer back, to be used again.
    pub(super) fn recycle(&mut self, buffer: Vec<u8>) {
        self.window.recycle(buffer);
    }

    /// Where the next run begins.
    pub(super) fn offset(&self) -> u64 {
        self.window.offset()
    }

    /// The file that the range stands in.
    pub(super) fn context(&self) -> Arc<FileContext> {
        Arc::clone(&self.file)
    }

    /// The next run of events, or `None` after the last.
    pub(super) fn next_span(&mut self) -> Result<Option<(Vec<u8>, Span)>> {
        let Some((_, end, _)) = self.parts.front().copied() else { return Ok(None) };
        let offset = self.window.offset();
        let rows_before = self.rows_events;
        let statement = self.statement.clone();
        let table_maps = self.maps.iter().map(|(_, map)| map.clone()).collect();
        while self.window.offset() < end
            && (self.window.kept() < self.size.bytes
                || end - self.window.offset() <= COMMIT_BYTES
                || (self.in_fragments && self.window.kept() < self.max_bytes()))
        {
            self.pass_event().map_err(|error| error.in_file(&self.file.label))?;
        }
        let bytes = self.window.take_kept();
        if self.window.offset() >= end {
            self.parts.pop_front();
            self.enter_part();
        }
        let more = SpanDetails {
            transaction: self.committed.transaction,
            gtid: self.committed.gtid.clone(),
            table_maps,
            statement,
            delivered: self.committed.delivered.clone(),
        };
        let span = Span {
            bytes: 0..bytes.len(),
            offset,
            file: Arc::clone(&self.file),
            commit_timestamp: self.committed.transaction.commit_timestamp,
            commit_version: self.commit_version,
            extent: self.committed.extent.clone(),
            rows_before,
            more: Some(Box::new(more)),
            was_prepared: self.committed.was_prepared,
            ends_transaction: self.parts.is_empty(),
        };
        Ok(Some((bytes, span)))
    }

    /// A rows event in fragments stays in one piece; one that is larger than it may be is for the decoder to refuse.
    fn max_bytes(&self) -> usize {
        self.size.bytes.saturating_add(2 * MAX_EVENT_SIZE as usize)
    }

    fn enter_part(&mut self) {
        if let Some((start, _, rows_before)) = self.parts.front().copied() {
            self.window.jump(start);
            self.rows_events = rows_before;
            self.statement.sql = None;
        }
    }

    fn pass_event(&mut self) -> Result<()> {
        let offset = self.window.offset();
        let RawEvent::Whole { header, at, len } = self.window.peek()? else {
            return Err(Error::malformed("the file became shorter while it was read")
                .at_event(offset, "transaction"));
        };
        let format = &self.file.format;
        let located = |error: Error| error.at_event(offset, header.event_type.name());
        self.in_fragments = false;
        if header.event_type == EventType::MARIADB_PARTIAL_ROW_DATA {
            let body = body(self.window.event(at, len), format.checksum).map_err(located)?;
            let fragment = PartialRowData::decode(body).map_err(|error| located(error.into()))?;
            if fragment.seq == 1 {
                self.fragments_end = ends_statement(&fragment, format).map_err(located)?;
                // `ends_statement` has read this much of the event.
                if let Ok(rows) = EventHeader::decode(fragment.chunk)
                    && let Some(body) = fragment.chunk.get(EventHeader::LEN..)
                    && let id_width = format.table_id_width(rows.event_type)
                    && let Ok((id, _)) = table_id_and_flags(body, id_width)
                {
                    note_rows(&mut self.maps, id, rows.event_type);
                }
            }
            self.in_fragments = !fragment.is_last();
            self.rows_events += u32::from(fragment.is_last());
            if fragment.is_last() && self.fragments_end {
                self.maps.clear();
                self.statement.sql = None;
            }
        } else if header.event_type == EventType::TABLE_MAP {
            let body = body(self.window.event(at, len), format.checksum).map_err(located)?;
            let (id, _) = table_id_and_flags(body, format.table_id_width(header.event_type))
                .map_err(|error| located(error.into()))?;
            let before = self.maps.len();
            self.maps.retain(|(other, _)| *other != id);
            let is_repeated = self.maps.len() < before;
            let (body, rows) = (body.into(), RowsSeen::default());
            self.maps.push((id, CarriedMap { body, rows, is_repeated }));
        } else if header.event_type.is_rows() {
            let body = body(self.window.event(at, len), format.checksum).map_err(located)?;
            let (id, flags) = table_id_and_flags(body, format.table_id_width(header.event_type))
                .map_err(|error| located(error.into()))?;
            self.rows_events += 1;
            note_rows(&mut self.maps, id, header.event_type);
            if flags & STMT_END != 0 {
                self.maps.clear();
                self.statement.sql = None;
            }
        } else if self.size.carries_statements {
            let body = body(self.window.event(at, len), format.checksum).map_err(located)?;
            match header.event_type {
                EventType::QUERY => {
                    let query = Query::decode(body).map_err(|error| located(error.into()))?;
                    self.statement.client = self.statement.client.or(Some(query.client_charset()));
                }
                event_type => {
                    let query = RowsQuery::of(event_type, body);
                    if let Some(query) = query.map_err(|error| located(error.into()))? {
                        self.statement.sql = Some(query.sql.into());
                    }
                }
            }
        }
        self.window.advance(len);
        Ok(())
    }
}

/// A rows event of the statement's table `id`.
fn note_rows(maps: &mut [(u64, CarriedMap)], id: u64, event_type: EventType) {
    let map = maps.iter_mut().find(|(other, _)| *other == id);
    if let (Some(kind), Some((_, map))) = (event_type.rows_kind(), map) {
        map.rows.add(kind);
    }
}

/// What a Xid event or a COMMIT takes: alone in the last piece, it would leave the rows before it without a position after
/// them.
const COMMIT_BYTES: u64 = 128;
