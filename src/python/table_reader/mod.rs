//! `TableReader`: changes as an Arrow stream of one schema, those of one table, or those of many as documents.

use super::capsule::{schema_capsule, stream_capsule};
use super::emptied_rows::{Outcome, Truncates, Verdict};
use super::errors::warn;
use super::position::PyPosition;
use super::running::{Running, SIGNAL_CHECK, Source, drop_detached};
use super::spellings::Spellings;
use super::summary::Summary;
use crate::change::{Doubt, Emptied, Include, Item};
use crate::columnar::{Conform, Layout, OnSchemaChange};
use crate::error::Error;
use crate::export::Documents;
use crate::reader::{ChangeBatch, KnownTables, Poll, Progress, ReadOptions};
use crate::source::LogItem;
use arrow_array::{RecordBatch, RecordBatchReader};
use arrow_pyarrow::ToPyArrow;
use arrow_schema::{ArrowError, Schema, SchemaRef};
use pyo3::prelude::*;
use pyo3::sync::MutexExt;
use pyo3::types::{PyCapsule, PyDict, PyList, PyTuple};
use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Changes as an Arrow stream of one schema.
#[pyclass(name = "TableReader", module = "binarrow", frozen)]
pub(super) struct PyTableReader {
    shared: Arc<Shared>,
}

/// What the reader and the streams made from it have in common.
struct Shared(Mutex<State>);

struct State {
    running: Option<Box<Running>>,
    summary: Option<Summary>,
    name: String,
    on_change: OnSchemaChange,
    truncates: Truncates,
    layout: Layout,
    prefix: String,
    conform: Option<Conform>,
    /// The batch that the schema was taken from.
    first: Option<Pulled>,
    /// Where to resume, once something behind it was refused.
    refused_at: Option<Option<Progress>>,
    /// A batch whose warning raised.
    ready: Option<Pulled>,
    /// Where the rows become documents: those so far.
    documents: Option<Pending>,
    /// The structures of the batches so far.
    known: KnownTables,
    /// True after the warning that a repair may have removed rows.
    has_warned_of_repair: bool,
    /// Whether the end, or an error, has been met.
    consumed: bool,
}

/// A batch, and where the reader stood before it.
type Pulled = (RecordBatch, Option<Progress>);

/// The table that a statement empties, or the database.
fn name_of(emptied: &Emptied) -> String {
    match &emptied.table {
        Some(table) => format!("{}.{table}", emptied.database),
        None => format!("{}.*", emptied.database),
    }
}

fn position_of(progress: Option<&Progress>) -> Option<PyPosition> {
    progress.map(|progress| PyPosition(progress.position()))
}

/// Documents on their way into a batch.
struct Pending {
    documents: Documents,
    /// Whether rows shall not wait for others.
    is_live: bool,
    /// Where to resume as long as rows wait here.
    before: Option<Progress>,
    /// The same as of before the last batch that was taken in.
    before_last: Option<Progress>,
    /// What came behind the rows that wait.
    failure: Option<PyErr>,
    /// The names of tables, as long as it is not known whether they differ by case.
    spellings: Spellings,
    /// The tables of which a repair may have removed rows.
    repaired: HashSet<String>,
}

impl PyTableReader {
    /// All tables' changes as `documents`, which have seen the options.
    pub(super) fn start_documents(
        py: Python<'_>,
        source: Source,
        mut options: ReadOptions,
        documents: Documents,
        truncates: Truncates,
    ) -> PyResult<Self> {
        let tables = options.decode.tables.clone();
        options.cut.include = Include { emptied: true, tables, ..Include::default() };
        let is_live = matches!(source, Source::Live(_));
        let known = KnownTables::new(options.decode.plan.column_names);
        let running = Running::start_table(py, source, options)?;
        let pending = Pending {
            documents,
            is_live,
            before: None,
            before_last: None,
            failure: None,
            spellings: Spellings::default(),
            repaired: HashSet::new(),
        };
        let state = State {
            running: Some(Box::new(running)),
            summary: None,
            name: String::new(),
            on_change: OnSchemaChange::Error,
            truncates,
            layout: Layout::default(),
            prefix: String::new(),
            conform: None,
            first: None,
            refused_at: None,
            ready: None,
            documents: Some(pending),
            known,
            has_warned_of_repair: false,
            consumed: false,
        };
        Ok(Self { shared: Arc::new(Shared(Mutex::new(state))) })
    }

