//! All events of files, for `inspect`.

use super::event_info::{EventInfo, SeenEvent, TableName};
use super::event_options::{EventListOptions, EventPlace};
use crate::binlog::{
    CHECKSUM_LEN, ChecksumAlgorithm, EventHeader, EventType, FIRST_EVENT_AT, FormatDescription,
    TableMap, TransactionPayload,
};
use crate::cancel::CancelToken;
use crate::error::{Error, ErrorKind, Result};
use crate::source::{
    FileEnd, FileEvents, InputFile, NextEvent, PayloadEvents, encrypted, name_logs,
    starts_encryption,
};
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

/// The events of files that the options select.
pub struct EventList {
    events: EventReader,
    options: EventListOptions,
    /// The time of the first event to show, until an event of that time was read.
    waits_for: Option<i64>,
    /// Patterns of tables that no table has matched so far.
    unmatched: Vec<String>,
    ended: bool,
}

impl EventList {
    /// Returns all events of `files` in log order.
    pub fn new(files: Vec<InputFile>, verify_checksum: bool) -> Self {
        let events = EventReader::new(files.into(), None, verify_checksum);
        Self {
            events,
            options: EventListOptions::default(),
            waits_for: None,
            unmatched: Vec::new(),
            ended: false,
        }
    }

    /// The events of `files` that `options` select, in log order.
    pub fn try_new(files: Vec<InputFile>, mut options: EventListOptions) -> Result<Self> {
        let mut files = files;
        name_logs(&mut files);
        let mut files = VecDeque::from(files);
        for place in options.start.iter_mut().chain(&mut options.stop) {
            let EventPlace::At(name, _) = place else { continue };
            match files.front() {
                Some(only) if name.is_empty() && files.len() == 1 => *name = only.name.to_string(),
                _ if name.is_empty() => {
                    return Err(Error::config("with several files, write a place as FILE:OFFSET"));
                }
                _ => match files.iter().find(|file| file.is_called(name)) {
                    Some(file) => *name = file.name.to_string(),
                    None => return Err(Error::config(format!("no file {name:?} among the input"))),
                },
            }
        }
        if let Some(EventPlace::At(name, _)) = &options.stop
            && let Some(last) = files.iter().position(|file| *file.name == **name)
        {
            files.truncate(last + 1);
        }
        let (mut start, mut waits_for) = (None, None);
        match options.start.take() {
            Some(EventPlace::At(name, offset)) => {
                while files.front().is_some_and(|file| *file.name != *name) {
                    files.pop_front();
                }
                start = Some(offset);
            }
            Some(EventPlace::Time(time)) => waits_for = Some(time),
            None => {}
        }
        let events = EventReader::new(files, start, options.verify_checksum);
        let none: [(&str, &str); 0] = [];
        let patterns = options.tables.iter().flat_map(|tables| tables.unmatched(none.into_iter()));
        let unmatched = patterns.map(ToOwned::to_owned).collect();
        Ok(Self { events, options, waits_for, unmatched, ended: false })
    }

    /// Returns the next selected event; `None` at the end. A file that ends in the middle of an
    /// event is an error, unless the server may still be writing to it: then there is a warning.
    pub fn next_event(&mut self) -> Result<Option<EventInfo>> {
        self.next_event_unless(&CancelToken::default())
    }

    /// Patterns of tables that match no table among the events; empty before the end.
    pub fn take_unmatched(&mut self) -> Vec<String> {
        if self.ended { std::mem::take(&mut self.unmatched) } else { Vec::new() }
    }

    /// Warnings since the last call: of files that end without a Rotate or Stop event.
    pub fn take_warnings(&mut self) -> Vec<String> {
        std::mem::take(&mut self.events.warnings)
    }

    /// Like [`Self::next_event`], but returns early if `cancel` is cancelled.
    pub fn next_event_unless(&mut self, cancel: &CancelToken) -> Result<Option<EventInfo>> {
        let (options, waits_for) = (&self.options, &mut self.waits_for);
        let unmatched = &mut self.unmatched;
        for number in 1_u64.. {
            if self.ended {
                break;
            }
            let is_before_start = |event: &SeenEvent<'_>, waits_for: &mut Option<i64>| {
                if waits_for.is_some_and(|time| event.compressed || !event.is_since(time)) {
                    return true;
                }
                *waits_for = None;
                false
            };
            let seen = self.events.advance(|event| {
                if event.is_after(options) {
                    return Ok(Seen::Stop);
                }
                if is_before_start(event, waits_for) {
                    return Ok(Seen::Passed);
                }
                if !unmatched.is_empty()
                    && let (Some(tables), Some(name)) = (&options.tables, event.table())
                {
                    for (pattern, _) in
                        tables.matching(&name.database, &name.table).filter(|(_, matches)| *matches)
                    {
                        unmatched.retain(|text| text != pattern);
                    }
                }
                if !event.is_wanted(options) {
                    return Ok(Seen::Passed);
                }
                Ok(Seen::Wanted(Box::new(event.info(options))))
            })?;
            match seen {
                Some(Seen::Wanted(info)) => return Ok(Some(*info)),
                Some(Seen::Passed) => check(number, cancel)?,
                Some(Seen::Stop) | None => self.ended = true,
            }
        }
        Ok(None)
    }
}

