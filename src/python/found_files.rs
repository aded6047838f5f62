//! The files of a `source` argument, without reading them.

use super::input::{paths, paths_by_folder};
use super::storage::Storage;
use crate::source::is_one_log;
use pyo3::prelude::*;
use std::collections::BTreeMap;

#[doc = include_str!("docs/expand_source.txt")]
#[pyfunction]
#[pyo3(signature = (source, *, storage_options=None))]
pub(super) fn expand_source(
    source: &Bound<'_, PyAny>,
    storage_options: Option<Storage>,
) -> PyResult<Vec<String>> {
    paths(source, &storage_options.unwrap_or_default())
}

#[doc = include_str!("docs/find_logs.txt")]
#[pyfunction]
#[pyo3(signature = (source, *, storage_options=None))]
pub(super) fn find_logs(
    source: &Bound<'_, PyAny>,
    storage_options: Option<Storage>,
) -> PyResult<BTreeMap<String, Vec<String>>> {
    paths_by_folder(source, &storage_options.unwrap_or_default())
}

/// True if files are those of one log: they are in one folder, or they have one name and consecutive numbers.
#[pyfunction(name = "is_one_log")]
pub(super) fn py_is_one_log(files: Vec<String>) -> bool {
    is_one_log(&files)
}
