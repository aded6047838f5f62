//! The files of a walk: its first file, the change to the next file, and a second walk over the same files.

use super::bounds::Bounds;
use super::events::FileEvents;
use super::file_end::{FileEnd, rolled_back};
use super::file_walk::{FileWalk, Rules};
use super::log_files::{LogFiles, no_file};
use super::progress::LogProgress;
use super::skipping::Skips;
use super::step::{FileBegins, FileEnds, Step};
use super::temporary::TemporaryTables;
use super::{Next, Walk, gtid_range};
use crate::binlog::FIRST_EVENT_AT;
use crate::error::{Error, ErrorKind, Result};
use crate::position::Position;
use crate::schema::NameCase;
use crate::source::classify::Skips as EventSkips;
use crate::source::delivered::damaged;
use crate::source::event_source::NextEvent;
use crate::source::feed::{FileFeed, ResumePoint};
use crate::source::file_list::InputFile;
use crate::source::options::{LogOptions, Start, Stop};
use std::sync::Arc;

impl Walk {
    /// A walk over `files` in log order.
    pub(crate) fn over_files(files: Vec<InputFile>, mut options: LogOptions) -> Result<Self> {
        let mut files = LogFiles::of_list(files)?;
        let mut position = Position::default();
        if let Some(first) = files.current() {
            position.file = first.name.to_string();
            position.offset = FIRST_EVENT_AT;
        }
        if let Start::Position(start) = &mut options.start {
            let index = files.resolve(start)?;
            files.begin_with(index);
            position = Position { visible: None, ..(**start).clone() };
        }
        if let Start::Gtids(done) = &options.start {
            (position.gtid_set, position.by_gtid) = (Some(done.clone()), true);
        }
        let mut bounds = Bounds::new(options.stop.clone(), options.limit);
        if let Stop::Position(stop) = &mut options.stop {
            bounds.stop_index = Some(files.resolve(stop)?);
        }
        // After a read by GTID, transactions after the offset may have been read already.
        let already_read = position.gtid_set.clone().filter(|_| position.by_gtid);
        Ok(Self::new(files, options, bounds, LogProgress { position, already_read }))
    }

    /// A walk over files as `feed` provides them, the first of which `begin` names.
    pub(crate) fn live(
        feed: Box<dyn FileFeed>,
        begin: ResumePoint,
        mut options: LogOptions,
    ) -> Result<Self> {
        let ResumePoint { position, already_read, name_case } = begin;
        let position = Position { visible: None, ..position };
        if let Some(goal) = &options.goal {
            options.stop = Stop::at(goal, position.server.as_deref())?;
        } else if let Stop::Position(stop) = &options.stop {
            options.stop = Stop::at(stop, position.server.as_deref())?;
        }
        if matches!(options.stop, Stop::Gtids(_))
            && position.gtid_set.is_none()
            && position.offset > FIRST_EVENT_AT
        {
            return Err(Error::config(format!(
                "the GTIDs before {position} are not known, so the end of the GTID set of the stop cannot be determined: start at a \
                 file's beginning (offset 4), by GTID, or at a position of an earlier read"
            )));
        }
        if !matches!(options.start, Start::Time(_)) {
            options.start = Start::Position(Box::new(position.clone()));
        }
        let bounds = Bounds::new(options.stop.clone(), options.limit);
        let progress = LogProgress { position, already_read };
        let mut walk = Self::new(LogFiles::of_feed(feed), options, bounds, progress);
        walk.take_name_case(name_case);
        walk.end_if_complete();
        Ok(walk)
    }

    fn new(files: LogFiles, options: LogOptions, bounds: Bounds, progress: LogProgress) -> Self {
        let (include, name_case) = (&options.include, options.name_case);
        let rules = Rules {
            skips: EventSkips::new(&options.skip_events, options.skip_statements),
            verify_checksum: options.verify_checksum,
            wants_statements: files.is_live()
                || options.history.is_some()
                || include.statements()
                || include.skipped_statements,
            unpacks_payloads: include.transactions,
        };
        Self {
            files,
            options,
            rules,
            bounds,
            progress,
            open: None,
            complete_from: FIRST_EVENT_AT,
            event: None,
            keeps_bytes: false,
            quiet_bytes: 0,
            next: Next::Read,
            has_transactions: false,
            temporary: TemporaryTables::default(),
            name_case,
            warnings: Vec::new(),
            unclosed: None,
            prepared_elsewhere: Vec::new(),
            incomplete: None,
            skips: Skips::default(),
        }
    }

