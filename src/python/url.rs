//! `Url`: the parts of a URL, for the package.

use crate::url::{self, Url};
use pyo3::prelude::*;
use pyo3::types::PyString;

/// The parts of a URL, with their escapes.
#[pyclass(name = "Url", module = "binarrow._native", frozen, get_all)]
pub(super) struct PyUrl {
    /// The text before ``://``, in lower case.
    scheme: String,
    /// All from ``://`` to the path or the query.
    authority: String,
    /// The user.
    user: Option<String>,
    /// The password.
    password: Option<String>,
    /// The authority without user and password: a host, or several with commas.
    hosts: String,
    /// The path, from its first slash on.
    path: String,
    /// The text after the question mark.
    query: String,
    /// True if it is the URL of a server of MySQL or MariaDB.
    is_server: bool,
    /// True if an ``@`` follows the hosts: a ``/`` or ``?`` in a password is not escaped.
    has_at_after_hosts: bool,
}

#[pymethods]
impl PyUrl {
    /// Splits a URL; None for text without ``://``.
    #[staticmethod]
    fn parse(text: &Bound<'_, PyString>) -> Option<Self> {
        // The name of a file may contain bytes that are not UTF-8.
        let text = text.to_string_lossy();
        let url = Url::parse(&text)?;
        Some(Self {
            scheme: url.scheme.to_ascii_lowercase(),
            authority: url.authority.to_owned(),
            user: url.user.map(str::to_owned),
            password: url.password.map(str::to_owned),
            hosts: url.hosts.to_owned(),
            path: url.path.to_owned(),
            query: url.query.to_owned(),
            is_server: url.is_server(),
            has_at_after_hosts: url.has_at_after_hosts(),
        })
    }

    /// The keywords after the question mark.
    #[getter]
    fn keywords(&self) -> Vec<(&str, &str)> {
        let keywords = self.query.split('&').filter(|keyword| !keyword.is_empty());
        keywords.map(|keyword| keyword.split_once('=').unwrap_or((keyword, ""))).collect()
    }
}

/// True if a URL, or one in a chain of URIs, contains a password.
#[pyfunction]
pub(super) fn has_password(url: &str) -> bool {
    url::has_password(url)
}

/// True if the text is a URI, or a chain of URIs in the form of fsspec, and not a path of this system.
#[pyfunction(name = "is_uri")]
pub(super) fn py_is_uri(text: &str) -> bool {
    url::is_uri(text)
}

/// Returns the URI without its query string and password, for messages.
#[pyfunction]
pub(super) fn shown_uri(uri: &str) -> String {
    url::shown(uri)
}
