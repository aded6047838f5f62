//! `ConnectionSpec`: the addresses of servers and the login, from which all connections are made.

use super::interrupts::abandonable;
use super::server::PyServer;
use crate::cancel::CancelToken;
use crate::error::{Error, ErrorKind, Result};
use crate::net::{ConnectOptions, Endpoint, Pem, Server, TlsFiles, TlsMode};
use crate::protocol::{Compression, Secret};
use crate::source::Connector;
use pyo3::exceptions::PyOSError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

#[doc = include_str!("docs/ConnectionSpec.txt")]
#[pyclass(name = "ConnectionSpec", module = "binarrow._native", frozen)]
pub(super) struct PyConnectionSpec {
    endpoints: Vec<Endpoint>,
    /// The function that returns the password.
    secret: Py<PyAny>,
    options: ConnectOptions,
    passes: Passes,
}

#[pymethods]
impl PyConnectionSpec {
    #[new]
    #[pyo3(signature = (
        endpoints, user, secret, *, tls = None, tls_ca = None, tls_cert = None, tls_key = None,
        tls_server_name = None, compression = None, allow_public_key_retrieval = false,
        server_public_key = None, allow_clear_password = false, connect_timeout = 10.0, read_timeout = 60.0,
    ))]
    #[allow(clippy::too_many_arguments)] // Python's keywords
    fn new(
        endpoints: Vec<(Option<String>, u16, Option<PathBuf>)>,
        user: String,
        secret: Py<PyAny>,
        tls: Option<&str>,
        tls_ca: Option<PemKeyword>,
        tls_cert: Option<PemKeyword>,
        tls_key: Option<PemKeyword>,
        tls_server_name: Option<String>,
        compression: Option<&str>,
        allow_public_key_retrieval: bool,
        server_public_key: Option<PemKeyword>,
        allow_clear_password: bool,
        connect_timeout: f64,
        read_timeout: f64,
    ) -> PyResult<Self> {
        let endpoints: Vec<_> = endpoints.into_iter().map(endpoint).collect();
        let first = endpoints.first().ok_or_else(no_host)?.clone();
        if user.contains('\0') {
            // For the server, the name would end at the NUL.
            return Err(Error::config("user contains a NUL").into());
        }
        let mut options = ConnectOptions::new(first, user, Secret::default());
        options.tls = tls.map(tls_mode).transpose()?;
        options.tls_files = TlsFiles {
            ca: tls_ca.map(|given| given.0),
            certificate: tls_cert.map(|given| given.0),
            key: tls_key.map(|given| given.0),
            server_name: tls_server_name,
        };
        options.compression = match compression {
            None => Compression::None,
            Some("zlib") => Compression::Zlib,
            Some("zstd") => Compression::Zstd,
            Some(other) => {
                let message = format!("⟦compression={other}⟧: 'zlib' or 'zstd' is needed");
                return Err(Error::config(message).into());
            }
        };
        options.allow_public_key_retrieval = allow_public_key_retrieval;
        options.server_public_key = server_public_key
            .map(|given| match given.0 {
                Pem::Text(text) => Ok(text),
                Pem::File(path) => std::fs::read(&path).map_err(|error| {
                    Error::io(format!("server_public_key: cannot read {}", path.display()), error)
                }),
            })
            .transpose()?;
        options.allow_clear_password = allow_clear_password;
        options.connect_timeout = seconds("connect_timeout", connect_timeout)?;
        options.read_timeout = seconds("read_timeout", read_timeout)?;
        Ok(Self { endpoints, secret, options, passes: Passes::default() })
    }

    /// Connects to the first server that answers.
    fn open(&self, py: Python<'_>) -> PyResult<PyServer> {
        Ok(PyServer::of(self.connect(py)?)?)
    }

    /// Ends :func:`range_end` and :func:`file_start` of other threads.
    fn cancel(&self) {
        self.passes.cancel();
    }
}

impl PyConnectionSpec {
    pub(super) fn clone_ref(&self, py: Python<'_>) -> Self {
        Self {
            endpoints: self.endpoints.clone(),
            secret: self.secret.clone_ref(py),
            options: self.options.clone(),
            passes: self.passes.clone(),
        }
    }

    pub(super) fn passes(&self) -> &Passes {
        &self.passes
    }

