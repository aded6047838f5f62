//! The place of an item, which is not a row: its position, version and time.

use super::position::PyPosition;
use super::summary::datetime;
use crate::source::LogItem;
use pyo3::prelude::*;

/// The place of an item.
#[derive(PartialEq, Eq)]
pub(super) struct At {
    pub(super) position: PyPosition,
    pub(super) commit_version: Option<i64>,
    pub(super) commit_timestamp: Option<i64>,
}

impl At {
    pub(super) fn of(item: &LogItem) -> Self {
        Self {
            position: PyPosition((*item.position).clone()),
            commit_version: item.commit_version,
            commit_timestamp: item.commit_timestamp,
        }
    }

    pub(super) fn time<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        self.commit_timestamp.map(|micros| datetime(py, micros)).transpose()
    }

    pub(super) fn hash(&self) -> i64 {
        self.commit_version.unwrap_or_default() ^ self.position.0.offset.cast_signed()
    }
}
