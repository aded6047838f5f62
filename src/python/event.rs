//! `inspect`: the events of files, as they are stored.

use super::errors::{warn, warn_unmatched};
use super::input::inputs_read_once;
use super::interrupts::interruptible;
use super::keywords::Patterns;
use super::storage::Storage;
use crate::change::TableFilter;
use crate::error::Error;
use crate::position::Place;
use crate::reader::{EventInfo, EventList, EventListOptions, EventPlace, EventTypeFilter, hexdump};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyString};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

#[doc = include_str!("docs/inspect.txt")]
#[pyfunction]
#[pyo3(signature = (source, *, start=None, stop=None, tables=None, event_types=None, queries=false, table_metadata=false,
    data=false, verify_checksum=true, storage_options=None))]
#[allow(clippy::too_many_arguments)] // keywords
pub(super) fn inspect(
    source: &Bound<'_, PyAny>,
    start: Option<EventPlaceKeyword>,
    stop: Option<EventPlaceKeyword>,
    tables: Option<Patterns>,
    event_types: Option<Patterns>,
    queries: bool,
    table_metadata: bool,
    data: bool,
    verify_checksum: bool,
    storage_options: Option<Storage>,
) -> PyResult<PyEventReader> {
    let options = EventListOptions {
        verify_checksum,
        start: start.map(|place| place.0),
        stop: stop.map(|place| place.0),
        tables: tables
            .map(|patterns| TableFilter::try_new(&patterns.into_vec(), &[]))
            .transpose()?,
        types: event_types
            .map(|patterns| EventTypeFilter::try_new(&patterns.into_vec()))
            .transpose()?,
        queries,
        table_metadata,
        data,
    };
    let files = inputs_read_once(source, &storage_options.unwrap_or_default())?;
    let count = files.len() as u64;
    let list = EventList::try_new(files, options)?;
    let events = Mutex::new(Events { list, kept: None });
    Ok(PyEventReader { events, files: count, returned: AtomicU64::new(0) })
}

/// `start` or `stop` of `inspect`: a place as for `read_binlog`, except GTID sets; or only an
/// offset.
pub(super) struct EventPlaceKeyword(EventPlace);

impl<'py> FromPyObject<'_, 'py> for EventPlaceKeyword {
    type Error = PyErr;

    fn extract(value: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        if let Ok(text) = value.cast::<PyString>()
            && let Ok(offset) = text.to_cow()?.trim().parse::<u64>()
        {
            return Ok(Self(EventPlace::At(String::new(), offset)));
        }
        match value.extract::<Place>()? {
            Place::Position(position) if position.gtids_alone().is_none() => {
                Ok(Self(EventPlace::At(position.file, position.offset)))
            }
            // The times in headers have a resolution of one second.
            Place::Time(micros) => {
                Ok(Self(EventPlace::Time(micros.saturating_add(999_999).div_euclid(1_000_000))))
            }
            _ => {
                let message =
                    "inspect starts and ends at a position, an offset or a time, not at a GTID set";
                Err(Error::config(message).into())
            }
        }
    }
}

#[doc = include_str!("docs/EventReader.txt")]
#[pyclass(name = "EventReader", module = "binarrow", frozen)]
pub(super) struct PyEventReader {
    events: Mutex<Events>,
    files: u64,
    /// The number of events that were returned.
    returned: AtomicU64,
}

struct Events {
    list: EventList,
    /// Events that were found when a warning was raised as an exception, for the next call.
    kept: Option<Next>,
}

type Next = Result<Option<EventInfo>, Error>;

#[pymethods]
impl PyEventReader {
    fn __iter__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    fn __next__(&self, py: Python<'_>) -> PyResult<Option<PyEvent>> {
        // A thread that panicked while it held the lock leaves no inconsistent state here.
        let events = || self.events.lock().unwrap_or_else(PoisonError::into_inner);
        let (next, warnings, unmatched) = interruptible(py, |cancel| {
            let mut events = events();
            let next = match events.kept.take() {
                Some(kept) => kept,
                None => events.list.next_event_unless(cancel),
            };
            Ok((next, events.list.take_warnings(), events.list.take_unmatched()))
        })?;
        let warned = warnings.iter().try_for_each(|message| warn(py, message)).and_then(|()| {
            unmatched.iter().try_for_each(|pattern| {
                let message = format!("no event of a table that matches {pattern:?} in the input");
                warn_unmatched(py, &message)
            })
        });
        if let Err(raised) = warned {
            events().kept = Some(next);
            return Err(raised);
        }
        let next = next?;
        self.returned.fetch_add(u64::from(next.is_some()), Ordering::Relaxed);
        Ok(next.map(PyEvent))
    }

