//! The events of a file: each is checked, told to the tracker, and passed.

use super::files::{Successor, file_index};
use super::items::{MAX_ITEMS, Statements};
use super::structures::Structures;
use super::temporary::Target;
use super::{Cutter, Stop};
use crate::binlog::{
    EventHeader, EventType, FormatDescription, MariadbGtidList, PreviousGtids, QueryKind, Rotate,
    TransactionPayload,
};
use crate::change::{Group, GroupEvent, Outcome, Verdict};
use crate::error::{Error, Result};
use crate::position::{GtidState, Xid, compare_files};
use crate::schema::NameCase;
use crate::source::classify::{Classified, body, check_crc, classify};
use crate::source::payload::{self, Payload};
use crate::source::segment::{FileContext, Segment};
use crate::source::window::RawEvent;
use std::cmp::Ordering;
use std::sync::Arc;

impl Cutter {
    /// Looks at the next event; gives a segment where one is full.
    pub(super) fn step(&mut self) -> Result<Option<Segment>> {
        let Some(open) = &mut self.open else { return Ok(None) };
        let offset = open.window.offset();
        let is_between = self.tracker.group().is_none();
        if is_between && self.is_past_stop(offset) || self.is_spent(offset) {
            self.finished = true;
            return Ok(self.flush_all());
        }
        let may_wait = !self.holds();
        let Some(open) = &mut self.open else { return Ok(None) };
        let next = if may_wait { Some(open.window.peek()?) } else { open.window.peek_ready()? };
        // It is not known when more arrives.
        let Some(next) = next else { return Ok(self.flush(self.position.offset)) };
        let (header, at, len) = match next {
            RawEvent::Whole { header, at, len } => (header, at, len),
            // What is kept goes out before a hole is passed.
            RawEvent::End
                if self.feed.is_some() && !(self.spans.is_empty() && self.items.is_empty()) =>
            {
                return Ok(self.flush(self.position.offset));
            }
            RawEvent::End if open.window.pass_hole()? => return self.after_hole(offset),
            RawEvent::End => return self.end_file(false),
            RawEvent::Cut => return self.end_file(true),
        };
        let end = offset + len as u64;
        if self.structures.is_none() && self.options.history.is_some() && begins_group(&header) {
            self.begin_structures(offset)?;
        }
        if !may_wait && self.is_decision_of_unknown(&header, at, len) {
            // The log before it is searched for that transaction first.
            return Ok(self.flush(self.position.offset));
        }
        self.pass(&header, at, len)
            .map_err(|error| error.at_event(offset, header.event_type.name()))?;
        if let Some(before) = self.due.as_ref().map(|due| due.before.clone()) {
            return Ok(self.flush_to(end, before));
        }
        if self.finished {
            return Ok(self.flush_all());
        }
        let kept = self.open.as_ref().map_or(0, |open| open.window.kept());
        let is_full = kept >= self.options.segment_bytes;
        let is_filled = !self.spans.is_empty() || !self.items.is_empty();
        let has_results = is_filled || self.has_moved();
        let is_due = has_results && (self.is_due() || self.items.len() >= MAX_ITEMS);
        match self.tracker.group().map(|group| group.transaction.start) {
            None if is_full || is_due => Ok(self.flush(end)),
            Some(_) if is_full && self.options.is_unread => {
                if let Some(open) = &mut self.open {
                    open.window.take_kept();
                    open.window.release();
                }
                Ok(None)
            }
            Some(start) if has_results && (is_full || is_due) => Ok(self.flush(start)),
            Some(start) if is_full => {
                self.start_large(start)?;
                Ok(None)
            }
            _ => Ok(None),
        }
    }

    /// The position moves on over what the server passed over.
    fn after_hole(&mut self, before: u64) -> Result<Option<Segment>> {
        let Some(open) = &self.open else { return Ok(None) };
        let offset = open.window.offset();
        if offset == before {
            // Nothing was passed over: the server only said that it lives.
            if self.tracker.group().is_none() {
                self.note_heartbeat(offset);
            }
            return Ok(self.flush(self.position.offset));
        }
        if self.tracker.group().is_some() {
            return Err(Error::malformed(format!(
                "the server passed over a part of a transaction, from offset {before} on"
            )));
        }
        self.count_to(before);
        self.count_from(offset);
        self.position.offset = offset;
        self.whole_from = offset;
        Ok(self.flush(offset))
    }

    /// Whether a live reader is to be told of a position, though no row stands before it: a file that is kept for its sake
    /// may be purged, and a restart does not go over the same statements again.
    fn has_moved(&self) -> bool {
        self.feed.is_some()
            && (self.position.offset != self.segment_start.offset
                || self.position.file != self.segment_start.file)
    }

    /// True if there are complete transactions that must be returned before more of the log is written.
    fn holds(&self) -> bool {
        self.options.max_latency.is_some()
            && (!self.spans.is_empty() || !self.items.is_empty() || self.has_moved())
    }

