//! Finds the segments of a file that an index may contain: runs of simple transactions, which change only rows.
//!
//! A transaction is simple if it was committed and consists of these events only: a GTID, `BEGIN`, the text of statements,
//! Table_map events, rows events, and its commit (Xid, or `COMMIT`). All but the GTID may be compressed in a payload. Whatever else
//! is in the log is between segments, so that it is always read: DDL, XA transactions, savepoints, statements that are logged as
//! text, events that are not known.

use super::file_list::InputFile;
use super::options::LogOptions;
use super::payload::Unpacker;
use super::walk::{Step, Walk};
use crate::binlog::{
    DUMMY_TABLE_ID, EventHeader, EventType, FormatDescription, Query, QueryKind, RowsEvent,
    RowsKind, STMT_END, TableMap, TransactionPayload,
};
use crate::cancel::CancelToken;
use crate::change::{LoggedGtid, TransactionEnd};
use crate::error::{Error, Result};
use crate::limits::MAX_TABLE_MAPS;
use crate::position::{GtidSet, GtidState, MariadbGtidPosition};
use std::collections::HashMap;
use std::ops::Range;

/// A run of simple transactions.
#[derive(Debug)]
pub struct PlainSegment {
    /// The offsets of its first event and after its last one.
    pub range: Range<u64>,
    /// True if its changes may have changed rows that no event contains.
    pub may_lack_changes: bool,
    /// The earliest and the latest commit, in microseconds since 1970 UTC.
    pub times: (i64, i64),
    /// The GTIDs of its transactions.
    pub gtids: Option<GtidState>,
    /// The tables of its Table_map events, by the number of the map.
    pub tables: Vec<PlainTable>,
}

/// A table in a segment.
#[derive(Debug, Clone, Copy)]
pub struct PlainTable {
    /// The number of its map in [`PlainLog::maps`].
    pub map: usize,
    /// True if all images of its rows contain all columns.
    pub has_full_images: bool,
}

/// The segments of a file.
#[derive(Debug, Default)]
pub struct PlainLog {
    /// The segments in log order.
    pub segments: Vec<PlainSegment>,
    /// The bodies of Table_map events without the table id.
    pub maps: Vec<Vec<u8>>,
    /// The size of the log.
    pub bytes: u64,
    /// True if the log is complete: it ends with a Rotate or Stop event, or its last server crashed and a later one does not
    /// write to it.
    pub is_closed: bool,
}

/// Finds the segments of a file, each of about `segment_bytes`.
pub fn plain_segments(
    file: InputFile,
    segment_bytes: u64,
    cancel: &CancelToken,
) -> Result<PlainLog> {
    let options = LogOptions { skip_statements: true, ..LogOptions::default() };
    let mut walk = Walk::over_files(vec![file], options)?;
    walk.cancel_with(cancel);
    walk.keep_bytes(0);
    walk.want_statements();
    let mut scan = Scan { segment_bytes, ..Scan::default() };
    while let Some(step) = walk.next(true).map_err(|error| walk.name_file(error))? {
        scan.take(step, &mut walk).map_err(|error| walk.name_file(walk.locate(error)))?;
    }
    if scan.has_other_format {
        return Err(Error::unsupported(
            "the file has a second format description, as relay logs do: only logs of their own server have an index",
        ));
    }
    scan.log.maps = scan.maps.bodies;
    scan.log.bytes = walk.position().offset;
    scan.log.is_closed = walk.take_unclosed().is_none();
    Ok(scan.log)
}

#[derive(Default)]
struct Scan {
    log: PlainLog,
    maps: Maps,
    unpacker: Unpacker,
    segment_bytes: u64,
    draft: Option<PlainSegment>,
    /// True if the events of the file do not all have the format at its beginning.
    has_other_format: bool,
    transaction: Events,
}

/// The Table_map events of the log, without table ids.
#[derive(Default)]
struct Maps {
    bodies: Vec<Vec<u8>>,
    numbers: HashMap<Vec<u8>, usize>,
}

/// The events of the open transaction.
#[derive(Default)]
struct Events {
    count: u64,
    /// True if there is an event that a simple transaction does not have.
    is_other: bool,
    may_lack_changes: bool,
    /// The maps by table id: the number of the map, and its flags.
    maps: HashMap<u64, (usize, u16, usize)>,
    /// The maps of the statement, and whether it has rows of them.
    statement: Vec<(usize, bool)>,
    tables: Vec<PlainTable>,
}