/// Returns the first result of `look` for a Table_map event of `files`; `None` at the end.
pub(super) fn find_table_map<T>(
    files: Vec<InputFile>,
    mut look: impl FnMut(&FormatDescription, &[u8]) -> Result<Option<T>>,
    cancel: &CancelToken,
) -> Result<Option<T>> {
    let mut events = EventReader::new(files.into(), None, true);
    for number in 1_u64.. {
        let found = events.advance(|event| match event.header.event_type {
            EventType::TABLE_MAP => look(event.format, event.body),
            _ => Ok(None),
        })?;
        match found {
            None => break,
            Some(None) => check(number, cancel)?,
            Some(found) => return Ok(found),
        }
    }
    Ok(None)
}

fn check(number: u64, cancel: &CancelToken) -> Result<()> {
    match number.is_multiple_of(CHECK_EVERY) {
        true => cancel.check(),
        false => Ok(()),
    }
}

enum Seen {
    Wanted(Box<EventInfo>),
    Passed,
    Stop,
}

/// Reads files event by event.
struct EventReader {
    files: VecDeque<InputFile>,
    open: Option<OpenFile>,
    /// Offset in the first file to begin at.
    start: Option<u64>,
    verify_checksum: bool,
    warnings: Vec<String>,
}

struct OpenFile {
    events: FileEvents,
    tables: HashMap<u64, TableName>,
    /// The rest of the Transaction_payload event that is being read, and that event's offset.
    payload: Option<(PayloadEvents, u64)>,
    /// True if its Rotate or Stop event was read.
    closed: bool,
    /// The warning for its end.
    warning: Option<String>,
}

impl EventReader {
    const fn new(files: VecDeque<InputFile>, start: Option<u64>, verify_checksum: bool) -> Self {
        Self { files, open: None, start, verify_checksum, warnings: Vec::new() }
    }

