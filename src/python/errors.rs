//! All exceptions and warnings, in one table, and the conversion of errors to them.

use crate::error::advice::{self, Part};
use crate::error::{Error, ErrorKind};
use pyo3::IntoPyObjectExt;
use pyo3::exceptions::{
    PyConnectionError, PyException, PyFileNotFoundError, PyIsADirectoryError, PyOSError,
    PyPermissionError, PyRuntimeError, PyUserWarning, PyValueError,
};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyTuple, PyType};
use std::collections::HashMap;
use std::io;

/// A class of exceptions or warnings. The stubs have the same names, bases and docstrings; a test compares them.
struct Class {
    name: &'static str,
    /// Another class of the table, which precedes this one.
    base: Option<&'static str>,
    /// A built-in class that is a base too.
    builtin: Option<Builtin>,
    doc: &'static str,
}

type Builtin = for<'py> fn(Python<'py>) -> Bound<'py, PyType>;

const fn class(
    name: &'static str,
    base: Option<&'static str>,
    builtin: Option<Builtin>,
    doc: &'static str,
) -> Class {
    Class { name, base, builtin, doc }
}

const BASE: &str = "BinarrowError";
const CONFIG: &str = "ConfigError";
const INPUT: &str = "InputError";
const MALFORMED: &str = "MalformedBinlogError";
const WARNING: &str = "BinarrowWarning";
const UNMATCHED: &str = "UnmatchedPatternWarning";

/// One class for each next step that a caller can take.
#[rustfmt::skip]
const CLASSES: [Class; 21] = [
    class(BASE, None, Some(|py| py.get_type::<PyException>()),
        include_str!("docs/BinarrowError.txt")),
    class(MALFORMED, Some(BASE), Some(|py| py.get_type::<PyValueError>()),
        "The bytes do not have the format of a binary log."),
    class("ChecksumError", Some(MALFORMED), None,
        "An event's CRC32 does not match its bytes."),
    class("UnsupportedEventError", Some(BASE), None,
        "The input is valid, but this version cannot decode it: an encrypted file, a vendor's event, an incident."),
    class("SchemaError", Some(BASE), None,
        "The schema of a table is not known, or does not fit the request."),
    class(INPUT, Some(BASE), Some(|py| py.get_type::<PyOSError>()),
        "A file or stream could not be read."),
    class("MissingInputError", Some(INPUT), Some(|py| py.get_type::<PyFileNotFoundError>()),
        "There is no such file."),
    class("ForbiddenInputError", Some(INPUT), Some(|py| py.get_type::<PyPermissionError>()),
        "The file may not be read."),
    class("DirectoryInputError", Some(INPUT), Some(|py| py.get_type::<PyIsADirectoryError>()),
        "The path is a directory, not a file."),
    class("InternalError", Some(BASE), Some(|py| py.get_type::<PyRuntimeError>()),
        "A defect of binarrow; please report it."),
    class(CONFIG, Some(BASE), Some(|py| py.get_type::<PyValueError>()),
        "A keyword or option is not valid, or does not fit the others or the input."),
    class("LaterVersionError", Some(CONFIG), None,
        "A later version of binarrow has stored what is read, such as a position, a history or the state of a target."),
    class("AuthenticationError", Some(BASE), Some(|py| py.get_type::<PyPermissionError>()),
        "The server refuses the login."),
    class("TlsError", Some(BASE), None,
        "There is no trusted TLS connection. The message names the certificate or setting that is missing."),
    class("ServerError", Some(BASE), None,
        "The server refuses a statement. ``code`` is the server's error number, ``sqlstate`` the SQLSTATE."),
    class("PositionPurgedError", Some(BASE), None,
        "The server no longer has the log after the position, and no archive contains it."),
    class("ServerIdentityError", Some(BASE), None,
        "A position or an archive is from another server, or another reader uses the same server id."),
    class("ConnectionLostError", Some(BASE), Some(|py| py.get_type::<PyConnectionError>()),
        "The connection could not be opened, or was lost. A retry may succeed."),
    class("CancelledError", Some(BASE), None,
        "The work was cancelled, because another thread closed the server or the reader."),
    class(WARNING, None, Some(|py| py.get_type::<PyUserWarning>()),
        include_str!("docs/BinarrowWarning.txt")),
    class(UNMATCHED, Some(WARNING), None,
        "Nothing in the input matches a pattern of tables or columns."),
];

/// The class of an error.
fn name_of(error: &Error) -> &'static str {
    match error.kind() {
        ErrorKind::Malformed => MALFORMED,
        ErrorKind::Checksum => "ChecksumError",
        ErrorKind::Unsupported => "UnsupportedEventError",
        ErrorKind::Schema => "SchemaError",
        ErrorKind::Config => CONFIG,
        ErrorKind::LaterVersion => "LaterVersionError",
        ErrorKind::Authentication => "AuthenticationError",
        ErrorKind::Tls => "TlsError",
        ErrorKind::Server => "ServerError",
        ErrorKind::PositionPurged => "PositionPurgedError",
        ErrorKind::ServerIdentity | ErrorKind::ServerLag => "ServerIdentityError",
        ErrorKind::ConnectionLost => "ConnectionLostError",
        ErrorKind::Cancelled => "CancelledError",
        ErrorKind::Internal => "InternalError",
        ErrorKind::Io => match error.io_error().map(io::Error::kind) {
            Some(io::ErrorKind::NotFound) => "MissingInputError",
            Some(io::ErrorKind::PermissionDenied) => "ForbiddenInputError",
            Some(io::ErrorKind::IsADirectory) => "DirectoryInputError",
            _ => INPUT,
        },
    }
}