impl Scan {
    fn take(&mut self, step: Step, walk: &mut Walk) -> Result<()> {
        match step {
            Step::FileBegins(_) | Step::TransactionsBegin(_) => return Ok(()),
            Step::Statement(_) => self.transaction.is_other = true,
            Step::LoneStatement(statement) => {
                walk.pass_statement(&statement);
                self.take_bytes(walk);
                self.end_segment();
                self.transaction = Events::default();
            }
            Step::Transaction(verdicts) => {
                self.take_bytes(walk);
                let ended = walk.take_transaction()?;
                walk.pass(&ended, verdicts)?;
                let group = &ended.group;
                let events = std::mem::take(&mut self.transaction);
                let is_simple = !events.is_other
                    && events.count > 1
                    && ended.outcome == TransactionEnd::Committed
                    && group.xa.is_none()
                    && !group.without_effect
                    && group.statements_skipped == 0;
                match is_simple {
                    true => {
                        let range = group.transaction.start..ended.end;
                        self.add(range, group.transaction.commit_timestamp, &group.gtid, events);
                    }
                    false => self.end_segment(),
                }
            }
            Step::FileEnds(_) => self.end_segment(),
            _ => {
                self.take_bytes(walk);
                if walk.transaction().is_none() {
                    self.transaction = Events::default();
                }
            }
        }
        Ok(())
    }

    /// Reads the events that were passed.
    fn take_bytes(&mut self, walk: &mut Walk) {
        let Some(format) = walk.context().map(|context| context.format.clone()) else { return };
        let Some(events) = walk.events() else { return };
        let bytes = events.take_kept();
        let mut rest = &*bytes;
        while let Ok((header, Some(event))) = EventHeader::first_event(rest) {
            self.has_other_format |= header.event_type == EventType::FORMAT_DESCRIPTION;
            let Self { transaction, maps, unpacker, .. } = self;
            transaction.add_event(&header, event, &format, maps, unpacker);
            rest = rest.get(event.len()..).unwrap_or_default();
        }
        self.transaction.is_other |= !rest.is_empty();
        events.recycle(bytes);
    }

    fn add(&mut self, range: Range<u64>, time: i64, gtid: &Option<LoggedGtid>, events: Events) {
        if self.draft.as_ref().is_some_and(|draft| draft.range.end != range.start) {
            self.end_segment();
        }
        let draft = self.draft.get_or_insert_with(|| PlainSegment {
            range: range.start..range.start,
            may_lack_changes: false,
            times: (time, time),
            gtids: None,
            tables: Vec::new(),
        });
        if !add_gtid(&mut draft.gtids, gtid.as_ref()) {
            // The rest of the log is not indexed with a wrong set.
            self.draft = None;
            return;
        }
        draft.range.end = range.end;
        draft.times = (draft.times.0.min(time), draft.times.1.max(time));
        draft.may_lack_changes |= events.may_lack_changes || !events.statement.is_empty();
        for table in events.tables {
            add_table(&mut draft.tables, table);
        }
        if draft.range.end - draft.range.start >= self.segment_bytes {
            self.end_segment();
        }
    }

    fn end_segment(&mut self) {
        if let Some(mut draft) = self.draft.take() {
            draft.tables.sort_by_key(|table| table.map);
            self.log.segments.push(draft);
        }
    }
}

impl Maps {
    /// The number of a map, which is new if it is not known; `None` if there are too many.
    fn number(&mut self, content: &[u8]) -> Option<usize> {
        if let Some(number) = self.numbers.get(content) {
            return Some(*number);
        }
        let number = self.bodies.len();
        (number < MAX_TABLE_MAPS).then(|| {
            self.bodies.push(content.to_vec());
            self.numbers.insert(content.to_vec(), number);
            number
        })
    }
}

fn add_table(tables: &mut Vec<PlainTable>, table: PlainTable) {
    match tables.iter_mut().find(|known| known.map == table.map) {
        Some(known) => known.has_full_images &= table.has_full_images,
        None => tables.push(table),
    }
}

/// Adds the GTID of a transaction to those of a segment; false if they are of different kinds of servers.
fn add_gtid(gtids: &mut Option<GtidState>, gtid: Option<&LoggedGtid>) -> bool {
    match (&mut *gtids, gtid) {
        (_, None) => true,
        (None, Some(LoggedGtid::Mysql(gtid))) => {
            let mut set = GtidSet::new();
            let is_added = set.add(&gtid.tsid, gtid.gno).is_ok();
            *gtids = Some(GtidState::Mysql(set));
            is_added
        }
        (Some(GtidState::Mysql(set)), Some(LoggedGtid::Mysql(gtid))) => {
            set.add(&gtid.tsid, gtid.gno).is_ok()
        }
        (None, Some(LoggedGtid::Mariadb(gtid))) => {
            let mut position = MariadbGtidPosition::new();
            position.update(*gtid);
            *gtids = Some(GtidState::Mariadb(position));
            true
        }
        (Some(GtidState::Mariadb(position)), Some(LoggedGtid::Mariadb(gtid))) => {
            position.update(*gtid);
            true
        }
        _ => false,
    }
}

