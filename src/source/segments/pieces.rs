//! Cuts one committed transaction between its events, because it is too large for one segment or was prepared earlier.

use crate::binlog::{
    EventHeader, EventType, PartialRowData, Query, RowsQuery, STMT_END, table_id_and_flags,
};
use crate::change::{EventGroup, LoggedGtid, Transaction};
use crate::error::{Error, Result};
use crate::limits::MAX_EVENT_SIZE;
use crate::source::classify::ends_statement;
use crate::source::delivered::Delivered;
use crate::source::event_source::{Event, NextEvent};
use crate::source::segment::{
    CarriedMap, CarriedStatement, FileContext, RowsSeen, Span, SpanDetails,
};
use crate::source::walk::FileEvents;
use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

/// The facts about a transaction that its end, or its XA COMMIT, provides.
pub(super) struct Committed {
    pub(super) transaction: Transaction,
    pub(super) gtid: Option<LoggedGtid>,
    pub(super) was_prepared: bool,
    /// The part of it that is left out, if the read was resumed.
    pub(super) delivered: Option<Arc<Delivered>>,
    /// The offsets from the start of its first event to the end of its last.
    pub(super) extent: Range<u64>,
}

impl Committed {
    pub(super) fn of(group: &EventGroup, end: u64) -> Self {
        Self {
            transaction: group.transaction,
            gtid: group.gtid.clone(),
            was_prepared: false,
            extent: group.transaction.start..end,
            delivered: None,
        }
    }
}

/// The size of the pieces.
pub(super) struct CutSize {
    /// The approximate size of a piece.
    pub(super) bytes: usize,
    /// True if each piece contains the statement of its first rows.
    pub(super) carries_statements: bool,
}

/// Cuts a transaction between events. The context continues from one piece to the next.
pub(super) struct Pieces {
    file: Arc<FileContext>,
    commit_version: i64,
    committed: Committed,
    /// Parts whose rows were committed, each with the number of rows events before it; the next part first.
    parts: VecDeque<(u64, u64, u32)>,
    rows_events: u32,
    maps: Vec<(u64, CarriedMap)>,
    statement: CarriedStatement,
    size: CutSize,
    /// True if the last event is a part of a rows event that continues in the next event.
    in_fragments: bool,
    /// True if that rows event is the last one of its statement.
    fragments_end: bool,
}

impl Pieces {
    pub(super) fn new(
        events: &mut FileEvents,
        commit_version: i64,
        committed: Committed,
        parts: Vec<(u64, u64, u32)>,
        size: CutSize,
    ) -> Self {
        let parts = parts.into_iter().filter(|(start, end, _)| start < end).collect();
        let mut pieces = Self {
            file: Arc::clone(events.context()),
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
        pieces.enter_part(events);
        pieces
    }

    /// The file of the transaction.
    pub(super) fn file(&self) -> &Arc<FileContext> {
        &self.file
    }

    /// True if the transaction was prepared before, and its bytes were read then.
    pub(super) fn was_prepared(&self) -> bool {
        self.committed.was_prepared
    }

    /// The next run of events, or `None` after the last.
    pub(super) fn next_span(&mut self, events: &mut FileEvents) -> Result<Option<(Vec<u8>, Span)>> {
        let Some((_, end, _)) = self.parts.front().copied() else { return Ok(None) };
        let offset = events.offset();
        let rows_before = self.rows_events;
        let statement = self.statement.clone();
        let table_maps = self.maps.iter().map(|(_, map)| map.clone()).collect();
        while events.offset() < end
            && (events.kept() < self.size.bytes
                || end - events.offset() <= COMMIT_BYTES
                || (self.in_fragments && events.kept() < self.max_bytes()))
        {
            self.pass_event(events).map_err(|error| error.in_file(&self.file.label))?;
        }
        let bytes = events.take_kept();
        if events.offset() >= end {
            self.parts.pop_front();
            self.enter_part(events);
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
            file: 0,
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

    /// A rows event in fragments stays in one piece; the decoder does not accept one that is too
    /// large.
    fn max_bytes(&self) -> usize {
        self.size.bytes.saturating_add(2 * MAX_EVENT_SIZE as usize)
    }

    fn enter_part(&mut self, events: &mut FileEvents) {
        if let Some((start, _, rows_before)) = self.parts.front().copied() {
            events.jump(start);
            self.rows_events = rows_before;
            self.statement.sql = None;
        }
    }

    fn pass_event(&mut self, events: &mut FileEvents) -> Result<()> {
        let NextEvent::Event(event) = events.peek(true)? else {
            return Err(Error::malformed("the file became shorter while it was read")
                .at_event(events.offset(), "transaction"));
        };
        self.take_context(event, events).map_err(|error| event.locate(error))?;
        events.advance(&event);
        Ok(())
    }

    /// Stores the context that later events need from this one.
    fn take_context(&mut self, event: Event, events: &FileEvents) -> Result<()> {
        let event_type = event.header.event_type;
        let format = &self.file.format;
        self.in_fragments = false;
        if event_type == EventType::MARIADB_PARTIAL_ROW_DATA {
            self.take_fragment(&PartialRowData::decode(events.body(&event)?)?)?;
        } else if event_type == EventType::TABLE_MAP {
            let body = events.body(&event)?;
            let (id, _) = table_id_and_flags(body, format.table_id_width(event_type))?;
            let before = self.maps.len();
            self.maps.retain(|(other, _)| *other != id);
            let is_repeated = self.maps.len() < before;
            let (body, rows) = (body.into(), RowsSeen::default());
            self.maps.push((id, CarriedMap { body, rows, is_repeated }));
        } else if event_type.is_rows() {
            let body = events.body(&event)?;
            let (id, flags) = table_id_and_flags(body, format.table_id_width(event_type))?;
            self.rows_events += 1;
            note_rows(&mut self.maps, id, event_type);
            if flags & STMT_END != 0 {
                self.end_statement();
            }
        } else if self.size.carries_statements {
            let body = events.body(&event)?;
            if event_type == EventType::QUERY {
                let query = Query::decode(body)?;
                self.statement.client = self.statement.client.or(Some(query.client_charset()));
            } else if let Some(query) = RowsQuery::of(event_type, body)? {
                self.statement.sql = Some(query.sql.into());
            }
        }
        Ok(())
    }

    fn take_fragment(&mut self, fragment: &PartialRowData<'_>) -> Result<()> {
        let format = &self.file.format;
        if fragment.seq == 1 {
            self.fragments_end = ends_statement(fragment, format)?;
            // `ends_statement` has already read this part of the event.
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
            self.end_statement();
        }
        Ok(())
    }

    fn end_statement(&mut self) {
        self.maps.clear();
        self.statement.sql = None;
    }
}

/// A rows event of the statement's table `id`.
fn note_rows(maps: &mut [(u64, CarriedMap)], id: u64, event_type: EventType) {
    let map = maps.iter_mut().find(|(other, _)| *other == id);
    if let (Some(kind), Some((_, map))) = (event_type.rows_kind(), map) {
        map.rows.add(kind);
    }
}

/// The size of a Xid event or a COMMIT. If it were alone in the last piece, the rows before it would have no position after
/// them.
const COMMIT_BYTES: u64 = 128;
