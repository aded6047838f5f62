//! A segment into batches: a pure function, but for buffers and table maps that are kept for speed.

use super::batch::ChangeBatch;
use super::fragments::Fragments;
use super::map_cache::MapCache;
use super::options::DecodeOptions;
use super::passed_over::{Counting, PassedOver};
use super::progress::{Progress, Reach, TableKey, Upto};
use super::slot::Slot;
use super::statement_in_force::StatementInForce;
use super::stats::Stats;
use super::unlogged::{ParentRows, StatementTables, Watch};
use crate::binlog::{
    ChecksumAlgorithm, DUMMY_TABLE_ID, EventHeader, EventType, FormatDescription, PartialRowData,
    RowsEvent, TransactionPayload, table_id_and_flags,
};
use crate::change::{Transaction, TransactionEnd};
use crate::columnar::{ColumnNames, CommitDetails, EnvelopeColumn, Stamp, TableBuilder, TablePlan};
use crate::error::{Error, ErrorKind, Result};
use crate::position::Position;
use crate::schema::full_name;
use crate::source::{
    Delivered, FileContext, GtidPlaces, LargeTransaction, Left, LogItem, Payload, PlacedItem,
    Segment, Span, SpanDetails, event_body, start_of, verify_crc,
};
use crate::wire::Inflater;
use std::collections::HashMap;
use std::fmt::Write;
use std::sync::Arc;

/// The output of decoding, in order.
#[derive(Debug)]
pub enum Output {
    /// Rows of one table, and how far they deliver the table.
    Batch(ChangeBatch, Reach),
    /// An item that is not a row.
    Item(LogItem),
    /// The segment is done.
    End {
        /// The position at which to resume.
        position: Arc<Position>,
        /// The changes in it, by table, of a transaction that continues in the next segment.
        open: Option<Vec<(TableKey, u64)>>,
        /// The counts of the segment.
        stats: Box<Stats>,
        /// Warnings for the reader.
        warnings: Vec<String>,
    },
}

impl Output {
    /// The start of the read, before anything is decoded.
    pub(super) fn begin(position: Arc<Position>) -> Self {
        Self::End { position, open: None, stats: Box::default(), warnings: Vec::new() }
    }
}

/// Takes an output; returns false if no more output is wanted.
type Emit<'e> = dyn FnMut(Output) -> bool + 'e;

/// Decodes segments; what it keeps between them changes nothing but speed.
pub struct SegmentDecoder {
    options: Arc<DecodeOptions>,
    maps: MapCache,
    tables: Vec<Slot>,
    by_name: HashMap<(Arc<str>, Arc<str>), usize>,
    /// Slots with rows, in the order of their first.
    active: Vec<usize>,
    stats: Stats,
    unpacked: Vec<u8>,
    inflater: Inflater,
    fragments: Fragments,
    statement: StatementInForce,
    /// The current transaction; `None` before the segment's first.
    version: Option<i64>,
    /// The file that contains it.
    file: Option<Arc<FileContext>>,
    /// True if it continues after its last span.
    is_open: bool,
    /// Its rows events that were skipped because of their operation.
    passed: PassedOver,
    /// The GTIDs of the segment's transactions.
    gtids: Option<Arc<GtidPlaces>>,
    /// The tables of the statement.
    statement_tables: StatementTables,
    /// The GTID of the current span, if it is requested.
    gtid: Option<String>,
    spent: Option<Vec<u8>>,
}

/// Why decoding stops without an error.
enum Flow {
    GoOn,
    Unwanted,
}

/// The properties that all events of a span share, for the rows of the batch.
struct SpanContext<'s> {
    span: &'s Span,
    file: &'s FileContext,
    start: &'s Arc<Position>,
    /// The properties of its transaction, if requested; for a compressed one, including those that only its contents show.
    transaction: Option<Transaction>,
    /// The buffer that the places of events refer to, if the events can be read again.
    buffer: Option<&'s [u8]>,
}

