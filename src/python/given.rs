//! The keywords of one call, as a dict of Python.

use super::keywords::word;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// The keywords of a call of a function; all of them are known.
pub(super) struct Given<'a, 'py>(Option<&'a Bound<'py, PyDict>>);

impl<'a, 'py> Given<'a, 'py> {
    /// Raises Python's TypeError for an unknown keyword, with the known name that is most like it.
    pub(super) fn try_new(
        function: &str,
        known: &[&str],
        keywords: Option<&'a Bound<'py, PyDict>>,
    ) -> PyResult<Self> {
        for key in keywords.iter().flat_map(|keywords| keywords.keys()) {
            let name = key.str()?.to_string_lossy().into_owned();
            if !known.contains(&name.as_str()) {
                let hint = hint(key.py(), &name, known)?;
                return Err(PyTypeError::new_err(format!(
                    "{function}() got an unexpected keyword argument '{name}'{hint}"
                )));
            }
        }
        Ok(Self(keywords))
    }

    /// Returns the value of a keyword, or its default. An error has a note with the name of the
    /// keyword.
    pub(super) fn get<T>(&self, name: &str, default: T) -> PyResult<T>
    where
        T: for<'b> FromPyObject<'b, 'py>,
    {
        let Some(value) = self.value(name)? else { return Ok(default) };
        value.extract::<T>().map_err(|error| with_note(value.py(), error.into(), name))
    }

    /// The value of a keyword, before its conversion.
    fn value(&self, name: &str) -> PyResult<Option<Bound<'py, PyAny>>> {
        self.0.map_or(Ok(None), |keywords| keywords.get_item(name))
    }

    /// Returns the value of a keyword that must be one of a few words.
    pub(super) fn word(
        &self,
        name: &str,
        words: &[&'static str],
        default: &'static str,
    ) -> PyResult<&'static str> {
        match self.value(name)? {
            Some(_) => Ok(word(name, &self.get(name, String::new())?, words)?),
            None => Ok(default),
        }
    }

    /// Returns the value of a keyword that must be one of a few words, or None.
    pub(super) fn optional_word(
        &self,
        name: &str,
        words: &[&'static str],
    ) -> PyResult<Option<&'static str>> {
        let given: Option<String> = self.get(name, None)?;
        given.map(|given| Ok(word(name, &given, words)?)).transpose()
    }
}

/// Adds the name of a keyword to an error about its value.
fn with_note(py: Python<'_>, error: PyErr, name: &str) -> PyErr {
    let note = format!("while processing '{name}'");
    // Without the note, the error is still correct.
    drop(error.value(py).call_method1("add_note", (note,)));
    error
}

/// The end of an error message: the known name that is most like `given`.
fn hint(py: Python<'_>, given: &str, names: &[&str]) -> PyResult<String> {
    let difflib = py.import("difflib")?;
    let matches = difflib.call_method1("get_close_matches", (given, names.to_vec(), 1))?;
    let nearest = matches.extract::<Vec<String>>()?.into_iter().next();
    Ok(nearest.map_or_else(String::new, |name| format!("; did you mean '{name}'?")))
}