    /// Opens the next file; `None` at the end of the log.
    #[cold]
    pub(super) fn open_next(&mut self) -> Result<Option<FileBegins>> {
        let moved = self.files.fetch(&self.progress.position)?;
        let has_moved = moved.is_some();
        if let Some(begin) = moved {
            self.move_to(begin)?;
        }
        let Some(file) = self.files.current() else { return Ok(None) };
        let (name, label) = (Arc::clone(&file.name), Arc::clone(&file.label));
        let follows = self.files.check_successor(self.options.allow_gaps)?;
        let resumes = match &self.options.start {
            _ if has_moved => true,
            Start::Position(start) => self.files.index_of(&start.file)? == self.files.index(),
            _ => false,
        };
        let source = self.files.open(self.files.index())?;
        let names = (Arc::clone(&name), label);
        let (mut events, created) =
            FileEvents::open(source, names, self.chunk(), self.options.verify_checksum)?;
        if self.keeps_bytes {
            events.set_take_size(self.options.segment_bytes);
        }
        if resumes && !has_moved {
            self.progress.position.check_file_created(created)?;
        }
        self.progress.position.file_created = Some(created);
        let format = &events.context().format;
        if format.created != 0 {
            let is_read_from_its_start =
                !resumes || self.progress.position.offset <= FIRST_EVENT_AT;
            self.temporary.start_again(format.server_id, is_read_from_its_start);
        }
        let format = format.clone();
        self.read_index(&format);
        events.release();
        self.complete_from = FIRST_EVENT_AT;
        let (mut is_closed, mut is_resumed, mut from) = (false, false, 0);
        if resumes && self.progress.position.offset > FIRST_EVENT_AT {
            let offset = self.progress.position.offset;
            let size = events.size();
            // Its last event was read before, unless the server is still writing to it.
            is_closed = size == Some(offset) && !events.context().format.in_use;
            if let Some(len) = size.filter(|len| *len < offset) {
                return Err(Error::config(format!(
                    "the start {offset} is after the end of the file, which has {len} bytes"
                )));
            }
            // The format description is before the start, as it is for every resumed read.
            if offset > events.offset() {
                events.jump(offset);
                events.check_start(size, self.options.verify_checksum)?;
                (from, is_resumed) = (offset, true);
                self.complete_from = offset;
            }
        } else {
            if !resumes {
                // Offsets are those of the previous file.
                self.progress.position.ahead.retain(|ahead| ahead.offset.is_none());
            }
            self.progress.position.file = name.to_string();
            self.progress.position.offset = events.offset();
        }
        self.bounds.count_from(self.progress.position.offset);
        let mut open = FileWalk::new(events, is_resumed);
        open.is_closed = is_closed;
        self.open = Some(open);
        self.has_transactions &= follows;
        Ok(Some(FileBegins { follows, resumes, has_moved, from }))
    }

    /// Continues at the place that a feed returns, in the log of a server that may be another one.
    fn move_to(&mut self, begin: ResumePoint) -> Result<()> {
        let progress = &mut self.progress;
        let is_elsewhere = begin.position.server != progress.position.server;
        if let Some(goal) = self.options.goal.as_ref().filter(|_| is_elsewhere) {
            self.bounds.stop = Stop::at(goal, begin.position.server.as_deref())?;
        } else if is_elsewhere && matches!(self.bounds.stop, Stop::Position(_)) {
            return Err(Error::new(
                ErrorKind::ServerIdentity,
                "the log continues on another server, where the file and offset of the stop are not known",
            ));
        }
        match (&mut progress.already_read, begin.already_read) {
            (Some(read), Some(more)) => read.join(&more),
            (read, more) => *read = more.or(read.take()),
        }
        progress.position = begin.position;
        self.take_name_case(begin.name_case);
        self.files.forget_successor();
        Ok(())
    }

    /// Takes over the server's answer.
    fn take_name_case(&mut self, of_server: NameCase) {
        if of_server != NameCase::Unknown {
            self.name_case = of_server;
        }
    }

    /// Handles what follows the events of a file, or of a part of it.
    #[cold]
    pub(super) fn after_events(&mut self, next: NextEvent) -> Result<Step> {
        self.next = Next::Read;
        match next {
            NextEvent::Gap(to) => self.pass_gap(to),
            NextEvent::Heartbeat => {
                let Some(open) = &self.open else { return Err(no_file()) };
                Ok(Step::Heartbeat(open.events.offset()))
            }
            NextEvent::End | NextEvent::Left | NextEvent::Cut => self.end_file(next),
            NextEvent::Event(_) | NextEvent::Pending => Ok(Step::Event),
        }
    }

