//! The cutter: reads files in order, follows transactions by headers and small events, and cuts segments.
//!
//! No row leaves before its transaction's end is known: a group stays out of a segment until it is committed. One that
//! is larger than a segment is looked through by headers to its end first, then cut between its events.

use super::classify::{Classified, SkipEvents, body, check_crc, classify};
use super::file_list::InputFile;
use super::lookahead::look_ahead;
use super::payload::{self, Payload};
use super::range_cutter::RangeCutter;
use super::segment::{FileContext, LargeTransaction, Segment, Span};
use super::window::{RawEvent, Window};
use crate::binlog::{
    ENCRYPTED_MAGIC, EventHeader, EventType, FIRST_EVENT_AT, FormatDescription, MAGIC,
    MariadbGtidList, PreviousGtids, Rotate, TransactionPayload,
};
use crate::change::{Group, GroupGtid, GroupTracker, Outcome, Transaction, Verdict};
use crate::error::{Error, ErrorKind, Result};
use crate::position::{GtidState, Position, PreparedRange, Xid};
use std::sync::Arc;

/// Where to begin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Start {
    /// At the first event of the first file.
    Earliest,
    /// At a transaction's end in one of the files.
    Position(Box<Position>),
    /// After the transactions of a GTID set.
    Gtids(GtidState),
    /// At the first transaction committed at or after a time, in microseconds since 1970 UTC.
    Time(i64),
}

/// Where to end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Stop {
    /// At the end of the last file.
    End,
    /// After the last transaction that ends at or before a position.
    Position(Box<Position>),
    /// Transactions outside a GTID set are left out.
    Gtids(GtidState),
    /// Before the first transaction committed after a time, in microseconds since 1970 UTC.
    Time(i64),
}

/// How to cut.
#[derive(Debug, Clone)]
pub struct CutterOptions {
    /// Where to begin.
    pub start: Start,
    /// Where to end.
    pub stop: Stop,
    /// About how many bytes make a segment.
    pub segment_bytes: usize,
    /// Whether rows of transactions that did not commit are given too, in log order.
    pub emit_uncommitted: bool,
    /// Whether files may leave gaps between them.
    pub allow_gaps: bool,
    /// Whether CRC32s are checked.
    pub verify_checksum: bool,
    /// Event codes that may be passed over although they cannot be decoded.
    pub skip_events: Vec<u8>,
}

impl Default for CutterOptions {
    fn default() -> Self {
        Self {
            start: Start::Earliest,
            stop: Stop::End,
            segment_bytes: DEFAULT_SEGMENT_BYTES,
            emit_uncommitted: false,
            allow_gaps: false,
            verify_checksum: true,
            skip_events: Vec::new(),
        }
    }
}

/// Cuts files into segments, in log order.
pub struct Cutter {
    files: Vec<InputFile>,
    options: CutterOptions,
    skip: Box<SkipEvents>,
    /// Index of the file at hand, or of the next one to open.
    current: usize,
    open: Option<OpenFile>,
    tracker: GroupTracker,
    /// Spans of the segment at hand; their `bytes` count from the file's start.
    spans: Vec<Span>,
    /// Where to resume: the end of the last whole group.
    position: Position,
    segment_start: Arc<Position>,
    range: Option<Range>,
    /// XA COMMIT of a transaction whose rows are due once the segment at hand is out.
    due: Option<Due>,
    /// What ends the read once the segment before it is out.
    failure: Option<Error>,
    /// What the file before this one says its successor is.
    expected_next: Option<Successor>,
    /// XA transactions decided here and prepared before the start.
    foreign: Vec<Xid>,
    finished: bool,
    counts: Counts,
}

/// Which file follows the one at hand.
enum Successor {
    /// As its Rotate event says.
    Named(String),
    /// By its number, where it has no Rotate event.
    Numbered(u64),
}

