//! The keyword `history`: a `SchemaHistory`, or the place of a stored one.

use super::history::PyHistory;
use super::hooks::hooks;
use crate::history::SchemaHistory;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyString;
use std::path::PathBuf;
use std::sync::Arc;

/// The method by which an object provides its `NativeHistory`.
const PROTOCOL: &str = "__binarrow_history__";

/// A history of table structures.
pub(super) struct HistoryKeyword(pub(super) Arc<SchemaHistory>);

impl<'py> FromPyObject<'_, 'py> for HistoryKeyword {
    type Error = PyErr;

    fn extract(value: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        let py = value.py();
        let is_place = value.is_instance_of::<PyString>() || value.extract::<PathBuf>().is_ok();
        let opened = match is_place {
            true => hooks(py)?.open_history.bind(py).call1((&*value,))?,
            false => value.to_owned(),
        };
        let native = match opened.hasattr(PROTOCOL)? {
            true => Some(opened.call_method0(PROTOCOL)?),
            false => None,
        };
        match native.as_ref().and_then(|native| native.cast::<PyHistory>().ok()) {
            Some(native) => Ok(Self(Arc::clone(native.get().history()))),
            None => Err(PyTypeError::new_err(
                "history is a SchemaHistory, or the URL or path of a stored one",
            )),
        }
    }
}
