//! `UndoWriter`: batches in, SQL that reverses them out.

use super::change_batch::PyChangeBatch;
use super::type_options::{PySqlRows, PyTypeOptions};
use crate::error::{Error, Result};
use crate::platform;
use crate::reader::ChangeBatch;
use crate::undo::{Direction, ENVELOPE, Picked, Piece, UndoOptions, UndoScript, Zone, types};
use arrow_array::RecordBatch;
use arrow_pyarrow::FromPyArrow;
use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use std::sync::{Arc, Mutex, MutexGuard};

/// Writes the changes of batches as SQL that reverses or repeats them; :func:`binarrow.undo` uses it.
#[pyclass(name = "UndoWriter", module = "binarrow._native", frozen)]
pub(super) struct PyUndoWriter(Mutex<UndoScript>);

#[pymethods]
impl PyUndoWriter {
    #[new]
    #[pyo3(signature = (*, redo, gtids, threads, foreign_key_checks, dry_run, offsets, memory))]
    fn new(
        redo: bool,
        gtids: Vec<String>,
        threads: Vec<i64>,
        foreign_key_checks: bool,
        dry_run: bool,
        offsets: Vec<(i64, i32)>,
        memory: u64,
    ) -> Self {
        Self(Mutex::new(UndoScript::new(UndoOptions {
            direction: direction(redo),
            picked: Picked { gtids, threads },
            foreign_key_checks,
            zone: Zone { offsets },
            is_dry: dry_run,
            memory,
        })))
    }

    /// Adds the changes of a batch. ``with_effects`` are the numbers of the rows whose effects are added next, ascending.
    #[pyo3(signature = (batch, with_effects=Vec::new()))]
    fn add(
        &self,
        py: Python<'_>,
        batch: &Bound<'_, PyChangeBatch>,
        with_effects: Vec<usize>,
    ) -> PyResult<()> {
        let change = batch.get();
        Ok(py.detach(|| self.script()?.add(&change.0, &with_effects))?)
    }

    #[doc = include_str!("docs/UndoWriter.add_effects.txt")]
    fn add_effects(
        &self,
        py: Python<'_>,
        batch: &Bound<'_, PyChangeBatch>,
        rows: &Bound<'_, PyAny>,
        steps: Vec<i64>,
    ) -> PyResult<()> {
        let effects =
            ChangeBatch { batch: RecordBatch::from_pyarrow_bound(rows)?, ..batch.get().0.clone() };
        Ok(py.detach(|| self.script()?.add_effects(&effects, &steps))?)
    }

    /// Returns the rows of a batch whose transactions and connections are selected.
    fn picked(&self, batch: &Bound<'_, PyChangeBatch>) -> PyResult<Vec<usize>> {
        Ok(self.script()?.picked(&batch.get().0)?)
    }

    /// Returns the number of the part of the log that a batch belongs to. The changes of a part precede those of the next one.
    #[staticmethod]
    fn part(batch: &Bound<'_, PyChangeBatch>) -> u64 {
        batch.get().0.segment
    }

    /// Ends the script. ``notes`` are lines of the comment at its begin.
    fn finish(&self, py: Python<'_>, notes: Vec<String>) -> PyResult<()> {
        Ok(py.detach(|| self.script()?.finish(notes))?)
    }

    /// Returns the next piece of the script; None after the last one.
    fn next_piece<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        self.piece(py, false)
    }

    /// Returns the next piece of the script, or the offset and the size of a piece in the temporary file; None after the last one.
    fn next_piece_or_place<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        self.piece(py, true)
    }

    /// Returns the file descriptor of the temporary file; None if there is none, or the system cannot copy from it.
    fn fileno(&self) -> PyResult<Option<i32>> {
        Ok(self.script()?.file().and_then(platform::file_number))
    }

    /// Returns for each table its database and name, and the numbers of inserts, updates and deletes.
    fn counts(&self) -> PyResult<Vec<Counted>> {
        let script = self.script()?;
        let rows = script.counts().map(|((database, table), counts)| {
            let names = (database.to_owned(), table.to_owned());
            (names.0, names.1, counts.inserts, counts.updates, counts.deletes)
        });
        Ok(rows.collect())
    }

    /// The number of transactions of the complete script.
    #[getter]
    fn transactions(&self) -> PyResult<u64> {
        Ok(self.script()?.transactions())
    }

    /// Returns the keywords for reading rows. With ``filtered``, ``where`` can select rows.
    #[staticmethod]
    #[pyo3(signature = (*, filtered))]
    fn keywords(py: Python<'_>, filtered: bool) -> PyResult<Bound<'_, PyDict>> {
        let keywords = keywords(py)?;
        keywords.set_item("types", PyTypeOptions(types(filtered)))?;
        Ok(keywords)
    }

    /// Returns the keywords for reading batches that contain the SQL of this writer instead of rows, without ``where``.
    fn sql_keywords<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let writer = Arc::new(self.script()?.sql_writer());
        let keywords = keywords(py)?;
        keywords.set_item("types", PySqlRows { types: types(false), writer })?;
        Ok(keywords)
    }
}

/// The keywords except the types.
fn keywords(py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
    let envelope: Vec<_> = ENVELOPE.iter().map(|column| column.name()).collect();
    let keywords = PyDict::new(py);
    keywords.set_item("layout", "nested")?;
    keywords.set_item("split_key_updates", false)?;
    keywords.set_item("envelope", envelope)?;
    Ok(keywords)
}

const fn direction(redo: bool) -> Direction {
    if redo { Direction::Redo } else { Direction::Undo }
}

/// The counts of a table: its database and name, inserts, updates and deletes.
type Counted = (String, String, u64, u64, u64);

impl PyUndoWriter {
    fn piece<'py>(&self, py: Python<'py>, as_places: bool) -> PyResult<Option<Bound<'py, PyAny>>> {
        Ok(match py.detach(|| self.script()?.next_piece(as_places))? {
            None => None,
            Some(Piece::Text(text)) => Some(PyBytes::new(py, &text).into_any()),
            Some(Piece::Stored { start, size }) => Some((start, size).into_bound_py_any(py)?),
        })
    }

    fn script(&self) -> Result<MutexGuard<'_, UndoScript>> {
        self.0.lock().map_err(|_| Error::new(crate::ErrorKind::Internal, "the script has failed"))
    }
}