#[derive(Default)]
struct Counts {
    input_from: u64,
    input_bytes: u64,
    dropped_rows_events: u64,
    warnings: Vec<String>,
    largest: Vec<LargeTransaction>,
    time_span: Option<(i64, i64)>,
}

/// An XA COMMIT, and where to resume before it.
struct Due {
    transaction: Transaction,
    prepared: PreparedRange,
    before: Position,
}

struct OpenFile {
    window: Window,
    context: Arc<FileContext>,
    closed: bool,
}

/// A transaction that is being handed out in pieces.
struct Range {
    cutter: RangeCutter,
    /// The file whose input the range has; its window goes on at `resume_at` afterwards.
    file: usize,
    resume_at: Option<u64>,
    end: Position,
}

impl Cutter {
    /// A cutter for `files` in log order.
    pub fn try_new(files: Vec<InputFile>, options: CutterOptions) -> Result<Self> {
        let mut skip = Box::new([false; 256]);
        for code in &options.skip_events {
            if let Some(slot) = skip.get_mut(usize::from(*code)) {
                *slot = true;
            }
        }
        if let Some(file) = files.iter().find(|file| file.number >= MAX_FILE_NUMBER) {
            return Err(Error::config(format!(
                "the number of {} is too large for _commit_version",
                file.name
            )));
        }
        let mut position = Position::default();
        let mut current = 0;
        if let Some(first) = files.first() {
            position.file = first.name.to_string();
            position.offset = FIRST_EVENT_AT;
        }
        if let Start::Position(start) = &options.start {
            current = file_index(&files, &start.file)?;
            position = (**start).clone();
        }
        if let Stop::Position(stop) = &options.stop {
            file_index(&files, &stop.file)?;
        }
        let segment_start = Arc::new(position.clone());
        Ok(Self {
            files,
            options,
            skip,
            current,
            open: None,
            tracker: GroupTracker::default(),
            spans: Vec::new(),
            position,
            segment_start,
            range: None,
            due: None,
            failure: None,
            expected_next: None,
            foreign: Vec::new(),
            finished: false,
            counts: Counts::default(),
        })
    }

    /// The sum of the files' sizes, where all are known.
    pub fn total_bytes(&mut self) -> Option<u64> {
        self.files.iter().map(InputFile::known_len).sum()
    }

    /// XA transactions prepared so far and not decided yet.
    pub fn prepared(&self) -> &[PreparedRange] {
        &self.position.prepared
    }

    /// XA transactions that were decided since the last call but prepared before the start of the input.
    pub fn take_foreign(&mut self) -> Vec<Xid> {
        std::mem::take(&mut self.foreign)
    }

    /// The next segment; `None` at the end.
    pub fn next_segment(&mut self) -> Result<Option<Segment>> {
        let result = self.cut();
        if result.is_err() {
            self.finished = true;
        }
        let name = self.files.get(self.current).map(|file| Arc::clone(&file.label));
        result.map_err(|error| match &name {
            Some(name) => error.in_file(name),
            None => error,
        })
    }

    fn cut(&mut self) -> Result<Option<Segment>> {
        loop {
            if let Some(segment) = self.next_of_range()? {
                return Ok(Some(segment));
            }
            if let Some(due) = self.due.take() {
                self.start_prepared(due.transaction, &due.prepared)?;
                continue;
            }
            if let Some(failure) = self.failure.take() {
                return Err(failure);
            }
            if self.finished {
                return Ok(None);
            }
            if self.open.is_none() && !self.open_next()? {
                self.finished = true;
                return Ok(None);
            }
            if let Some(segment) = self.step()? {
                return Ok(Some(segment));
            }
        }
    }

    // ---- files

