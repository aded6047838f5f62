//! `Server`: a server that is asked about itself.

use super::errors::abandonable;
use super::keywords::{Keywords, Patterns, Place};
use super::position::PyPosition;
use super::reader::{LiveSource, PyBinlogReader};
use super::schemas::SchemasKeyword;
use super::type_options::TypesKeyword;
use crate::error::{Error, ErrorKind, Result};
use crate::net::{
    BinlogFile, ConnectOptions, DumpOptions, Endpoint, Flavor, Server, SocketHandle, TlsFiles,
    TlsMode,
};
use crate::protocol::{Compression, Secret, TextRow};
use crate::source::{Connector, LiveOptions, LiveStart};
use pyo3::prelude::*;
use ring::rand::{SecureRandom, SystemRandom};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
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

/// Where servers are and who asks: all that a connection needs, made anew for each.
#[pyclass(name = "ConnectionSpec", module = "binarrow._native", frozen)]
pub(super) struct PyConnectionSpec {
    endpoints: Vec<Endpoint>,
    /// Gives the password.
    secret: Py<PyAny>,
    options: ConnectOptions,
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
    ) -> PyResult<Self> {
        let endpoints: Vec<_> = endpoints.into_iter().map(endpoint).collect();
        let first = endpoints.first().ok_or_else(no_host)?.clone();
        let mut options = ConnectOptions::new(first, user, Secret::default());
        options.tls = tls.map(tls_mode).transpose()?;
        options.tls_files = TlsFiles {
            ca: tls_ca,
            certificate: tls_cert,
            key: tls_key,
            server_name: tls_server_name,
        };
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
        Ok(Self { endpoints, secret, options })
    }

    /// Connects to the first server that answers.
    fn open(&self, py: Python<'_>) -> PyResult<PyServer> {
        let candidates = self.candidates(py)?;
        let server = abandonable(py, move || open_first(candidates))?;
        Ok(PyServer::of(server)?)
    }

    /// A reader of the first server's log.
    #[pyo3(signature = (
        start, *, stop = None, server_id = None, heartbeat = 10.0, reconnect = None, max_latency = 0.5, tables = None,
        exclude_tables = None, split_key_updates = true, envelope = None, envelope_prefix = "_", types = None,
        column_names = "log", schemas = None, batch_rows = None, batch_bytes = None, batch_end = None, threads = None,
        uncommitted = "skip", skip_events = None, verify_checksum = true,
    ))]
    #[allow(clippy::too_many_arguments)] // likewise
    fn stream(
        &self,
        py: Python<'_>,
        start: &Bound<'_, PyAny>,
        stop: Option<&Bound<'_, PyAny>>,
        server_id: Option<u32>,
        heartbeat: f64,
        reconnect: Option<f64>,
        max_latency: f64,
        tables: Option<Patterns>,
        exclude_tables: Option<Patterns>,
        split_key_updates: bool,
        envelope: Option<Vec<String>>,
        envelope_prefix: &str,
        types: Option<TypesKeyword>,
        column_names: &str,
        schemas: Option<SchemasKeyword>,
        batch_rows: Option<usize>,
        batch_bytes: Option<usize>,
        batch_end: Option<String>,
        threads: Option<usize>,
        uncommitted: &str,
        skip_events: Option<Vec<u8>>,
        verify_checksum: bool,
    ) -> PyResult<PyBinlogReader> {
        let ends =
            stop.is_some_and(|stop| stop.extract::<String>().is_ok_and(|stop| stop == "end"));
        let keywords = Keywords {
            tables,
            exclude_tables,
            start: None,
            stop: if ends { None } else { stop.map(|stop| stop.extract()).transpose()? },
            split_key_updates,
            envelope,
            envelope_prefix: envelope_prefix.to_owned(),
            types,
            column_names: column_names.to_owned(),
            schemas,
            batch_rows,
            batch_bytes,
            batch_end,
            segment_bytes: None,
            threads,
            uncommitted: uncommitted.to_owned(),
            skip_events,
            gaps: "error".to_owned(),
            verify_checksum,
        };
        let mut options = keywords.options(py)?;
        options.cut.max_latency = Some(seconds("max_latency", max_latency)?);
        let start = live_start(start)?;
        let dump = DumpOptions {
            server_id: server_id.map_or_else(random_id, Ok)?,
            heartbeat: seconds("heartbeat", heartbeat)?,
            ends,
        };
        let reconnect = reconnect.map(|limit| seconds("reconnect", limit)).transpose()?;
        let candidates = self.candidates(py)?;
        let server = abandonable(py, move || open_first(candidates))?;
        let live = LiveOptions { connector: self.connector(py), dump, reconnect };
        let source = LiveSource { server, start, options: live, control: Arc::default() };
        Ok(PyBinlogReader::live(source, options))
    }
}

impl PyConnectionSpec {
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
    fn connector(&self, py: Python<'_>) -> Connector {
        let spec = Self {
            endpoints: self.endpoints.clone(),
            secret: self.secret.clone_ref(py),
            options: self.options.clone(),
        };
        Box::new(move || {
            let ends = || Error::new(ErrorKind::ConnectionLost, "the interpreter ends");
            Python::try_attach(|py| spec.candidates(py)).ok_or_else(ends)?.map_err(|error| {
                Error::new(ErrorKind::Authentication, "the function that gives the password failed")
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

fn no_host() -> Error {
    Error::config("no host to connect to")
}

fn live_start(start: &Bound<'_, PyAny>) -> PyResult<LiveStart> {
    match start.extract::<String>().as_deref() {
        Ok("earliest") => return Ok(LiveStart::Earliest),
        Ok("latest") => return Ok(LiveStart::Latest),
        _ => {}
    }
    Ok(match start.extract::<Place>()? {
        Place::Position(position) => LiveStart::Position(position),
        Place::Gtids(gtids) => LiveStart::Gtids(gtids),
        Place::Time(time) => LiveStart::Time(time),
    })
}

/// An id that no other replica is likely to have: not 0, and below 2³⁰, which leaves room for a second dump's.
fn random_id() -> Result<u32> {
    let mut bytes = [0; 4];
    let failed = |_| Error::new(ErrorKind::Internal, "the system gives no random numbers");
    SystemRandom::new().fill(&mut bytes).map_err(failed)?;
    Ok(u32::from_le_bytes(bytes) >> 2 | 1 << 28)
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
