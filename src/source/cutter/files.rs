//! The files, one after the other: opening, the format description, the end.

use super::groups::MAX_FILE_NUMBER;
use super::{Cutter, OpenFile, Start};
use crate::binlog::{ChecksumAlgorithm, EventType, FIRST_EVENT_AT, FormatDescription};
use crate::error::{Error, ErrorKind, Result};
use crate::position::{Position, file_number};
use crate::source::classify::check_crc;
use crate::source::delivered::damaged;
use crate::source::file_end::{FileEnd, was_cut};
use crate::source::file_list::InputFile;
use crate::source::magic::check_magic;
use crate::source::segment::{FileContext, Segment};
use crate::source::window::{RawEvent, Window};
use std::sync::Arc;

/// Which file follows the one at hand.
pub(super) enum Successor {
    /// As its Rotate event says.
    Named(String),
    /// By its number, where it has no Rotate event.
    Numbered(u64),
}

impl Cutter {
    pub(super) fn open_next(&mut self) -> Result<bool> {
        let mut moved = false;
        if self.current == self.files.len()
            && let Some(feed) = &mut self.feed
            && let Some(next) = feed.next_file(&self.position)?
        {
            check_number(&next.file)?;
            self.files.push(next.file);
            if let Some(begin) = next.moved {
                self.move_to(*begin)?;
                moved = true;
            }
        }
        let Some(file) = self.files.get_mut(self.current) else { return Ok(false) };
        let (name, label) = (Arc::clone(&file.name), Arc::clone(&file.label));
        let mut follows = true;
        if let Some(expected) = self.expected_next.take()
            && !expected.is(file)
        {
            follows = false;
            if !self.options.allow_gaps {
                return Err(Error::config(format!(
                    "the file before {name} goes on in {expected}: files are missing or out of order; \
                 gaps='allow' reads on regardless"
                )));
            }
        }
        let resumes = match &self.options.start {
            _ if moved => true,
            Start::Position(start) => file_index(&self.files, &start.file)? == self.current,
            _ => false,
        };
        if !follows {
            self.lose_structures();
        } else if !resumes {
            self.reach_file(&name)?;
        }
        let input = self.open_input(self.current)?;
        let chunk = self.chunk();
        let mut window = Window::new(input, Arc::clone(&label), 0, chunk);
        check_magic(&mut window)?;
        let (format, begun) = read_format(&mut window, self.options.verify_checksum)?;
        if resumes && !moved {
            self.position.check_begun(begun)?;
        }
        self.position.begun = Some(begun);
        if format.created != 0 {
            let is_read_from_its_start = !resumes || self.position.offset <= FIRST_EVENT_AT;
            self.temporary.start_again(format.server_id, is_read_from_its_start);
        }
        let context = Arc::new(FileContext { name, label, format });
        window.take_kept();
        self.counts.input_from = 0;
        self.whole_from = FIRST_EVENT_AT;
        let mut closed = false;
        if resumes && self.position.offset > FIRST_EVENT_AT {
            let offset = self.position.offset;
            let size = window.input().size().ok().flatten();
            // Its last event was read before, unless the server still writes to it.
            closed = size == Some(offset) && !context.format.in_use;
            if let Some(len) = size.filter(|len| *len < offset) {
                return Err(Error::config(format!(
                    "the start {offset} lies beyond the end of the file, which has {len} bytes"
                )));
            }
            // The format description stands before the start, as it does for every resumed read.
            if offset > window.offset() {
                window.jump(offset);
                self.counts.input_from = offset;
                self.whole_from = offset;
                self.resumed = true;
            }
        } else {
            if !resumes {
                // Offsets refer to the previous file.
                self.position.ahead.retain(|ahead| ahead.offset.is_none());
                self.ahead = None;
            }
            self.position.file = context.name.to_string();
            self.position.offset = window.offset();
        }
        self.gtids.clear();
        self.count_from(self.position.offset);
        self.segment_start = Arc::new(self.position.clone());
        self.open = Some(OpenFile { window, context, closed });
        self.enter_file()?;
        // A live read may wait for long until something comes: what stands before may be gone by then.
        if self.feed.is_some()
            && self.structures.is_none()
            && self.whole_from > FIRST_EVENT_AT
            && !self.position.by_gtid
        {
            self.begin_structures(self.whole_from)?;
        }
        Ok(true)
    }

