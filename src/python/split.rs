//! Ranges of files, for tasks that decode them independently.

use super::errors::warn;
use super::history_keyword::HistoryKeyword;
use super::interrupts::interruptible;
use super::keywords::{Patterns, word};
use super::read_keywords::ReadKeywords;
use super::read_options::skip_events as known_codes;
use super::reader::PyBinlogReader;
use super::storage::Storage;
use crate::change::TableFilter;
use crate::error::Error;
use crate::error::advice::in_python;
use crate::source::{LogOptions, Split, add_history, link_splits as link, scan_splits as scan};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use std::path::PathBuf;

#[doc = include_str!("docs/Split.txt")]
#[pyclass(name = "Split", module = "binarrow", frozen, from_py_object)]
#[derive(Clone)]
pub(super) struct PySplit(Split);

#[pymethods]
impl PySplit {
    /// The path of the file, as it was given.
    #[getter]
    fn path(&self) -> &str {
        &self.0.path
    }

    /// The byte offset of the first event.
    #[getter]
    fn start(&self) -> Result<u64, Error> {
        self.0.start_offset()
    }

    /// The byte offset after the last event.
    #[getter]
    fn stop(&self) -> u64 {
        self.0.stop
    }

    /// The warnings of :func:`scan_splits` about a file without a Rotate or Stop event; in its last range.
    #[getter]
    fn warnings(&self) -> Vec<String> {
        self.0.warnings.iter().map(|warning| in_python(warning).into_owned()).collect()
    }

    /// Returns the range as JSON.
    fn to_json(&self) -> Result<String, Error> {
        self.0.to_json()
    }

    #[doc = include_str!("docs/Split.from_json.txt")]
    #[staticmethod]
    fn from_json(text: &str) -> Result<Self, Error> {
        Split::from_json(text).map(Self)
    }

    fn __repr__(&self) -> PyResult<String> {
        Ok(format!("<Split {} {}..{}>", self.0.path, self.0.start_offset()?, self.0.stop))
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        other.cast::<Self>().is_ok_and(|other| other.get().0 == self.0)
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let arguments = PyTuple::new(py, [self.to_json()?])?;
        (py.get_type::<Self>().getattr("from_json")?, arguments).into_pyobject(py)
    }
}

#[doc = include_str!("docs/scan_splits.txt")]
#[pyfunction]
#[pyo3(signature = (path, *, target_bytes=67_108_864, place=1, index="use", storage_options=None))]
pub(super) fn scan_splits(
    py: Python<'_>,
    path: PathBuf,
    target_bytes: u64,
    place: u64,
    index: &str,
    storage_options: Option<Storage>,
) -> PyResult<Vec<PySplit>> {
    let uses_index = word("index", index, &["use", "ignore"])? == "use";
    if target_bytes == 0 {
        return Err(Error::config("target_bytes must be at least 1").into());
    }
    let path = path.to_string_lossy();
    let file = storage_options.unwrap_or_default().input_file(&path, place);
    let splits =
        interruptible(py, |cancel| scan((file, &path), place, target_bytes, uses_index, cancel))?;
    splits.iter().flat_map(|split| &split.warnings).try_for_each(|message| warn(py, message))?;
    Ok(splits.into_iter().map(PySplit).collect())
}

#[doc = include_str!("docs/link_splits.txt")]
#[pyfunction]
#[pyo3(signature = (
    splits, *, gaps="error", history=None, tables=None, skip_events=None, storage_options=None
))]
pub(super) fn link_splits(
    py: Python<'_>,
    splits: Vec<PySplit>,
    gaps: &str,
    history: Option<HistoryKeyword>,
    tables: Option<Patterns>,
    skip_events: Option<Vec<u8>>,
    storage_options: Option<Storage>,
) -> PyResult<Vec<PySplit>> {
    let allow_gaps = word("gaps", gaps, &["error", "allow"])? == "allow";
    let mut splits: Vec<Split> = splits.into_iter().map(|split| split.0).collect();
    link(&mut splits, allow_gaps)?;
    if let Some(HistoryKeyword(history)) = history {
        let tables = tables.map(Patterns::into_vec).unwrap_or_default();
        let tables = TableFilter::try_new(&tables, &[])?;
        let skip_events = known_codes(skip_events)?;
        let options = LogOptions { allow_gaps, skip_events, ..LogOptions::default() };
        let storage = storage_options.unwrap_or_default();
        splits = interruptible(py, |cancel| {
            let file = |path: &str, place| storage.input_file(path, place);
            add_history(&mut splits, &history, &tables, &options, &file, cancel)?;
            Ok(splits)
        })?;
    }
    Ok(splits.into_iter().map(PySplit).collect())
}

#[doc = include_str!("docs/read_split.txt")]
#[pyfunction]
#[pyo3(signature = (split, *, options=None))]
pub(super) fn read_split(
    py: Python<'_>,
    split: &PySplit,
    options: Option<&Bound<'_, PyDict>>,
) -> PyResult<PyBinlogReader> {
    for name in ["start", "stop"] {
        if options.map_or(Ok(false), |options| options.contains(name))? {
            return Err(PyTypeError::new_err("a split has its own start and stop"));
        }
    }
    let mut keywords = ReadKeywords::of_call("read_split", options)?;
    let storage = keywords.storage_options.take().unwrap_or_default();
    let (files, start, stop) =
        split.0.input(&|path: &str, place| storage.input_file(path, place))?;
    let mut options = keywords.options(py)?;
    (options.cut.start, options.cut.stop) = (start, stop);
    options.cut.history = split.0.structures()?.or(options.cut.history);
    // The files before the split's own file are only needed for the transactions that were prepared
    // in them.
    options.cut.allow_gaps = true;
    Ok(PyBinlogReader::new(files, options))
}
