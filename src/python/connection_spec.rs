//! `ConnectionSpec`: where servers are and who asks, checked once, for every connection that is made.

use super::baseline::{PyBaseline, table_filter, take_baseline};
use super::history_keyword::HistoryKeyword;
use super::interrupts::abandonable;
use super::keywords::{Patterns, skip_events as known_codes};
use super::live_log::{Dumping, PyLiveLog};
use super::position::PyPosition;
use super::server::PyServer;
use super::server_log::{self, Passes};
use crate::error::{Error, ErrorKind, Result};
use crate::net::{ConnectOptions, Endpoint, Pem, Server, TlsFiles, TlsMode};
use crate::position::Place;
use crate::protocol::{Compression, Secret};
use crate::source::Connector;
use pyo3::exceptions::PyOSError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// Where servers are and who asks: all that a connection needs, made anew for each.
#[pyclass(name = "ConnectionSpec", module = "binarrow._native", frozen)]
pub(super) struct PyConnectionSpec {
    endpoints: Vec<Endpoint>,
    /// Gives the password.
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
            // On the way to the server it would end there.
            return Err(Error::config("user holds a NUL").into());
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

    /// The structures of the tables of the first server that answers, and the position that they are of.
    #[pyo3(signature = (*, tables = None, exclude_tables = None))]
    fn schemas(
        &self,
        py: Python<'_>,
        tables: Option<Patterns>,
        exclude_tables: Option<Patterns>,
    ) -> PyResult<PyBaseline> {
        take_baseline(py, self, table_filter(tables, exclude_tables)?).map(PyBaseline::from)
    }

    /// What the servers log, from `start` on: an input of `read_binlog`.
    #[pyo3(signature = (start, *, ends, server_id, heartbeat, reconnect, max_latency))]
    #[allow(clippy::too_many_arguments)] // likewise
    fn log(
        &self,
        py: Python<'_>,
        start: Place,
        ends: bool,
        server_id: Option<u32>,
        heartbeat: f64,
        reconnect: Option<f64>,
        max_latency: f64,
    ) -> Result<PyLiveLog> {
        let dumping = Dumping::try_new(ends, server_id, heartbeat, reconnect)?;
        PyLiveLog::try_new(self.clone_ref(py), start, dumping, max_latency)
    }

    /// All that the log has between two positions: an input of `read_binlog`.
    #[pyo3(signature = (
        start, stop, *, history_part = None, server_id = None, heartbeat = 10.0, reconnect = 300.0, max_latency = 0.5,
    ))]
    #[allow(clippy::too_many_arguments)] // likewise
    fn range(
        &self,
        py: Python<'_>,
        start: &PyPosition,
        stop: &PyPosition,
        history_part: Option<&str>,
        server_id: Option<u32>,
        heartbeat: f64,
        reconnect: Option<f64>,
        max_latency: f64,
    ) -> Result<PyLiveLog> {
        let dumping = Dumping::try_new(true, server_id, heartbeat, reconnect)?;
        let ends = (start.0.clone(), stop.0.clone());
        PyLiveLog::range(self.clone_ref(py), ends, history_part, dumping, max_latency)
    }

    /// Goes through the log without decoding a row: the position of the last transaction's end that `stop` and `max_bytes` allow.
    #[pyo3(signature = (
        start, *, stop = None, max_bytes = None, history = None, server_id = None, heartbeat = 10.0, reconnect = 300.0,
        skip_events = None,
    ))]
    #[allow(clippy::too_many_arguments)] // likewise
    fn range_end(
        &self,
        py: Python<'_>,
        start: Place,
        stop: Option<Place>,
        max_bytes: Option<u64>,
        history: Option<HistoryKeyword>,
        server_id: Option<u32>,
        heartbeat: f64,
        reconnect: Option<f64>,
        skip_events: Option<Vec<u8>>,
    ) -> PyResult<PyPosition> {
        let dumping = Dumping::try_new(true, server_id, heartbeat, reconnect)?;
        let limits = (max_bytes, known_codes(skip_events)?);
        server_log::range_end(py, self, (start, stop), limits, history, dumping)
    }

    /// The position of a file's first event, with what stands before it by GTID.
    #[pyo3(signature = (
        name, *, version_shift = 0, server_id = None, heartbeat = 10.0, reconnect = 300.0,
    ))]
    #[allow(clippy::too_many_arguments)] // likewise
    fn file_start(
        &self,
        py: Python<'_>,
        name: String,
        version_shift: u32,
        server_id: Option<u32>,
        heartbeat: f64,
        reconnect: Option<f64>,
    ) -> PyResult<PyPosition> {
        let dumping = Dumping::try_new(true, server_id, heartbeat, reconnect)?;
        server_log::file_start(py, self, name, version_shift, dumping)
    }

    /// Cancels the passes over the log that run over connections of this spec.
    fn cancel(&self) {
        self.passes.cancel();
    }
}

impl PyConnectionSpec {
    fn clone_ref(&self, py: Python<'_>) -> Self {
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

    /// Connects to the first server that answers, in a thread of its own.
    pub(super) fn connect(&self, py: Python<'_>) -> PyResult<Server> {
        let candidates = self.candidates(py)?;
        abandonable(py, move || open_first(candidates))
    }

    /// How to connect to each server, with the password of now.
    fn candidates(&self, py: Python<'_>) -> PyResult<Vec<ConnectOptions>> {
        let password = Secret::new(self.secret.call0(py)?.extract::<Vec<u8>>(py)?);
        let with = |endpoint: &Endpoint| ConnectOptions {
            endpoint: endpoint.clone(),
            password: password.clone(),
            ..self.options.clone()
        };
        Ok(self.endpoints.iter().map(with).collect())
    }

    /// The same for a thread that has no interpreter's lock.
    pub(super) fn connector(&self, py: Python<'_>) -> Connector {
        let spec = self.clone_ref(py);
        Arc::new(move || {
            let ends = || Error::new(ErrorKind::ConnectionLost, "the interpreter ends");
            let asked = Python::try_attach(|py| {
                // What a function cannot reach now may be there later, as the server may.
                let kind = |error: &PyErr| match error.is_instance_of::<PyOSError>(py) {
                    true => ErrorKind::ConnectionLost,
                    false => ErrorKind::Authentication,
                };
                spec.candidates(py).map_err(|error| (kind(&error), error))
            });
            asked.ok_or_else(ends)?.map_err(|(kind, error)| {
                Error::new(kind, "the function that gives the password failed")
                    .with_source(std::io::Error::other(error))
            })
        })
    }
}

/// Another host may be there where one is not; a wrong password stays one.
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

/// A certificate or key: bytes are its text, all else the path of a file.
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
    Error::config("no host to connect to")
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

/// A length of time.
pub(super) fn seconds(keyword: &str, value: f64) -> Result<Duration> {
    match Duration::try_from_secs_f64(value) {
        Ok(duration) if !duration.is_zero() => Ok(duration),
        _ => Err(Error::config(format!("{keyword}: a number of seconds above 0 is needed"))),
    }
}
