//! The changes of one table with one schema: the caller's, or that of the first batch.

use super::{Changes, Input, locked};
use crate::change::{Item, Uncertainty};
use crate::columnar::{Conform, Envelope, Layout, OnSchemaChange};
use crate::error::Error;
use crate::python::emptied_rows::{Answer, Truncates};
use crate::python::errors::warn;
use crate::python::running::SIGNAL_CHECK;
use crate::reader::{KnownTables, Poll, Progress};
use crate::source::LogItem;
use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use pyo3::prelude::*;
use std::sync::{Arc, Mutex};

/// The changes of one table.
pub(super) struct OneTable {
    input: Input,
    name: String,
    on_change: OnSchemaChange,
    truncates: Truncates,
    layout: Layout,
    prefix: String,
    state: Mutex<State>,
}

struct State {
    /// `None` until the schema is known.
    conform: Option<Conform>,
    /// The batch that provided the schema.
    first: Option<Pulled>,
    /// The position at which to resume, after an error about a batch or an item.
    refused_at: Option<Option<Progress>>,
    /// A batch whose warning raised an exception.
    ready: Option<Pulled>,
    /// The structures of the batches so far.
    known: KnownTables,
    /// True after the warning that a repair may have removed rows.
    has_warned_of_repair: bool,
}

/// A batch, and the progress of the reader before it.
type Pulled = (RecordBatch, Option<Progress>);

impl OneTable {
    pub(super) fn new(
        input: Input,
        name: &str,
        schema: Option<SchemaRef>,
        (on_change, truncates): (OnSchemaChange, Truncates),
        (layout, envelope): (Layout, &Envelope),
        known: KnownTables,
    ) -> Self {
        let state = State {
            conform: schema.map(|schema| Conform::new(schema, on_change).with_envelope(envelope)),
            first: None,
            refused_at: None,
            ready: None,
            known,
            has_warned_of_repair: false,
        };
        Self {
            input,
            name: name.to_owned(),
            on_change,
            truncates,
            layout,
            prefix: envelope.prefix.clone(),
            state: Mutex::new(state),
        }
    }

    /// The schema of all batches: the caller's, else that of the first batch. `None` if there is no batch.
    fn known_schema(&self, py: Python<'_>) -> PyResult<Option<SchemaRef>> {
        if let Some(conform) = &locked(&self.state, py).conform {
            return Ok(Some(Arc::clone(conform.schema())));
        }
        let Some((batch, before)) = self.pull(py)? else { return Ok(None) };
        let mut state = locked(&self.state, py);
        let schema = batch.schema();
        state.conform = Some(Conform::new(Arc::clone(&schema), self.on_change));
        state.first = Some((batch, before));
        Ok(Some(schema))
    }

    /// Returns the next batch in its original form.
    fn pull(&self, py: Python<'_>) -> PyResult<Option<Pulled>> {
        loop {
            let (polled, before) = self.input.step(py, SIGNAL_CHECK)?;
            match polled {
                Poll::Batch(change) => {
                    locked(&self.state, py).known.see(&change);
                    return Ok(Some((change.batch, before)));
                }
                Poll::End => return Ok(None),
                Poll::Item(item) => {
                    let outcome = self.emptied(&mut locked(&self.state, py), &item);
                    match outcome.map_err(|error| self.refuse(py, error, before.clone()))? {
                        Answer::Row(batch) => return Ok(Some((batch, before))),
                        Answer::Warning(message) => warn(py, &message)?,
                        // `EmitAll` is for several tables.
                        Answer::OtherRows | Answer::Nothing => {}
                    }
                }
                Poll::Pending => {}
            }
        }
    }

    /// The reaction to a statement that empties the table.
    fn emptied(&self, state: &mut State, item: &LogItem) -> Result<Answer<RecordBatch>, Error> {
        // No other items are included.
        let Item::Emptied(emptied) = &item.item else { return Ok(Answer::Nothing) };
        if emptied.uncertainty == Some(Uncertainty::Repair)
            && std::mem::replace(&mut state.has_warned_of_repair, true)
        {
            return Ok(Answer::Nothing);
        }
        let schema = state.conform.as_ref().map(Conform::schema);
        let wanted = (schema, self.layout, self.prefix.as_str());
        self.truncates.react((&self.name, emptied), item, &state.known, wanted)
    }

    /// The batch under the schema, and a warning.
    fn conformed(
        &self,
        state: &mut State,
        batch: RecordBatch,
    ) -> Result<(RecordBatch, Option<String>), Error> {
        let name = &self.name;
        let Some(conform) = &mut state.conform else { return Ok((batch, None)) };
        let conformed =
            conform.apply(&batch).map_err(|error| error.context(format_args!("table {name}")))?;
        let dropped = conform.take_dropped();
        let warning = match dropped.as_slice() {
            [] => None,
            [column] => {
                Some(format!("the column {column} is not in the requested schema and is dropped"))
            }
            columns => {
                let names = columns.join(", ");
                Some(format!("the columns {names} are not in the requested schema and are dropped"))
            }
        };
        Ok((conformed, warning.map(|what| format!("table {name}: {what}"))))
    }

    /// Closes the input after an error about a batch or item that follows `before`: a caller that
    /// resumes there misses nothing.
    fn refuse(&self, py: Python<'_>, error: Error, before: Option<Progress>) -> PyErr {
        locked(&self.state, py).refused_at = Some(before);
        self.input.close(py);
        error.into()
    }
}

impl Changes for OneTable {
    fn input(&self) -> &Input {
        &self.input
    }

    fn schema(&self, py: Python<'_>) -> PyResult<SchemaRef> {
        self.known_schema(py)?.ok_or_else(|| {
            let message = format!(
                "no change of table {} in the input, so its schema is not known: pass one with ⟦schema⟧",
                self.name
            );
            Error::schema(message).into()
        })
    }

    fn next(&self, py: Python<'_>) -> PyResult<Option<RecordBatch>> {
        if self.known_schema(py)?.is_none() {
            return Ok(None);
        }
        let (ready, first) = {
            let mut state = locked(&self.state, py);
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
        let conformed = self.conformed(&mut locked(&self.state, py), batch);
        let (conformed, warning) =
            conformed.map_err(|error| self.refuse(py, error, before.clone()))?;
        if let Some(message) = warning
            && let Err(raised) = warn(py, &message)
        {
            locked(&self.state, py).ready = Some((conformed, before));
            return Err(raised);
        }
        Ok(Some(conformed))
    }

    fn waits(&self, py: Python<'_>) -> bool {
        let state = locked(&self.state, py);
        state.first.is_some() || state.ready.is_some()
    }

    fn progress(&self, py: Python<'_>) -> Option<Option<Progress>> {
        let state = locked(&self.state, py);
        let waiting = [&state.first, &state.ready].into_iter().flatten().next();
        state.refused_at.clone().or_else(|| waiting.map(|(_, before)| before.clone()))
    }
}
