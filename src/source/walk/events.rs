//! The events of one file: complete events, or only their beginnings while rows are not needed.

use super::heads::HeadReader;
use super::spool::Spool;
use crate::binlog::{EventHeader, EventType, FIRST_EVENT_AT, FormatDescription};
use crate::error::{Error, ErrorKind, Result};
use crate::source::event_source::{Event, EventSource, LiveEvents, NextEvent};
use crate::source::file_head::{check_magic, read_format};
use crate::source::input::Input;
use crate::source::segment::FileContext;
use crate::source::window::Window;
use std::sync::Arc;

/// A file's events in order. Their bytes are kept until they are taken or released.
pub(crate) struct FileEvents {
    window: Window,
    source: Source,
    context: Arc<FileContext>,
    /// Set while the rows of events are not needed.
    heads: Option<HeadReader>,
}

/// The source of the events.
enum Source {
    /// A file, of which every part can be read again.
    Bytes(Box<dyn Input>),
    /// A dump, which sends each event once; and the events of the transaction that is read again.
    Live(Box<dyn LiveEvents>, Option<Spool>),
}

impl Source {
    /// The next event, which is not passed.
    fn peek(&mut self, window: &mut Window, may_wait: bool) -> Result<NextEvent> {
        match self {
            Self::Bytes(input) => window.read(&mut **input),
            Self::Live(_, Some(spool)) if window.offset() < spool.end() => window.read(spool),
            Self::Live(events, _) => {
                window.receive(|offset, bytes| events.next(offset, bytes, may_wait))
            }
        }
    }
}

impl FileEvents {
    /// The events of a file from its first one, the format description. Also returns the time at which the file was created, in
    /// seconds since 1970 UTC.
    pub(crate) fn open(
        source: EventSource,
        (name, label): (Arc<str>, Arc<str>),
        chunk: usize,
        verify_checksum: bool,
    ) -> Result<(Self, u32)> {
        let (mut window, mut source) = match source {
            EventSource::Bytes(mut input) => {
                let mut window = Window::new(Arc::clone(&label), 0, chunk);
                check_magic(&mut window, &mut *input)?;
                (window, Source::Bytes(input))
            }
            EventSource::Live(events) => {
                let window = Window::new(Arc::clone(&label), FIRST_EVENT_AT, chunk);
                (window, Source::Live(events, None))
            }
        };
        let first = source.peek(&mut window, true)?;
        let (format, created) = read_format(&mut window, first, verify_checksum)?;
        let context = Arc::new(FileContext { name, label, format });
        Ok((Self { window, source, context, heads: None }, created))
    }

    /// The file's name and format.
    pub(crate) fn context(&self) -> &Arc<FileContext> {
        &self.context
    }

    /// The size of the file, if it is known.
    pub(crate) fn size(&mut self) -> Option<u64> {
        match &mut self.source {
            Source::Bytes(input) => input.size().ok().flatten(),
            Source::Live(..) => None,
        }
    }

    /// Returns the source.
    pub(crate) fn into_source(self) -> EventSource {
        match self.source {
            Source::Bytes(input) => EventSource::Bytes(input),
            Source::Live(events, _) => EventSource::Live(events),
        }
    }

    /// Offset of the next event.
    pub(crate) fn offset(&self) -> u64 {
        self.heads.as_ref().map_or(self.window.offset(), HeadReader::offset)
    }

    /// Offset of the first byte that is kept.
    pub(crate) fn start(&self) -> u64 {
        self.window.start()
    }

    /// Number of bytes that are kept, up to the next event.
    pub(crate) fn kept(&self) -> usize {
        self.window.kept()
    }

    /// See [`Window::set_take_size`].
    pub(crate) fn set_take_size(&mut self, bytes: usize) {
        self.window.set_take_size(bytes);
    }

    /// Takes the bytes that are kept.
    pub(crate) fn take_kept(&mut self) -> Vec<u8> {
        self.window.take_kept()
    }

    /// Takes the bytes that are kept up to `offset`, or all of them if it is after them; also returns the offset after them. The
    /// bytes before them are not read again.
    pub(crate) fn take_until(&mut self, offset: u64) -> (Vec<u8>, u64) {
        let from = self.window.start();
        let end = offset.clamp(from, self.window.offset());
        let bytes = self.window.take_until((end - from) as usize);
        self.release_spool();
        (bytes, end)
    }

    /// Takes a buffer back, to be used again.
    pub(crate) fn recycle(&mut self, buffer: Vec<u8>) {
        self.window.recycle(buffer);
    }

    /// Drops the bytes before the next event.
    pub(crate) fn release(&mut self) {
        self.window.release();
        self.release_spool();
    }

    fn release_spool(&mut self) {
        let start = self.window.start();
        if let Source::Live(_, spool) = &mut self.source
            && spool.as_ref().is_some_and(|spool| spool.end() <= start)
        {
            *spool = None;
        }
    }

    /// Continues at `offset`.
    pub(crate) fn jump(&mut self, offset: u64) {
        self.heads = None;
        self.window.jump(offset);
    }