    /// The file at hand ends: between events, or `cut` in the middle of one.
    pub(super) fn end_file(&mut self, cut: bool) -> Result<Option<Segment>> {
        let Some(offset) = self.open.as_ref().map(|open| open.window.offset()) else {
            return Ok(None);
        };
        self.count_to(offset);
        let Some(open) = &mut self.open else { return Ok(None) };
        let (closed, label) = (open.closed, Arc::clone(&open.context.label));
        // A server that crashed leaves a file without an end; one that is left for another is read no further.
        let is_left = open.window.input().is_left();
        let in_use = open.context.format.in_use || (self.feed.is_some() && !closed);
        let is_last = self.current + 1 == self.files.len() && self.feed.is_none();
        let unfinished = self.tracker.take();
        if unfinished.is_none() || !self.options.emit_uncommitted {
            self.met.clear();
        }
        self.forget_met_ddl();
        if (cut || unfinished.is_some()) && !in_use {
            // What is whole comes out first.
            self.failure = Some(was_cut(if cut { "an event" } else { "a transaction" }, offset));
            return Ok(self.flush(self.position.offset));
        }
        let end = match &unfinished {
            _ if cut => FileEnd::InsideEvent,
            // Its available part is returned, or has been returned already.
            Some(_) if !self.options.emit_uncommitted => FileEnd::InsideTransaction,
            _ => FileEnd::AfterTransaction,
        };
        if self.feed.is_none() && !(closed && end == FileEnd::AfterTransaction) {
            let message = end.warning(&label, offset, in_use);
            self.unclosed = Some(message.clone());
            self.warn(message);
        }
        if let Some(group) = unfinished.filter(|_| !is_left) {
            if self.options.emit_uncommitted {
                self.note_unfinished(&group);
                self.delivered = self.delivered_of(&group);
                self.push_spans(&group, offset, &[]);
                self.position.offset = offset;
            } else {
                self.counts.dropped_rows_events += u64::from(group.rows_events);
                if self.feed.is_some() {
                    self.warn(format!(
                        "{} ends at offset {offset} within a transaction: the server crashed there, and undid it",
                        self.position.file
                    ));
                }
            }
        }
        if is_last && let Err(error) = self.check_stop() {
            self.failure = Some(error);
        }
        // Rows of an uncommitted transaction may have been delivered.
        let beyond = self.position.ahead.iter().filter_map(|ahead| ahead.offset).max();
        if let Some(beyond) = beyond.filter(|beyond| *beyond > offset)
            && (closed || !is_last)
            && !is_left
            && !self.options.emit_uncommitted
        {
            self.failure = Some(damaged(format_args!(
                "up to offset {beyond} of {}, which ends at {offset}",
                self.position.file
            )));
        }
        let segment = self.flush_all();
        if closed && let Some(next) = self.next_file() {
            self.reach_file(&next)?;
        }
        if let Some(open) = self.open.take() {
            self.put_back(self.current, open.window);
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

    /// The file after the current one, which is closed. `None` if the current file does not have a name of a server's log.
    fn next_file(&self) -> Option<String> {
        file_number(&self.position.file)?;
        if let Some(Successor::Named(name)) = &self.expected_next {
            return Some(name.clone());
        }
        let (base, digits) = self.position.file.rsplit_once('.')?;
        let number = file_number(&self.position.file)?.checked_add(1)?;
        Some(format!("{base}.{number:0width$}", width = digits.len()))
    }
}

/// A number that does not fit into `_commit_version` is refused.
pub(super) fn check_number(file: &InputFile) -> Result<()> {
    match file.number < MAX_FILE_NUMBER {
        true => Ok(()),
        false => Err(Error::config(format!(
            "the number of {} is too large for _commit_version",
            file.name
        ))),
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

/// Reads the format description, which must be the first event, and when the file was begun, in seconds since 1970 UTC.
pub(in crate::source) fn read_format(
    window: &mut Window,
    verify_checksum: bool,
) -> Result<(FormatDescription, u32)> {
    let offset = window.offset();
    let RawEvent::Whole { header, at, len } = window.peek()? else {
        return Err(Error::malformed("the file ends before its format description")
            .at_event(offset, EventType::FORMAT_DESCRIPTION.name()));
    };
    let located = |error: Error| error.at_event(offset, header.event_type.name());
    if header.event_type != EventType::FORMAT_DESCRIPTION {
        return Err(located(no_format(header.event_type)));
    }
    let event = window.event(at, len);
    let format = FormatDescription::decode(event).map_err(|error| located(error.into()))?;
    // Were its own checksum let be, damage to it could switch off the others'.
    if verify_checksum && format.has_checksum {
        check_crc(event, ChecksumAlgorithm::Crc32).map_err(located)?;
    }
    window.advance(len);
    Ok((format, header.timestamp))
}

/// The error for a file whose first event is not a format description.
pub(crate) fn no_format(first: EventType) -> Error {
    match first {
        EventType::START_V3 => {
            Error::unsupported("the file is of binary log version 3 or older (MySQL 4)")
        }
        _ => Error::malformed("the file does not begin with a format description"),
    }
}

/// The file that a position names, by its name or by the last part of a path.
pub(super) fn file_index(files: &[InputFile], name: &str) -> Result<usize> {
    if name.is_empty() && files.len() == 1 {
        return Ok(0);
    }
    let base =
        std::path::Path::new(name).file_name().and_then(|base| base.to_str()).unwrap_or(name);
    let by_name = files.iter().position(|file| *file.name == *base);
    by_name.or_else(|| files.iter().position(|file| file.is_called(base))).ok_or_else(|| {
        let names: Vec<&str> = files.iter().take(5).map(|file| &*file.name).collect();
        Error::config(format!("no file {base:?} among the input ({} …)", names.join(", ")))
    })
}

/// Finds the file of a position, and replaces its name in the position with the one that this read uses.
pub(super) fn called_as_files(position: &mut Position, files: &[InputFile]) -> Result<usize> {
    let index = file_index(files, &position.file)?;
    if let Some(file) = files.get(index) {
        position.file = file.name.to_string();
    }
    for prepared in &mut position.prepared {
        if let Some(file) = files.iter().find(|file| file.is_called(&prepared.file)) {
            prepared.file = file.name.to_string();
        }
    }
    Ok(index)
}

pub(super) fn no_file() -> Error {
    Error::new(ErrorKind::Internal, "no file is open where one must be")
}
