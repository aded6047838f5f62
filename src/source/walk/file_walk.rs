//! The events of one file, and the transactions that they form.

use super::events::FileEvents;
use super::statement::Statement;
use super::usual::UsualTransaction;
use crate::binlog::{
    EventHeader, EventType, FormatDescription, MariadbGtidList, PreviousGtids, Query, QueryKind,
    Rotate, TransactionPayload, table_id_and_flags,
};
use crate::change::{
    EventEffect, EventGroup, TransactionEnd, TransactionEvent, TransactionTracker,
};
use crate::error::{Error, Result};
use crate::position::{GtidState, Xid};
use crate::source::classify::{Classified, Skips, classify};
use crate::source::event_source::{Event, NextEvent};
use crate::source::payload::{Payload, Unpacker};

/// The checks and the decoding of each event.
#[derive(Debug)]
pub(crate) struct Rules {
    /// Events and statements that may be skipped.
    pub(crate) skips: Skips,
    /// True if checksums are checked.
    pub(crate) verify_checksum: bool,
    /// True if statements are decoded.
    pub(crate) wants_statements: bool,
    /// True if every compressed transaction is unpacked to determine how it ends.
    pub(crate) unpacks_payloads: bool,
}

/// A file's events, and the transaction that is open.
pub(crate) struct FileWalk {
    pub(crate) events: FileEvents,
    tracker: TransactionTracker,
    /// True if the file is complete: its Rotate or Stop event was read.
    pub(crate) is_closed: bool,
    /// The end of the tracker's transaction, if it was read.
    end: Option<End>,
    /// A statement's event that was returned, and not added to its transaction yet.
    pending: Option<(Event, TransactionEvent)>,
    /// True until the first event after a start that a caller named.
    is_resumed: bool,
    unpacker: Unpacker,
}

/// The role of an event in its transaction.
pub(crate) enum Seen {
    /// A statement. Its effect on the transaction is what [`FileWalk::finish`] returns.
    Statement(Box<Statement>),
    /// The last event of a transaction, which [`FileWalk::take_ended`] returns.
    Ends,
    /// An event of the open transaction.
    Inside,
    /// An event outside transactions.
    Outside(Event),
    /// The name of the next file.
    Rotate(String),
    /// The server was shut down.
    Stop,
    /// The GTIDs of the transactions before the file.
    GtidsBefore(GtidState),
    /// An event about the file.
    File,
}

/// A transaction whose end was read.
pub(crate) struct Ended {
    /// The transaction.
    pub(crate) group: EventGroup,
    /// The outcome.
    pub(crate) outcome: TransactionEnd,
    /// Offset after its last event.
    pub(crate) end: u64,
    /// The number of rows events in a compressed transaction that was rolled back.
    pub(crate) dropped_rows_events: u64,
}

/// The end of a transaction.
struct End {
    outcome: TransactionEnd,
    offset: u64,
    dropped_rows_events: u64,
}

impl FileWalk {
    /// Walks from the next of `events`. `is_resumed`: it is the event after a start that a caller named.
    pub(crate) fn new(events: FileEvents, is_resumed: bool) -> Self {
        Self {
            events,
            tracker: TransactionTracker::default(),
            is_closed: false,
            end: None,
            pending: None,
            is_resumed,
            unpacker: Unpacker::default(),
        }
    }

    /// The open transaction.
    pub(crate) fn transaction(&self) -> Option<&EventGroup> {
        self.tracker.group().filter(|_| self.end.is_none())
    }

    /// The transaction that has ended, and the offset after it.
    pub(crate) fn ended(&self) -> Option<(&EventGroup, u64)> {
        let end = self.end.as_ref()?;
        Some((self.tracker.group()?, end.offset))
    }

    /// Takes the transaction that has ended.
    pub(crate) fn take_ended(&mut self) -> Option<Ended> {
        let End { outcome, offset, dropped_rows_events } = self.end.take()?;
        let group = self.tracker.take()?;
        Some(Ended { group, outcome, end: offset, dropped_rows_events })
    }

    /// Gives up the open transaction at the end of the file.
    pub(crate) fn take_unfinished(&mut self) -> Option<EventGroup> {
        self.tracker.take()
    }

    /// True if a statement was returned, and [`Self::finish`] is to be called next.
    pub(crate) fn is_pending(&self) -> bool {
        self.pending.is_some()
    }

