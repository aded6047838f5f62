//! `Server`: queries to a server about itself.

use super::input::table_name;
use super::interrupts::abandonable;
use super::position::PyPosition;
use super::table_schema::{PyTableSchema, Structure};
use crate::baseline::ShownTable;
use crate::error::{Error, ErrorKind, Result};
use crate::net::{BinlogFile, Flavor, Server, SocketHandle};
use crate::protocol::TextRow;
use pyo3::prelude::*;
use std::borrow::Cow;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A connection to a server; :class:`binarrow.Server` has one.
#[pyclass(name = "NativeServer", module = "binarrow._native", frozen)]
pub(super) struct PyServer {
    /// `None` during a query, and after the connection was closed.
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
    /// ``mysql`` or ``mariadb``.
    #[getter]
    fn flavor(&self) -> &'static str {
        self.about.flavor
    }

    /// The version that the server reports.
    #[getter]
    fn version(&self) -> &str {
        &self.about.version
    }

    /// The server's ``server_id``.
    #[getter]
    fn server_id(&self) -> u32 {
        self.about.server_id
    }

    /// ``server_uuid``, else MariaDB's ``server_uid``, else the ``server_id``.
    #[getter]
    fn id(&self) -> &str {
        &self.about.id
    }

    /// ``TLSv1.3`` or ``TLSv1.2``; None without TLS.
    #[getter]
    fn tls_version(&self) -> Option<&'static str> {
        self.about.tls_version
    }

    /// The connection's number on the server.
    #[getter]
    fn connection_id(&self) -> u32 {
        self.about.connection_id
    }

    /// The endpoint of the connection.
    #[getter]
    fn endpoint(&self) -> &str {
        &self.about.endpoint
    }

    /// True if the connection does not leave this machine.
    #[getter]
    fn is_local(&self) -> bool {
        self.about.is_local
    }

    /// Returns the current end of the log.
    fn position(&self, py: Python<'_>) -> PyResult<PyPosition> {
        self.ask(py, Server::position).map(PyPosition)
    }

    /// Names and sizes of the log's files.
    fn binlogs(&self, py: Python<'_>) -> PyResult<Vec<(String, u64)>> {
        let files = self.ask(py, Server::binlogs)?;
        Ok(files.into_iter().map(|BinlogFile { name, size }| (name, size)).collect())
    }

    /// Returns ``binlog_do_db`` and ``binlog_ignore_db``, if they are set.
    fn database_filters(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        self.ask(py, Server::database_filters)
    }

    /// Returns the structure of ``database.table``.
    fn describe(&self, py: Python<'_>, table: &str) -> PyResult<PyTableSchema> {
        let (database, name) = table_name(table)?;
        let (database, name) = (database.to_owned(), name.to_owned());
        let shown = self.ask(py, move |server| ShownTable::ask(server, &database, &name))?;
        let is_mariadb = shown.server.is_mariadb;
        Structure {
            table: Cow::Owned(shown.schema()?),
            is_mariadb,
            create_statement: Some(shown.statement),
        }
        .into_python(py)
    }

    /// The rows of one statement, as text; None is NULL.
    fn query(&self, py: Python<'_>, sql: String) -> PyResult<Vec<TextRow>> {
        self.ask(py, move |server| server.connection().query(&sql))
    }

    /// Ends the connection.
    fn close(&self) {
        self.handle.shutdown();
        drop(self.slot().take());
    }
}

impl PyServer {
    /// Returns the connection of a connected server.
    pub(super) fn of(mut server: Server) -> Result<Self> {
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

    fn slot(&self) -> MutexGuard<'_, Option<Server>> {
        self.server.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sends a query in a separate thread, so that Ctrl-C can interrupt the wait. After an error of
    /// the network the connection is closed.
    fn ask<T: Send + 'static>(
        &self,
        py: Python<'_>,
        question: impl FnOnce(&mut Server) -> Result<T> + Send + 'static,
    ) -> PyResult<T> {
        let closed = "the connection is closed, or another thread is using it";
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
        // A query that the server refuses does not affect the connection, and neither does one that was not sent after a fork.
        let stays = |kind| matches!(kind, ErrorKind::Server | ErrorKind::Config);
        if answer.as_ref().err().is_none_or(|error| stays(error.kind())) {
            *self.slot() = Some(server);
        }
        Ok(answer?)
    }
}
