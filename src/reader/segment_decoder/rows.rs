//! Rows events: the plan of their table, the checks of their statement, and their rows in the batch of their table.

use super::batches::{Goal, TableBatches};
use super::map_cache::MapCache;
use super::output::{Emit, Output};
use super::passed_over::{Counting, PassedOver};
use super::span_context::{EventPlace, SpanContext};
use super::statement_in_force::StatementInForce;
use super::unlogged::{ParentRows, StatementTables, Watch};
use crate::binlog::{
    DUMMY_TABLE_ID, EventHeader, EventType, FormatDescription, RowsEvent, RowsKind, STMT_END,
    table_id_and_flags,
};
use crate::change::{Item, UnloggedChange};
use crate::columnar::{ColumnNames, EnvelopeColumn, TablePlan};
use crate::error::{Error, ErrorKind, Result};
use crate::position::Position;
use crate::reader::options::DecodeOptions;
use crate::reader::resume::TableKey;
use crate::reader::stats::Stats;
use crate::schema::full_name;
use crate::source::{FileContext, Left, LogItem, Segment, Span, SpanDetails};
use crate::wire::Inflater;
use std::fmt::Write;
use std::sync::Arc;

/// Decodes rows events.
pub(super) struct RowsDecoder {
    options: Arc<DecodeOptions>,
    pub(super) maps: MapCache,
    inflater: Inflater,
    pub(super) statement: StatementInForce,
    /// The tables of the statement.
    statement_tables: StatementTables,
    /// Changes of the current event that may have changed other rows, if they are returned as items.
    unlogged_changes: Vec<UnloggedChange>,
    /// The GTID of the current span, if it is requested.
    gtid: Option<String>,
    /// The file that contains the current transaction.
    file: Option<Arc<FileContext>>,
    /// The rows events of the current transaction that were skipped because of their operation.
    passed: PassedOver,
    batches: TableBatches,
    /// The counts of the segment.
    pub(super) stats: Stats,
}

impl RowsDecoder {
    pub(super) fn new(options: Arc<DecodeOptions>) -> Self {
        let envelope = &options.plan.envelope;
        Self {
            statement: StatementInForce::new(envelope.has(EnvelopeColumn::Query)),
            gtid: envelope.has(EnvelopeColumn::Gtid).then(String::new),
            batches: TableBatches::new(&options),
            options,
            maps: MapCache::default(),
            inflater: Inflater::default(),
            statement_tables: StatementTables::default(),
            unlogged_changes: Vec::new(),
            file: None,
            passed: PassedOver::default(),
            stats: Stats::default(),
        }
    }

    pub(super) fn begin_segment(&mut self, segment: &mut Segment) {
        self.stats = Stats {
            bytes_read: segment.input_bytes,
            dropped_rows_events: segment.dropped_rows_events,
            statements_skipped: segment.statements_skipped,
            time_span: segment.time_span,
            ..Stats::default()
        };
        for table in std::mem::take(&mut segment.skipped_tables) {
            self.stats.tables.entry(table).or_default();
        }
        self.batches.begin_segment(segment.gtids.take());
    }

    pub(super) fn begin_span(&mut self, context: &SpanContext<'_>) -> Result<()> {
        let (span, format) = (context.span, &context.file.format);
        if self.batches.begin_span(span.commit_version, span.ends_transaction) {
            let is_same = self.file.as_ref().is_some_and(|file| Arc::ptr_eq(file, context.file));
            if !is_same {
                self.file = Some(Arc::clone(context.file));
            }
            self.passed.clear();
            if !is_same || self.maps.are_too_many() {
                self.maps.begin_file(format);
            }
        }
        self.maps.begin_transaction();
        self.statement_tables.clear();
        match &span.more {
            Some(more) => self.begin_details(span.commit_version, more, format),
            None => Ok(()),
        }
    }