    /// Reads the event that was peeked.
    pub(crate) fn pass(&mut self, event: &Event, rules: &Rules) -> Result<Seen> {
        // Workers check rows events. Other events are decoded here, and rows events too if their flags can end a transaction.
        let is_for_workers = event.header.event_type.carries_rows()
            && self.transaction().is_some_and(EventGroup::is_explicit);
        if rules.verify_checksum && !is_for_workers {
            self.events.check_crc(event)?;
        }
        let format = &self.events.context().format;
        let body = self.events.body(event)?;
        let event_type = event.header.event_type;
        let is_rows = event_type.is_rows() && !event_type.is_pre_ga();
        if (is_rows || event_type == EventType::TABLE_MAP) && self.end.is_none() {
            if is_rows {
                table_id_and_flags(body, format.table_id_width(event_type))?;
            }
            if self.tracker.on_usual_event(is_rows)? {
                self.events.advance(event);
                return Ok(Seen::Inside);
            }
        }
        // It stays in its place: copies of it would take longer than all else that most events need.
        let classified = classify(&event.header, body, format, &rules.skips);
        if let Ok(classified) = &classified
            && std::mem::take(&mut self.is_resumed)
            && is_mid_transaction(event_type, classified, format)
        {
            return Err(Error::config(format!(
                "the start {} is in the middle of a transaction: start at the end of a transaction",
                event.offset
            )));
        }
        let seen = match classified {
            Ok(Classified::Statement(group_event, logged)) if rules.wants_statements => {
                let rows_before = self.tracker.group().map_or(0, |group| group.rows_events);
                let is_skipped = group_event.is_skipped();
                let statement = Statement::new(event, *logged, rows_before, is_skipped);
                self.pending = Some((*event, group_event));
                return Ok(Seen::Statement(Box::new(statement)));
            }
            Ok(Classified::Group(ref group_event) | Classified::Statement(ref group_event, _)) => {
                return self.follow(event, group_event, rules);
            }
            // A relay log has a second format description, that of its source.
            Ok(Classified::FormatDescription) => {
                self.events.set_format(event)?;
                Seen::File
            }
            Ok(Classified::Rotate) if event.header.has(EventHeader::ARTIFICIAL) => Seen::File,
            Ok(Classified::Rotate) => Seen::Rotate(Rotate::decode(body)?.file.to_owned()),
            Ok(Classified::Stop) => Seen::Stop,
            Ok(Classified::PreviousGtids) => {
                Seen::GtidsBefore(GtidState::Mysql(PreviousGtids::decode(body)?.gtid_set))
            }
            Ok(Classified::MariadbGtidList) => {
                Seen::GtidsBefore(GtidState::Mariadb(MariadbGtidList::decode(body)?.position()))
            }
            Err(error) => return Err(error),
        };
        self.events.advance(event);
        Ok(seen)
    }

    /// Finds the next transaction, if it is a usual one and ends within `limit` bytes.
    pub(super) fn find_usual(&self, rules: &Rules, limit: usize) -> Option<UsualTransaction> {
        let is_between = self.tracker.group().is_none() && self.end.is_none();
        if !is_between || self.is_resumed || self.pending.is_some() {
            return None;
        }
        let (format, verifies) = (&self.events.context().format, rules.verify_checksum);
        let unread = (self.events.unread()?, self.events.offset());
        UsualTransaction::find(unread, format, verifies, limit)
    }

    /// Reads the next transaction in one step, and returns its last event. Reads nothing if the transaction is not a usual one
    /// or does not end within `limit` bytes.
    pub(crate) fn pass_usual(&mut self, rules: &Rules, limit: usize) -> Option<Event> {
        let UsualTransaction { transaction, gtid, rows_events, rows, last } =
            self.find_usual(rules, limit)?;
        self.events.advance_by((last.end() - transaction.start) as usize);
        let before_rows = (rows.start - transaction.start) as u32;
        let rows = (rows_events, before_rows, last.header.event_size);
        self.tracker.on_usual_transaction(transaction, gtid, rows);
        let outcome = TransactionEnd::Committed;
        self.end = Some(End { outcome, offset: last.end(), dropped_rows_events: 0 });
        Some(last)
    }

    /// Adds a statement that was returned to its transaction.
    pub(crate) fn finish(&mut self, rules: &Rules) -> Result<Seen> {
        match self.pending.take() {
            Some((event, group_event)) => self.follow(&event, &group_event, rules),
            None => Ok(Seen::Inside),
        }
    }