/// The place of a rows event.
#[derive(Clone, Copy)]
struct EventPlace {
    /// Its offset in the file.
    offset: u64,
    /// Its number in the transaction.
    number: u32,
    /// The start of its body in the context's buffer, if it is there.
    body_at: Option<usize>,
}

/// The end of a batch.
#[derive(Clone, Copy)]
enum Goal<'p> {
    /// Inside the current transaction.
    Within,
    /// At a place that several tables reach.
    Place { end: &'p Arc<Position>, tables: &'p Arc<[TableKey]>, count: usize },
}

impl<'s> SpanContext<'s> {
    fn delivered(&self) -> Option<&'s Delivered> {
        self.span.more.as_ref().and_then(|more| more.delivered.as_deref())
    }

    /// The number of a table's next changes to leave out, if the read was resumed.
    fn left(&self, plan: &TablePlan) -> Left {
        let table = &plan.table;
        self.delivered()
            .map_or(Left::Nothing, |delivered| delivered.left(&table.database, &table.table))
    }

    fn buffer(&self) -> &'s [u8] {
        self.buffer.unwrap_or_default()
    }
}

impl SegmentDecoder {
    /// A decoder.
    pub fn new(options: Arc<DecodeOptions>) -> Self {
        let envelope = &options.plan.envelope;
        Self {
            statement: StatementInForce::new(envelope.has(EnvelopeColumn::Query)),
            gtid: envelope.has(EnvelopeColumn::Gtid).then(String::new),
            options,
            maps: MapCache::default(),
            tables: Vec::new(),
            by_name: HashMap::new(),
            active: Vec::new(),
            stats: Stats::default(),
            unpacked: Vec::new(),
            inflater: Inflater::default(),
            fragments: Fragments::default(),
            version: None,
            file: None,
            is_open: false,
            passed: PassedOver::default(),
            gtids: None,
            statement_tables: StatementTables::default(),
            spent: None,
        }
    }

    /// Decodes a segment. Full batches are passed to `emit`, then the segment's end. Before an error, complete rows are passed
    /// to
    /// `emit`. Returns false if `emit` wants no more.
    pub fn decode(&mut self, mut segment: Segment, emit: &mut Emit<'_>) -> Result<bool> {
        self.stats = Stats {
            bytes_read: segment.input_bytes,
            dropped_rows_events: segment.dropped_rows_events,
            statements_skipped: segment.statements_skipped,
            time_span: segment.time_span,
            ..Stats::default()
        };
        let turn = segment.turn.take();
        if let Some(turn) = &turn {
            turn.wait();
        }
        (self.version, self.is_open) = (None, false);
        self.gtids = segment.gtids.take();
        self.tables.iter_mut().for_each(Slot::forget);
        let mut start = Arc::clone(&segment.start);
        let items = std::mem::take(&mut segment.items);
        let result = self.decode_spans(&segment, items, &mut start, emit);
        let flushed = match &result {
            Ok(Flow::GoOn) => self.flush_active(&start, Some(&segment.end), &segment.bytes, emit),
            Ok(Flow::Unwanted) => Ok(false),
            // Rows of the events before the broken one are complete.
            Err(_) => self.flush_active(&start, None, &segment.bytes, emit),
        };
        let goes_on = self.is_open && matches!((&result, &flushed), (Ok(_), Ok(true)));
        let open = goes_on.then(|| self.open_changes(&segment));
        self.spent = Some(std::mem::take(&mut segment.bytes));
        if !flushed? {
            return Ok(false);
        }
        result?;
        let stats = Box::new(std::mem::take(&mut self.stats));
        let warnings = std::mem::take(&mut segment.warnings);
        Ok(emit(Output::End { position: segment.end, open, stats, warnings }))
    }

    /// The bytes of the last segment, to be used again.
    pub fn take_spent(&mut self) -> Option<Vec<u8>> {
        self.spent.take()
    }

