//! `TableSchema`, `Column` and `Key`: the structure of a table, from a server, a history or a read.

mod column;
mod key;
mod structure;
mod table;

pub(super) use column::PyColumn;
pub(super) use key::PyKey;
pub(super) use structure::Structure;
pub(super) use table::PyTableSchema;

use crate::error::{Error, Result};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

/// One of `words`.
fn word(words: &[&'static str], text: &str, keyword: &str) -> Result<&'static str> {
    words.iter().copied().find(|word| *word == text).ok_or_else(|| {
        Error::config(format!("{keyword} must be one of {}, not {text:?}", words.join(", ")))
    })
}

/// An object as the call that makes it.
fn shown(class: &str, fields: &Bound<'_, PyDict>) -> PyResult<String> {
    let mut arguments = Vec::with_capacity(fields.len());
    for (name, value) in fields {
        arguments.push(format!("{name}={}", value.repr()?));
    }
    Ok(format!("{class}({})", arguments.join(", ")))
}

/// The arguments that pickle passes to `__new__`.
type NewArguments<'py> = (Bound<'py, PyTuple>, Bound<'py, PyDict>);
