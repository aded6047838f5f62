//! `RowSums`, `ChosenRows` and `RowChanges`: what `binarrow verify` compares.

use crate::error::{Error, ErrorKind, Result};
use crate::load::hash_rows;
use crate::verify::{ChosenRows, CollectedRows, Difference, RowChanges, RowSums};
use arrow_array::{Array, BooleanArray, Int64Array, RecordBatch};
use arrow_pyarrow::{FromPyArrow, ToPyArrow};
use pyo3::prelude::*;
use std::sync::{Mutex, MutexGuard};

/// The rows that the log changed between two copies of a table; :func:`binarrow.verify` uses it.
#[pyclass(name = "RowChanges", module = "binarrow._native", frozen)]
#[derive(Default)]
pub(super) struct PyRowChanges(Mutex<RowChanges>);

#[pymethods]
impl PyRowChanges {
    #[new]
    fn new() -> Self {
        Self::default()
    }

    /// Adds images of rows, in the order of the log. ``marks`` has two columns: true for images after a change, and the version.
    fn add(
        &self,
        py: Python<'_>,
        keys: &Bound<'_, PyAny>,
        rows: &Bound<'_, PyAny>,
        marks: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        let (keys, rows) = (batch(keys)?, batch(rows)?);
        let marks = batch(marks)?;
        let added: Result<()> = py.detach(|| {
            let is_after = column::<BooleanArray>(&marks, 0)?;
            let versions = column::<Int64Array>(&marks, 1)?;
            let marks = is_after.values().iter().zip(versions.values());
            let mut changes = locked(&self.0)?;
            let hashes = hashes(&keys, &rows)?;
            for ((key, row), (is_after, version)) in hashes.into_iter().zip(marks) {
                changes.add(key, row, is_after, *version);
            }
            Ok(())
        });
        Ok(added?)
    }

    /// The images from here on are those of transactions that the later copy may contain, or not.
    fn reach_uncertain(&self) -> PyResult<()> {
        locked(&self.0)?.reach_uncertain();
        Ok(())
    }

    /// Returns the parts with rows that are not as the log leaves them.
    fn contradicted_parts(&self, py: Python<'_>) -> PyResult<Vec<u32>> {
        let parts: Result<_> = py.detach(|| Ok(locked(&self.0)?.contradicted_parts()));
        Ok(parts?)
    }

    fn __len__(&self) -> PyResult<usize> {
        Ok(locked(&self.0)?.len())
    }
}

/// The number of the rows of each part of a table, and the sum of their hashes; :func:`binarrow.verify` uses it.
#[pyclass(name = "RowSums", module = "binarrow._native", frozen)]
#[derive(Default)]
pub(super) struct PyRowSums(Mutex<RowSums>);

#[pymethods]
impl PyRowSums {
    #[new]
    fn new() -> Self {
        Self::default()
    }

    /// Adds rows. With ``changes``, those of the later copy.
    #[pyo3(signature = (keys, rows, changes = None))]
    fn add(
        &self,
        py: Python<'_>,
        keys: &Bound<'_, PyAny>,
        rows: &Bound<'_, PyAny>,
        changes: Option<&Bound<'_, PyRowChanges>>,
    ) -> PyResult<()> {
        add_rows(&self.0, py, keys, rows, changes)
    }

    /// Adds the changed rows as they were in the earlier copy. All rows of the later copy were added.
    fn roll_back(&self, py: Python<'_>, changes: &Bound<'_, PyRowChanges>) -> PyResult<()> {
        roll_back(&self.0, py, changes)
    }

    /// Returns the parts that differ, each with its number of rows.
    fn differing(&self, py: Python<'_>, other: &Bound<'_, PyRowSums>) -> PyResult<Vec<(u32, u64)>> {
        let other = &other.get().0;
        let parts: Result<_> = py.detach(|| Ok(locked(&self.0)?.differing(&*locked(other)?)));
        Ok(parts?)
    }

    /// The number of rows.
    #[getter]
    fn rows(&self) -> PyResult<u64> {
        Ok(locked(&self.0)?.rows())
    }
}

/// The rows of some parts of a table; :func:`binarrow.verify` uses it.
#[pyclass(name = "ChosenRows", module = "binarrow._native", frozen)]
pub(super) struct PyChosenRows(Mutex<ChosenRows>);

#[pymethods]
impl PyChosenRows {
    #[new]
    fn new(parts: Vec<u32>) -> Self {
        Self(Mutex::new(ChosenRows::of(parts)))
    }