    /// `start` is the position to resume at before the next rows: after the last item.
    fn decode_spans(
        &mut self,
        segment: &Segment,
        items: Vec<PlacedItem>,
        start: &mut Arc<Position>,
        emit: &mut Emit<'_>,
    ) -> Result<Flow> {
        let mut items = items.into_iter().peekable();
        let mut catalogs = segment.catalogs.iter().peekable();
        if catalogs.peek().is_none() {
            self.maps.begin_catalog(None);
        }
        for (number, span) in segment.spans.iter().enumerate() {
            while let Some((_, catalog)) = catalogs.next_if(|(before, _)| *before <= number) {
                self.maps.begin_catalog(Some(Arc::clone(catalog)));
            }
            while let Some(placed) = items.next_if(|placed| placed.spans_before <= number) {
                if !self.emit_item(placed.item, start, &segment.bytes, emit)? {
                    return Ok(Flow::Unwanted);
                }
            }
            let file = &*span.file;
            let bytes = segment.bytes.get(span.bytes.clone()).ok_or_else(|| {
                Error::new(crate::ErrorKind::Internal, "a span beyond its segment")
            })?;
            let transaction = span.more.as_ref().map(|more| more.transaction);
            let buffer = Some(segment.bytes.as_slice());
            let context = SpanContext { span, file, start, transaction, buffer };
            let rows_events = self.stats.rows_events;
            let flow = self
                .decode_span(&context, bytes, emit)
                .map_err(|error| error.in_file(&file.label))?;
            if self.stats.rows_events > rows_events {
                self.stats.count_transaction(span.commit_version);
                note_large(span, &mut self.stats.largest);
            }
            if matches!(flow, Flow::Unwanted) {
                return Ok(flow);
            }
        }
        for placed in items {
            if !self.emit_item(placed.item, start, &segment.bytes, emit)? {
                return Ok(Flow::Unwanted);
            }
        }
        Ok(Flow::GoOn)
    }

    /// Returns an item, after all rows before it.
    fn emit_item(
        &mut self,
        item: LogItem,
        start: &mut Arc<Position>,
        buffer: &[u8],
        emit: &mut Emit<'_>,
    ) -> Result<bool> {
        if !self.flush_active(start, Some(&item.before), buffer, emit)? {
            return Ok(false);
        }
        *start = Arc::clone(&item.position);
        Ok(emit(Output::Item(item)))
    }

    fn decode_span(
        &mut self,
        context: &SpanContext<'_>,
        bytes: &[u8],
        emit: &mut Emit<'_>,
    ) -> Result<Flow> {
        let format = &context.file.format;
        if self.version != Some(context.span.commit_version) {
            self.version = Some(context.span.commit_version);
            self.file = Some(Arc::clone(&context.span.file));
            self.passed.clear();
            self.maps.begin_file(format);
        }
        self.is_open = !context.span.ends_transaction;
        self.maps.begin_transaction();
        self.fragments.clear();
        self.statement_tables.clear();
        if let Some(more) = &context.span.more {
            self.begin_details(context.span.commit_version, more, format)?;
        }
        let mut rows_event = context.span.rows_before;
        let mut at = 0;
        while let Some(rest) = bytes.get(at..).filter(|rest| !rest.is_empty()) {
            let offset = context.span.offset + at as u64;
            let (header, event) = EventHeader::first_event(rest)?;
            let located = |error: Error| error.at_event(offset, header.event_type.name());
            let event = event.ok_or_else(|| located(Error::malformed("the event is cut")))?;
            let flow = self
                .decode_event(context, &header, event, offset, &mut rows_event, emit)
                .map_err(located)?;
            if matches!(flow, Flow::Unwanted) {
                return Ok(flow);
            }
            at += event.len();
        }
        if context.span.ends_transaction
            && !self.options.emit_uncommitted
            && let Some(delivered) = context.delivered()
        {
            delivered.check_end()?;
        }
        Ok(Flow::GoOn)
    }

