//! The changes of all tables as nested JSON.

use super::{Changes, Input, locked};
use crate::change::{Emptied, Item, SchemaChange, TableFilter, Uncertainty};
use crate::ddl::DdlKind;
use crate::error::Error;
use crate::export::{AlteredTable, NestedJson};
use crate::python::emptied_rows::{Answer, Truncates};
use crate::python::errors::warn;
use crate::python::running::SIGNAL_CHECK;
use crate::python::spellings::Spellings;
use crate::reader::{ChangeBatch, KnownTables, Poll, Progress};
use crate::source::LogItem;
use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use pyo3::prelude::*;
use std::collections::HashSet;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// The changes of all tables as nested JSON.
pub(super) struct NestedJsonReader {
    input: Input,
    schema: SchemaRef,
    /// True if rows are returned without waiting for others.
    is_live: bool,
    state: Mutex<Pending>,
}

/// Rows that are not returned yet.
struct Pending {
    nested_json: NestedJson,
    truncates: Truncates,
    /// The tables that are read.
    tables: TableFilter,
    /// The structures of the batches so far.
    known: KnownTables,
    /// The position at which to resume, as long as rows are left.
    before: Option<Progress>,
    /// The position before the last batch that was added.
    before_last: Option<Progress>,
    /// The error that follows the rows that are left.
    failure: Option<PyErr>,
    /// The names of tables, as long as it is not known whether they differ by case.
    spellings: Spellings,
    /// The tables of which a repair may have removed rows.
    repaired: HashSet<String>,
}

impl NestedJsonReader {
    pub(super) fn new(
        input: Input,
        is_live: bool,
        nested_json: NestedJson,
        (truncates, tables): (Truncates, TableFilter),
        known: KnownTables,
    ) -> Self {
        let schema = Arc::clone(nested_json.schema());
        let state = Mutex::new(Pending {
            nested_json,
            truncates,
            tables,
            known,
            before: None,
            before_last: None,
            failure: None,
            spellings: Spellings::default(),
            repaired: HashSet::new(),
        });
        Self { input, schema, is_live, state }
    }

    /// Adds one result of the input. Returns false if there is none, or if the input is at its end.
    fn take_in(&self, py: Python<'_>, longest: Duration) -> PyResult<bool> {
        let polled = self.input.step(py, longest);
        let mut pending = locked(&self.state, py);
        let taken = match polled {
            Ok((Poll::Batch(change), _)) => pending.take_in(change),
            Ok((Poll::Item(item), before)) => pending.take_in_item(&item, before),
            Ok((Poll::End, _)) => return Ok(false),
            Ok((Poll::Pending, _)) => return Ok(!longest.is_zero()),
            Err(error) => {
                pending.failure = Some(error);
                return Ok(true);
            }
        };
        match taken {
            Ok(warnings) => {
                // Warnings run Python code, which may want the lock.
                drop(pending);
                warnings.iter().try_for_each(|message| warn(py, message))?;
            }
            Err(error) => pending.failure = Some(error.into()),
        }
        Ok(true)
    }
}

impl Changes for NestedJsonReader {
    fn input(&self) -> &Input {
        &self.input
    }

    fn schema(&self, _py: Python<'_>) -> PyResult<SchemaRef> {
        Ok(Arc::clone(&self.schema))
    }

    /// The next batch: of a server, the rows that are available, up to the limits; of files, as many as the
    /// limits allow.
    fn next(&self, py: Python<'_>) -> PyResult<Option<RecordBatch>> {
        loop {
            let longest = {
                let mut pending = locked(&self.state, py);
                match pending.take_full() {
                    Ok(None) => {}
                    Ok(batch) => return Ok(batch),
                    Err(error) => {
                        // A part of a batch cannot be used, and neither can the changes after it.
                        drop(pending);
                        self.input.close(py);
                        return Err(error.into());
                    }
                }
                if pending.failure.is_some() {
                    return pending.take_rest();
                }
                match self.is_live && pending.has_rows() {
                    true => Duration::ZERO,
                    false => SIGNAL_CHECK,
                }
            };
            self.input.check_open(py)?;
            if !self.take_in(py, longest)? {
                return locked(&self.state, py).take_rest();
            }
        }
    }

    fn waits(&self, py: Python<'_>) -> bool {
        locked(&self.state, py).has_rows()
    }

    fn progress(&self, py: Python<'_>) -> Option<Option<Progress>> {
        let pending = locked(&self.state, py);
        pending.has_rows().then(|| pending.before.clone())
    }
}

impl Pending {
    /// True if there are rows that were not returned.
    fn has_rows(&self) -> bool {
        self.nested_json.rows() > 0 || self.nested_json.is_in_batch()
    }