    pub(super) fn start(
        py: Python<'_>,
        source: Source,
        mut options: ReadOptions,
        name: &str,
        schema: Option<SchemaRef>,
        (on_change, truncates): (OnSchemaChange, Truncates),
    ) -> PyResult<Self> {
        let layout = options.decode.plan.layout;
        let envelope = layout.envelope(&options.decode.plan.envelope);
        let prefix = envelope.prefix.clone();
        truncates.check(schema.as_deref(), layout, &prefix)?;
        let tables = options.decode.tables.clone();
        options.cut.include = Include { emptied: true, tables, ..Include::default() };
        let known = KnownTables::new(options.decode.plan.column_names);
        let running = Running::start_table(py, source, options)?;
        let state = State {
            running: Some(Box::new(running)),
            summary: None,
            name: name.to_owned(),
            on_change,
            truncates,
            layout,
            conform: schema.map(|schema| Conform::new(schema, on_change).with_envelope(&envelope)),
            prefix,
            first: None,
            refused_at: None,
            ready: None,
            documents: None,
            known,
            has_warned_of_repair: false,
            consumed: false,
        };
        Ok(Self { shared: Arc::new(Shared(Mutex::new(state))) })
    }
}

impl Shared {
    fn state(&self, py: Python<'_>) -> MutexGuard<'_, State> {
        // A thread that panicked with it has left nothing half done that matters here.
        self.0.lock_py_attached(py).unwrap_or_else(PoisonError::into_inner)
    }

    /// The schema of all batches: the caller's, else the first batch's. `None` where nothing tells.
    fn known_schema(&self, py: Python<'_>) -> PyResult<Option<SchemaRef>> {
        {
            let state = self.state(py);
            let documents = state.documents.as_ref().map(|pending| pending.documents.schema());
            let known = documents.or_else(|| state.conform.as_ref().map(Conform::schema));
            if let Some(schema) = known {
                return Ok(Some(Arc::clone(schema)));
            }
        }
        let Some((batch, before)) = self.pull(py)? else { return Ok(None) };
        let mut state = self.state(py);
        let schema = batch.schema();
        state.conform = Some(Conform::new(Arc::clone(&schema), state.on_change));
        state.first = Some((batch, before));
        Ok(Some(schema))
    }

    fn schema(&self, py: Python<'_>) -> PyResult<SchemaRef> {
        self.known_schema(py)?.ok_or_else(|| {
            let name = &self.state(py).name;
            let message = format!(
                "no change of table {name} in the input, so its schema is not known: give one with schema="
            );
            Error::schema(message).into()
        })
    }

    /// An error where all was read before: an empty table would look like one without changes.
    fn check_unread(&self, py: Python<'_>) -> PyResult<()> {
        let state = self.state(py);
        let waits = state.documents.as_ref().is_some_and(|pending| pending.waits());
        match state.consumed && state.first.is_none() && state.ready.is_none() && !waits {
            true => Err(Error::config("the table has been read already: make a new reader").into()),
            false => Ok(()),
        }
    }

    fn next(&self, py: Python<'_>) -> PyResult<Option<RecordBatch>> {
        if self.known_schema(py)?.is_none() {
            return Ok(None);
        }
        if self.state(py).documents.is_some() {
            return self.next_documents(py);
        }
        let (ready, first) = {
            let mut state = self.state(py);
            (state.ready.take(), state.first.take())
        };
        if let Some((batch, _)) = ready {
            return Ok(Some(batch));
        }
        let pulled = match first {
            Some(pulled) => Some(pulled),
            None => self.pull(py)?,
        };
        let Some((batch, before)) = pulled else { return Ok(None) };
        let conformed = self.state(py).conformed(batch);
        let (conformed, warning) =
            conformed.map_err(|error| self.refuse(py, error, before.clone()))?;
        if let Some(message) = warning
            && let Err(raised) = warn(py, &message)
        {
            self.state(py).ready = Some((conformed, before));
            return Err(raised);
        }
        Ok(Some(conformed))
    }

    /// What came after `before` is refused: there is nothing to go on with, and nothing is passed over.
    fn refuse(&self, py: Python<'_>, error: PyErr, before: Option<Progress>) -> PyErr {
        self.state(py).refused_at = Some(before);
        self.close(py);
        error
    }

    fn close(&self, py: Python<'_>) {
        let running = {
            let mut state = self.state(py);
            state.summary = state.summary();
            state.running.take()
        };
        // Its threads may wait for the interpreter's lock.
        py.detach(|| drop(running));
    }

    /// The next batch of documents: as many rows as are there, up to the limits; of files, as many as come.
    fn next_documents(&self, py: Python<'_>) -> PyResult<Option<RecordBatch>> {
        loop {
            let longest = {
                let mut state = self.state(py);
                let Some(pending) = &mut state.documents else { return Ok(None) };
                match pending.take_full() {
                    Ok(None) => {}
                    Ok(batch) => return Ok(batch),
                    Err(error) => {
                        // Half a batch is of no use, and what comes behind it neither.
                        drop(state);
                        self.close(py);
                        return Err(error.into());
                    }
                }
                if pending.failure.is_some() {
                    return pending.take_rest();
                }
                if state.running.is_none() {
                    return Err(Error::config("the reader is closed").into());
                }
                let pending = state.documents.as_ref();
                match pending.is_some_and(|pending| pending.is_live && pending.waits()) {
                    true => Duration::ZERO,
                    false => SIGNAL_CHECK,
                }
            };
            let polled = self.step(py, longest);
            let mut state = self.state(py);
            let State { truncates, documents, known, .. } = &mut *state;
            let Some(pending) = documents else { return Ok(None) };
            match polled {
                Ok((Poll::Batch(change), _)) => {
                    match pending.check_name(&change, *truncates, known) {
                        Ok(messages) => {
                            known.see(&change);
                            pending.take_in(change);
                            drop(state);
                            messages.iter().try_for_each(|message| warn(py, message))?;
                        }
                        Err(error) => pending.failure = Some(error.into()),
                    }
                }
                Ok((Poll::Item(item), before)) => {
                    match pending.meet(&item, before, *truncates, known) {
                        Ok(None) => {}
                        Ok(Some(message)) => {
                            drop(state);
                            warn(py, &message)?;
                        }
                        Err(error) => pending.failure = Some(error.into()),
                    }
                }
                Ok((Poll::End, _)) => return pending.take_rest(),
                Ok(_) if longest.is_zero() => return pending.take_rest(),
                Ok(_) => {}
                Err(error) => pending.failure = Some(error),
            }
        }
    }

    /// The next batch of one table.
    fn pull(&self, py: Python<'_>) -> PyResult<Option<Pulled>> {
        loop {
            let (polled, before) = self.step(py, SIGNAL_CHECK)?;
            match polled {
                Poll::Batch(change) => {
                    self.state(py).known.see(&change);
                    return Ok(Some((change.batch, before)));
                }
                Poll::End => return Ok(None),
                Poll::Item(item) => {
                    let met = self.state(py).emptied(&item);
                    match met.map_err(|error| self.refuse(py, error, before.clone()))? {
                        Outcome::Row(batch) => return Ok(Some((batch, before))),
                        Outcome::Warning(message) => warn(py, &message)?,
                        Outcome::Nothing => {}
                    }
                }
                Poll::Pending => {}
            }
        }
    }

    /// Waits for a batch once; tells where the reader stood before.
    fn step(&self, py: Python<'_>, longest: Duration) -> PyResult<(Poll, Option<Progress>)> {
        let (step, before) = match &mut self.state(py).running {
            Some(running) => {
                let before = running.progress();
                (running.step(py, longest), before)
            }
            None => return Err(Error::config("the reader is closed").into()),
        };
        let keep = |polled| {
            if let Some(running) = &mut self.state(py).running {
                running.keep(polled);
            }
        };
        let is_failure = step.is_failure();
        let settled = step.settle(py, keep);
        if is_failure || matches!(settled, Ok(Poll::End)) {
            self.state(py).consumed = true;
        }
        Ok((settled?, before))
    }
}

impl Pending {
    /// Whether rows are here that were not handed out.
    fn waits(&self) -> bool {
        self.documents.rows() > 0 || self.documents.is_in_batch()
    }