    fn open_next(&mut self) -> Result<bool> {
        let Some(file) = self.files.get_mut(self.current) else { return Ok(false) };
        let (name, label) = (Arc::clone(&file.name), Arc::clone(&file.label));
        if let Some(expected) = self.expected_next.take()
            && !self.options.allow_gaps
            && !expected.is(file)
        {
            return Err(Error::config(format!(
                "the file before {name} goes on in {expected}: files are missing or out of order; \
                 gaps='allow' reads on regardless"
            )));
        }
        let input = file.open()?;
        let chunk = self.options.segment_bytes.clamp(MIN_CHUNK, MAX_CHUNK);
        let mut window = Window::new(input, Arc::clone(&label), 0, chunk);
        match window.magic()? {
            MAGIC => {}
            ENCRYPTED_MAGIC => {
                return Err(Error::unsupported(
                    "the file is encrypted (binlog_encryption=ON): read it from the server, which decrypts it, \
                     or copy it with mysqlbinlog --read-from-remote-server --raw",
                ));
            }
            _ if window.offset() == 0 => return Err(Error::malformed("the file is empty")),
            _ => {
                return Err(Error::malformed(
                    "not a binary log: the file does not start with fe 62 69 6e",
                ));
            }
        }
        let context = Arc::new(FileContext { name, label, format: read_format(&mut window)? });
        window.take_kept();
        let resumes = match &self.options.start {
            Start::Position(start) => file_index(&self.files, &start.file)? == self.current,
            _ => false,
        };
        self.counts.input_from = 0;
        if resumes && self.position.offset > FIRST_EVENT_AT {
            let offset = self.position.offset;
            if let Some(len) = window.input().size().ok().flatten().filter(|len| *len < offset) {
                return Err(Error::config(format!(
                    "the start {offset} lies beyond the end of the file, which has {len} bytes"
                )));
            }
            // The format description stands before the start, as it does for every resumed read.
            if offset > window.offset() {
                window.jump(offset);
                self.counts.input_from = offset;
            }
        } else {
            self.position.file = context.name.to_string();
            self.position.offset = window.offset();
        }
        self.segment_start = Arc::new(self.position.clone());
        self.open = Some(OpenFile { window, context, closed: false });
        Ok(true)
    }

    /// The file at hand ends: between events, or `cut` in the middle of one.
    fn end_file(&mut self, cut: bool) -> Result<Option<Segment>> {
        let Some(open) = &self.open else { return Ok(None) };
        let offset = open.window.offset();
        let in_use = open.context.format.in_use;
        let closed = open.closed;
        let is_last = self.current + 1 == self.files.len();
        let unfinished = self.tracker.take();
        if (cut || unfinished.is_some()) && !in_use {
            let what = if cut { "an event" } else { "a transaction" };
            let error = Error::malformed(format!(
                "the file ends in the middle of {what}, though the server closed it: it was cut"
            ));
            // What is whole comes out first.
            self.failure = Some(error.at_event(offset, "end of file"));
            return Ok(self.flush(self.position.offset));
        }
        if let Some(group) = unfinished {
            if self.options.emit_uncommitted {
                self.push_spans(&group, offset);
                self.position.offset = offset;
            } else {
                self.counts.dropped_rows_events += u64::from(group.rows_events);
            }
        } else if !closed && !in_use && !cut {
            self.warn(format!(
                "{} ends at offset {offset} without a Rotate or Stop event: if it was cut there, later changes are missing",
                self.position.file
            ));
        }
        let segment = self.flush_all();
        if let Some(open) = self.open.take()
            && let Some(file) = self.files.get_mut(self.current)
        {
            file.put_back(open.window.into_input());
        }
        if is_last {
            self.finished = true;
        } else {
            // A server that was stopped or killed goes on in the file with the next number.
            if let Some(file) = self.files.get(self.current)
                && file.numbered
            {
                self.expected_next.get_or_insert(Successor::Numbered(file.number + 1));
            }
            self.current += 1;
        }
        Ok(segment)
    }

    // ---- events

