//! The whole exception contract: each kind of error as a class, one for each next step that a caller can take.

use crate::error::{Error, ErrorKind};
use pyo3::exceptions::{
    PyConnectionError, PyException, PyFileNotFoundError, PyIsADirectoryError, PyOSError,
    PyPermissionError, PyRuntimeError, PyUserWarning, PyValueError,
};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyTuple, PyType};
use std::io;

struct Classes {
    base: Py<PyType>,
    malformed: Py<PyType>,
    checksum: Py<PyType>,
    unsupported: Py<PyType>,
    schema: Py<PyType>,
    config: Py<PyType>,
    input: Py<PyType>,
    missing: Py<PyType>,
    forbidden: Py<PyType>,
    directory: Py<PyType>,
    authentication: Py<PyType>,
    tls: Py<PyType>,
    server: Py<PyType>,
    purged: Py<PyType>,
    identity: Py<PyType>,
    lost: Py<PyType>,
    internal: Py<PyType>,
    warning: Py<PyType>,
    unmatched: Py<PyType>,
}

static CLASSES: PyOnceLock<Classes> = PyOnceLock::new();

impl Classes {
    fn try_new(py: Python<'_>) -> PyResult<Self> {
        let class = |name: &str, bases: &[Bound<'_, PyType>], doc: &str| -> PyResult<Py<PyType>> {
            let members = PyDict::new(py);
            members.set_item("__module__", "binarrow")?;
            members.set_item("__doc__", doc)?;
            let bases = PyTuple::new(py, bases)?;
            let class = py.get_type::<PyType>().call1((name, bases, members))?;
            Ok(class.cast_into::<PyType>()?.unbind())
        };
        let base = class(
            "BinarrowError",
            &[py.get_type::<PyException>()],
            "Base of every error that binarrow raises; ``file``, ``offset`` and ``event_type`` say where.",
        )?;
        for name in ["file", "offset", "event_type", "code", "sqlstate"] {
            base.bind(py).setattr(name, py.None())?;
        }
        let under =
            |name: &str, parent: &Py<PyType>, builtin: Option<Bound<'_, PyType>>, doc: &str| {
                let bases: Vec<_> =
                    std::iter::once(parent.bind(py).clone()).chain(builtin).collect();
                class(name, &bases, doc)
            };
        let malformed = under(
            "MalformedBinlogError",
            &base,
            Some(py.get_type::<PyValueError>()),
            "The bytes do not have the format of a binary log.",
        )?;
        let input = under(
            "InputError",
            &base,
            Some(py.get_type::<PyOSError>()),
            "A file or stream could not be read.",
        )?;
        let warning = class(
            "BinarrowWarning",
            &[py.get_type::<PyUserWarning>()],
            "Base class of the warnings about a log. They are not errors.",
        )?;
        Ok(Self {
            checksum: under(
                "ChecksumError",
                &malformed,
                None,
                "An event's CRC32 does not match its bytes.",
            )?,
            unsupported: under(
                "UnsupportedEventError",
                &base,
                None,
                "Valid input that this version does not decode: an encrypted file, a vendor's event, an incident.",
            )?,
            schema: under(
                "SchemaError",
                &base,
                None,
                "The schema of a table is not known, or does not fit the request.",
            )?,
            config: under(
                "ConfigError",
                &base,
                Some(py.get_type::<PyValueError>()),
                "A keyword or option is not valid, or does not fit the others or the input.",
            )?,
            missing: under(
                "MissingInputError",
                &input,
                Some(py.get_type::<PyFileNotFoundError>()),
                "There is no such file.",
            )?,
            forbidden: under(
                "ForbiddenInputError",
                &input,
                Some(py.get_type::<PyPermissionError>()),
                "The file may not be read.",
            )?,
            directory: under(
                "DirectoryInputError",
                &input,
                Some(py.get_type::<PyIsADirectoryError>()),
                "The path is a directory, not a file.",
            )?,
            authentication: under(
                "AuthenticationError",
                &base,
                Some(py.get_type::<PyPermissionError>()),
                "The server refuses the login.",
            )?,
            tls: under(
                "TlsError",
                &base,
                None,
                "There is no trusted TLS connection. The message names the certificate or setting that is missing.",
            )?,
            server: under(
                "ServerError",
                &base,
                None,
                "The server refuses a statement. ``code`` is the server's error number, ``sqlstate`` the SQLSTATE.",
            )?,
            purged: under(
                "PositionPurgedError",
                &base,
                None,
                "The server no longer has the log after the position: changes are lost.",
            )?,
            identity: under(
                "ServerIdentityError",
                &base,
                None,
                "The position is of another server, or another reader uses the same server id.",
            )?,
            lost: under(
                "ConnectionLostError",
                &base,
                Some(py.get_type::<PyConnectionError>()),
                "The connection could not be opened, or was lost. A retry may succeed.",
            )?,
            internal: under(
                "InternalError",
                &base,
                Some(py.get_type::<PyRuntimeError>()),
                "A defect of binarrow; please report it.",
            )?,
            unmatched: under(
                "UnmatchedPatternWarning",
                &warning,
                None,
                "Nothing in the input matches a pattern of tables or columns.",
            )?,
            warning,
            base,
            malformed,
            input,
        })
    }

    fn of(&self, error: &Error) -> &Py<PyType> {
        match error.kind() {
            ErrorKind::Malformed => &self.malformed,
            ErrorKind::Checksum => &self.checksum,
            ErrorKind::Unsupported => &self.unsupported,
            ErrorKind::Schema => &self.schema,
            ErrorKind::Config => &self.config,
            ErrorKind::Authentication => &self.authentication,
            ErrorKind::Tls => &self.tls,
            ErrorKind::Server => &self.server,
            ErrorKind::PositionPurged => &self.purged,
            ErrorKind::ServerIdentity | ErrorKind::ServerBehind => &self.identity,
            ErrorKind::ConnectionLost => &self.lost,
            ErrorKind::Internal => &self.internal,
            ErrorKind::Io => match error.io_error().map(io::Error::kind) {
                Some(io::ErrorKind::NotFound) => &self.missing,
                Some(io::ErrorKind::PermissionDenied) => &self.forbidden,
                Some(io::ErrorKind::IsADirectory) => &self.directory,
                _ => &self.input,
            },
        }
    }
}