    fn take_in(&mut self, change: ChangeBatch) {
        self.stand_at(Some(change.before.clone()));
        self.documents.take_in(change);
    }

    /// Checks the name of a batch's table: statements before it may have emptied the table under a name in other letter case.
    fn check_name(
        &mut self,
        change: &ChangeBatch,
        truncates: Truncates,
        known: &KnownTables,
    ) -> Result<Vec<String>, Error> {
        let mut messages = Vec::new();
        for item in self.spellings.meet_rows(&change.database, &change.table) {
            let Item::Emptied(emptied) = &item.item else { continue };
            if let Verdict::Warning(message) =
                truncates.judge(&name_of(emptied), emptied, &item, (known, &|_| true))?
            {
                messages.push(message);
            }
        }
        Ok(messages)
    }

    /// A statement that empties a table, behind the rows so far; gives what the caller is to be told.
    fn meet(
        &mut self,
        item: &LogItem,
        before: Option<Progress>,
        truncates: Truncates,
        known: &KnownTables,
    ) -> Result<Option<String>, Error> {
        let doubted = self.spellings.meet_item(item);
        let item = doubted.as_ref().unwrap_or(item);
        // Nothing else is included.
        let Item::Emptied(emptied) = &item.item else { return Ok(None) };
        let name = name_of(emptied);
        if emptied.doubt == Some(Doubt::Repair) && !self.repaired.insert(name.clone()) {
            return Ok(None);
        }
        match truncates.judge(&name, emptied, item, (known, &|_| true))? {
            Verdict::Nothing => Ok(None),
            Verdict::Warning(message) => Ok(Some(message)),
            Verdict::Row => {
                self.stand_at(before);
                let table = (emptied.database.as_str(), emptied.table.as_deref());
                self.documents.append_emptied(table, item.commit_version, item.commit_timestamp)?;
                Ok(None)
            }
        }
    }

