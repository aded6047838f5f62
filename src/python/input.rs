//! What Python gives as input: paths, globs, directories, bytes, file objects, and lists of them.

use crate::error::{Error, Result};
use crate::source::{ForwardInput, Input, InputFile, InputSource, SpooledInput, expand};
use pyo3::buffer::PyBuffer;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::{PyByteArray, PyBytes, PyList, PyString, PyTuple};
use std::io::{self, Read};
use std::path::PathBuf;
use std::sync::Arc;

/// The inputs that a `source` argument stands for, in log order.
pub(super) fn inputs(source: &Bound<'_, PyAny>) -> PyResult<Vec<InputFile>> {
    inputs_with(source, Stream::Spooled)
}

/// The same for a reader that goes through them once, from the front: streams are kept nowhere.
pub(super) fn inputs_read_once(source: &Bound<'_, PyAny>) -> PyResult<Vec<InputFile>> {
    inputs_with(source, Stream::Forward)
}

/// What becomes of a stream that cannot seek.
#[derive(Clone, Copy)]
enum Stream {
    Spooled,
    Forward,
}

fn inputs_with(source: &Bound<'_, PyAny>, stream: Stream) -> PyResult<Vec<InputFile>> {
    let mut files = Vec::new();
    if source.is_instance_of::<PyList>() || source.is_instance_of::<PyTuple>() {
        for item in source.try_iter()? {
            add(&item?, stream, &mut files)?;
        }
    } else {
        add(source, stream, &mut files)?;
    }
    match files.is_empty() {
        true => Err(Error::config("no input: the list of files is empty").into()),
        false => Ok(files),
    }
}

/// The paths that a `source` argument stands for.
pub(super) fn paths(source: &Bound<'_, PyAny>) -> PyResult<Vec<PathBuf>> {
    let mut paths = Vec::new();
    for file in inputs(source)? {
        match file.source {
            InputSource::Path(path) => paths.push(path),
            _ => {
                return Err(PyTypeError::new_err(
                    "a path, a glob, a directory or a list of them is needed",
                ));
            }
        }
    }
    Ok(paths)
}

fn add(item: &Bound<'_, PyAny>, stream: Stream, files: &mut Vec<InputFile>) -> PyResult<()> {
    let place = files.len() as u64 + 1;
    if item.is_instance_of::<PyString>() || item.hasattr("__fspath__")? {
        let path: PathBuf = item.extract()?;
        let text = path.to_str().ok_or_else(|| Error::config("the path is not UTF-8"))?;
        for (place, path) in (place..).zip(expand(text)?) {
            let metadata = std::fs::metadata(&path)
                .map_err(|error| Error::io(format!("cannot open {}", path.display()), error))?;
            if !metadata.is_file() {
                return Err(Error::config(format!(
                    "{} is not a regular file: open it, and give the file object",
                    path.display()
                ))
                .into());
            }
            files.push(InputFile::at_path(path, place));
        }
        return Ok(());
    }
    if item.is_instance_of::<PyBytes>() || item.is_instance_of::<PyByteArray>() {
        let bytes: PyBackedBytes = item.extract()?;
        files.push(InputFile::of_bytes(Arc::new(bytes), place));
        return Ok(());
    }
    if item.hasattr("read")? {
        let name =
            item.getattr("name").and_then(|name| name.extract::<String>()).unwrap_or_default();
        let seekable = match item.getattr("seekable") {
            Ok(seekable) => seekable.call0()?.is_truthy()?,
            Err(_) => item.hasattr("seek")?,
        };
        // `read1` gives what there is; `read` of a pipe waits until all that was asked for has come.
        let method = match seekable {
            false if item.hasattr("read1")? => "read1",
            _ => "read",
        };
        let file = PyFile { file: item.clone().unbind(), method, at: None };
        let input: Box<dyn Input> = match (seekable, stream) {
            (true, _) => Box::new(file),
            (false, Stream::Forward) => Box::new(ForwardInput::new(file)),
            (false, Stream::Spooled) => Box::new(
                SpooledInput::try_new(file)
                    .map_err(|error| Error::io("cannot make a temporary file", error))?,
            ),
        };
        files.push(InputFile::new(&name, place, InputSource::Open(Some(input))));
        return Ok(());
    }
    if let Ok(buffer) = PyBuffer::<u8>::get(item) {
        let bytes = buffer.to_vec(item.py())?;
        files.push(InputFile::of_bytes(Arc::new(bytes), place));
        return Ok(());
    }
    Err(PyTypeError::new_err(format!(
        "a path, a glob, bytes or a binary file object is needed, not {}",
        item.get_type().name()?
    )))
}

/// A binary file object of Python's. Each read takes the interpreter's lock.
struct PyFile {
    file: Py<PyAny>,
    /// What reads of it.
    method: &'static str,
    /// Where the object stands, as far as this one moved it.
    at: Option<u64>,
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
                    "read() gave no bytes: the file must be opened in binary mode",
                ));
            };
            let bytes = bytes.as_bytes();
            let len = bytes.len().min(buffer.len());
            if let (Some(to), Some(from)) = (buffer.get_mut(..len), bytes.get(..len)) {
                to.copy_from_slice(from);
            }
            Ok(len)
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
        Ok(None)
    }
}

/// The name and table of `database.table`.
pub(super) fn table_name(name: &str) -> Result<(&str, &str)> {
    name.split_once('.')
        .filter(|(database, table)| !database.is_empty() && !table.is_empty())
        .ok_or_else(|| Error::config(format!("{name:?} is not a table: write database.table")))
}