    /// Reads only the beginnings of the next rows events, until [`Self::jump`]. The bytes that are kept can be read again.
    pub(crate) fn read_heads(&mut self) -> Result<()> {
        let mut event = Vec::new();
        if let Source::Live(_, spool) = &mut self.source {
            *spool = Some(Spool::try_new(self.window.start(), self.window.bytes())?);
            event.extend_from_slice(self.window.unread());
        }
        self.heads = Some(HeadReader::new(self.window.offset(), event));
        Ok(())
    }

    /// True if only the beginnings of events are read.
    pub(crate) fn reads_heads(&self) -> bool {
        self.heads.is_some()
    }

    /// The bytes in memory from the next event on. `None` if only the beginnings of events are read.
    #[inline]
    pub(crate) fn unread(&self) -> Option<&[u8]> {
        self.heads.is_none().then(|| self.window.unread())
    }

    /// Continues after complete events of `len` bytes, which [`Self::unread`] returned.
    pub(crate) fn advance_by(&mut self, len: usize) {
        self.window.advance(len);
    }

    /// The next event, if all of it is in memory.
    #[inline]
    pub(crate) fn buffered(&self) -> Option<Event> {
        match self.heads {
            None => self.window.buffered(),
            Some(_) => None,
        }
    }

    /// The next event. With `may_wait`, waits for an event that has not arrived yet.
    #[inline]
    pub(crate) fn peek(&mut self, may_wait: bool) -> Result<NextEvent> {
        match self.buffered() {
            Some(event) => Ok(NextEvent::Event(event)),
            None => self.peek_source(may_wait),
        }
    }

    #[inline(never)]
    fn peek_source(&mut self, may_wait: bool) -> Result<NextEvent> {
        if let Some(heads) = &mut self.heads {
            let next = match &mut self.source {
                Source::Bytes(input) => heads.peek(&mut **input)?,
                Source::Live(events, spool) => {
                    heads.receive(&mut **events, spool.as_mut(), may_wait)?
                }
            };
            match next {
                // A compressed transaction is one event, which is always read completely.
                NextEvent::Event(event)
                    if event.header.event_type == EventType::TRANSACTION_PAYLOAD
                        && event.offset == self.window.offset() =>
                {
                    self.end_heads();
                }
                NextEvent::Event(_) | NextEvent::Pending => return Ok(next),
                _ => {
                    let offset = heads.offset();
                    self.jump(offset);
                }
            }
        }
        self.source.peek(&mut self.window, may_wait)
    }

    /// Reads complete events again, from the next one on, which is the first after the bytes that are kept.
    fn end_heads(&mut self) {
        let heads = self.heads.take();
        if let (Source::Live(_, spool), Some(heads)) = (&mut self.source, heads) {
            *spool = None;
            if self.window.unread().is_empty() {
                self.window.push(heads.event());
            }
        }
    }

    /// The bytes of the next event. If only beginnings are read, the bytes of a rows event are incomplete.
    pub(crate) fn bytes(&self, event: &Event) -> &[u8] {
        match &self.heads {
            Some(heads) => heads.event(),
            None => self.window.event(event.len),
        }
    }

    /// The body of the next event.
    pub(crate) fn body(&self, event: &Event) -> Result<&[u8]> {
        let bytes = self.bytes(event);
        match bytes.len() == event.len {
            true => self.context.format.checksum.body(bytes),
            false => Ok(bytes.get(EventHeader::LEN..).unwrap_or_default()),
        }
    }

    /// Checks the CRC32 of the next event, if all of it was read and the file has checksums.
    pub(crate) fn check_crc(&self, event: &Event) -> Result<()> {
        let bytes = self.bytes(event);
        match bytes.len() == event.len {
            true => self.context.format.checksum.check(bytes),
            false => Ok(()),
        }
    }

    /// Checks that an event begins at the offset that a caller named, in a file of this size; in the log of a server, the server
    /// checks it.
    pub(super) fn check_start(&mut self, size: Option<u64>, verify_checksum: bool) -> Result<()> {
        let offset = self.offset();
        let Some(size) = size.filter(|size| *size > offset) else { return Ok(()) };
        let none = || {
            format!(
                "no event begins at the start {offset}, or it is damaged: start at the end of a transaction; `binarrow inspect` \
                 lists the offsets of events"
            )
        };
        match self.peek(true) {
            Ok(NextEvent::Event(event)) if verify_checksum => {
                self.check_crc(&event).map_err(|error| error.context(none()))
            }
            Ok(NextEvent::Cut) if !self.context.format.in_use => {
                Err(Error::config(format!("{} (the file has {size} bytes)", none())))
            }
            Err(error) if error.kind() != ErrorKind::Io => Err(error.context(none())),
            other => other.map(|_| ()),
        }
    }

    /// Takes the next event as the format description of the events after it.
    pub(crate) fn set_format(&mut self, event: &Event) -> Result<()> {
        let format = FormatDescription::decode(self.bytes(event))?;
        self.context = Arc::new(FileContext {
            name: Arc::clone(&self.context.name),
            label: Arc::clone(&self.context.label),
            format,
        });
        Ok(())
    }

    /// Continues after the event that [`Self::peek`] returned.
    pub(crate) fn advance(&mut self, event: &Event) {
        match &mut self.heads {
            Some(heads) => heads.advance(event.len),
            None => self.window.advance(event.len),
        }
    }
}