fn classes(py: Python<'_>) -> PyResult<&Classes> {
    CLASSES.get_or_try_init(py, || Classes::try_new(py))
}

/// Adds the classes to the module.
pub(super) fn add_to(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let classes = classes(module.py())?;
    for class in [
        &classes.base,
        &classes.malformed,
        &classes.checksum,
        &classes.unsupported,
        &classes.schema,
        &classes.config,
        &classes.input,
        &classes.missing,
        &classes.forbidden,
        &classes.directory,
        &classes.authentication,
        &classes.tls,
        &classes.server,
        &classes.purged,
        &classes.identity,
        &classes.lost,
        &classes.internal,
        &classes.warning,
        &classes.unmatched,
    ] {
        let class = class.bind(module.py());
        module.add(class.name()?.to_cow()?.as_ref(), class)?;
    }
    Ok(())
}

impl From<Error> for PyErr {
    fn from(error: Error) -> Self {
        Python::attach(|py| {
            let own = error
                .io_error()
                .and_then(|error| error.get_ref())
                .and_then(|source| source.downcast_ref::<Self>())
                .map(|own| own.clone_ref(py));
            // KeyboardInterrupt and its like are no errors of ours.
            if let Some(own) = &own
                && !own.is_instance_of::<PyException>(py)
            {
                return own.clone_ref(py);
            }
            let classes = match classes(py) {
                Ok(classes) => classes,
                Err(failure) => return failure,
            };
            let raised = Self::from_type(classes.of(&error).bind(py).clone(), (error.to_string(),));
            raised.set_cause(py, own);
            let value = raised.value(py);
            let located = value
                .setattr("file", error.file())
                .and_then(|()| value.setattr("offset", error.offset()))
                .and_then(|()| value.setattr("event_type", error.event()))
                .and_then(|()| value.setattr("code", error.server_code()))
                .and_then(|()| value.setattr("sqlstate", error.sqlstate()));
            match located {
                Ok(()) => raised,
                Err(failure) => failure,
            }
        })
    }
}

/// Runs `work` without the interpreter's lock. It is handed a question whether to go on, which Ctrl-C answers with no.
pub(super) fn interruptible<T: Send>(
    py: Python<'_>,
    work: impl FnOnce(&mut dyn FnMut() -> bool) -> Result<T, Error> + Send,
) -> PyResult<T> {
    let mut interrupt = None;
    let result = py.detach(|| {
        work(&mut || {
            interrupt = Python::try_attach(|py| py.check_signals()).and_then(Result::err);
            interrupt.is_none()
        })
    });
    match interrupt {
        Some(interrupt) => Err(interrupt),
        None => Ok(result?),
    }
}

/// Runs `work` in a thread of its own and waits for it without the interpreter's lock. Ctrl-C ends the wait, not the work,
/// whose result is then dropped.
pub(super) fn abandonable<T: Send + 'static>(
    py: Python<'_>,
    work: impl FnOnce() -> Result<T, Error> + Send + 'static,
) -> PyResult<T> {
    let (sender, receiver) = crossbeam_channel::bounded(1);
    std::thread::Builder::new()
        .name("binarrow-ask".into())
        .spawn(move || {
            // Nobody may be waiting any more.
            let _ = sender.send(work());
        })
        .map_err(|error| Error::io("cannot start a thread", error))?;
    loop {
        match py.detach(|| receiver.recv_timeout(SIGNAL_CHECK)) {
            Ok(result) => return Ok(result?),
            Err(crossbeam_channel::RecvTimeoutError::Timeout) => py.check_signals()?,
            Err(crossbeam_channel::RecvTimeoutError::Disconnected) => {
                let message = "a defect of binarrow; please report it";
                return Err(Error::new(ErrorKind::Internal, message).into());
            }
        }
    }
}

/// How often a wait looks for Ctrl-C.
const SIGNAL_CHECK: std::time::Duration = std::time::Duration::from_millis(50);

/// Warns the caller about a pattern that nothing matches.
pub(super) fn warn_unmatched(py: Python<'_>, message: &str) -> PyResult<()> {
    let message = std::ffi::CString::new(message.replace('\0', " "))?;
    PyErr::warn(py, classes(py)?.unmatched.bind(py), &message, 2)
}

/// Warns the caller.
pub(super) fn warn(py: Python<'_>, message: &str) -> PyResult<()> {
    let message = std::ffi::CString::new(message.replace('\0', " "))?;
    PyErr::warn(py, classes(py)?.warning.bind(py), &message, 2)
}
