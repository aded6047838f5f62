//! The functions of the Python package that this module calls. The package passes them at its import: nothing here imports it.

use crate::error::{Error, ErrorKind};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;

static HOOKS: PyOnceLock<Hooks> = PyOnceLock::new();

pub(super) struct Hooks {
    /// Finds the files at a URI: `(uri, storage_options)` to a kind and a list of names with sizes.
    pub(super) find_files: Py<PyAny>,
    /// Opens a file: `(uri, storage_options)` to a file object and its size.
    pub(super) open_file: Py<PyAny>,
    /// Opens a history: a URL or path to an object with `__binarrow_history__`.
    pub(super) open_history: Py<PyAny>,
    /// Represents an object of this module in a notebook: an object to HTML.
    html_of: Py<PyAny>,
}

#[doc = include_str!("docs/set_hooks.txt")]
#[pyfunction]
#[pyo3(signature = (*, find_files, open_file, open_history, html_of))]
pub(super) fn set_hooks(
    py: Python<'_>,
    find_files: Py<PyAny>,
    open_file: Py<PyAny>,
    open_history: Py<PyAny>,
    html_of: Py<PyAny>,
) {
    // A second import of the package has the same functions.
    HOOKS.set(py, Hooks { find_files, open_file, open_history, html_of }).ok();
}

pub(super) fn hooks(py: Python<'_>) -> PyResult<&Hooks> {
    HOOKS.get(py).ok_or_else(|| {
        Error::new(ErrorKind::Internal, "the package binarrow is not imported").into()
    })
}

/// An object of this module as HTML, for a notebook.
pub(super) fn html_of<'py>(value: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    hooks(value.py())?.html_of.bind(value.py()).call1((value,))
}
