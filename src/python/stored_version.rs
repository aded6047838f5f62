//! The versions of what is stored, for the modules of the package that store other things.

use crate::error::{Error, check_stored_version as check};
use crate::{history, index, load, position, source, store};
use pyo3::prelude::*;
use pyo3::types::PyDict;

#[doc = include_str!("docs/check_stored_version.txt")]
#[pyfunction]
pub(super) fn check_stored_version(what: &str, version: u64, known: u64) -> Result<(), Error> {
    check(what, version, known)
}

/// The version of each form that this module stores.
pub(super) fn stored_versions(py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
    let versions = PyDict::new(py);
    for (form, version) in [
        ("position", position::POSITION_VERSION),
        ("offset of a streaming query", position::OFFSET_VERSION),
        ("history file", store::FILE_VERSION),
        ("history on a server", store::SERVER_VERSION),
        ("history snapshot", history::SNAPSHOT_VERSION),
        ("index", index::INDEX_VERSION.into()),
        ("split", source::SPLIT_VERSION),
        ("certificate", load::CERTIFICATE_VERSION),
    ] {
        versions.set_item(form, version)?;
    }
    Ok(versions)
}