    /// Sets the properties of a span that its events do not contain.
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
        for map in &more.table_maps {
            let index = self.define_map(&map.body, format)?;
            if let Some(index) = index.filter(|_| !self.options.unlogged.is_ignored()) {
                self.statement_tables.carry(index, map.rows, map.is_repeated);
            }
        }
        Ok(())
    }

    /// Adds a Table_map event of a statement.
    pub(super) fn on_table_map(&mut self, body: &[u8], format: &FormatDescription) -> Result<()> {
        let index = self.define_map(body, format)?;
        if let Some(index) = index.filter(|_| !self.options.unlogged.is_ignored()) {
            self.statement_tables.add(index);
        }
        Ok(())
    }

    /// Adds a Table_map event. Returns the number of the map.
    pub(super) fn define_map(
        &mut self,
        body: &[u8],
        format: &FormatDescription,
    ) -> Result<Option<usize>> {
        let id_width = format.table_id_width(EventType::TABLE_MAP);
        self.maps.define(body, id_width, &self.options.tables)
    }

    /// Decodes a rows event into the batch of its table.
    pub(super) fn decode(
        &mut self,
        context: &SpanContext<'_>,
        header: &EventHeader,
        body: &[u8],
        place: EventPlace,
        emit: &mut Emit<'_>,
    ) -> Result<bool> {
        let map = self.wanted_map(context, header.event_type, body, place.number)?;
        if !self.unlogged_changes.is_empty()
            && !self.return_unlogged_changes(context.span, context.start, emit)
        {
            return Ok(false);
        }
        let Some(map) = map else { return Ok(true) };
        let is_wanted_kind = |kind| self.options.operations.accepts(kind);
        if !header.event_type.rows_kind().is_none_or(is_wanted_kind) {
            self.pass_over(context, map, header.event_type, body, place)?;
            return Ok(true);
        }
        let format = &context.file.format;
        let event =
            RowsEvent::decode(body, header.event_type, format.table_id_width(header.event_type))?;
        let plan = self.maps.plan(map, format, &self.options.plan);
        // Most rows are of the same table as the rows before them. Then the plan is not cloned: this saves two atomic operations.
        let recent = match &plan {
            Ok(Some(plan)) if context.delivered().is_none() => self.batches.recent(plan),
            _ => None,
        };
        let (index, left) = match recent {
            Some(index) => (index, Left::Nothing),
            None => {
                let plan = match plan.map(|plan| plan.cloned()) {
                    Err(error) if self.counts_without(&error) => {
                        self.leave_uncounted(map, body, &error)?;
                        return Ok(true);
                    }
                    plan => plan?,
                };
                let Some(plan) = plan else { return Ok(true) };
                let left = context.left(&plan);
                if left == Left::All {
                    return Ok(true);
                }
                let Some(index) = self.slot(plan, left, context, emit)? else { return Ok(false) };
                (index, left)
            }
        };
        let event = match header.event_type.is_mariadb_compressed() {
            true => event.inflate(header.event_type, &mut self.inflater)?,
            false => event,
        };
        let gtid = self.gtid.as_deref().filter(|gtid| !gtid.is_empty());
        let stamp = context.stamp(header, place, gtid, self.statement.text());
        let delivered = context.delivered();
        if !self.batches.append(index, &event, &stamp, body.len(), left, delivered)? {
            return Ok(true);
        }
        self.stats.rows_events += 1;
        if self.statement.is_wanted() && stamp.details.query.is_none() {
            self.stats.unstated_rows_events += 1;
        }
        match self.batches.take_full(index) {
            true => self.flush(index, context.start, context.buffer(), Goal::Within, emit),
            false => Ok(true),
        }
    }

    /// Returns the changes that may have changed other rows, before the rows of the event: a read that continues at a position
    /// before the end of their transaction returns them again.
    fn return_unlogged_changes(
        &mut self,
        span: &Span,
        start: &Arc<Position>,
        emit: &mut Emit<'_>,
    ) -> bool {
        self.unlogged_changes.drain(..).all(|change| {
            emit(Output::Note(LogItem {
                item: Item::UnloggedChange(change),
                commit_version: Some(span.commit_version),
                commit_timestamp: Some(span.commit_timestamp),
                before: Arc::clone(start),
                position: Arc::clone(start),
            }))
        })
    }

    /// Checks the statement of a rows event. Returns the number of the event's table map, if its
    /// rows are selected.
    fn wanted_map(
        &mut self,
        context: &SpanContext<'_>,
        event_type: EventType,
        body: &[u8],
        number: u32,
    ) -> Result<Option<usize>> {
        let format = &context.file.format;
        let (table_id, flags) = table_id_and_flags(body, format.table_id_width(event_type))?;
        self.statement.on_rows(flags);
        if table_id == DUMMY_TABLE_ID {
            self.statement_tables.clear();
            return Ok(None);
        }
        let Some(map) = self.maps.find(table_id) else {
            return Err(Error::malformed(format!(
                "rows for table id {table_id}, which no Table_map event of the transaction describes"
            )));
        };
        if let Some(kind) = event_type.rows_kind()
            && !self.options.unlogged.is_ignored()
            && !self.ends_lone_insert(kind, flags, format)
        {
            let mut watch = Watch {
                options: &self.options,
                maps: &mut self.maps,
                statement: &mut self.statement_tables,
                counts: &mut self.stats.unlogged,
                items: &mut self.unlogged_changes,
                format,
                number,
            };
            watch.on_rows(&ParentRows { event_type, kind, flags, body, map })?;
        }
        if !self.maps.is_wanted(map) {
            self.stats.ghost_tables.extend(self.maps.take_ghost(map));
            return Ok(None);
        }
        Ok(Some(map))
    }

    /// Ends the statement if it has only inserted rows into one table of MySQL. Most statements do this, and they change no rows
    /// without an event.
    fn ends_lone_insert(&mut self, kind: RowsKind, flags: u16, format: &FormatDescription) -> bool {
        let is_lone = kind == RowsKind::Write
            && flags & STMT_END != 0
            && !format.is_mariadb
            && self.statement_tables.is_one_table();
        if is_lone {
            self.statement_tables.clear();
        }
        is_lone
    }

    /// True if the error means that the log does not contain the length of cells, and only counts
    /// are needed.
    fn counts_without(&self, error: &Error) -> bool {
        let options = &self.options.plan;
        options.column_names == ColumnNames::None
            && matches!(error.kind(), ErrorKind::Schema | ErrorKind::Unsupported)
            && options.schemas.is_empty()
            && !self.maps.has_catalog()
    }

    /// Skips the rows of an event whose cells have an unknown length: their number is not known.
    fn leave_uncounted(&mut self, map: usize, body: &[u8], error: &Error) -> Result<()> {
        if let Some((database, table)) = self.maps.table(map)? {
            let name = full_name(&database, &table);
            self.stats.uncounted.entry(name).or_insert_with(|| error.marked());
            let counts = self.stats.tables.entry((database, table)).or_default();
            counts.bytes += body.len() as u64;
            self.stats.rows_events += 1;
        }
        Ok(())
    }

    /// Skips a rows event of a table that is read, because of its operation.
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
        let (_, mut counting) = self.counting(&context.file.format, context.buffer());
        let Some(plan) = counting.plan(map)? else { return Ok(()) };
        let changes = counting.changes(&plan, event_type, body)?;
        self.passed.push_counted(map, event_type, changes);
        if let (Left::Changes(_), Some(delivered)) = (context.left(&plan), context.delivered()) {
            delivered.leave_out(&plan.table.database, &plan.table.table, changes);
        }
        Ok(())
    }

    /// The skipped events, and the context for counting their changes. `buffer` contains them.
    fn counting<'c>(
        &'c mut self,
        format: &'c FormatDescription,
        buffer: &'c [u8],
    ) -> (&'c mut PassedOver, Counting<'c>) {
        let counting = Counting {
            maps: &mut self.maps,
            inflater: &mut self.inflater,
            format,
            options: &self.options.plan,
            buffer,
        };
        (&mut self.passed, counting)
    }

    /// Returns the slot for a plan's table. If the structure has changed, the previous batch is
    /// returned first. The same applies before rows of which some are `left` out, because these
    /// must be at the beginning of a batch. `None` if no more output is needed.
    fn slot(
        &mut self,
        plan: Arc<TablePlan>,
        left: Left,
        context: &SpanContext<'_>,
        emit: &mut Emit<'_>,
    ) -> Result<Option<usize>> {
        let recent = self.batches.recent(&plan);
        let index = match recent.or_else(|| self.batches.find(&plan)) {
            None => self.batches.add(plan)?,
            Some(index) => {
                let is_changed = recent.is_none() && !self.batches.has_plan(index, &plan);
                if (is_changed || left != Left::Nothing)
                    && self.batches.deactivate(index)
                    && !self.flush(index, context.start, context.buffer(), Goal::Within, emit)?
                {
                    return Ok(None);
                }
                if is_changed {
                    self.batches.replace(index, plan)?;
                }
                index
            }
        };
        Ok(Some(index))
    }

    /// Returns all batches under construction: up to `end` if it is given and is after the last transaction.
    pub(super) fn flush_all(
        &mut self,
        start: &Arc<Position>,
        end: Option<&Arc<Position>>,
        buffer: &[u8],
        emit: &mut Emit<'_>,
    ) -> Result<bool> {
        let active = self.batches.take_active();
        let end = end.filter(|end| self.batches.ends_before(end) && !active.is_empty());
        let tables: Option<Arc<[TableKey]>> = end.map(|_| self.batches.keys(&active).collect());
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

    /// Returns one batch. `buffer` contains the events of the current transaction.
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
        self.batches.flush(index, start, goal, &mut self.stats, emit)
    }

    /// Counts the skipped events of a slot's table in the current transaction.
    fn count_passed(&mut self, index: usize, buffer: &[u8]) -> Result<()> {
        let upto = self.passed.len();
        let Some((table, from)) = self.batches.passed(index).filter(|(_, from)| *from < upto)
        else {
            return Ok(());
        };
        let Some(file) = self.file.clone() else { return Ok(()) };
        let (passed, mut counting) = self.counting(&file.format, buffer);
        let changes = passed.count(from, &table, &mut counting)?;
        self.batches.pass(index, upto, changes);
        Ok(())
    }

    /// Ends a compressed transaction: its skipped events cannot be read after this, and an item may end a batch before the
    /// transaction's end.
    pub(super) fn end_payload(&mut self, context: &SpanContext<'_>, is_broken: bool) -> Result<()> {
        if is_broken {
            for index in self.batches.active().to_vec() {
                self.count_passed(index, context.buffer())?;
            }
        }
        let (passed, mut counting) = self.counting(&context.file.format, context.buffer());
        passed.freeze(&mut counting);
        Ok(())
    }

    /// The changes of the current transaction, by table, in a segment after which it continues; `None` if it does not.
    pub(super) fn open_changes(&mut self, segment: &Segment) -> Option<Vec<(TableKey, u64)>> {
        if !self.batches.is_open() {
            return None;
        }
        let file = segment.spans.last().and_then(|span| segment.files.get(span.file));
        let Some(file) = file else { return Some(Vec::new()) };
        let (passed, mut counting) = self.counting(&file.format, &segment.bytes);
        let mut all = passed.count_all(&mut counting);
        for (table, changes) in self.batches.given() {
            *all.entry(table).or_insert(0) += changes;
        }
        Some(all.into_iter().filter(|(_, changes)| *changes > 0).collect())
    }
}
