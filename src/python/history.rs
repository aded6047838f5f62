//! `NativeHistory`: the structures of tables over time, which `binarrow.SchemaHistory` uses.

use super::baseline::{table_filter, take_baseline};
use super::connection_spec::PyConnectionSpec;
use super::ddl_session::{MYSQL_OF_TODAY, SqlModeKeyword, server, session};
use super::history_change::{PyChanges, with_tables};
use super::history_cursor::HistoryCursor;
use super::interrupts::abandonable;
use super::keywords::Patterns;
use super::position::PyPosition;
use super::schemas::Sql;
use super::server_schema::rows_schema;
use super::table_schema::{PyTableSchema, Structure};
use super::type_options::PyTypeOptions;
use crate::ddl::DdlSession;
use crate::error::advice::in_python;
use crate::error::{Error, Result};
use crate::history::{
    Baseline, LoggedDdl, MemoryStore, SchemaHistory, TableState, without_secrets,
};
use crate::position::{Place, Position};
use crate::store::{ServerStore, SqliteStore};
use arrow_pyarrow::ToPyArrow;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

/// The structures of tables over time. :class:`binarrow.SchemaHistory` is its public class.
#[pyclass(name = "NativeHistory", module = "binarrow._native", frozen)]
pub(super) struct PyHistory {
    shared: Arc<HistoryCursor>,
}

/// All tables, and the reason why one is unknown.
type Tables = Vec<(String, Option<String>)>;

#[pymethods]
impl PyHistory {
    /// Returns a history that is not stored.
    #[staticmethod]
    fn in_memory(source: &str) -> PyResult<Self> {
        Ok(Self::of(SchemaHistory::open(Box::<MemoryStore>::default(), source)?))
    }

    /// Returns a history in an SQLite database.
    #[staticmethod]
    fn in_file(py: Python<'_>, path: PathBuf, source: String) -> PyResult<Self> {
        let open = move || SchemaHistory::open(Box::new(SqliteStore::open(path)?), &source);
        abandonable(py, open).map(Self::of)
    }

    /// Returns a history in a database of a server.
    #[staticmethod]
    fn on_server(
        py: Python<'_>,
        spec: &PyConnectionSpec,
        database: String,
        source: String,
    ) -> PyResult<Self> {
        let connector = spec.connector(py);
        let open = move || {
            SchemaHistory::open(Box::new(ServerStore::open(connector, &database)?), &source)
        };
        abandonable(py, open).map(Self::of)
    }

    /// The name of the history in the store.
    #[getter]
    fn source(&self) -> &str {
        self.shared.history().source()
    }

    /// The store of the history, for messages.
    #[getter]
    fn place(&self) -> &str {
        self.shared.history().place()
    }

    /// Returns the position of the cursor.
    fn position(&self, py: Python<'_>) -> PyResult<Option<PyPosition>> {
        let position = self.work(py, |shared| match &*shared.view() {
            Some(view) => Ok(view.position().cloned()),
            None => shared.history().end(),
        })?;
        Ok(position.map(PyPosition))
    }

    /// Returns the covered ranges of logs: start, end, the id of the server.
    fn covered(&self, py: Python<'_>) -> PyResult<Vec<(PyPosition, PyPosition, Option<String>)>> {
        let timelines = self.work(py, |shared| shared.history().covered())?;
        let range = |timeline: crate::history::Timeline| {
            (PyPosition(timeline.from), PyPosition(timeline.reached), timeline.server)
        };
        Ok(timelines.into_iter().map(range).collect())
    }

    /// Adds the current tables of a server.
    #[pyo3(signature = (spec, *, tables = None, exclude_tables = None))]
    fn baseline_of_server(
        &self,
        py: Python<'_>,
        spec: &PyConnectionSpec,
        tables: Option<Patterns>,
        exclude_tables: Option<Patterns>,
    ) -> PyResult<PyPosition> {
        let has_all_tables = tables.is_none() && exclude_tables.is_none();
        let filter = table_filter(tables, exclude_tables)?;
        let taken = take_baseline(py, spec, filter.clone())?;
        let position = taken.position.clone();
        self.work(py, move |shared| {
            shared.check_matched(&filter, &taken.given())?;
            shared.begin(
                taken.given(),
                &taken.position,
                taken.timestamp,
                (!has_all_tables).then_some(&filter),
            )
        })?;
        Ok(PyPosition(position))
    }

