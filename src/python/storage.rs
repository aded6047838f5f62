//! Files at URIs: the package finds and opens them, with its hooks.

use super::errors::warn;
use super::file_object::{Stream, input_of};
use super::hooks::hooks;
use crate::error::Error;
use crate::source::{Input, InputFile, Listed, Listing, StoredFile, keep_logs};
use crate::url::{is_uri, shown};
use pyo3::exceptions::{PyOSError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::PyMapping;
use std::io;
use std::sync::Arc;

/// The keyword `storage_options`: how to access files at URIs. It may contain secrets, and is never
/// printed.
#[derive(Clone, Default)]
pub(super) struct Storage(Option<Arc<Py<PyAny>>>);

impl<'py> FromPyObject<'_, 'py> for Storage {
    type Error = PyErr;

    fn extract(value: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        if value.is_none() {
            return Ok(Self(None));
        }
        match value.cast::<PyMapping>() {
            Ok(options) => Ok(Self(Some(Arc::new(options.to_owned().into_any().unbind())))),
            Err(_) => Err(PyTypeError::new_err("storage_options must be a dict")),
        }
    }
}

/// The files at a URI.
pub(super) enum Found {
    /// A local path, which may be a glob.
    Path(String),
    /// Files elsewhere in log order, with their sizes if known.
    Files(Vec<(String, Option<u64>)>),
}

impl Storage {
    /// Finds the files at a URI: the file itself, the matches of a glob, the binary logs of a
    /// folder.
    pub(super) fn find(&self, py: Python<'_>, uri: &str) -> PyResult<Found> {
        let found =
            hooks(py)?.find_files.bind(py).call1((uri, self.options(py))).map_err(|error| {
                match error.is_instance_of::<PyOSError>(py) {
                    true => {
                        Error::io(format!("cannot look for {}", shown(uri)), error.into()).into()
                    }
                    false => error,
                }
            })?;
        let (kind, found): (String, Vec<(String, Option<u64>)>) = found.extract()?;
        let files = match kind.as_str() {
            "path" => {
                let path = found.into_iter().map(|(path, _)| path).next();
                return Ok(Found::Path(path.unwrap_or_default()));
            }
            "folder" => keep_logs(uri, Listed::Folder, found)?,
            "glob" => keep_logs(uri, Listed::Glob, found)?,
            _ if found.is_empty() => {
                let not_found = io::Error::from(io::ErrorKind::NotFound);
                let message = format!("{}: there is no such file", shown(uri));
                return Err(Error::io(message, not_found).into());
            }
            _ => Listing { logs: found, warning: None },
        };
        files.warning.iter().try_for_each(|message| warn(py, message))?;
        Ok(Found::Files(files.logs))
    }

    /// Returns the file at a URI.
    pub(super) fn file(&self, uri: String, len: Option<u64>) -> RemoteFile {
        RemoteFile { uri, len, storage: self.clone() }
    }

    /// The input at a path or a URI.
    pub(super) fn input_file(&self, path: &str, place: u64) -> InputFile {
        match is_uri(path) {
            true => InputFile::stored(Arc::new(self.file(path.to_owned(), None)), place),
            false => InputFile::at_path(path, place),
        }
    }

    fn options(&self, py: Python<'_>) -> Option<Py<PyAny>> {
        self.0.as_ref().map(|options| options.clone_ref(py))
    }
}

/// A file at a URI, which is opened when it is read.
pub(super) struct RemoteFile {
    uri: String,
    len: Option<u64>,
    storage: Storage,
}

impl StoredFile for RemoteFile {
    fn uri(&self) -> &str {
        &self.uri
    }

    fn known_len(&self) -> Option<u64> {
        self.len
    }

    fn open(&self) -> io::Result<Box<dyn Input>> {
        let open = |py: Python<'_>| -> PyResult<Box<dyn Input>> {
            let options = self.storage.options(py);
            let opened = hooks(py)?.open_file.bind(py).call1((&self.uri, options))?;
            let (file, len): (Bound<'_, PyAny>, Option<u64>) = opened.extract()?;
            input_of(&file, len, Stream::Spooled)
        };
        // pyo3 gives an OSError its kind.
        Python::try_attach(|py| open(py).map_err(io::Error::from))
            .unwrap_or_else(|| Err(io::Error::other("the interpreter ends")))
    }

    fn open_beside(&self, suffix: &str) -> io::Result<Option<Box<dyn Input>>> {
        // After a query, or in a chain of URIs, the suffix would not be a part of the name.
        if self.uri.contains('?') || self.uri.contains("::") {
            return Ok(None);
        }
        let uri = format!("{}{suffix}", self.uri);
        match (RemoteFile { uri, len: None, storage: self.storage.clone() }).open() {
            Ok(input) => Ok(Some(input)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }
}
