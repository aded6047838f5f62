//! Baselines from servers: taken over a connection of their own, with warnings of what they lack.

use super::connection_spec::PyConnectionSpec;
use super::errors::{abandonable, warn};
use super::keywords::Patterns;
use super::live_log::random_id;
use super::position::PyPosition;
use crate::baseline::{Baseline, BaselineOptions};
use crate::change::TableFilter;
use crate::error::Error;
use crate::history::Schemas;
use pyo3::prelude::*;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// The structures of a server's tables, and the place of its log where they are so.
#[pyclass(name = "Baseline", module = "binarrow._native", frozen)]
pub(super) struct PyBaseline(Baseline);

#[pymethods]
impl PyBaseline {
    #[getter]
    fn script(&self) -> &str {
        &self.0.script
    }

    #[getter]
    fn position(&self) -> PyPosition {
        PyPosition(self.0.position.clone())
    }

    #[getter]
    fn tables(&self) -> usize {
        self.0.tables
    }

    #[getter]
    fn lower_case_table_names(&self) -> u8 {
        self.0.lower_case_table_names
    }
}

/// Takes a baseline, over a connection of its own; warns of what it lacks.
pub(super) fn take_baseline(
    py: Python<'_>,
    spec: &PyConnectionSpec,
    tables: TableFilter,
) -> PyResult<Baseline> {
    let mut server = spec.connect(py)?;
    let options = BaselineOptions { tables, server_id: random_id()? };
    let handle = server.connection().handle()?;
    let ends = Arc::new(AtomicBool::new(false));
    let told = Arc::clone(&ends);
    let taken = abandonable(py, move || {
        Baseline::take(&mut server, &options, &mut |_| !told.load(Ordering::Relaxed))
    });
    if taken.is_err() {
        // After Ctrl-C nobody waits for what it reads.
        ends.store(true, Ordering::Relaxed);
        handle.shutdown();
    }
    let baseline = taken?;
    for message in lacks(&baseline) {
        warn(py, &message)?;
    }
    Ok(baseline)
}

/// What a baseline does not hold, though it might.
fn lacks(baseline: &Baseline) -> Vec<String> {
    let mut lacks = Vec::new();
    if baseline.sees_all == Some(false) {
        lacks.push(
            "the account has no SELECT on *.*: tables that it may not see are not in the baseline; GRANT SELECT ON *.* TO \
             the user, or mind that the history does not know them"
                .to_owned(),
        );
    }
    for (table, why) in &baseline.untold {
        lacks.push(format!("{table} is not in the baseline: {why}"));
    }
    let mut given = Schemas::default();
    if given.add_text(&baseline.script).is_ok() {
        for (database, table, column) in given.doubtful_members() {
            lacks.push(format!(
                "a member of {database}.{table}.{column} holds '?', which servers print for characters beyond U+FFFF too: if \
                 it is one, give the table's CREATE TABLE statement with the character itself as another baseline"
            ));
        }
    }
    lacks
}

/// Which tables a baseline is of.
pub(super) fn table_filter(
    tables: Option<Patterns>,
    exclude_tables: Option<Patterns>,
) -> Result<TableFilter, Error> {
    let include = tables.map(Patterns::into_vec);
    if include.as_ref().is_some_and(Vec::is_empty) {
        return Err(Error::config("tables is empty: leave it out to take all tables"));
    }
    let exclude = exclude_tables.map(Patterns::into_vec).unwrap_or_default();
    TableFilter::try_new(&include.unwrap_or_default(), &exclude)
}

impl From<Baseline> for PyBaseline {
    fn from(baseline: Baseline) -> Self {
        Self(baseline)
    }
}