impl Events {
    fn add_event(
        &mut self,
        header: &EventHeader,
        event: &[u8],
        format: &FormatDescription,
        maps: &mut Maps,
        unpacker: &mut Unpacker,
    ) {
        let is_usual = match format.checksum.body(event) {
            Ok(body) if header.event_type == EventType::TRANSACTION_PAYLOAD => {
                self.count == 1 && self.add_payload(body, format, maps, unpacker)
            }
            Ok(body) => self.add(header.event_type, body, format, maps),
            Err(_) => false,
        };
        self.is_other |= !is_usual;
    }

    /// Adds the events of a compressed transaction, in the place of the event that contains them.
    fn add_payload(
        &mut self,
        body: &[u8],
        format: &FormatDescription,
        maps: &mut Maps,
        unpacker: &mut Unpacker,
    ) -> bool {
        let mut is_usual = true;
        let payload = TransactionPayload::decode(body).map_err(Error::from);
        let added = payload.and_then(|payload| unpacker.unpack(payload)).and_then(|mut payload| {
            payload.for_each(|header, body, _| {
                is_usual = self.add(header.event_type, body, format, maps);
                Ok(is_usual)
            })
        });
        unpacker.shrink();
        added.is_ok() && is_usual
    }

    /// Adds an event; false if a simple transaction does not have it.
    fn add(
        &mut self,
        event_type: EventType,
        body: &[u8],
        format: &FormatDescription,
        maps: &mut Maps,
    ) -> bool {
        let place = self.count;
        self.count += 1;
        match event_type {
            EventType::GTID
            | EventType::ANONYMOUS_GTID
            | EventType::GTID_TAGGED
            | EventType::MARIADB_GTID => place == 0,
            EventType::QUERY => match Query::decode(body).map(|query| query.kind()) {
                Ok(QueryKind::Begin) => place == 1,
                Ok(QueryKind::Commit) => place > 0,
                _ => false,
            },
            EventType::ROWS_QUERY | EventType::MARIADB_ANNOTATE_ROWS | EventType::XID => place > 0,
            EventType::TABLE_MAP => place > 0 && self.add_map(body, format, maps),
            rows if rows.is_rows() && !rows.is_pre_ga() => {
                place > 0 && self.add_rows(rows, body, format)
            }
            _ => false,
        }
    }

    fn add_map(&mut self, body: &[u8], format: &FormatDescription, maps: &mut Maps) -> bool {
        let id_width = format.table_id_width(EventType::TABLE_MAP);
        let Ok(map) = TableMap::decode(body, id_width) else { return false };
        let Some(content) = body.get(id_width..) else { return false };
        let Some(number) = maps.number(content) else { return false };
        self.maps.insert(map.table_id, (number, map.flags, map.types.len()));
        self.may_lack_changes |= self.statement.iter().any(|(known, _)| *known == number);
        self.statement.push((number, false));
        add_table(&mut self.tables, PlainTable { map: number, has_full_images: true });
        true
    }

    fn add_rows(&mut self, event_type: EventType, body: &[u8], format: &FormatDescription) -> bool {
        let id_width = format.table_id_width(event_type);
        let Ok(rows) = RowsEvent::decode(body, event_type, id_width) else { return false };
        let Some(&(number, flags, width)) = self.maps.get(&rows.table_id) else {
            // It ends a statement without rows.
            return rows.table_id == DUMMY_TABLE_ID && self.end_statement();
        };
        let is_full = rows.width == width
            && rows.columns.count_ones(width) == width
            && rows.columns_after.count_ones(width) == width
            && !rows.has_value_options;
        add_table(&mut self.tables, PlainTable { map: number, has_full_images: is_full });
        for (_, has_rows) in self.statement.iter_mut().filter(|(known, _)| *known == number) {
            *has_rows = true;
        }
        let is_effective = rows.kind != RowsKind::Write && rows.flags & NO_FOREIGN_KEY_CHECKS == 0;
        self.may_lack_changes |= !format.is_mariadb
            && is_effective
            && rows.flags & LOGS_CHILDREN == 0
            && (flags & REFERENCED != 0 || format.version < FLAGS_PARENTS);
        rows.flags & STMT_END == 0 || self.end_statement()
    }

    /// A table that a statement maps and has no rows of may have been changed by a foreign key, or through a MERGE table.
    fn end_statement(&mut self) -> bool {
        self.may_lack_changes |= self.statement.iter().any(|(_, has_rows)| !has_rows);
        self.statement.clear();
        true
    }
}

/// Flag of a rows event: `foreign_key_checks=0`.
const NO_FOREIGN_KEY_CHECKS: u16 = 0x0002;

/// Flag of a rows event: the rows that foreign keys change are in the log.
const LOGS_CHILDREN: u16 = 0x0010;

/// Flag of a Table_map event: a foreign key refers to the table.
const REFERENCED: u16 = 0x0002;

/// The first version of MySQL that sets this flag.
const FLAGS_PARENTS: (u16, u16, u16) = (5, 6, 0);