    fn follow(
        &mut self,
        event: &Event,
        group_event: &TransactionEvent,
        rules: &Rules,
    ) -> Result<Seen> {
        let header = &event.header;
        let verdict =
            self.tracker.on_event(group_event, event.offset, header.timestamp, header.server_id)?;
        let outcome = match verdict {
            EventEffect::Ends(outcome) => outcome,
            EventEffect::Outside => {
                self.events.advance(event);
                return Ok(Seen::Outside(*event));
            }
            EventEffect::Opens | EventEffect::Inside => {
                self.events.advance(event);
                return Ok(Seen::Inside);
            }
        };
        let (mut outcome, mut dropped_rows_events) = (outcome, 0);
        if header.event_type == EventType::TRANSACTION_PAYLOAD {
            let body = self.events.body(event)?;
            let payload = TransactionPayload::decode(body)?;
            let end = match rules.unpacks_payloads || self.unpacker.is_xa_start(&payload)? {
                true => {
                    let payload = self.unpacker.unpack(payload)?;
                    CompressedEnd::read(payload, &self.events.context().format)?
                }
                false => CompressedEnd::COMMITTED,
            };
            self.unpacker.shrink();
            self.tracker.set_xa(end.xid);
            (outcome, dropped_rows_events) = (end.outcome, end.dropped_rows_events);
        }
        self.events.advance(event);
        self.end = Some(End { outcome, offset: event.end(), dropped_rows_events });
        Ok(Seen::Ends)
    }

    /// The XA transaction that the peeked event commits, if it does.
    pub(crate) fn committed_xid(&self, event: &Event) -> Option<Xid> {
        if event.header.event_type != EventType::QUERY {
            return None;
        }
        let body = self.events.body(event).ok()?;
        // An error is reported when the event is read.
        match Query::decode(body).ok()?.kind() {
            QueryKind::XaCommit(xid) => Some(xid),
            _ => None,
        }
    }

    /// True if the peeked event is a Table_map event whose names have capital letters. The log of a server whose
    /// `lower_case_table_names` is 1 or 2 has none.
    pub(crate) fn has_capitals(&self, event: &Event) -> bool {
        let event_type = event.header.event_type;
        let id_width = self.events.context().format.table_id_width(event_type);
        event_type == EventType::TABLE_MAP
            && self.events.body(event).is_ok_and(|body| has_capitals(body, id_width))
    }

    /// The transaction that begins at `offset`, read by the beginnings of its events; `None` if it has no end.
    pub(crate) fn transaction_at(&mut self, offset: u64, rules: &Rules) -> Result<Option<Ended>> {
        self.events.jump(offset);
        self.events.read_heads()?;
        while let NextEvent::Event(event) = self.events.peek(true)? {
            match self.pass(&event, rules).map_err(|error| event.locate(error))? {
                Seen::Ends => return Ok(self.take_ended()),
                Seen::Statement(_) => drop(self.finish(rules)?),
                _ => {}
            }
        }
        Ok(None)
    }
}

/// True if the names in the body of a Table_map event have capital letters.
pub(super) fn has_capitals(body: &[u8], id_width: usize) -> bool {
    // table id | flags 2 | length 1, database, NUL | length 1, table, NUL
    let mut rest = body.get(id_width + 2..).unwrap_or_default();
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

/// True if an event cannot be the first one after the end of a transaction. `BEGIN` can be the first one only if transactions
/// have no GTID events: in MySQL before 5.7 and MariaDB before 10.0.
fn is_mid_transaction(
    event_type: EventType,
    event: &Classified,
    format: &FormatDescription,
) -> bool {
    let has_gtids = format.version >= if format.is_mariadb { (10, 0, 2) } else { (5, 7, 6) };
    match event {
        // The text of a statement.
        _ if matches!(event_type, EventType::ROWS_QUERY | EventType::MARIADB_ANNOTATE_ROWS) => {
            has_gtids
        }
        Classified::Group(
            TransactionEvent::TableMap
            | TransactionEvent::Rows { .. }
            | TransactionEvent::Fragment { .. }
            | TransactionEvent::Xid(_),
        ) => true,
        Classified::Group(TransactionEvent::Query(QueryKind::Begin, _)) => has_gtids,
        _ => false,
    }
}

/// The end of a compressed transaction.
struct CompressedEnd {
    outcome: TransactionEnd,
    xid: Option<Box<Xid>>,
    dropped_rows_events: u64,
}

impl CompressedEnd {
    /// The end of all but XA transactions, unless decoding shows that they were rolled back.
    const COMMITTED: Self =
        Self { outcome: TransactionEnd::Committed, xid: None, dropped_rows_events: 0 };

    /// Reads a transaction to determine how it ends.
    fn read(mut payload: Payload<'_>, format: &FormatDescription) -> Result<Self> {
        let end = payload.end(format)?;
        let rows_events = end.group.as_ref().map_or(0, |group| u64::from(group.rows_events));
        let is_dropped = matches!(end.outcome, TransactionEnd::RolledBack);
        Ok(Self {
            outcome: end.outcome,
            xid: end.group.and_then(|group| group.xa),
            dropped_rows_events: if is_dropped { rows_events } else { 0 },
        })
    }
}