    /// Adds the tables of a script.
    #[pyo3(signature = (text, position, *, tables = None, exclude_tables = None, server = None))]
    fn baseline_of_sql(
        &self,
        py: Python<'_>,
        text: Sql,
        position: Place,
        tables: Option<Patterns>,
        exclude_tables: Option<Patterns>,
        server: Option<&str>,
    ) -> PyResult<PyPosition> {
        let Place::Position(position) = position else {
            let message = "the position of a baseline is a Position or 'file:offset'";
            return Err(Error::config(message).into());
        };
        check_has_file(&position)?;
        let has_all_tables = tables.is_none() && exclude_tables.is_none();
        let filter = table_filter(tables, exclude_tables)?;
        let server = server.map(self::server).transpose()?.unwrap_or(MYSQL_OF_TODAY);
        let text = text.read("baseline")?;
        if text.is_empty() {
            return Err(Error::config("the baseline's SQL is empty").into());
        }
        let script = String::from_utf8_lossy(&text).into_owned();
        let at = (*position).clone();
        self.work(py, move |shared| {
            let baseline = Baseline::of_all_tables(script, DdlSession::new(server));
            if baseline.catalog()?.databases().next().is_none() {
                return Err(Error::config(
                    "the baseline's SQL has no CREATE DATABASE and no CREATE TABLE: pass the text that mysqldump --no-data --databases \
                     prints has, in UTF-8",
                ));
            }
            shared.check_matched(&filter, &baseline)?;
            shared.begin(baseline, &position, now(), (!has_all_tables).then_some(&filter))
        })?;
        Ok(PyPosition(at))
    }