    /// Passes the next event to `visit`, then the events in its payload. `None` at the end.
    fn advance<T>(
        &mut self,
        mut visit: impl FnMut(&SeenEvent<'_>) -> Result<T>,
    ) -> Result<Option<T>> {
        loop {
            if self.open.is_none() && !self.open_next()? {
                return Ok(None);
            }
            let Some(open) = &mut self.open else { return Ok(None) };
            let seen = match open.see_in_payload(&mut visit) {
                Ok(None) => open.see(self.verify_checksum, &mut visit),
                seen => seen,
            };
            match seen.map_err(|error| error.in_file(&open.events.context().label))? {
                None => {
                    self.warnings.extend(open.warning.take());
                    self.open = None;
                }
                seen => return Ok(seen),
            }
        }
    }

    fn open_next(&mut self) -> Result<bool> {
        let Some(mut file) = self.files.pop_front() else { return Ok(false) };
        let names = (Arc::clone(&file.name), Arc::clone(&file.label));
        let input = file.open()?;
        let in_file = |error: Error| error.in_file(&file.label);
        let (events, _) =
            FileEvents::open(input, names, CHUNK, self.verify_checksum).map_err(in_file)?;
        let (tables, payload) = (HashMap::new(), None);
        let mut open = OpenFile { events, tables, payload, closed: false, warning: None };
        match self.start.take().filter(|offset| *offset > FIRST_EVENT_AT) {
            Some(offset) => open.begin_at(offset, self.verify_checksum).map_err(in_file)?,
            // The format description is an event too.
            None => open.events.jump(FIRST_EVENT_AT),
        }
        self.open = Some(open);
        Ok(true)
    }
}

impl OpenFile {
    /// The next event of the current payload; `None` after the last one.
    fn see_in_payload<T>(
        &mut self,
        visit: &mut impl FnMut(&SeenEvent<'_>) -> Result<T>,
    ) -> Result<Option<T>> {
        let Some((events, offset)) = &mut self.payload else { return Ok(None) };
        let (context, tables, offset) = (self.events.context(), &mut self.tables, *offset);
        let (file, format) = (&context.name, &context.format);
        let seen = events.next(|header, bytes| {
            let body = bytes.get(EventHeader::LEN..).unwrap_or_default();
            learn_table(tables, header, body, format);
            visit(&SeenEvent {
                file,
                offset,
                header,
                bytes,
                body,
                format,
                tables,
                compressed: true,
            })
        });
        let seen =
            seen.map_err(|error| error.at_event(offset, EventType::TRANSACTION_PAYLOAD.name()))?;
        if seen.is_none() {
            self.payload = None;
        }
        Ok(seen)
    }

    /// Continues at the event at `offset`. An offset inside an event would look like damage to the
    /// file.
    fn begin_at(&mut self, offset: u64, verify_checksum: bool) -> Result<()> {
        self.events.jump(offset);
        let begins = match self.events.peek(true) {
            Ok(NextEvent::Event(event)) => {
                !verify_checksum || self.events.check_crc(&event).is_ok()
            }
            Ok(NextEvent::End) => {
                // Its last event was read before, unless the server still writes to it.
                self.closed = !self.events.context().format.in_use;
                self.events.size().is_none_or(|size| size >= offset)
            }
            Err(error) if error.kind() == ErrorKind::Io => return Err(error),
            Ok(_) | Err(_) => false,
        };
        match begins {
            true => Ok(()),
            false => Err(Error::config(format!(
                "no event begins at offset {offset}: use an offset from the list of events"
            ))),
        }
    }

    /// The next event of the file; `None` at its end.
    fn see<T>(
        &mut self,
        verify_checksum: bool,
        visit: &mut impl FnMut(&SeenEvent<'_>) -> Result<T>,
    ) -> Result<Option<T>> {
        let offset = self.events.offset();
        let event = match self.events.peek(true)? {
            NextEvent::Event(event) => event,
            end => {
                let in_use = self.events.context().format.in_use;
                // The list has no transactions.
                let end = FileEnd::of(end == NextEvent::Cut, false, in_use, offset)?;
                let label = &self.events.context().label;
                self.warning = end.warning((label, offset), in_use, self.closed);
                return Ok(None);
            }
        };
        let header = &event.header;
        let located = |error: Error| event.locate(error);
        if starts_encryption(header) {
            return Err(located(encrypted()));
        }
        let is_format = header.event_type == EventType::FORMAT_DESCRIPTION;
        if is_format {
            self.events.set_format(&event).map_err(located)?;
        }
        let bytes = self.events.bytes(&event);
        let context = self.events.context();
        let (file, format) = (&context.name, &context.format);
        if verify_checksum {
            // Without this check, damage to the format description could turn off the checksums of
            // the other events.
            let checksum = match is_format && format.has_checksum {
                true => ChecksumAlgorithm::Crc32,
                false => format.checksum,
            };
            checksum.check(bytes).map_err(located)?;
        }
        let body = match is_format {
            // This event has a checksum even if the others have none.
            true => bytes
                .get(EventHeader::LEN..bytes.len().saturating_sub(CHECKSUM_LEN))
                .unwrap_or_default(),
            false => self.events.body(&event).map_err(located)?,
        };
        self.closed |= match header.event_type {
            EventType::STOP => true,
            EventType::ROTATE => !header.has(EventHeader::ARTIFICIAL),
            _ => false,
        };
        let tables = &mut self.tables;
        learn_table(tables, header, body, format);
        let seen =
            SeenEvent { file, offset, header, bytes, body, format, tables, compressed: false };
        let seen = visit(&seen).map_err(located)?;
        if header.event_type == EventType::TRANSACTION_PAYLOAD {
            let events = TransactionPayload::decode(body)
                .map_err(Error::from)
                .and_then(|payload| PayloadEvents::try_new(&payload))
                .map_err(located)?;
            self.payload = Some((events, offset));
        }
        self.events.advance(&event);
        if self.events.kept() >= CHUNK {
            self.events.release();
        }
        Ok(Some(seen))
    }
}

fn learn_table(
    tables: &mut HashMap<u64, TableName>,
    header: &EventHeader,
    body: &[u8],
    format: &FormatDescription,
) {
    if header.event_type != EventType::TABLE_MAP {
        return;
    }
    let Ok(map) = TableMap::decode(body, format.table_id_width(header.event_type)) else { return };
    let is_known = tables.get(&map.table_id).is_some_and(|name| name.is_of(&map));
    if !is_known {
        tables.insert(map.table_id, TableName::of(&map));
    }
}

const CHUNK: usize = 1 << 20;

/// The number of events between two checks of the token: they take milliseconds.
const CHECK_EVERY: u64 = 16_384;
