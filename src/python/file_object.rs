//! Binary file objects of Python as inputs.

use crate::error::Error;
use crate::source::{BlockInput, ForwardInput, Input, SpooledInput};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::io::{self, Read};

/// The handling of a stream that cannot seek.
#[derive(Clone, Copy)]
pub(super) enum Stream {
    Spooled,
    Forward,
}

/// Returns the input for a file object. An object that can seek is read in large blocks: each read
/// takes the interpreter's lock, and may be a round trip over a network.
pub(super) fn input_of(
    file: &Bound<'_, PyAny>,
    size: Option<u64>,
    stream: Stream,
) -> PyResult<Box<dyn Input>> {
    let seekable = match file.getattr("seekable") {
        Ok(seekable) => seekable.call0()?.is_truthy()?,
        Err(_) => file.hasattr("seek")?,
    };
    // `read1` returns the available bytes; `read` of a pipe waits until all requested bytes have
    // arrived.
    let method = match seekable {
        false if file.hasattr("read1")? => "read1",
        _ => "read",
    };
    let file = PyFile { file: file.clone().unbind(), method, at: None, size };
    Ok(match (seekable, stream) {
        (true, _) => Box::new(BlockInput::new(file)),
        (false, Stream::Forward) => Box::new(ForwardInput::new(file)),
        (false, Stream::Spooled) => Box::new(
            SpooledInput::try_new(file)
                .map_err(|error| Error::io("cannot create a temporary file", error))?,
        ),
    })
}

/// A binary file object of Python. Each read takes the interpreter's lock.
struct PyFile {
    file: Py<PyAny>,
    /// The method that reads from it.
    method: &'static str,
    /// The offset of the object, as far as this input has moved it.
    at: Option<u64>,
    size: Option<u64>,
}

impl PyFile {
    fn with<T>(&self, call: impl FnOnce(&Bound<'_, PyAny>) -> PyResult<T>) -> io::Result<T> {
        Python::try_attach(|py| call(self.file.bind(py)).map_err(io::Error::other))
            .unwrap_or_else(|| Err(io::Error::other("the interpreter ends")))
    }

    fn read_bytes(&self, buffer: &mut [u8]) -> io::Result<usize> {
        self.with(|file| {
            let read = file.call_method1(self.method, (buffer.len(),))?;
            let Ok(bytes) = read.cast::<PyBytes>() else {
                return Err(PyTypeError::new_err(
                    "read() returned no bytes: the file must be opened in binary mode",
                ));
            };
            let bytes = bytes.as_bytes();
            let Some(to) = buffer.get_mut(..bytes.len()) else {
                return Err(PyValueError::new_err("read() returned more bytes than requested"));
            };
            to.copy_from_slice(bytes);
            Ok(bytes.len())
        })
    }
}

impl Read for PyFile {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.read_bytes(buffer)
    }
}

impl Input for PyFile {
    fn read_at(&mut self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        if self.at != Some(offset) {
            self.with(|file| file.call_method1("seek", (offset,)).map(drop))?;
        }
        self.at = None;
        let count = self.read_bytes(buffer)?;
        self.at = Some(offset + count as u64);
        Ok(count)
    }

    fn size(&mut self) -> io::Result<Option<u64>> {
        Ok(self.size)
    }
}