    /// What a span carries besides its events.
    fn begin_details(
        &mut self,
        commit_version: i64,
        more: &SpanDetails,
        format: &FormatDescription,
    ) -> Result<()> {
        self.statement.begin(commit_version, &more.statement);
        if let Some(text) = &mut self.gtid {
            text.clear();
            if let Some(gtid) = &more.gtid {
                let _ = write!(text, "{gtid}");
            }
        }
        let id_width = format.table_id_width(EventType::TABLE_MAP);
        for map in &more.table_maps {
            let index = self.maps.define(&map.body, id_width, &self.options.tables)?;
            if let Some(index) = index.filter(|_| !self.options.unlogged.is_ignored()) {
                self.statement_tables.carry(index, map.rows, map.is_repeated);
            }
        }
        Ok(())
    }

    fn decode_event(
        &mut self,
        context: &SpanContext<'_>,
        header: &EventHeader,
        event: &[u8],
        offset: u64,
        rows_event: &mut u32,
        emit: &mut Emit<'_>,
    ) -> Result<Flow> {
        let format = &context.file.format;
        let checksum = format.checksum;
        if header.event_type != EventType::MARIADB_PARTIAL_ROW_DATA {
            self.fragments.expect_none()?;
        }
        match header.event_type {
            // This one's checksum was checked when it was read.
            EventType::TABLE_MAP => {
                let id_width = format.table_id_width(header.event_type);
                let body = event_body(event, checksum)?;
                let index = self.maps.define(body, id_width, &self.options.tables)?;
                if let Some(index) = index.filter(|_| !self.options.unlogged.is_ignored()) {
                    self.statement_tables.add(index);
                }
                Ok(Flow::GoOn)
            }
            EventType::TRANSACTION_PAYLOAD => {
                self.check(event, checksum)?;
                self.decode_payload(context, event_body(event, checksum)?, offset, rows_event, emit)
            }
            EventType::MARIADB_PARTIAL_ROW_DATA => {
                self.check(event, checksum)?;
                let fragment = PartialRowData::decode(event_body(event, checksum)?)?;
                if !self.fragments.take(&fragment, offset)? {
                    return Ok(Flow::GoOn);
                }
                let number = *rows_event;
                *rows_event += 1;
                let whole = std::mem::take(&mut self.fragments);
                let (header, body) = whole.event(checksum)?;
                let offset = whole.offset();
                let place = EventPlace { offset, number, body_at: None };
                let flow = self.decode_rows(context, &header, body, place, emit);
                self.fragments = whole;
                flow
            }
            event_type if event_type.is_rows() => {
                self.check(event, checksum)?;
                let number = *rows_event;
                *rows_event += 1;
                let body = event_body(event, checksum)?;
                let in_span = (offset - context.span.offset) as usize + EventHeader::LEN;
                let body_at = Some(context.span.bytes.start + in_span);
                let place = EventPlace { offset, number, body_at };
                self.decode_rows(context, header, body, place, emit)
            }
            event_type => {
                if self.statement.is_wanted() {
                    self.statement.on_event(event_type, event_body(event, checksum)?)?;
                }
                Ok(Flow::GoOn)
            }
        }
    }

    fn check(&self, event: &[u8], checksum: ChecksumAlgorithm) -> Result<()> {
        match self.options.verify_checksum {
            true => verify_crc(event, checksum),
            false => Ok(()),
        }
    }

