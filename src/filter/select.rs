//! A batch with some of its rows.

use crate::error::{Error, ErrorKind, Result};
use arrow_array::{Array, RecordBatch, make_array};
use arrow_data::transform::MutableArrayData;
use std::ops::Range;

/// Returns the rows of a range of a batch that are kept.
pub fn select_rows(batch: &RecordBatch, rows: Range<usize>, kept: &[bool]) -> Result<RecordBatch> {
    let kept = kept.get(rows.clone()).unwrap_or_default();
    let count = kept.iter().filter(|is_kept| **is_kept).count();
    if count == kept.len() {
        return Ok(batch.slice(rows.start, rows.len()));
    }
    if count == 0 {
        return Ok(batch.slice(rows.start, 0));
    }
    let runs = runs(rows.start, kept);
    let columns = batch.columns().iter().map(|column| {
        let data = column.to_data();
        let mut selected = MutableArrayData::new(vec![&data], false, count);
        for run in &runs {
            selected.try_extend(0, run.start, run.end)?;
        }
        Ok(make_array(selected.freeze()))
    });
    columns
        .collect::<Result<_, _>>()
        .and_then(|columns| RecordBatch::try_new(batch.schema(), columns))
        .map_err(|error: arrow_schema::ArrowError| {
            Error::new(ErrorKind::Internal, error.to_string())
        })
}

/// The ranges of kept rows, counted from `start`.
fn runs(start: usize, kept: &[bool]) -> Vec<Range<usize>> {
    let mut runs: Vec<Range<usize>> = Vec::new();
    for (row, _) in (start..).zip(kept).filter(|(_, is_kept)| **is_kept) {
        match runs.last_mut() {
            Some(run) if run.end == row => run.end += 1,
            _ => runs.push(row..row + 1),
        }
    }
    runs
}
