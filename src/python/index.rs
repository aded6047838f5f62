//! The index of a file: built, and described.

use super::interrupts::interruptible;
use super::storage::Storage;
use crate::index::Index;
use crate::reader::{INDEX_SEGMENT_BYTES, build_index as build};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use std::collections::BTreeSet;

#[doc = include_str!("docs/build_index.txt")]
#[pyfunction]
#[pyo3(signature = (path, *, segment_bytes=None, most_bytes=None, storage_options=None))]
pub(super) fn build_index<'py>(
    py: Python<'py>,
    path: &str,
    segment_bytes: Option<u64>,
    most_bytes: Option<u64>,
    storage_options: Option<Storage>,
) -> PyResult<Bound<'py, PyBytes>> {
    let segment_bytes = segment_bytes.unwrap_or(INDEX_SEGMENT_BYTES);
    let storage = storage_options.unwrap_or_default();
    let bytes = interruptible(py, |cancel| {
        let open = || storage.input_file(path, 1);
        build(&open, (segment_bytes, most_bytes), cancel).map(|index| index.encode())
    })?;
    Ok(PyBytes::new(py, &bytes))
}

#[doc = include_str!("docs/describe_index.txt")]
#[pyfunction]
pub(super) fn describe_index<'py>(py: Python<'py>, content: &[u8]) -> PyResult<Bound<'py, PyDict>> {
    let index = Index::decode(content)?;
    let tables: BTreeSet<usize> =
        index.segments.iter().flat_map(|segment| &segment.tables).map(|table| table.map).collect();
    let columns = || {
        let tables = index.segments.iter().flat_map(|segment| &segment.tables);
        tables.flat_map(|table| &table.columns)
    };
    let described = PyDict::new(py);
    described.set_item("log_bytes", index.binding.log_bytes)?;
    described.set_item("segment_bytes", index.binding.segment_bytes)?;
    described.set_item("most_bytes", index.binding.most_bytes)?;
    described.set_item("segments", index.segments.len())?;
    let covered: u64 = index.segments.iter().map(|each| each.range.end - each.range.start).sum();
    described.set_item("covered_bytes", covered)?;
    described.set_item("tables", tables.len())?;
    described.set_item("has_ranges", columns().any(|column| column.range.is_some()))?;
    described.set_item("has_bloom_filters", columns().any(|column| column.bloom.is_some()))?;
    Ok(described)
}
