//! `inspect`: the events of files as they stand there.

use super::input::inputs;
use crate::error::Error;
use crate::position::Position;
use crate::reader::{EventInfo, EventList};
use pyo3::prelude::*;
use std::sync::Mutex;

/// Every event of the files; those inside a Transaction_payload event too.
#[pyfunction]
#[pyo3(signature = (source, *, start=None, stop=None, verify_checksum=true))]
pub(super) fn inspect(
    source: &Bound<'_, PyAny>,
    start: Option<&str>,
    stop: Option<&str>,
    verify_checksum: bool,
) -> PyResult<PyEventReader> {
    let place = |text: Option<&str>| -> Result<Option<(String, u64)>, Error> {
        text.map(|text| Position::parse(text).map(|position| (position.file, position.offset)))
            .transpose()
    };
    let list =
        EventList::new(inputs(source)?, verify_checksum).between(place(start)?, place(stop)?)?;
    Ok(PyEventReader(Mutex::new(list)))
}

/// An iterator of events.
#[pyclass(name = "EventReader", module = "binarrow", frozen)]
pub(super) struct PyEventReader(Mutex<EventList>);

#[pymethods]
impl PyEventReader {
    fn __iter__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    fn __next__(&self, py: Python<'_>) -> PyResult<Option<PyEvent>> {
        let next = py.detach(|| {
            // A thread that panicked with it has left nothing half done that matters here.
            self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner).next_event()
        });
        Ok(next?.map(PyEvent))
    }
}

/// One event.
#[pyclass(name = "Event", module = "binarrow", frozen)]
pub(super) struct PyEvent(EventInfo);

#[pymethods]
impl PyEvent {
    #[getter]
    fn file(&self) -> &str {
        &self.0.file
    }

    #[getter]
    fn offset(&self) -> u64 {
        self.0.offset
    }

    #[getter]
    fn size(&self) -> u32 {
        self.0.header.event_size
    }

    #[getter]
    fn type_code(&self) -> u8 {
        self.0.header.event_type.0
    }

    #[getter]
    fn type_name(&self) -> &'static str {
        self.0.header.event_type.name()
    }

    #[getter]
    fn timestamp(&self) -> u32 {
        self.0.header.timestamp
    }

    #[getter]
    fn server_id(&self) -> u32 {
        self.0.header.server_id
    }

    #[getter]
    fn log_pos(&self) -> u32 {
        self.0.header.log_pos
    }

    #[getter]
    fn flags(&self) -> u16 {
        self.0.header.flags
    }

    #[getter]
    fn info(&self) -> &str {
        &self.0.info
    }

    #[getter]
    fn compressed(&self) -> bool {
        self.0.compressed
    }

    fn __repr__(&self) -> String {
        format!("<Event {} at {}:{}>", self.type_name(), self.0.file, self.0.offset)
    }
}
