//! The events of one file: complete events, or only their beginnings while rows are not needed.

use super::heads::HeadReader;
use crate::binlog::{EventHeader, EventType, FormatDescription};
use crate::error::{Error, Result};
use crate::source::classify::{body, check_crc};
use crate::source::file_head::{check_magic, read_format};
use crate::source::input::Input;
use crate::source::segment::FileContext;
use crate::source::window::{RawEvent, Window};
use std::sync::Arc;

/// A file's events in order. Its bytes are kept until they are taken or released.
pub(crate) struct FileEvents {
    window: Window,
    context: Arc<FileContext>,
    /// Set while only the beginnings of events are read.
    heads: Option<HeadReader>,
}

/// An event that was read.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Event {
    /// Its header.
    pub(crate) header: EventHeader,
    /// Its offset in the file.
    pub(crate) offset: u64,
    /// The number of its bytes, the checksum included.
    pub(crate) len: usize,
}

impl Event {
    /// The offset after it.
    pub(crate) fn end(&self) -> u64 {
        self.offset + self.len as u64
    }

    /// Adds the place of the event to an error.
    pub(crate) fn locate(&self, error: Error) -> Error {
        error.at_event(self.offset, self.header.event_type.name())
    }
}

/// What is next in a file.
pub(crate) enum Peeked {
    /// An event.
    Event(Event),
    /// An event that has not arrived yet.
    Pending,
    /// The end of the input.
    End,
    /// The end of the input, inside an event.
    Cut,
}

impl FileEvents {
    /// The events of a file from its first one, the format description. Also returns the time at which the file was created, in
    /// seconds since 1970 UTC.
    pub(crate) fn open(
        input: Box<dyn Input>,
        (name, label): (Arc<str>, Arc<str>),
        chunk: usize,
        verify_checksum: bool,
    ) -> Result<(Self, u32)> {
        let mut window = Window::new(input, Arc::clone(&label), 0, chunk);
        check_magic(&mut window)?;
        let (format, created) = read_format(&mut window, verify_checksum)?;
        let context = Arc::new(FileContext { name, label, format });
        Ok((Self { window, context, heads: None }, created))
    }

    /// The file's name and format.
    pub(crate) fn context(&self) -> &Arc<FileContext> {
        &self.context
    }

    /// The bytes behind the events.
    pub(crate) fn window(&mut self) -> &mut Window {
        &mut self.window
    }

    /// Gives the input back.
    pub(crate) fn into_input(self) -> Box<dyn Input> {
        self.window.into_input()
    }

    /// Offset of the next event.
    pub(crate) fn offset(&self) -> u64 {
        self.heads.as_ref().map_or(self.window.offset(), HeadReader::offset)
    }

    /// Number of bytes that are kept, up to the next event.
    pub(crate) fn kept(&self) -> usize {
        self.window.kept()
    }

    /// Drops the bytes before the next event.
    pub(crate) fn release(&mut self) {
        self.window.take_kept();
        self.window.release();
    }

    /// Continues at `offset`.
    pub(crate) fn jump(&mut self, offset: u64) {
        self.heads = None;
        self.window.jump(offset);
    }

    /// Reads only the beginnings of the next rows events, until [`Self::jump`]. The bytes that are kept can be read again.
    pub(crate) fn read_heads(&mut self) -> Result<()> {
        self.window.give_back()?;
        self.heads = Some(HeadReader::new(self.window.offset()));
        Ok(())
    }

    /// True if only the beginnings of events are read.
    pub(crate) fn reads_heads(&self) -> bool {
        self.heads.is_some()
    }

    /// The next event. With `may_wait`, waits for an event that is not written yet.
    pub(crate) fn peek(&mut self, may_wait: bool) -> Result<Peeked> {
        if let Some(heads) = &mut self.heads {
            let offset = heads.offset();
            match heads.peek(self.window.input())? {
                // A compressed transaction is one event, which is always read completely.
                Some(header)
                    if header.event_type == EventType::TRANSACTION_PAYLOAD
                        && offset == self.window.offset() =>
                {
                    self.heads = None;
                }
                Some(header) => {
                    let len = header.event_size as usize;
                    return Ok(Peeked::Event(Event { header, offset, len }));
                }
                None => self.jump(offset),
            }
        }
        let offset = self.window.offset();
        let next = match may_wait {
            true => Some(self.window.peek()?),
            false => self.window.peek_ready()?,
        };
        Ok(match next {
            Some(RawEvent::Whole { header, len, .. }) => {
                Peeked::Event(Event { header, offset, len })
            }
            Some(RawEvent::End) => Peeked::End,
            Some(RawEvent::Cut) => Peeked::Cut,
            None => Peeked::Pending,
        })
    }

    /// The bytes of the next event. If only beginnings are read, the bytes of a rows event are incomplete.
    pub(crate) fn bytes(&self, event: &Event) -> &[u8] {
        match &self.heads {
            Some(heads) => heads.event(),
            None => self.window.event(self.window.kept(), event.len),
        }
    }

    /// The body of the next event.
    pub(crate) fn body(&self, event: &Event) -> Result<&[u8]> {
        let bytes = self.bytes(event);
        match bytes.len() == event.len {
            true => body(bytes, self.context.format.checksum),
            false => Ok(bytes.get(EventHeader::LEN..).unwrap_or_default()),
        }
    }

    /// Checks the CRC32 of the next event, if all of it was read and the file has checksums.
    pub(crate) fn check_crc(&self, event: &Event) -> Result<()> {
        let bytes = self.bytes(event);
        match bytes.len() == event.len {
            true => check_crc(bytes, self.context.format.checksum),
            false => Ok(()),
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