    /// Looks at the next event; gives a segment where one is full.
    fn step(&mut self) -> Result<Option<Segment>> {
        let Some(open) = &mut self.open else { return Ok(None) };
        let offset = open.window.offset();
        if self.tracker.group().is_none() && self.is_past_stop(offset) {
            self.finished = true;
            return Ok(self.flush_all());
        }
        let Some(open) = &mut self.open else { return Ok(None) };
        let (header, at, len) = match open.window.peek()? {
            RawEvent::Whole { header, at, len } => (header, at, len),
            RawEvent::End => return self.end_file(false),
            RawEvent::Cut => return self.end_file(true),
        };
        let end = offset + len as u64;
        self.pass(&header, at, len)
            .map_err(|error| error.at_event(offset, header.event_type.name()))?;
        if let Some(before) = self.due.as_ref().map(|due| due.before.clone()) {
            return Ok(self.flush_to(end, before));
        }
        if self.finished {
            return Ok(self.flush_all());
        }
        let kept = self.open.as_ref().map_or(0, |open| open.window.kept());
        if kept < self.options.segment_bytes {
            return Ok(None);
        }
        match self.tracker.group().map(|group| group.transaction.start) {
            None => Ok(self.flush(end)),
            Some(start) if !self.spans.is_empty() => Ok(self.flush(start)),
            Some(start) => {
                self.start_large(start)?;
                Ok(None)
            }
        }
    }