/// The classes of the table, created once.
static CREATED: PyOnceLock<HashMap<&'static str, Py<PyType>>> = PyOnceLock::new();

fn created(py: Python<'_>) -> PyResult<&HashMap<&'static str, Py<PyType>>> {
    CREATED.get_or_try_init(py, || {
        let mut classes: HashMap<&'static str, Py<PyType>> = HashMap::new();
        for Class { name, base, builtin, doc } in &CLASSES {
            let members = PyDict::new(py);
            members.set_item("__module__", "binarrow")?;
            members.set_item("__doc__", doc)?;
            if base.is_none() {
                members.set_item("parts", PyTuple::empty(py))?;
            }
            if *name == BASE {
                for attribute in ["file", "offset", "event_type", "table", "code", "sqlstate"] {
                    members.set_item(attribute, py.None())?;
                }
            }
            let base = base.and_then(|base| classes.get(base)).map(|base| base.bind(py).clone());
            let bases = base.into_iter().chain(builtin.map(|builtin| builtin(py)));
            let bases = PyTuple::new(py, bases.collect::<Vec<_>>())?;
            let class = py.get_type::<PyType>().call1((*name, bases, members))?;
            classes.insert(name, class.cast_into::<PyType>()?.unbind());
        }
        Ok(classes)
    })
}

fn class_of<'py>(py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyType>> {
    match created(py)?.get(name) {
        Some(class) => Ok(class.bind(py).clone()),
        None => Ok(py.get_type::<PyException>()),
    }
}

/// Adds the classes to the module.
pub(super) fn add_to(module: &Bound<'_, PyModule>) -> PyResult<()> {
    CLASSES.iter().try_for_each(|class| module.add(class.name, class_of(module.py(), class.name)?))
}

impl From<Error> for PyErr {
    fn from(error: Error) -> Self {
        Python::attach(|py| {
            let own = error
                .io_error()
                .and_then(|error| error.get_ref())
                .and_then(|source| source.downcast_ref::<Self>())
                .map(|own| own.clone_ref(py));
            // KeyboardInterrupt and similar exceptions are raised unchanged.
            if let Some(own) = &own
                && !own.is_instance_of::<PyException>(py)
            {
                return own.clone_ref(py);
            }
            let class = match class_of(py, name_of(&error)) {
                Ok(class) => class,
                Err(failure) => return failure,
            };
            let raised = Self::from_type(class, (error.to_string(),));
            raised.set_cause(py, own);
            let value = raised.value(py);
            let located = value
                .setattr("file", error.file())
                .and_then(|()| value.setattr("offset", error.offset()))
                .and_then(|()| value.setattr("event_type", error.event()))
                .and_then(|()| value.setattr("table", error.table()))
                .and_then(|()| value.setattr("code", error.server_code()))
                .and_then(|()| value.setattr("sqlstate", error.sqlstate()))
                .and_then(|()| value.setattr("parts", parts(py, error.message(), &error.place())?));
            match located {
                Ok(()) => raised,
                Err(failure) => failure,
            }
        })
    }
}

/// A message in parts: text, and options as tuples of a keyword and a value.
pub(super) fn parts<'py>(
    py: Python<'py>,
    message: &str,
    place: &str,
) -> PyResult<Bound<'py, PyTuple>> {
    let part = |part| match part {
        Part::Text(text) => text.into_bound_py_any(py),
        Part::Option(name, value) => (name, value).into_bound_py_any(py),
    };
    let place = (!place.is_empty()).then_some(Part::Text(place));
    let parts = advice::parts(message).into_iter().chain(place).map(part);
    PyTuple::new(py, parts.collect::<PyResult<Vec<_>>>()?)
}

/// Splits a text that marks options into the parts of a message.
#[pyfunction]
pub(super) fn message_parts<'py>(py: Python<'py>, message: &str) -> PyResult<Bound<'py, PyTuple>> {
    parts(py, message, "")
}

/// Warns the caller about a pattern that nothing matches.
pub(super) fn warn_unmatched(py: Python<'_>, message: &str) -> PyResult<()> {
    warn_as(py, UNMATCHED, message)
}

/// Warns the caller.
pub(super) fn warn(py: Python<'_>, message: &str) -> PyResult<()> {
    warn_as(py, WARNING, message)
}

fn warn_as(py: Python<'_>, class: &str, message: &str) -> PyResult<()> {
    let warning = class_of(py, class)?.call1((advice::in_python(message),))?;
    warning.setattr("parts", parts(py, message, "")?)?;
    py.import("warnings")?.call_method1("warn", (warning, py.None(), 2))?;
    Ok(())
}