    /// Where the reader stood before what is taken in.
    fn stand_at(&mut self, before: Option<Progress>) {
        if !self.waits() {
            self.before.clone_from(&before);
        }
        self.before_last = before;
    }

    /// A batch, where there are rows enough.
    fn take_full(&mut self) -> Result<Option<RecordBatch>, Error> {
        match self.documents.fill()? {
            true => self.finish().map(Some),
            false => Ok(None),
        }
    }

    /// All rows that are left; then what came behind them.
    fn take_rest(&mut self) -> PyResult<Option<RecordBatch>> {
        if self.documents.rows() > 0 {
            return Ok(Some(self.finish()?));
        }
        self.failure.take().map_or(Ok(None), Err)
    }

    fn finish(&mut self) -> Result<RecordBatch, Error> {
        let batch = self.documents.finish()?;
        self.before = self.documents.place().or_else(|| self.before_last.clone());
        Ok(batch)
    }
}

impl State {
    /// The batch under the wanted schema, and what the caller is to be told.
    fn conformed(&mut self, batch: RecordBatch) -> PyResult<(RecordBatch, Option<String>)> {
        let name = &self.name;
        let Some(conform) = &mut self.conform else { return Ok((batch, None)) };
        let conformed =
            conform.apply(&batch).map_err(|error| error.context(format_args!("table {name}")))?;
        let dropped = conform.take_dropped();
        let warning = match dropped.as_slice() {
            [] => None,
            [column] => {
                Some(format!("the column {column} is not in the wanted schema and is dropped"))
            }
            columns => {
                let names = columns.join(", ");
                Some(format!("the columns {names} are not in the wanted schema and are dropped"))
            }
        };
        Ok((conformed, warning.map(|what| format!("table {name}: {what}"))))
    }

