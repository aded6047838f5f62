//! `Server`: a server that is asked about itself.

use super::errors::abandonable;
use super::position::PyPosition;
use crate::error::{Error, Result};
use crate::net::{
    BinlogFile, ConnectOptions, Endpoint, Flavor, Server, SocketHandle, TlsFiles, TlsMode,
};
use crate::protocol::{Compression, Secret, TextRow};
use pyo3::prelude::*;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// A connection to a server, for questions about itself and its log.
#[pyclass(name = "NativeServer", module = "binarrow._native", frozen)]
pub(super) struct PyServer {
    /// Away while a question is asked; gone once closed.
    server: Mutex<Option<Server>>,
    handle: SocketHandle,
    about: About,
}

struct About {
    flavor: &'static str,
    version: String,
    server_id: u32,
    id: String,
    tls_version: Option<&'static str>,
    connection_id: u32,
    endpoint: String,
    is_local: bool,
}

#[pymethods]
impl PyServer {
    #[getter]
    fn flavor(&self) -> &'static str {
        self.about.flavor
    }

    #[getter]
    fn version(&self) -> &str {
        &self.about.version
    }

    #[getter]
    fn server_id(&self) -> u32 {
        self.about.server_id
    }

    #[getter]
    fn id(&self) -> &str {
        &self.about.id
    }

    #[getter]
    fn tls_version(&self) -> Option<&'static str> {
        self.about.tls_version
    }

    #[getter]
    fn connection_id(&self) -> u32 {
        self.about.connection_id
    }

    #[getter]
    fn endpoint(&self) -> &str {
        &self.about.endpoint
    }

    #[getter]
    fn is_local(&self) -> bool {
        self.about.is_local
    }

    fn position(&self, py: Python<'_>) -> PyResult<PyPosition> {
        self.ask(py, Server::position).map(PyPosition)
    }

    fn binlogs(&self, py: Python<'_>) -> PyResult<Vec<(String, u64)>> {
        let files = self.ask(py, Server::binlogs)?;
        Ok(files.into_iter().map(|BinlogFile { name, size }| (name, size)).collect())
    }

    fn database_filters(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        self.ask(py, Server::database_filters)
    }

    fn query(&self, py: Python<'_>, sql: String) -> PyResult<Vec<TextRow>> {
        self.ask(py, move |server| server.connection().query(&sql))
    }

    fn close(&self) {
        self.handle.shutdown();
        drop(self.slot().take());
    }
}

impl PyServer {
    fn slot(&self) -> MutexGuard<'_, Option<Server>> {
        self.server.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Asks in a thread of its own, so that Ctrl-C is heard. After an error on the way the connection is gone.
    fn ask<T: Send + 'static>(
        &self,
        py: Python<'_>,
        question: impl FnOnce(&mut Server) -> Result<T> + Send + 'static,
    ) -> PyResult<T> {
        let closed = "the connection is closed, or another thread is asking on it";
        let mut server = self.slot().take().ok_or_else(|| Error::config(closed))?;
        let asked = abandonable(py, move || {
            let answer = question(&mut server);
            Ok((server, answer))
        });
        let (server, answer) = match asked {
            Ok(asked) => asked,
            Err(interrupt) => {
                self.handle.shutdown();
                return Err(interrupt);
            }
        };
        // A refused question leaves the connection as it was.
        if answer.as_ref().err().is_none_or(|error| error.server_code().is_some()) {
            *self.slot() = Some(server);
        }
        Ok(answer?)
    }
}

/// Connects to the first of `endpoints` that lets us in.
#[pyfunction]
#[pyo3(signature = (
    endpoints, user, password, *, tls = None, tls_ca = None, tls_cert = None, tls_key = None,
    tls_server_name = None, compression = None, allow_public_key_retrieval = false,
    server_public_key = None, allow_clear_password = false, connect_timeout = 10.0, read_timeout = 60.0,
))]
#[allow(clippy::too_many_arguments)] // Python's keywords
pub(super) fn open_server(
    py: Python<'_>,
    endpoints: Vec<(Option<String>, u16, Option<PathBuf>)>,
    user: String,
    password: Vec<u8>,
    tls: Option<&str>,
    tls_ca: Option<PathBuf>,
    tls_cert: Option<PathBuf>,
    tls_key: Option<PathBuf>,
    tls_server_name: Option<String>,
    compression: Option<&str>,
    allow_public_key_retrieval: bool,
    server_public_key: Option<PathBuf>,
    allow_clear_password: bool,
    connect_timeout: f64,
    read_timeout: f64,
) -> PyResult<PyServer> {
    let first = endpoints.first().ok_or_else(|| Error::config("no host to connect to"))?;
    let mut options = ConnectOptions::new(endpoint(first.clone()), user, Secret::new(password));
    options.tls = tls.map(tls_mode).transpose()?;
    options.tls_files =
        TlsFiles { ca: tls_ca, certificate: tls_cert, key: tls_key, server_name: tls_server_name };
    options.compression = match compression {
        None => Compression::None,
        Some("zlib") => Compression::Zlib,
        Some("zstd") => Compression::Zstd,
        Some(other) => {
            let message = format!("compression={other:?}: 'zlib' or 'zstd' is needed");
            return Err(Error::config(message).into());
        }
    };
    options.allow_public_key_retrieval = allow_public_key_retrieval;
    options.server_public_key = server_public_key
        .map(|path| {
            std::fs::read(&path).map_err(|error| {
                Error::io(format!("server_public_key: cannot read {}", path.display()), error)
            })
        })
        .transpose()?;
    options.allow_clear_password = allow_clear_password;
    options.connect_timeout = seconds("connect_timeout", connect_timeout)?;
    options.read_timeout = seconds("read_timeout", read_timeout)?;
    let server = abandonable(py, move || {
        let mut last = None;
        for candidate in endpoints {
            let endpoint = endpoint(candidate);
            match Server::open(ConnectOptions { endpoint, ..options.clone() }) {
                Ok(server) => return Ok(server),
                // Another host may be there; a wrong password stays one.
                Err(error) if error.kind() == crate::error::ErrorKind::ConnectionLost => {
                    last = Some(error);
                }
                Err(error) => return Err(error),
            }
        }
        Err(last.unwrap_or_else(|| Error::config("no host to connect to")))
    })?;
    PyServer::of(server).map_err(PyErr::from)
}

impl PyServer {
    fn of(mut server: Server) -> Result<Self> {
        let connection = server.connection();
        let handle = connection.handle()?;
        let (version, connection_id) =
            (connection.greeting().server_version.clone(), connection.greeting().connection_id);
        let tls_version = connection.tls_version();
        let endpoint = &connection.options().endpoint;
        let (endpoint, is_local) = (endpoint.to_string(), endpoint.is_loopback());
        let identity = server.identity();
        let about = About {
            flavor: match identity.flavor {
                Flavor::Mysql => "mysql",
                Flavor::Mariadb => "mariadb",
            },
            version,
            server_id: identity.server_id,
            id: identity.id.clone(),
            tls_version,
            connection_id,
            endpoint,
            is_local,
        };
        Ok(Self { server: Mutex::new(Some(server)), handle, about })
    }
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
                "tls={other:?}: 'disabled', 'preferred', 'required', 'verify_ca' or 'verify_identity' is needed"
            )));
        }
    })
}

fn seconds(keyword: &str, value: f64) -> Result<Duration> {
    match Duration::try_from_secs_f64(value) {
        Ok(duration) if !duration.is_zero() => Ok(duration),
        _ => Err(Error::config(format!("{keyword}: a number of seconds above 0 is needed"))),
    }
}