    fn __repr__(&self) -> String {
        let counted = |count: u64, name: &str| match count {
            1 => format!("1 {name}"),
            count => format!("{count} {name}s"),
        };
        let events = counted(self.returned.load(Ordering::Relaxed), "event");
        format!("<EventReader of {}, {events} read>", counted(self.files, "file"))
    }
}

#[doc = include_str!("docs/Event.txt")]
#[pyclass(name = "Event", module = "binarrow", frozen)]
pub(super) struct PyEvent(EventInfo);

#[pymethods]
impl PyEvent {
    /// The name of the file.
    #[getter]
    fn file(&self) -> &str {
        &self.0.file
    }

    /// The byte offset in the file; for an event inside a Transaction_payload event, that of the payload event.
    #[getter]
    fn offset(&self) -> u64 {
        self.0.offset
    }

    /// The number of bytes, with header and checksum.
    #[getter]
    fn size(&self) -> u32 {
        self.0.header.event_size
    }

    /// The number of the event type.
    #[getter]
    fn type_code(&self) -> u8 {
        self.0.header.event_type.0
    }

    /// The name of the event type, such as ``Format_desc``.
    #[getter]
    fn type_name(&self) -> &'static str {
        self.0.header.event_type.name()
    }

    /// The time of the event in seconds since 1970 UTC, from the header; 0 for artificial events.
    #[getter]
    fn timestamp(&self) -> u32 {
        self.0.header.timestamp
    }

    /// The ``server_id`` of the server that wrote the event first.
    #[getter]
    fn server_id(&self) -> u32 {
        self.0.header.server_id
    }

    /// The offset of the next event, from the header; 0 for artificial and compressed events.
    #[getter]
    fn log_pos(&self) -> u32 {
        self.0.header.log_pos
    }

    /// The flags of the header.
    #[getter]
    fn flags(&self) -> u16 {
        self.0.header.flags
    }

    /// A summary in one line: table, GTID, a statement up to its first value.
    #[getter]
    fn info(&self) -> &str {
        &self.0.info
    }

    /// The connection that executed a Query event or, in MariaDB 11.5 and later, the transaction of a Gtid event.
    #[getter]
    fn thread_id(&self) -> Option<u32> {
        self.0.thread_id
    }

    /// True if the event is inside a Transaction_payload event.
    #[getter]
    fn compressed(&self) -> bool {
        self.0.compressed
    }

    /// ``database.table`` of a Table_map or rows event.
    #[getter]
    fn table(&self) -> Option<&str> {
        self.0.table.as_deref()
    }

    /// A Table_map event's columns and key, if requested, as ``mysqlbinlog`` prints them.
    #[getter]
    fn table_metadata(&self) -> Option<&str> {
        self.0.table_metadata.as_deref()
    }

    /// The event's bytes, if requested: header, body, and checksum if it has one.
    #[getter]
    fn data<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyBytes>> {
        self.0.data.as_ref().map(|data| PyBytes::new(py, data))
    }

    #[doc = include_str!("docs/Event.hexdump.txt")]
    #[pyo3(signature = (start=0, size=None))]
    fn hexdump(&self, start: usize, size: Option<usize>) -> PyResult<String> {
        match &self.0.data {
            Some(data) => Ok(hexdump(data, self.0.offset, start, size.unwrap_or(usize::MAX))),
            None => Err(Error::config("the bytes are not here: inspect(..., ⟦data=True⟧)").into()),
        }
    }

    fn __repr__(&self) -> String {
        format!("<Event {} at {}:{}>", self.type_name(), self.0.file, self.0.offset)
    }
}
