//! Values of keywords: names and patterns, columns, masks, salts, words.

use crate::columnar::{Mask, Selection};
use crate::error::Error;
use crate::protocol::Secret;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyMapping, PyString};

/// One pattern or word, or several.
pub(super) struct Patterns(Vec<String>);

impl Patterns {
    pub(super) fn into_vec(self) -> Vec<String> {
        self.0
    }
}

impl<'py> FromPyObject<'_, 'py> for Patterns {
    type Error = PyErr;

    fn extract(value: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        if let Ok(one) = value.extract::<String>() {
            return Ok(Self(vec![one]));
        }
        let several = value.try_iter().and_then(|items| {
            items.map(|item| item?.extract::<String>()).collect::<PyResult<Vec<_>>>()
        });
        several.map(Self).map_err(|_| PyTypeError::new_err("a str or a list of str is required"))
    }
}

/// The items of a mapping from text, in its order; a TypeError with the message for other values.
fn pairs<V>(value: Borrowed<'_, '_, PyAny>, message: &'static str) -> PyResult<Vec<(String, V)>>
where
    V: for<'a, 'py> FromPyObject<'a, 'py>,
{
    let unfit = || PyTypeError::new_err(message);
    let items = value.cast::<PyMapping>().map_err(|_| unfit())?.items()?;
    let pair = |item: Bound<'_, PyAny>| item.extract::<(String, V)>().map_err(|_| unfit());
    items.iter().map(pair).collect()
}

/// The columns to keep, by table pattern.
pub(super) struct ColumnsKeyword(pub(super) Selection);

impl<'py> FromPyObject<'_, 'py> for ColumnsKeyword {
    type Error = PyErr;

    fn extract(value: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        let message =
            "columns is a dict of tables, each with its columns: {'shop.orders': ['id', 'total']}";
        let tables = pairs::<Patterns>(value, message)?.into_iter();
        Ok(Self(Selection::try_new(tables.map(|(table, columns)| (table, columns.into_vec())))?))
    }
}

/// The masks of columns, by pattern.
pub(super) struct MaskKeyword(pub(super) Vec<(String, Mask)>);

impl<'py> FromPyObject<'_, 'py> for MaskKeyword {
    type Error = PyErr;

    fn extract(value: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        let message = "mask is a dict of columns: {'shop.customers.email': 'sha256'}";
        let columns = pairs::<String>(value, message)?.into_iter();
        let masks = columns.map(|(column, mask)| Ok((column, Mask::parse(&mask)?)));
        masks.collect::<PyResult<_>>().map(Self)
    }
}

/// The salt of hashes, as text or bytes.
pub(super) struct SaltKeyword(pub(super) Secret);

impl<'py> FromPyObject<'_, 'py> for SaltKeyword {
    type Error = PyErr;

    /// No error contains the salt.
    fn extract(value: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        if let Ok(text) = value.cast::<PyString>() {
            let text = text
                .to_str()
                .map_err(|_| Error::config("mask_salt is not valid Unicode: pass bytes"))?;
            return Ok(Self(Secret::new(text)));
        }
        match value.cast::<PyBytes>() {
            Ok(bytes) => Ok(Self(Secret::new(bytes.as_bytes()))),
            Err(_) => Err(PyTypeError::new_err("mask_salt is a str or bytes")),
        }
    }
}

/// The word that a keyword has, which must be one of a few.
pub(super) fn word(
    keyword: &str,
    given: &str,
    words: &[&'static str],
) -> Result<&'static str, Error> {
    words
        .iter()
        .copied()
        .find(|word| *word == given)
        .ok_or_else(|| Error::config(format!("{keyword} must be one of {words:?}, not {given:?}")))
}