    /// What a statement leads to that empties the table.
    fn emptied(&mut self, item: &LogItem) -> PyResult<Outcome> {
        // Nothing else is included.
        let Item::Emptied(emptied) = &item.item else { return Ok(Outcome::Nothing) };
        if emptied.doubt == Some(Doubt::Repair)
            && std::mem::replace(&mut self.has_warned_of_repair, true)
        {
            return Ok(Outcome::Nothing);
        }
        let schema = self.conform.as_ref().map(Conform::schema);
        let wanted = (schema, self.layout, self.prefix.as_str());
        Ok(self.truncates.meet((&self.name, emptied), item, &self.known, wanted)?)
    }

    fn summary(&self) -> Option<Summary> {
        self.running.as_ref().map(|running| running.summary()).or_else(|| self.summary.clone())
    }
}

#[pymethods]
impl PyTableReader {
    #[getter]
    fn schema<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.shared.schema(py)?.to_pyarrow(py)
    }

    #[getter]
    fn position(&self, py: Python<'_>) -> Option<PyPosition> {
        let state = self.shared.state(py);
        match (&state.documents, &state.refused_at) {
            (Some(pending), _) if pending.waits() => position_of(pending.before.as_ref()),
            (_, Some(before)) => position_of(before.as_ref()),
            _ if state.first.is_some() => {
                position_of(state.first.as_ref().and_then(|(_, before)| before.as_ref()))
            }
            _ if state.ready.is_some() => {
                position_of(state.ready.as_ref().and_then(|(_, before)| before.as_ref()))
            }
            _ => state.summary().and_then(|summary| summary.position()),
        }
    }

    #[getter]
    fn closed(&self, py: Python<'_>) -> bool {
        self.shared.state(py).running.is_none()
    }

    fn stats<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        match self.shared.state(py).summary() {
            Some(summary) => summary.stats(py),
            None => Ok(PyDict::new(py)),
        }
    }

    /// Not by way of the stream: pyarrow would call it without the interpreter's lock from a call that has it.
    fn read_all<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.shared.check_unread(py)?;
        let schema = self.shared.schema(py)?.to_pyarrow(py)?;
        let batches = PyList::empty(py);
        while let Some(batch) = self.shared.next(py)? {
            batches.append(batch.to_pyarrow(py)?)?;
        }
        py.import("pyarrow")?.getattr("Table")?.call_method1("from_batches", (batches, schema))
    }

    fn close(&self, py: Python<'_>) {
        self.shared.close(py);
    }

    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        // Best effort by the interface's rules: the caller casts.
        let _ = requested_schema;
        self.shared.check_unread(py)?;
        let schema = self.shared.schema(py)?;
        stream_capsule(py, Box::new(Stream { shared: Arc::clone(&self.shared), schema }))
    }

    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        let schema: Arc<Schema> = self.shared.schema(py)?;
        schema_capsule(py, &schema)
    }

    fn __iter__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    fn __next__<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        self.shared.next(py)?.map(|batch| batch.to_pyarrow(py)).transpose()
    }

    fn __enter__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    #[pyo3(signature = (*_exception))]
    fn __exit__(&self, py: Python<'_>, _exception: &Bound<'_, PyTuple>) {
        self.close(py);
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        let state = self.0.get_mut().unwrap_or_else(PoisonError::into_inner);
        if let Some(running) = state.running.take() {
            drop_detached(running);
        }
    }
}

/// The C stream's side of the reader. Its caller may hold the interpreter's lock or not.
struct Stream {
    shared: Arc<Shared>,
    schema: SchemaRef,
}

impl Iterator for Stream {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        let next = Python::try_attach(|py| self.shared.next(py));
        match next {
            Some(Ok(batch)) => batch.map(Ok),
            Some(Err(error)) => Some(Err(ArrowError::ExternalError(Box::new(error)))),
            None => None,
        }
    }
}

impl RecordBatchReader for Stream {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }
}