    fn pass(&mut self, header: &EventHeader, at: usize, len: usize) -> Result<()> {
        let Some(open) = &mut self.open else { return Ok(()) };
        let offset = open.window.offset();
        let end = offset + len as u64;
        let context = Arc::clone(&open.context);
        let event = open.window.event(at, len);
        // Workers check the events that they decode; the others are checked here.
        let is_bulk =
            header.event_type.is_rows() || header.event_type == EventType::TRANSACTION_PAYLOAD;
        if self.options.verify_checksum && !is_bulk {
            check_crc(event, context.format.checksum)?;
        }
        let body = body(event, context.format.checksum)?;
        let classified = classify(header, body, &context.format, &self.skip)?;
        match classified {
            Classified::Group(group_event) => {
                let verdict = self.tracker.on_event(
                    group_event,
                    offset,
                    header.timestamp,
                    header.server_id,
                )?;
                let outcome = match verdict {
                    Verdict::Ends(_) if header.event_type == EventType::TRANSACTION_PAYLOAD => {
                        payload_outcome(body, &context.format)?
                    }
                    Verdict::Ends(outcome) => Some(outcome),
                    Verdict::Outside => {
                        self.position.offset = end;
                        None
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
                self.position.gtid_set = Some(GtidState::Mysql(set));
            }
            Classified::MariadbGtidList => {
                let position = MariadbGtidList::decode(body)?.position();
                self.position.gtid_set = Some(GtidState::Mariadb(position));
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

    // ---- groups

    fn end_group(&mut self, outcome: Outcome, end: u64) -> Result<()> {
        let Some(group) = self.tracker.take() else { return Ok(()) };
        if self.is_past_stop(end.saturating_sub(1)) {
            self.finished = true;
            return Ok(());
        }
        if let Stop::Time(stop) = self.options.stop
            && group.transaction.commit_timestamp > stop
        {
            self.finished = true;
            return Ok(());
        }
        let wanted = self.is_wanted(&group);
        let before = matches!(outcome, Outcome::XaCommitted(_)).then(|| self.position.clone());
        self.executed(&group)?;
        self.position.offset = end;
        match outcome {
            Outcome::Committed if wanted => self.push_spans(&group, end),
            Outcome::Committed => {}
            Outcome::RolledBack | Outcome::Prepared(_) if self.options.emit_uncommitted => {
                self.push_spans(&group, end);
            }
            Outcome::RolledBack => self.counts.dropped_rows_events += u64::from(group.rows_events),
            Outcome::Prepared(xid) => self.prepare(xid, group.transaction.start, end),
            Outcome::XaCommitted(_) | Outcome::XaRolledBack(_) if self.options.emit_uncommitted => {
            }
            Outcome::XaCommitted(xid) => match (self.decide(&xid), before) {
                (Some(prepared), Some(before)) if wanted => {
                    self.due = Some(Due { transaction: group.transaction, prepared, before });
                }
                (Some(_), _) => {}
                (None, _) => {
                    self.foreign.push(xid);
                    self.warn(format!(
                        "XA COMMIT at {}:{}: the transaction was prepared before the start of the input, \
                         so its rows are not given",
                        self.position.file, group.transaction.start
                    ));
                }
            },
            Outcome::XaRolledBack(xid) => {
                if self.decide(&xid).is_none() {
                    self.foreign.push(xid);
                }
            }
        }
        Ok(())
    }

    fn prepare(&mut self, xid: Xid, start: u64, end: u64) {
        let file = self.position.file.clone();
        self.position.prepared.retain(|prepared| prepared.xid != xid);
        self.position.prepared.push(PreparedRange { xid, file, start, end });
    }

    fn decide(&mut self, xid: &Xid) -> Option<PreparedRange> {
        let index = self.position.prepared.iter().position(|prepared| prepared.xid == *xid)?;
        Some(self.position.prepared.remove(index))
    }

    fn push_spans(&mut self, group: &Group, end: u64) {
        if !group.has_rows() {
            return;
        }
        let Some(open) = &self.open else { return };
        let file = Arc::clone(&open.context);
        let commit_version = self.commit_version(group.transaction.start);
        self.note_time(group.transaction.commit_timestamp);
        LargeTransaction {
            bytes: end - group.transaction.start,
            file: Arc::clone(&file.name),
            offset: group.transaction.start,
            commit_timestamp: group.transaction.commit_timestamp,
        }
        .note(&mut self.counts.largest);
        let all = [(group.transaction.start, end, 0)];
        let kept: Vec<_> = match self.options.emit_uncommitted || group.undone.is_empty() {
            true => all.to_vec(),
            false => group.kept(end).filter(|(start, end, _)| start < end).collect(),
        };
        let last = kept.len();
        for (index, (start, end, rows_before)) in kept.into_iter().enumerate() {
            self.spans.push(Span {
                bytes: start as usize..end as usize,
                offset: start,
                file: Arc::clone(&file),
                transaction: group.transaction,
                commit_version,
                rows_before,
                table_maps: Vec::new(),
                was_prepared: false,
                ends_transaction: index + 1 == last,
            });
        }
    }

    fn is_wanted(&self, group: &Group) -> bool {
        let after_start = match &self.options.start {
            Start::Time(start) => group.transaction.commit_timestamp >= *start,
            Start::Gtids(done) => !contains(done, group.gtid.as_ref()),
            Start::Earliest | Start::Position(_) => true,
        };
        after_start
            && match &self.options.stop {
                Stop::Gtids(wanted) => contains(wanted, group.gtid.as_ref()),
                _ => true,
            }
    }

    fn executed(&mut self, group: &Group) -> Result<()> {
        match (&mut self.position.gtid_set, &group.gtid) {
            (Some(GtidState::Mysql(set)), Some(GroupGtid::Mysql(gtid))) => {
                set.add(&gtid.tsid, gtid.gno)?;
            }
            (Some(GtidState::Mariadb(position)), Some(GroupGtid::Mariadb(gtid))) => {
                position.update(*gtid);
            }
            _ => {}
        }
        Ok(())
    }

    // ---- large and prepared transactions

    /// The group at `start` is larger than a segment: finds its end, then hands it out in pieces.
    fn start_large(&mut self, start: u64) -> Result<()> {
        let Some(mut open) = self.open.take() else { return Ok(()) };
        let context = Arc::clone(&open.context);
        let found = look_ahead(
            open.window.input(),
            start,
            &context.format,
            &self.skip,
            self.options.verify_checksum,
        );
        let found = match found {
            Ok(found) => found,
            Err(error) => {
                self.open = Some(open);
                return Err(error);
            }
        };
        self.tracker.take();
        let Some(group) = found.group else {
            self.open = Some(open);
            return Ok(());
        };
        open.window.jump(found.end);
        let Some(outcome) = found.outcome else {
            // The input ends first: what is there of the group is dealt with as at any end of a file.
            self.open = Some(open);
            return self.large_unfinished(group, found.end);
        };
        self.open = Some(open);
        let transaction = group.transaction;
        let parts: Vec<_> = match self.options.emit_uncommitted {
            true => vec![(transaction.start, found.end, 0)],
            false => group.kept(found.end).collect(),
        };
        self.tracker = GroupTracker::of(group);
        self.end_group(outcome, found.end)?;
        // A committed group left one span or more; they go out by the range instead.
        if self.spans.is_empty() {
            return Ok(());
        }
        self.spans.clear();
        self.start_range(transaction, parts, found.end, (false, None))
    }

    fn large_unfinished(&mut self, group: Group, end: u64) -> Result<()> {
        if !self.options.emit_uncommitted {
            self.tracker = GroupTracker::of(group);
            return Ok(());
        }
        let transaction = group.transaction;
        self.position.offset = end;
        self.note_time(transaction.commit_timestamp);
        self.start_range(transaction, vec![(transaction.start, end, 0)], end, (false, None))
    }

    /// The rows of an XA transaction that was prepared before and is committed now.
    fn start_prepared(&mut self, transaction: Transaction, prepared: &PreparedRange) -> Result<()> {
        let index = file_index(&self.files, &prepared.file)?;
        let is_current = self.open.is_some() && index == self.current;
        let mut own = match is_current {
            true => None,
            false => {
                let file = self.files.get_mut(index).ok_or_else(no_file)?;
                let chunk = self.options.segment_bytes.clamp(MIN_CHUNK, MAX_CHUNK);
                let mut window = Window::new(file.open()?, Arc::clone(&file.label), 0, chunk);
                window.magic()?;
                let format = read_format(&mut window)?;
                let context = Arc::new(FileContext {
                    name: Arc::clone(&file.name),
                    label: Arc::clone(&file.label),
                    format,
                });
                Some(OpenFile { window, context, closed: false })
            }
        };
        let open = own.as_mut().or(self.open.as_mut()).ok_or_else(no_file)?;
        let context = Arc::clone(&open.context);
        let found = look_ahead(
            open.window.input(),
            prepared.start,
            &context.format,
            &self.skip,
            self.options.verify_checksum,
        )?;
        let is_prepared = |group: &Group| {
            group.has_payload || matches!(found.outcome, Some(Outcome::Prepared(_)))
        };
        let Some(group) = found.group.filter(is_prepared) else {
            return Err(Error::malformed(format!(
                "no prepared XA transaction stands at {}:{}",
                prepared.file, prepared.start
            )));
        };
        let parts = group.kept(found.end).collect();
        self.note_time(transaction.commit_timestamp);
        let resume_at = self.position.offset;
        let own = own.map(|open| (index, open));
        self.start_range(transaction, parts, resume_at, (true, own))
    }

    /// `own`: the file of the range where it is not the one at hand.
    fn start_range(
        &mut self,
        transaction: Transaction,
        parts: Vec<(u64, u64, u32)>,
        resume_at: u64,
        (was_prepared, own): (bool, Option<(usize, OpenFile)>),
    ) -> Result<()> {
        let is_own = own.is_some();
        let (file, open) = match own {
            Some(own) => own,
            None => (self.current, self.open.take().ok_or_else(no_file)?),
        };
        let cutter = RangeCutter::new(
            open.window,
            open.context,
            transaction,
            (self.commit_version(transaction.start), was_prepared),
            parts.into_iter(),
            self.options.segment_bytes,
        );
        let resume_at = (!is_own).then_some(resume_at);
        self.range = Some(Range { cutter, file, resume_at, end: self.position.clone() });
        Ok(())
    }

    fn next_of_range(&mut self) -> Result<Option<Segment>> {
        let Some(range) = &mut self.range else { return Ok(None) };
        if let Some((bytes, span)) = range.cutter.next_span()? {
            let start = Arc::clone(&self.segment_start);
            // Only its last piece moves the position on.
            let (end, transactions) = match span.ends_transaction {
                true => (Arc::new(range.end.clone()), 1),
                false => (Arc::clone(&start), 0),
            };
            self.segment_start = Arc::clone(&end);
            self.counts.input_bytes += bytes.len() as u64;
            let mut segment = self.segment(bytes, vec![span], start, end);
            segment.transactions = transactions;
            return Ok(Some(segment));
        }
        if let Some(Range { cutter, file, resume_at, .. }) = self.range.take() {
            let context = cutter.context();
            let mut window = cutter.into_window();
            match resume_at {
                Some(offset) => {
                    window.jump(offset);
                    self.counts.input_from = offset;
                    self.open = Some(OpenFile { window, context, closed: false });
                }
                None => {
                    if let Some(file) = self.files.get_mut(file) {
                        file.put_back(window.into_input());
                    }
                }
            }
        }
        Ok(None)
    }

    // ---- segments

    /// A segment of what is kept up to `offset`, or nothing where there is nothing to decode.
    fn flush(&mut self, offset: u64) -> Option<Segment> {
        self.flush_to(offset, self.position.clone())
    }

    fn flush_to(&mut self, offset: u64, end: Position) -> Option<Segment> {
        let open = self.open.as_mut()?;
        let from = open.window.start();
        let upto = offset.clamp(from, open.window.offset());
        let bytes = open.window.take_until((upto - from) as usize);
        self.counts.input_bytes += upto.saturating_sub(self.counts.input_from.min(upto));
        self.counts.input_from = upto;
        let mut spans = std::mem::take(&mut self.spans);
        for span in &mut spans {
            span.bytes = span.bytes.start - from as usize..span.bytes.end - from as usize;
        }
        let end = Arc::new(end);
        let start = std::mem::replace(&mut self.segment_start, Arc::clone(&end));
        if spans.is_empty() && *start == *end && self.counts.is_empty() {
            return None;
        }
        let transactions = spans.iter().filter(|span| span.ends_transaction).count() as u64;
        let mut segment = self.segment(bytes, spans, start, end);
        segment.transactions = transactions;
        Some(segment)
    }

    fn flush_all(&mut self) -> Option<Segment> {
        let offset = self.open.as_ref()?.window.offset();
        self.flush(offset)
    }

    fn segment(
        &mut self,
        bytes: Vec<u8>,
        spans: Vec<Span>,
        start: Arc<Position>,
        end: Arc<Position>,
    ) -> Segment {
        let counts = std::mem::take(&mut self.counts);
        self.counts.input_from = counts.input_from;
        Segment {
            bytes,
            spans,
            start,
            end,
            input_bytes: counts.input_bytes,
            transactions: 0,
            dropped_rows_events: counts.dropped_rows_events,
            warnings: counts.warnings,
            largest: counts.largest,
            time_span: counts.time_span,
        }
    }

    // ---- small things

    fn is_past_stop(&self, offset: u64) -> bool {
        let Stop::Position(stop) = &self.options.stop else { return false };
        match file_index(&self.files, &stop.file) {
            Ok(index) => self.current > index || (self.current == index && offset >= stop.offset),
            Err(_) => false,
        }
    }

    fn commit_version(&self, offset: u64) -> i64 {
        let number = self.files.get(self.current).map_or(0, |file| file.number);
        let number = number + u64::from(self.position.version_shift);
        (number as i64) << FILE_NUMBER_SHIFT | offset as i64
    }

    fn note_time(&mut self, micros: i64) {
        let (from, to) = self.counts.time_span.unwrap_or((micros, micros));
        self.counts.time_span = Some((from.min(micros), to.max(micros)));
    }

    fn warn(&mut self, message: String) {
        self.counts.warnings.push(message);
    }
}

impl Successor {
    /// Whether `file` is it. A name without a number says nothing.
    fn is(&self, file: &InputFile) -> bool {
        !file.numbered
            || match self {
                Self::Named(name) => *name == *file.name,
                Self::Numbered(number) => *number == file.number,
            }
    }
}

impl std::fmt::Display for Successor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Named(name) => f.write_str(name),
            Self::Numbered(number) => write!(f, "number {number}"),
        }
    }
}

impl Counts {
    fn is_empty(&self) -> bool {
        self.input_bytes == 0 && self.dropped_rows_events == 0 && self.warnings.is_empty()
    }
}

/// How a compressed transaction ends, as far as the cutter must know: whether it is an XA transaction that waits for its
/// decision. All others are committed, or found to be rolled back by who unpacks them.
fn payload_outcome(body: &[u8], format: &FormatDescription) -> Result<Option<Outcome>> {
    let payload = TransactionPayload::decode(body)?;
    if !payload::xa_start(&payload)? {
        return Ok(Some(Outcome::Committed));
    }
    let mut buffer = Vec::new();
    Ok(Some(Payload::unpack(payload, &mut buffer)?.end(format)?.outcome))
}

/// Reads the format description, which must be the first event.
fn read_format(window: &mut Window) -> Result<FormatDescription> {
    let offset = window.offset();
    let RawEvent::Whole { header, at, len } = window.peek()? else {
        return Err(Error::malformed("the file ends before its format description")
            .at_event(offset, EventType::FORMAT_DESCRIPTION.name()));
    };
    let located = |error: Error| error.at_event(offset, header.event_type.name());
    if header.event_type != EventType::FORMAT_DESCRIPTION {
        let message = "the file does not begin with a format description";
        return Err(located(Error::malformed(message)));
    }
    let event = window.event(at, len);
    let format = FormatDescription::decode(event).map_err(|error| located(error.into()))?;
    check_crc(event, format.checksum).map_err(located)?;
    window.advance(len);
    Ok(format)
}

/// The file that a position names, by its name or by the last part of a path.
fn file_index(files: &[InputFile], name: &str) -> Result<usize> {
    if name.is_empty() && files.len() == 1 {
        return Ok(0);
    }
    let base =
        std::path::Path::new(name).file_name().and_then(|base| base.to_str()).unwrap_or(name);
    files.iter().position(|file| *file.name == *base).ok_or_else(|| {
        let names: Vec<&str> = files.iter().take(5).map(|file| &*file.name).collect();
        Error::config(format!("no file {base:?} among the input ({} …)", names.join(", ")))
    })
}

fn contains(state: &GtidState, gtid: Option<&GroupGtid>) -> bool {
    match (state, gtid) {
        (GtidState::Mysql(set), Some(GroupGtid::Mysql(gtid))) => set.contains(&gtid.tsid, gtid.gno),
        (GtidState::Mariadb(position), Some(GroupGtid::Mariadb(gtid))) => position.contains(*gtid),
        _ => false,
    }
}

fn no_file() -> Error {
    Error::new(ErrorKind::Internal, "no file is open where one must be")
}

/// `_commit_version` has the file's number above the offset's 40 bits.
const FILE_NUMBER_SHIFT: u32 = 40;

/// The first number that does not fit above 40 bits of a signed 64-bit number.
const MAX_FILE_NUMBER: u64 = 1 << (63 - FILE_NUMBER_SHIFT);

/// Large enough to keep a worker busy for milliseconds, small enough to keep many in flight.
const DEFAULT_SEGMENT_BYTES: usize = 8 << 20;

const MIN_CHUNK: usize = 64 << 10;
const MAX_CHUNK: usize = 1 << 20;