    fn decode_rows(
        &mut self,
        context: &SpanContext<'_>,
        header: &EventHeader,
        body: &[u8],
        place: EventPlace,
        emit: &mut Emit<'_>,
    ) -> Result<Flow> {
        let format = &context.file.format;
        let id_width = format.table_id_width(header.event_type);
        let (table_id, flags) = table_id_and_flags(body, id_width)?;
        self.statement.on_rows(flags);
        if table_id == DUMMY_TABLE_ID {
            self.statement_tables.clear();
            return Ok(Flow::GoOn);
        }
        let Some(map) = self.maps.find(table_id) else {
            return Err(Error::malformed(format!(
                "rows for table id {table_id}, which no Table_map event of the transaction describes"
            )));
        };
        if let Some(kind) = header.event_type.rows_kind()
            && !self.options.unlogged.is_ignored()
        {
            let event_type = header.event_type;
            let mut watch = Watch {
                options: &self.options,
                maps: &mut self.maps,
                statement: &mut self.statement_tables,
                counts: &mut self.stats.unlogged,
                format,
            };
            watch.on_rows(&ParentRows { event_type, kind, flags, body, map })?;
        }
        if !self.maps.is_wanted(map) {
            self.stats.ghost_tables.extend(self.maps.take_ghost(map));
            return Ok(Flow::GoOn);
        }
        let is_wanted_kind = |kind| self.options.operations.accepts(kind);
        if !header.event_type.rows_kind().is_none_or(is_wanted_kind) {
            self.pass_over(context, map, header.event_type, body, place)?;
            return Ok(Flow::GoOn);
        }
        let event = RowsEvent::decode(body, header.event_type, id_width)?;
        let plan = match self.maps.plan(map, format, &self.options.plan) {
            Err(error) if self.counts_without(&error) => {
                return self.leave_uncounted(map, body, &error);
            }
            plan => plan?,
        };
        let Some(plan) = plan else { return Ok(Flow::GoOn) };
        let left = context.left(&plan);
        if left == Left::All {
            return Ok(Flow::GoOn);
        }
        let Some(index) = self.slot(plan, context, emit)? else { return Ok(Flow::Unwanted) };
        if left != Left::Nothing && self.active.contains(&index) {
            // The rows to leave out are at the beginning of a batch.
            self.active.retain(|active| *active != index);
            if !self.flush(index, context.start, context.buffer(), Goal::Within, emit)? {
                return Ok(Flow::Unwanted);
            }
        }
        let event = event.inflate(header.event_type, &mut self.inflater)?;
        let Some(slot) = self.tables.get_mut(index) else { return Ok(Flow::GoOn) };
        let stamp = Stamp {
            commit_version: context.span.commit_version,
            commit_timestamp: context.span.commit_timestamp,
            rows_event: place.number,
            file: &context.file.name,
            position: place.offset,
            server_id: header.server_id,
            details: CommitDetails {
                gtid: self.gtid.as_deref().filter(|gtid| !gtid.is_empty()),
                original_commit_timestamp: context
                    .transaction
                    .and_then(|transaction| transaction.original_commit_timestamp),
                thread_id: context.transaction.and_then(|transaction| transaction.thread_id),
                xid: context.transaction.and_then(|transaction| transaction.xid),
                query: self.statement.text(),
            },
        };
        let was_empty = slot.builder.rows() == 0;
        let counts = slot.builder.append(&event, &stamp)?;
        let changes = counts.inserts + counts.updates + counts.deletes;
        slot.take_in(context.span.commit_version, changes);
        if let (Left::Changes(left), Some(delivered)) = (left, context.delivered()) {
            let (database, table) = slot.key();
            delivered.leave_out(&database, &table, changes);
            if changes <= left {
                slot.clear()?;
                return Ok(Flow::GoOn);
            }
        }
        if was_empty {
            self.active.push(index);
        }
        slot.counts.inserts += counts.inserts;
        slot.counts.updates += counts.updates;
        slot.counts.deletes += counts.deletes;
        slot.counts.bytes += body.len() as u64;
        if let Left::Changes(left) = left {
            slot.leave_out(left, event.kind);
        }
        self.stats.rows_events += 1;
        if self.statement.is_wanted() && stamp.details.query.is_none() {
            self.stats.unstated_rows_events += 1;
        }
        let limits = self.options.limits;
        if slot.builder.rows() < limits.rows && slot.builder.bytes() < limits.bytes {
            return Ok(Flow::GoOn);
        }
        self.active.retain(|active| *active != index);
        match self.flush(index, context.start, context.buffer(), Goal::Within, emit)? {
            true => Ok(Flow::GoOn),
            false => Ok(Flow::Unwanted),
        }
    }

