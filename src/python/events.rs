//! Batches as events of other tools: the names of the formats, and the options of reading for them.

use super::type_options::PyTypeOptions;
use crate::columnar::EnvelopeColumn;
use crate::error::{Error, Result};
use crate::export::EventFormat;
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// The format of a name.
pub(super) fn parse(name: &str) -> Result<EventFormat> {
    FORMATS.iter().find(|(own, _)| *own == name).map(|(_, format)| *format).ok_or_else(|| {
        let names: Vec<_> = FORMATS.iter().map(|(own, _)| *own).collect();
        Error::config(format!("unknown event format {name:?}; use one of {}", names.join(" and ")))
    })
}

const FORMATS: [(&str, EventFormat); 2] =
    [("ticdc-json", EventFormat::Ticdc), ("debezium-json", EventFormat::Debezium)];

#[doc = include_str!("docs/event_keywords.txt")]
#[pyfunction]
#[pyo3(signature = (event_format, *, query=false))]
pub(super) fn event_keywords<'py>(
    py: Python<'py>,
    event_format: &str,
    query: bool,
) -> PyResult<Bound<'py, PyDict>> {
    let format = parse(event_format)?;
    let mut envelope: Vec<_> = format.envelope().iter().map(|column| column.name()).collect();
    if query && format == EventFormat::Debezium {
        envelope.push(EnvelopeColumn::Query.name());
    }
    let keywords = PyDict::new(py);
    keywords.set_item("layout", "nested")?;
    keywords.set_item("types", PyTypeOptions(format.types()))?;
    keywords.set_item("envelope", envelope)?;
    Ok(keywords)
}