    /// Returns true for each key that is in one of the parts.
    fn has<'py>(&self, py: Python<'py>, keys: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let keys = batch(keys)?;
        let found: Result<BooleanArray> = py.detach(|| {
            let rows = locked(&self.0)?;
            let mut found = Vec::with_capacity(keys.num_rows());
            hash(&keys, |key| found.push(rows.has(key)))?;
            Ok(found.into())
        });
        found?.to_data().to_pyarrow(py)
    }

    /// Adds the rows that are in one of the parts. With ``changes``, those of the later copy.
    #[pyo3(signature = (keys, rows, changes = None))]
    fn add(
        &self,
        py: Python<'_>,
        keys: &Bound<'_, PyAny>,
        rows: &Bound<'_, PyAny>,
        changes: Option<&Bound<'_, PyRowChanges>>,
    ) -> PyResult<()> {
        add_rows(&self.0, py, keys, rows, changes)
    }

    /// Adds the changed rows as they were in the earlier copy. All rows of the later copy were added.
    fn roll_back(&self, py: Python<'_>, changes: &Bound<'_, PyRowChanges>) -> PyResult<()> {
        roll_back(&self.0, py, changes)
    }

    /// Compares the rows of the source with those of the target: the hash of each key that differs, and how.
    fn differences(
        &self,
        py: Python<'_>,
        target: &Bound<'_, PyChosenRows>,
        changes: &Bound<'_, PyRowChanges>,
    ) -> PyResult<Vec<(u128, &'static str)>> {
        let (target, changes) = (&target.get().0, &changes.get().0);
        let found: Result<Vec<_>> = py.detach(|| {
            let found = locked(&self.0)?.differences(&*locked(target)?, &*locked(changes)?);
            Ok(found.into_iter().map(|(key, difference)| (key, word(difference))).collect())
        });
        Ok(found?)
    }
}

/// Adds rows. With `changes`, those of the later copy.
fn add_rows(
    collected: &Mutex<impl CollectedRows + Send>,
    py: Python<'_>,
    keys: &Bound<'_, PyAny>,
    rows: &Bound<'_, PyAny>,
    changes: Option<&Bound<'_, PyRowChanges>>,
) -> PyResult<()> {
    let (keys, rows) = (batch(keys)?, batch(rows)?);
    let changes = changes.map(|changes| &changes.get().0);
    let added: Result<()> = py.detach(|| {
        let hashes = hashes(&keys, &rows)?.into_iter();
        let mut collected = locked(collected)?;
        match changes {
            None => hashes.for_each(|(key, row)| collected.add(key, row)),
            Some(changes) => {
                let mut changes = locked(changes)?;
                hashes.for_each(|(key, row)| collected.add_later(key, row, &mut changes));
            }
        }
        Ok(())
    });
    Ok(added?)
}

fn roll_back(
    collected: &Mutex<impl CollectedRows + Send>,
    py: Python<'_>,
    changes: &Bound<'_, PyRowChanges>,
) -> PyResult<()> {
    let changes = &changes.get().0;
    let done: Result<()> = py.detach(|| {
        locked(collected)?.roll_back(&*locked(changes)?);
        Ok(())
    });
    Ok(done?)
}

fn word(difference: Difference) -> &'static str {
    match difference {
        Difference::Missing => "missing",
        Difference::Extra => "extra",
        Difference::Different => "different",
        Difference::Unlogged => "unlogged",
    }
}

fn locked<T>(mutex: &Mutex<T>) -> Result<MutexGuard<'_, T>> {
    mutex.lock().map_err(|_| Error::new(ErrorKind::Internal, "a comparison of rows has failed"))
}

fn batch(batch: &Bound<'_, PyAny>) -> PyResult<RecordBatch> {
    RecordBatch::from_pyarrow_bound(batch)
}

fn column<T: 'static>(batch: &RecordBatch, place: usize) -> Result<&T> {
    let column = batch.columns().get(place).and_then(|column| column.as_any().downcast_ref());
    column.ok_or_else(|| Error::new(ErrorKind::Internal, "a column has another type"))
}

fn hash(batch: &RecordBatch, each: impl FnMut(u128)) -> Result<()> {
    hash_rows(batch.columns().iter().map(|column| column.as_ref() as &dyn Array), each)
}

/// The hashes of the key and of all cells of each row.
fn hashes(keys: &RecordBatch, rows: &RecordBatch) -> Result<Vec<(u128, u128)>> {
    let mut both = Vec::with_capacity(keys.num_rows());
    hash(keys, |key| both.push((key, 0)))?;
    let mut places = both.iter_mut();
    hash(rows, |row| {
        if let Some(place) = places.next() {
            place.1 = row;
        }
    })?;
    Ok(both)
}
