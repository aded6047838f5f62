//! `table_ranges`: divides the rows of a table, so that tasks read them in parallel.

use super::connection_spec::PyConnectionSpec;
use super::input::table_name;
use super::interrupts::abandonable;
use crate::change::TableFilter;
use crate::load::TableRanges;
use crate::position::KeyValues;
use pyo3::prelude::*;

#[doc = include_str!("docs/table_ranges.txt")]
#[pyfunction]
pub(super) fn table_ranges(
    py: Python<'_>,
    spec: &PyConnectionSpec,
    table: &str,
    rows: u64,
) -> PyResult<(String, bool, Vec<String>)> {
    let (database, table) = table_name(table)?;
    let (database, table) = (database.to_owned(), table.to_owned());
    let mut server = spec.connect(py)?;
    let ranges = abandonable(py, move || TableRanges::of(&mut server, &database, &table, rows))?;
    let ends = ranges.ends.iter().map(KeyValues::to_json).collect::<Result<_, _>>()?;
    Ok((ranges.identity, ranges.has_key, ends))
}

/// Returns the identity of a table now, as :func:`table_ranges` does; None without a table.
#[pyfunction]
pub(super) fn table_identity(
    py: Python<'_>,
    spec: &PyConnectionSpec,
    table: &str,
) -> PyResult<Option<String>> {
    let (database, table) = table_name(table)?;
    let (database, table) = (database.to_owned(), table.to_owned());
    let mut server = spec.connect(py)?;
    abandonable(py, move || crate::load::table_identity(&mut server, &database, &table))
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