    /// Adds a statement; returns its effect as the fields of a change.
    #[pyo3(signature = (
        position, database, ddl, *, timestamp = None, sql_mode = None, charset = None, default_collation = None,
        server = None,
    ))]
    #[allow(clippy::too_many_arguments)] // Python's keywords
    fn apply<'py>(
        &self,
        py: Python<'py>,
        position: Place,
        database: String,
        ddl: String,
        timestamp: Option<i64>,
        sql_mode: Option<SqlModeKeyword>,
        charset: Option<&str>,
        default_collation: Option<&str>,
        server: Option<&str>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let Place::Position(position) = position else {
            let message = "the position of a statement is a Position or 'file:offset'";
            return Err(Error::config(message).into());
        };
        check_has_file(&position)?;
        let server = match server {
            Some(text) => self::server(text)?,
            None => self.work(py, |shared| shared.server())?,
        };
        let sql_mode = sql_mode.unwrap_or_default();
        let session = session(server, &sql_mode, charset, default_collation)?;
        let ddl = LoggedDdl {
            position: *position,
            timestamp: timestamp.unwrap_or_else(now),
            database,
            statement: without_secrets(&ddl, session.quote_mode()).into_owned(),
            session,
        };
        let change = self.work(py, move |shared| {
            let mut own = shared.view();
            let followed = match &mut *own {
                Some(view) => view.apply(&ddl)?,
                None => shared.history().apply(&ddl)?,
            };
            Ok(with_tables(ddl, followed))
        })?;
        change.into_dict(py)
    }

    /// Returns the structure of a table.
    #[pyo3(signature = (database, table, position = None))]
    fn find(
        &self,
        py: Python<'_>,
        database: String,
        table: String,
        position: Option<Place>,
    ) -> PyResult<Option<PyTableSchema>> {
        let found = self.work(py, move |shared| {
            Structure::find(&*shared.catalog(position)?, &database, &table)
        })?;
        found.map(|found| found.into_python(py)).transpose()
    }

    /// Returns the Arrow schema of a table's rows; None if there is no such table.
    #[pyo3(signature = (database, table, types, position = None))]
    fn arrow_schema<'py>(
        &self,
        py: Python<'py>,
        database: String,
        table: String,
        types: PyTypeOptions,
        position: Option<Place>,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        let schema = self.work(py, move |shared| {
            let catalog = shared.catalog(position)?;
            if catalog.find(&database, &table).is_none() {
                return Ok(None);
            }
            let is_mariadb = catalog.server().is_some_and(|server| server.is_mariadb);
            rows_schema(catalog.schema(&database, &table)?, is_mariadb, types.0).map(Some)
        })?;
        schema.map(|schema| schema.to_pyarrow(py)).transpose()
    }

    /// Returns all tables, each with the reason if its schema is unknown.
    #[pyo3(signature = (position = None))]
    fn tables(&self, py: Python<'_>, position: Option<Place>) -> PyResult<Tables> {
        self.work(py, move |shared| {
            let catalog = shared.catalog(position)?;
            let tables = catalog.tables().map(|(database, table, state)| {
                let why = match state {
                    TableState::Known(_) => None,
                    TableState::Unknown(why) => Some(in_python(why.as_ref()).into_owned()),
                };
                (format!("{database}.{table}"), why)
            });
            Ok(tables.collect())
        })
    }

    /// Moves the cursor.
    fn rollback(&self, py: Python<'_>, position: Place) -> PyResult<()> {
        self.work(py, move |shared| {
            let position = shared.resolve(position)?;
            let view = shared.history().view_at(&position)?;
            *shared.view() = Some(view);
            Ok(())
        })
    }

    /// Stores a complete copy of all tables.
    fn checkpoint(&self, py: Python<'_>) -> PyResult<()> {
        self.work(py, |shared| shared.history().checkpoint())
    }

    /// Moves the end of the last covered range forward to a position, up to which there are no more statements.
    fn extend(&self, py: Python<'_>, position: &PyPosition) -> PyResult<()> {
        let position = position.0.clone();
        self.work(py, move |shared| shared.history().extend(&position))
    }

    /// Writes a copy of the stored history into a new file.
    fn copy_to(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        self.work(py, move |shared| shared.history().copy_to(&path))
    }

    /// Returns a script for each database.
    fn snapshot(&self, py: Python<'_>) -> PyResult<Vec<(String, String)>> {
        self.work(py, |shared| {
            let catalog = shared.catalog(None)?;
            let script = |name: &str| Some((name.to_owned(), catalog.database_script(name)?));
            Ok(catalog.databases().filter_map(script).collect())
        })
    }

    /// Removes the entries before a position or time.
    fn prune(&self, py: Python<'_>, before: Place) -> PyResult<()> {
        self.work(py, move |shared| {
            let position = shared.resolve(before)?;
            shared.history().prune(&position)
        })
    }

    /// Returns the entries of the history.
    #[pyo3(signature = (start = None, stop = None))]
    fn changes(
        &self,
        py: Python<'_>,
        start: Option<Place>,
        stop: Option<Place>,
    ) -> PyResult<PyChanges> {
        let (start, stop) = self.work(py, move |shared| {
            let place = |place: Option<Place>| place.map(|place| shared.resolve(place)).transpose();
            Ok((place(start)?, place(stop)?))
        })?;
        Ok(PyChanges::new(Arc::clone(self.shared.history()), start, stop))
    }

    /// Returns the tables at ``start``, as text for :meth:`LiveLog.between`.
    #[pyo3(signature = (start, stop, tables = None))]
    fn schema_snapshot(
        &self,
        py: Python<'_>,
        start: Place,
        stop: Place,
        tables: Option<Patterns>,
    ) -> PyResult<String> {
        let tables = table_filter(tables, None)?;
        self.work(py, move |shared| {
            let (start, stop) = (shared.resolve(start)?, shared.resolve(stop)?);
            shared
                .history()
                .schema_snapshot(&start, &stop, |database, table| tables.accepts(database, table))?
                .to_text()
        })
    }

    /// Closes the store.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        self.work(py, |shared| {
            shared.view().take();
            shared.history().close()
        })
    }
}

/// Checks that a position has a file: a history is ordered by file and offset.
fn check_has_file(position: &Position) -> Result<()> {
    match position.gtids_alone() {
        None => Ok(()),
        Some(_) => Err(Error::config(
            "the position is a GTID set alone, and a history needs a file and an offset: \
             server.range_end(position, stop=position) returns the position with both",
        )),
    }
}

impl PyHistory {
    fn of(history: Arc<SchemaHistory>) -> Self {
        Self { shared: Arc::new(HistoryCursor::new(history)) }
    }

    /// The history, for use by readers.
    pub(super) fn history(&self) -> &Arc<SchemaHistory> {
        self.shared.history()
    }

    /// Works in another thread, so that Ctrl-C can interrupt it.
    fn work<T: Send + 'static>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&HistoryCursor) -> Result<T> + Send + 'static,
    ) -> PyResult<T> {
        let shared = Arc::clone(&self.shared);
        abandonable(py, move || work(&shared))
    }
}

/// Microseconds since 1970 UTC.
fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_micros()).unwrap_or(i64::MAX)
}