    /// True if the error says that the log does not contain the length of cells, and only counts are needed.
    fn counts_without(&self, error: &Error) -> bool {
        let options = &self.options.plan;
        options.column_names == ColumnNames::None
            && matches!(error.kind(), ErrorKind::Schema | ErrorKind::Unsupported)
            && options.schemas.is_empty()
            && !self.maps.has_catalog()
    }

    /// The rows of an event whose cells have an unknown length: their number is not known.
    fn leave_uncounted(&mut self, map: usize, body: &[u8], error: &Error) -> Result<Flow> {
        if let Some((database, table)) = self.maps.table(map)? {
            let name = full_name(&database, &table);
            self.stats.uncounted.entry(name).or_insert_with(|| error.to_string());
            let counts = self.stats.tables.entry((database, table)).or_default();
            counts.bytes += body.len() as u64;
            self.stats.rows_events += 1;
        }
        Ok(Flow::GoOn)
    }

    /// A rows event of a table that is read, but of an operation that is not.
    fn pass_over(
        &mut self,
        context: &SpanContext<'_>,
        map: usize,
        event_type: EventType,
        body: &[u8],
        place: EventPlace,
    ) -> Result<()> {
        if context.delivered().is_none()
            && let Some(at) = place.body_at
        {
            self.passed.push_at(map, event_type, at..at + body.len());
            return Ok(());
        }
        let mut counting = Counting {
            maps: &mut self.maps,
            inflater: &mut self.inflater,
            format: &context.file.format,
            options: &self.options.plan,
            buffer: context.buffer(),
        };
        let Some(plan) = counting.plan(map)? else { return Ok(()) };
        let changes = counting.changes(&plan, event_type, body)?;
        self.passed.push_counted(map, event_type, changes);
        if let (Left::Changes(_), Some(delivered)) = (context.left(&plan), context.delivered()) {
            delivered.leave_out(&plan.table.database, &plan.table.table, changes);
        }
        Ok(())
    }

    /// The changes of the current transaction, by table, in a segment after which it continues.
    fn open_changes(&mut self, segment: &Segment) -> Vec<(TableKey, u64)> {
        let Some(span) = segment.spans.last() else { return Vec::new() };
        let mut all = self.passed.count_all(&mut Counting {
            maps: &mut self.maps,
            inflater: &mut self.inflater,
            format: &span.file.format,
            options: &self.options.plan,
            buffer: &segment.bytes,
        });
        for slot in self.tables.iter().filter(|slot| slot.is_in(self.version)) {
            let passed = all.entry(slot.key()).or_insert(0);
            *passed += slot.given();
        }
        all.into_iter().filter(|(_, changes)| *changes > 0).collect()
    }

    /// The slot for a plan's table. If its structure has changed, the previous batch is returned first.
    fn slot(
        &mut self,
        plan: Arc<TablePlan>,
        context: &SpanContext<'_>,
        emit: &mut Emit<'_>,
    ) -> Result<Option<usize>> {
        let table = &plan.table;
        // Most rows are of the table that was active last.
        let recent = self.active.last().copied().filter(|index| {
            self.tables.get(*index).is_some_and(|slot| Arc::ptr_eq(slot.builder.plan(), &plan))
        });
        if let Some(index) = recent {
            return Ok(Some(index));
        }
        let key = (Arc::clone(&table.database), Arc::clone(&table.table));
        if let Some(index) = self.by_name.get(&key).copied() {
            let is_same =
                self.tables.get(index).is_some_and(|slot| Arc::ptr_eq(slot.builder.plan(), &plan));
            if !is_same {
                if self.active.contains(&index) {
                    self.active.retain(|active| *active != index);
                    if !self.flush(index, context.start, context.buffer(), Goal::Within, emit)? {
                        return Ok(None);
                    }
                }
                let builder = TableBuilder::try_new(plan, self.options.update_rule)?;
                if let Some(slot) = self.tables.get_mut(index) {
                    slot.builder = builder;
                }
            }
            return Ok(Some(index));
        }
        let index = self.tables.len();
        self.tables.push(Slot::try_new(plan, self.options.update_rule)?);
        self.by_name.insert(key, index);
        Ok(Some(index))
    }