    /// True if the complete transactions are returned although their segment is not full. Without more of the log they
    /// are returned at once: see [`Window::peek_ready`](crate::source::window::Window::peek_ready).
    fn is_due(&mut self) -> bool {
        if self.options.cut_at_commit {
            return self.tracker.group().is_none();
        }
        let Some(limit) = self.options.max_latency else { return false };
        let now = (self.clock)();
        now.saturating_duration_since(*self.waiting_since.get_or_insert(now)) >= limit
    }

    /// True for an XA COMMIT of a transaction whose XA PREPARE was not read.
    fn is_decision_of_unknown(&self, header: &EventHeader, at: usize, len: usize) -> bool {
        let Some(open) = self.open.as_ref().filter(|_| header.event_type == EventType::QUERY)
        else {
            return false;
        };
        let format = &open.context.format;
        let event = body(open.window.event(at, len), format.checksum)
            .and_then(|body| classify(header, body, format, &self.skips));
        match event {
            Ok(Classified::Group(GroupEvent::Query(QueryKind::XaCommit(xid), _))) => {
                !self.position.prepared.iter().any(|prepared| prepared.xid == xid)
            }
            // An error is reported when the event is read.
            _ => false,
        }
    }

    pub(super) fn pass(&mut self, header: &EventHeader, at: usize, len: usize) -> Result<()> {
        let Some(open) = &mut self.open else { return Ok(()) };
        let offset = open.window.offset();
        let end = offset + len as u64;
        let context = Arc::clone(&open.context);
        let event = open.window.event(at, len);
        // Workers check rows events; the others are looked into here, and rows events whose flags end their group.
        let is_for_workers = header.event_type.carries_rows()
            && self.tracker.group().is_some_and(Group::is_explicit);
        if self.options.verify_checksum && !is_for_workers {
            check_crc(event, context.format.checksum)?;
        }
        let body = body(event, context.format.checksum)?;
        let classified = classify(header, body, &context.format, &self.skips)?;
        if std::mem::take(&mut self.resumed) && is_mid_transaction(&classified, &context.format) {
            return Err(Error::config(format!(
                "the start {offset} lies in the middle of a transaction: a start is a transaction's end"
            )));
        }
        match classified {
            Classified::Group(group_event) => {
                if matches!(group_event, GroupEvent::TableMap)
                    && self.name_case == NameCase::Unknown
                    && self.options.include.statements()
                    && has_capitals(body, &context.format)
                {
                    self.name_case = NameCase::Exact;
                }
                if group_event.is_other_statement() {
                    let rows_before = self.tracker.group().map_or(0, |group| group.rows_events);
                    let is_live = self.feed.is_some();
                    let name_case = name_case(self.name_case, self.structures.as_ref());
                    let skips = self.options.skip_statements;
                    let target =
                        self.temporary.meet((header, body), &context.format, name_case, skips)?;
                    let context = &context;
                    let mut statements = Statements {
                        include: &self.options.include,
                        online: &mut self.online,
                        altered: &mut self.altered,
                        catalog: self.structures.as_ref().map(|structures| &**structures.catalog()),
                        takes_effect: !self
                            .tracker
                            .group()
                            .is_some_and(|group| group.without_effect),
                        context,
                        is_live,
                        name_case,
                        target,
                    };
                    let (event, place) = ((header, body), (offset, rows_before));
                    let out = (&mut self.met, &mut self.counts.warnings);
                    if group_event.is_skipped() {
                        statements.pass_over(event, place, out);
                    } else if target != Target::Temporary {
                        statements.meet(event, place, out);
                        if let Some(structures) = &mut self.structures {
                            structures.meet(event, place, context)?;
                        }
                    }
                }
                let verdict = self.tracker.on_event(
                    group_event,
                    offset,
                    header.timestamp,
                    header.server_id,
                )?;
                let outcome = match verdict {
                    Verdict::Ends(_) if header.event_type == EventType::TRANSACTION_PAYLOAD => {
                        let looks_through = self.options.include.transactions;
                        let payload = payload_end(body, &context.format, looks_through)?;
                        self.tracker.set_xa(payload.xid);
                        if !self.options.emit_uncommitted {
                            self.counts.dropped_rows_events += payload.dropped_rows_events;
                        }
                        Some(payload.outcome)
                    }
                    Verdict::Ends(outcome) => Some(outcome),
                    Verdict::Outside => {
                        open.window.advance(len);
                        return self.pass_statement(header, offset, end);
                    }
                    Verdict::Opens | Verdict::Inside => None,
                };
                open.window.advance(len);
                if let Some(outcome) = outcome {
                    self.end_group(outcome, end)?;
                }
                return Ok(());
            }
            // A relay log has a second one, its source's.
            Classified::FormatDescription => {
                let format = FormatDescription::decode(open.window.event(at, len))?;
                open.context = Arc::new(FileContext {
                    name: Arc::clone(&context.name),
                    label: Arc::clone(&context.label),
                    format,
                });
            }
            Classified::Rotate if header.has(EventHeader::ARTIFICIAL) => {}
            Classified::Rotate => {
                self.expected_next = Some(Successor::Named(Rotate::decode(body)?.file.to_owned()));
                open.closed = true;
            }
            Classified::Stop => open.closed = true,
            Classified::PreviousGtids => {
                let set = PreviousGtids::decode(body)?.gtid_set;
                self.begins_after(GtidState::Mysql(set))?;
            }
            Classified::MariadbGtidList => {
                let position = MariadbGtidList::decode(body)?.position();
                self.begins_after(GtidState::Mariadb(position))?;
            }
        }
        if self.tracker.group().is_none() {
            self.position.offset = end;
        }
        if let Some(open) = &mut self.open {
            open.window.advance(len);
        }
        Ok(())
    }