    /// Adds the rows of a batch. Returns warnings: statements before it may have emptied the table
    /// under a name in other letter case.
    fn take_in(&mut self, change: ChangeBatch) -> Result<Vec<String>, Error> {
        let mut warnings = Vec::new();
        for item in self.spellings.add_rows(&change.database, &change.table) {
            let Item::Emptied(emptied) = &item.item else { continue };
            if let Answer::Warning(message) = self.judge(&name_of(emptied), emptied, &item)? {
                warnings.push(message);
            }
        }
        self.known.see(&change);
        self.set_before(Some(change.before.clone()));
        self.nested_json.take_in(change);
        Ok(warnings)
    }

    /// Adds a statement that empties or alters a table, after the rows so far. Returns a warning, if
    /// there is one.
    fn take_in_item(
        &mut self,
        item: &LogItem,
        before: Option<Progress>,
    ) -> Result<Vec<String>, Error> {
        let in_other_case = self.spellings.add_item(item);
        let item = in_other_case.as_ref().unwrap_or(item);
        let emptied = match &item.item {
            Item::Emptied(emptied) => emptied,
            Item::SchemaChange(change) => return self.take_in_change(change, item, before),
            _ => return Ok(Vec::new()), // no other items are included
        };
        let name = name_of(emptied);
        if emptied.uncertainty == Some(Uncertainty::Repair) && !self.repaired.insert(name.clone()) {
            return Ok(Vec::new());
        }
        match self.judge(&name, emptied, item)? {
            Answer::Nothing => {}
            Answer::Warning(message) => return Ok(vec![message]),
            Answer::Row(()) => self.append(emptied, None, (item, before))?,
            Answer::OtherRows => {
                let changed = self.known.changed(emptied).into_iter();
                let converted: Vec<_> =
                    changed.map(|(name, new_type)| (name.to_lowercase(), new_type)).collect();
                let altered = AlteredTable {
                    changes_rows: true,
                    converted_columns: &converted,
                    ..AlteredTable::default()
                };
                self.append(emptied, Some(&altered), (item, before))?;
            }
        }
        Ok(Vec::new())
    }

    /// Appends the row of a statement.
    fn append(
        &mut self,
        emptied: &Emptied,
        altered: Option<&AlteredTable<'_>>,
        (item, before): (&LogItem, Option<Progress>),
    ) -> Result<(), Error> {
        self.set_before(before);
        let table = (emptied.database.as_str(), emptied.table.as_deref());
        let moment = (item.commit_version, item.commit_timestamp);
        self.nested_json.append_statement(table, altered, moment)
    }

    /// Adds a statement that creates tables, or drops or renames columns.
    fn take_in_change(
        &mut self,
        change: &SchemaChange,
        item: &LogItem,
        before: Option<Progress>,
    ) -> Result<Vec<String>, Error> {
        let altered = AlteredTable {
            is_created: change.kind == DdlKind::Create,
            changes_rows: false,
            converted_columns: &[],
            dropped_columns: &change.dropped_columns,
            renamed_columns: &change.renamed_columns,
        };
        let moves_columns =
            !(altered.dropped_columns.is_empty() && altered.renamed_columns.is_empty());
        if !altered.is_created && !moves_columns {
            return Ok(Vec::new());
        }
        for name in &change.tables {
            if self.tables.accepts(&name.database, &name.table) {
                self.set_before(before.clone());
                let table = (name.database.as_str(), Some(name.table.as_str()));
                let moment = (item.commit_version, item.commit_timestamp);
                self.nested_json.append_statement(table, Some(&altered), moment)?;
            }
        }
        Ok(Vec::new())
    }

    fn judge(&self, name: &str, emptied: &Emptied, item: &LogItem) -> Result<Answer<()>, Error> {
        self.truncates.judge(name, emptied, item, (&self.known, &|_| true))
    }

    /// Records the progress before rows.
    fn set_before(&mut self, before: Option<Progress>) {
        if !self.has_rows() {
            self.before.clone_from(&before);
        }
        self.before_last = before;
    }

    /// A batch, if there are enough rows.
    fn take_full(&mut self) -> Result<Option<RecordBatch>, Error> {
        match self.nested_json.fill()? {
            true => self.finish().map(Some),
            false => Ok(None),
        }
    }

    /// All rows that are left; then the error after them.
    fn take_rest(&mut self) -> PyResult<Option<RecordBatch>> {
        if self.nested_json.rows() > 0 {
            return Ok(Some(self.finish()?));
        }
        self.failure.take().map_or(Ok(None), Err)
    }

    fn finish(&mut self) -> Result<RecordBatch, Error> {
        let batch = self.nested_json.finish()?;
        self.before = self.nested_json.place().or_else(|| self.before_last.clone());
        Ok(batch)
    }
}

/// The table that a statement empties, or the database.
fn name_of(emptied: &Emptied) -> String {
    match &emptied.table {
        Some(table) => format!("{}.{table}", emptied.database),
        None => format!("{}.*", emptied.database),
    }
}