    /// Connects to the first server that answers, in a separate thread.
    pub(super) fn connect(&self, py: Python<'_>) -> PyResult<Server> {
        let candidates = self.candidates(py)?;
        abandonable(py, move || open_first(candidates))
    }

    /// The options of a connection to each server, with the current password.
    fn candidates(&self, py: Python<'_>) -> PyResult<Vec<ConnectOptions>> {
        let password = Secret::new(self.secret.call0(py)?.extract::<Vec<u8>>(py)?);
        let with = |endpoint: &Endpoint| ConnectOptions {
            endpoint: endpoint.clone(),
            password: password.clone(),
            ..self.options.clone()
        };
        Ok(self.endpoints.iter().map(with).collect())
    }

    /// Returns the same options for a thread that does not hold the interpreter's lock.
    pub(super) fn connector(&self, py: Python<'_>) -> Connector {
        let spec = self.clone_ref(py);
        Arc::new(move || {
            let ends = || Error::new(ErrorKind::ConnectionLost, "the interpreter ends");
            let asked = Python::try_attach(|py| {
                // A function that cannot reach its source now may succeed later, like a connection to the server.
                let kind = |error: &PyErr| match error.is_instance_of::<PyOSError>(py) {
                    true => ErrorKind::ConnectionLost,
                    false => ErrorKind::Authentication,
                };
                spec.candidates(py).map_err(|error| (kind(&error), error))
            });
            asked.ok_or_else(ends)?.map_err(|(kind, error)| {
                Error::new(kind, "the function that returns the password failed")
                    .with_source(std::io::Error::other(error))
            })
        })
    }
}

/// The token of the passes that run over a spec's connections.
#[derive(Clone, Default)]
pub(super) struct Passes(Arc<Mutex<CancelToken>>);

impl Passes {
    /// Cancels the passes that run now. Later ones are not affected.
    pub(super) fn cancel(&self) {
        let running = std::mem::take(&mut *self.token());
        running.cancel();
    }

    /// The token of another pass.
    pub(super) fn begin(&self) -> CancelToken {
        self.token().child()
    }

    fn token(&self) -> MutexGuard<'_, CancelToken> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Connects to the first server that answers. A wrong password is an error: another server does not accept it either.
fn open_first(candidates: Vec<ConnectOptions>) -> Result<Server> {
    let mut last = None;
    for options in candidates {
        match Server::open(options) {
            Err(error) if error.kind() == ErrorKind::ConnectionLost => last = Some(error),
            opened => return opened,
        }
    }
    Err(last.unwrap_or_else(no_host))
}

/// A certificate or key: bytes are its text, other values are the path of a file.
struct PemKeyword(Pem);

impl<'py> FromPyObject<'_, 'py> for PemKeyword {
    type Error = PyErr;

    fn extract(value: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        Ok(Self(match value.cast::<PyBytes>() {
            Ok(text) => Pem::Text(text.as_bytes().to_vec()),
            Err(_) => Pem::File(value.extract()?),
        }))
    }
}

fn no_host() -> Error {
    Error::config("no host to connect to: pass a URL such as mysql://user@host/")
}

fn endpoint((host, port, socket): (Option<String>, u16, Option<PathBuf>)) -> Endpoint {
    match (socket, host) {
        (Some(path), _) => Endpoint::Unix(path),
        (None, host) => Endpoint::Tcp { host: host.unwrap_or_else(|| "localhost".into()), port },
    }
}

fn tls_mode(text: &str) -> Result<TlsMode> {
    Ok(match text {
        "disabled" => TlsMode::Disabled,
        "preferred" => TlsMode::Preferred,
        "required" => TlsMode::Required,
        "verify_ca" => TlsMode::VerifyCa,
        "verify_identity" => TlsMode::VerifyIdentity,
        other => {
            return Err(Error::config(format!(
                "⟦tls={other}⟧: 'disabled', 'preferred', 'required', 'verify_ca' or 'verify_identity' is needed"
            )));
        }
    })
}

/// Parses a duration.
pub(super) fn seconds(keyword: &str, value: f64) -> Result<Duration> {
    match Duration::try_from_secs_f64(value) {
        Ok(duration) if !duration.is_zero() => Ok(duration),
        _ => Err(Error::config(format!("{keyword}: a number of seconds above 0 is needed"))),
    }
}