    pub(super) fn is_past_stop(&self, offset: u64) -> bool {
        let Stop::Position(stop) = &self.options.stop else { return false };
        if self.feed.is_some() {
            return match compare_files(&self.position.file, &stop.file) {
                Some(Ordering::Greater) => true,
                Some(Ordering::Equal) => offset >= stop.offset,
                Some(Ordering::Less) | None => false,
            };
        }
        match file_index(&self.files, &stop.file) {
            Ok(index) => self.current > index || (self.current == index && offset >= stop.offset),
            Err(_) => false,
        }
    }
}

impl Cutter {
    /// Takes over the server's answer.
    pub(super) fn take_name_case(&mut self, of_server: NameCase) {
        if of_server != NameCase::Unknown {
            self.name_case = of_server;
        }
    }
}

/// The meaning of letter case in names of tables. A history without a server's baseline does not contain it.
pub(super) fn name_case(known: NameCase, structures: Option<&Structures>) -> NameCase {
    match known {
        NameCase::Unknown if structures.is_some_and(Structures::folds_names) => NameCase::Folded,
        known => known,
    }
}

/// True if the names in a Table_map event have capital letters. The log of a server whose `lower_case_table_names` is 1 or 2
/// has none.
fn has_capitals(body: &[u8], format: &FormatDescription) -> bool {
    // table id | flags 2 | length 1, database, NUL | length 1, table, NUL
    let after_flags = format.table_id_width(EventType::TABLE_MAP) + 2;
    let mut rest = body.get(after_flags..).unwrap_or_default();
    for _ in 0..2 {
        let Some((len, after)) = rest.split_first() else { return false };
        let Some(name) = after.get(..usize::from(*len)) else { return false };
        if name.iter().any(u8::is_ascii_uppercase) {
            return true;
        }
        rest = after.get(usize::from(*len) + 1..).unwrap_or_default();
    }
    false
}

/// Whether an event is none of those that tell of the file alone.
fn begins_group(header: &EventHeader) -> bool {
    let of_file = [
        EventType::FORMAT_DESCRIPTION,
        EventType::ROTATE,
        EventType::STOP,
        EventType::PREVIOUS_GTIDS,
        EventType::MARIADB_GTID_LIST,
        EventType::MARIADB_BINLOG_CHECKPOINT,
        EventType::MARIADB_START_ENCRYPTION,
    ];
    !header.event_type.is_heartbeat() && !of_file.contains(&header.event_type)
}

/// Whether an event cannot be the first after a transaction's end. `BEGIN` can only where transactions have no GTID events:
/// those of MySQL before 5.7 and MariaDB before 10.0.
fn is_mid_transaction(event: &Classified, format: &FormatDescription) -> bool {
    let has_gtids = format.version >= if format.is_mariadb { (10, 0, 2) } else { (5, 7, 6) };
    match event {
        Classified::Group(
            GroupEvent::TableMap
            | GroupEvent::Rows { .. }
            | GroupEvent::Fragment { .. }
            | GroupEvent::Xid(_),
        ) => true,
        Classified::Group(GroupEvent::Query(QueryKind::Begin, _)) => has_gtids,
        _ => false,
    }
}

/// How a compressed transaction ends, as far as the cutter must know.
struct CompressedEnd {
    outcome: Outcome,
    xid: Option<Xid>,
    dropped_rows_events: u64,
}

/// Whether a compressed transaction is an XA transaction that waits for its decision. All others are committed, or found to be
/// rolled back by who unpacks them: here too, where `looks_through` says so.
fn payload_end(
    body: &[u8],
    format: &FormatDescription,
    looks_through: bool,
) -> Result<CompressedEnd> {
    let payload = TransactionPayload::decode(body)?;
    if !looks_through && !payload::xa_start(&payload)? {
        let outcome = Outcome::Committed;
        return Ok(CompressedEnd { outcome, xid: None, dropped_rows_events: 0 });
    }
    let mut buffer = Vec::new();
    let end = Payload::unpack(payload, &mut buffer)?.end(format)?;
    let rows_events = end.group.as_ref().map_or(0, |group| u64::from(group.rows_events));
    let is_dropped = matches!(end.outcome, Outcome::RolledBack);
    Ok(CompressedEnd {
        outcome: end.outcome,
        xid: end.group.and_then(|group| group.xa),
        dropped_rows_events: if is_dropped { rows_events } else { 0 },
    })
}