    /// The file ends.
    fn end_file(&mut self, end: NextEvent) -> Result<Step> {
        let is_cut = end == NextEvent::Cut;
        // A file is not read further after a change to another server.
        let is_left = end == NextEvent::Left;
        let is_live = self.files.is_live();
        let Some(open) = &mut self.open else { return Err(no_file()) };
        let (offset, is_closed) = (open.events.offset(), open.is_closed);
        self.bounds.count_to(offset);
        let context = Arc::clone(open.events.context());
        // A file of a server that crashed has no end event.
        let in_use = context.format.in_use || (is_live && !is_closed);
        let unfinished = open.take_unfinished();
        let emits = self.options.emit_uncommitted;
        let end = match FileEnd::of(is_cut, unfinished.is_some(), in_use, offset)? {
            // Its available part is returned.
            FileEnd::InsideTransaction if emits => FileEnd::AfterTransaction,
            end => end,
        };
        if !is_live && let Some(message) = end.warning((&context.label, offset), in_use, is_closed)
        {
            self.unclosed = Some(message.clone());
            self.warn(message);
        }
        let unfinished = unfinished.filter(|_| !is_left);
        if unfinished.is_some() && is_live && !emits {
            self.warn(rolled_back(&self.progress.position.file, offset));
        }
        if self.files.is_last() && !is_live {
            match gtid_range::check_stop(&self.options, &self.progress.position) {
                Ok(warning) => self.warnings.extend(warning),
                Err(error) => self.incomplete = Some(error),
            }
        }
        // Rows of an uncommitted transaction may have been delivered.
        let beyond = self.progress.position.ahead.iter().filter_map(|ahead| ahead.offset).max();
        if let Some(beyond) = beyond.filter(|beyond| *beyond > offset)
            && (is_closed || !self.files.is_last())
            && !(is_left || emits)
        {
            self.incomplete = Some(damaged(format_args!(
                "up to offset {beyond} of {}, which ends at {offset}",
                self.progress.position.file
            )));
        }
        self.next = Next::CloseFile;
        let next = is_closed.then(|| self.files.name_after(&self.progress.position.file)).flatten();
        Ok(Step::FileEnds(Box::new(FileEnds { unfinished, offset, next })))
    }

    /// Closes the file that has ended.
    #[cold]
    pub(super) fn close_file(&mut self) -> Result<()> {
        if let Some(error) = self.incomplete.take() {
            return Err(error);
        }
        if let Some(open) = self.open.take() {
            self.files.put_back(self.files.index(), open.events.into_source());
        }
        self.event = None;
        self.next = if self.files.is_last() { Next::End } else { Next::Read };
        if self.next == Next::Read {
            self.files.advance();
        }
        Ok(())
    }

    /// True if the open file was closed properly, or names its successor.
    pub(super) fn set_closed(&mut self) {
        if let Some(open) = &mut self.open {
            open.is_closed = true;
        }
    }

    /// Starts a second walk over the same log, from a position; in a live log, up to its current end. The second walk has the
    /// list of files until [`Self::end_second`].
    pub(crate) fn second(&mut self, from: &Position, options: LogOptions) -> Result<Self> {
        let mut second = match self.files.feed() {
            Some(feed) => {
                let begin = ResumePoint { position: from.clone(), ..ResumePoint::default() };
                Self::live(feed.again(from)?, begin, options)?
            }
            None => {
                let start = Start::Position(Box::new(from.clone()));
                Self::over_files(self.files.lend_list(), LogOptions { start, ..options })?
            }
        };
        second.cancel_with(self.files.cancel());
        // Options that leave out rows have no effect on positions.
        second.progress.position.ahead.clear();
        Ok(second)
    }

    /// Takes the files of a second walk back.
    pub(crate) fn end_second(&mut self, mut second: Self) {
        if !self.files.is_live() {
            if let Some(open) = second.open.take() {
                second.files.put_back(second.files.index(), open.events.into_source());
            }
            self.files.take_back(second.files.lend_list());
        }
    }

    /// The number of bytes that are read at a time.
    pub(crate) fn chunk(&self) -> usize {
        self.options.segment_bytes.clamp(MIN_CHUNK, MAX_CHUNK)
    }
}

const MIN_CHUNK: usize = 64 << 10;
const MAX_CHUNK: usize = 1 << 20;