    /// Returns all batches under construction: up to `end` if it is given and is after the last transaction.
    fn flush_active(
        &mut self,
        start: &Arc<Position>,
        end: Option<&Arc<Position>>,
        buffer: &[u8],
        emit: &mut Emit<'_>,
    ) -> Result<bool> {
        let active = std::mem::take(&mut self.active);
        // An item may be after the rows of its own transaction.
        let last = self.version.map_or(0, start_of);
        let is_behind = |end: &&Arc<Position>| !self.is_open && last < end.offset;
        let end = end.filter(is_behind).filter(|_| !active.is_empty());
        let keys = active.iter().filter_map(|index| self.tables.get(*index)).map(Slot::key);
        let tables: Option<Arc<[TableKey]>> = end.is_some().then(|| keys.collect());
        for (number, index) in active.iter().enumerate() {
            let goal = match (end, &tables) {
                (Some(end), Some(tables)) => Goal::Place { end, tables, count: number + 1 },
                _ => Goal::Within,
            };
            if !self.flush(*index, start, buffer, goal, emit)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Returns one batch, in pieces by the row limit. `buffer` contains the events of the current transaction.
    fn flush(
        &mut self,
        index: usize,
        start: &Arc<Position>,
        buffer: &[u8],
        goal: Goal<'_>,
        emit: &mut Emit<'_>,
    ) -> Result<bool> {
        if matches!(goal, Goal::Within) {
            self.count_passed(index, buffer)?;
        }
        let Some(slot) = self.tables.get_mut(index) else { return Ok(true) };
        let plan = Arc::clone(slot.builder.plan());
        let zero_dates: Vec<_> = slot.builder.take_zero_dates().collect();
        for (column, count) in zero_dates {
            *self.stats.zero_dates.entry(plan.column_label(column)).or_default() += count;
        }
        self.stats.masks_met.extend(plan.masks_met.iter().cloned());
        if let Some(doubt) = &plan.doubt {
            self.stats.doubts.entry(plan.table.full_name()).or_insert_with(|| doubt.clone());
        }
        let mut from = std::mem::take(&mut slot.left_out);
        let cuts = slot.builder.cuts(from, self.options.limits.rows);
        let rows = slot.builder.rows();
        // Pieces that end before the end of the rows end inside the last event.
        let changes: Vec<u64> = cuts.iter().map(|cut| slot.changes_before(*cut)).collect();
        let is_in = slot.is_in(self.version);
        let all_changes = if is_in { slot.changes() } else { 0 };
        let batch = slot.builder.finish()?;
        let counts = std::mem::take(&mut slot.counts);
        let table = &plan.table;
        let key = (Arc::clone(&table.database), Arc::clone(&table.table));
        let sum = self.stats.tables.entry(key).or_default();
        sum.inserts += counts.inserts;
        sum.updates += counts.updates;
        sum.deletes += counts.deletes;
        sum.bytes += counts.bytes;
        let open_start = start_of(self.version.unwrap_or_default());
        for (cut, changes) in cuts.into_iter().zip(changes) {
            let len = cut - from;
            self.stats.rows += len as u64;
            self.stats.batches += 1;
            let change = ChangeBatch {
                database: Arc::clone(&table.database),
                table: Arc::clone(&table.table),
                batch: batch.slice(from, len),
                plan: Arc::clone(&plan),
                before: Progress::at(Arc::clone(start)),
                progress: Progress::at(Arc::clone(start)),
                committed: self.stats.time_span.map(|(_, last)| last),
            };
            let upto = match goal {
                Goal::Place { end, tables, count } if cut == rows => {
                    Upto::Place { end: Arc::clone(end), tables: Arc::clone(tables), count }
                }
                _ if cut == rows => Upto::Within { start: open_start, changes: all_changes },
                _ => Upto::Within { start: open_start, changes },
            };
            let reach = Reach { base: Arc::clone(start), gtids: self.gtids.clone(), upto };
            if !emit(Output::Batch(change, reach)) {
                return Ok(false);
            }
            from = cut;
        }
        Ok(true)
    }

    /// Counts the skipped events of a slot's table in the current transaction.
    fn count_passed(&mut self, index: usize, buffer: &[u8]) -> Result<()> {
        let upto = self.passed.len();
        let Some(slot) = self.tables.get_mut(index) else { return Ok(()) };
        if upto == 0 || !slot.is_in(self.version) || slot.passed() == upto {
            return Ok(());
        }
        let Some(file) = &self.file else { return Ok(()) };
        let mut counting = Counting {
            maps: &mut self.maps,
            inflater: &mut self.inflater,
            format: &file.format,
            options: &self.options.plan,
            buffer,
        };
        let changes = self.passed.count(slot.passed(), &slot.key(), &mut counting)?;
        slot.pass(upto, changes);
        Ok(())
    }

    fn decode_payload(
        &mut self,
        context: &SpanContext<'_>,
        body: &[u8],
        offset: u64,
        rows_event: &mut u32,
        emit: &mut Emit<'_>,
    ) -> Result<Flow> {
        let format = &context.file.format;
        let id_width = format.table_id_width(EventType::TABLE_MAP);
        let mut buffer = std::mem::take(&mut self.unpacked);
        let payload = Payload::unpack(TransactionPayload::decode(body)?, &mut buffer)?;
        let end = payload.end(format)?;
        let emits = self.options.emit_uncommitted;
        let kept: Vec<(u64, u64, u32)> = match (&end.outcome, &end.group) {
            _ if emits => vec![(0, end.len, 0)],
            (TransactionEnd::Committed, Some(group)) => group.kept(end.len).collect(),
            (TransactionEnd::Prepared(_), Some(group)) if context.span.was_prepared => {
                group.kept(end.len).collect()
            }
            (TransactionEnd::RolledBack, group) => {
                let dropped = group.as_ref().map_or(0, |group| group.rows_events);
                self.stats.dropped_rows_events += u64::from(dropped);
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
        let mut number = *rows_event;
        let mut flow = Flow::GoOn;
        let result = payload.for_each(|header, body, at| {
            if header.event_type == EventType::TABLE_MAP {
                self.maps.define(body, id_width, &self.options.tables)?;
            } else if header.event_type.is_rows() {
                let event = number;
                number += 1;
                if kept.iter().any(|(from, to, _)| (*from..*to).contains(&at)) {
                    let body_at = context.buffer.map(|_| at as usize + EventHeader::LEN);
                    let place = EventPlace { offset, number: event, body_at };
                    flow = self.decode_rows(context, header, body, place, emit)?;
                }
            } else {
                self.statement.on_event(header.event_type, body)?;
            }
            Ok(matches!(flow, Flow::GoOn))
        });
        // Skipped events cannot be read after this, and an item may end a batch before the transaction's end.
        if result.is_err() {
            for index in self.active.clone() {
                self.count_passed(index, context.buffer())?;
            }
        }
        self.passed.freeze(&mut Counting {
            maps: &mut self.maps,
            inflater: &mut self.inflater,
            format,
            options: &self.options.plan,
            buffer: context.buffer(),
        });
        result?;
        *rows_event = number;
        if buffer.capacity() <= MAX_KEPT_BUFFER {
            self.unpacked = buffer;
        }
        Ok(flow)
    }
}

/// Adds a span's transaction to the largest ones, if it is one of them.
fn note_large(span: &Span, largest: &mut Vec<LargeTransaction>) {
    let bytes = span.extent.end - span.extent.start;
    if largest.len() == LargeTransaction::KEPT
        && largest.last().is_some_and(|least| least.bytes > bytes)
    {
        return;
    }
    LargeTransaction {
        bytes,
        file: Arc::clone(&span.file.name),
        offset: span.extent.start,
        commit_timestamp: span.commit_timestamp,
    }
    .note(largest);
}

/// A buffer for unpacked transactions that is larger is given back at once.
const MAX_KEPT_BUFFER: usize = 16 << 20;
