//! `table_ranges`: divides the rows of tables, so that tasks read them in parallel.

use super::connection_spec::PyConnectionSpec;
use super::input::table_name;
use super::interrupts::abandonable;
use crate::change::TableFilter;
use crate::error::Result;
use crate::load::{TableRanges, table_identity};
use crate::position::KeyValues;
use pyo3::prelude::*;

#[doc = include_str!("docs/table_ranges.txt")]
#[pyfunction]
pub(super) fn table_ranges(
    py: Python<'_>,
    spec: &PyConnectionSpec,
    tables: Vec<String>,
    rows: u64,
) -> PyResult<Vec<(String, bool, Vec<String>)>> {
    let names = names_of(&tables)?;
    let mut server = spec.connect(py)?;
    let found = abandonable(py, move || {
        let of = |(database, table): &Name| TableRanges::of(&mut server, database, table, rows);
        names.iter().map(of).collect::<Result<Vec<_>>>()
    })?;
    let stored = |ranges: TableRanges| {
        let ends = ranges.ends.iter().map(KeyValues::to_json).collect::<Result<_>>()?;
        Ok((ranges.identity, ranges.has_key, ends))
    };
    found.into_iter().map(stored).collect()
}

/// Returns the identities of tables now, as :func:`table_ranges`; None for one that is missing.
#[pyfunction]
pub(super) fn table_identities(
    py: Python<'_>,
    spec: &PyConnectionSpec,
    tables: Vec<String>,
) -> PyResult<Vec<Option<String>>> {
    let names = names_of(&tables)?;
    let mut server = spec.connect(py)?;
    abandonable(py, move || {
        let of = |(database, table): &Name| table_identity(&mut server, database, table);
        names.iter().map(of).collect()
    })
}

/// The database and the name of a table.
type Name = (String, String);

fn names_of(tables: &[String]) -> Result<Vec<Name>> {
    let split = |table: &String| {
        table_name(table).map(|(database, name)| (database.to_owned(), name.to_owned()))
    };
    tables.iter().map(split).collect()
}

/// Returns the names of the tables that patterns select. Views are not tables.
#[pyfunction]
pub(super) fn selected_tables(
    py: Python<'_>,
    spec: &PyConnectionSpec,
    tables: Vec<String>,
    exclude_tables: Vec<String>,
) -> PyResult<Vec<String>> {
    let filter = TableFilter::try_new(&tables, &exclude_tables)?;
    let mut server = spec.connect(py)?;
    let selected = abandonable(py, move || crate::load::selected(&mut server, &filter))?;
    Ok(selected.iter().map(ToString::to_string).collect())
}
