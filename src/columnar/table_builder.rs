//! Rows of one table under one structure, on their way to a record batch.

mod partial_update;

use super::builder::ColumnBuilder;
use super::envelope::{ChangeType, EnvelopeBuilder, EnvelopeColumn, Stamp};
use super::table_plan::TablePlan;
use crate::binlog::{RowsEvent, RowsKind};
use crate::error::{DecodeError, Error, ErrorKind};
use crate::wire::{Bitmap, Reader};
use arrow_array::RecordBatch;
use partial_update::PartialUpdate;
use std::ops::Range;
use std::sync::Arc;

/// Takes rows events, each whole or not at all, and gives record batches.
pub struct TableBuilder {
    plan: Arc<TablePlan>,
    columns: Vec<Box<dyn ColumnBuilder>>,
    envelope: EnvelopeBuilder,
    split_key_updates: bool,
    wants_present: bool,
    /// Whether cells may be larger than the log holds them.
    inflates: bool,
    wire_bytes: usize,
    /// Where the key's cells stand in the images of the row at hand.
    key_before: Vec<Range<usize>>,
    key_after: Vec<Range<usize>>,
    partial: PartialUpdate,
}

/// Rows that one event held, by what they were.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RowCounts {
    /// Rows inserted.
    pub inserts: u64,
    /// Rows updated.
    pub updates: u64,
    /// Rows deleted.
    pub deletes: u64,
}

/// Which columns an image holds.
struct Image<'a> {
    present: Bitmap<'a>,
    count: usize,
    is_full: bool,
}

impl<'a> Image<'a> {
    fn new(present: Bitmap<'a>, width: usize) -> Self {
        let count = present.count_ones(width);
        Self { present, count, is_full: count == width }
    }
}

/// A cell that could not be decoded: its column, and why.
type CellResult<T = ()> = Result<T, (usize, DecodeError)>;

impl TableBuilder {
    /// A builder without rows.
    pub fn try_new(plan: Arc<TablePlan>, split_key_updates: bool) -> Result<Self, Error> {
        Ok(Self {
            columns: plan.builders()?,
            envelope: EnvelopeBuilder::default(),
            split_key_updates,
            wants_present: plan.envelope.columns.contains(&EnvelopeColumn::Present),
            inflates: plan.table.columns.iter().any(|column| column.column_type.is_compressed()),
            wire_bytes: 0,
            key_before: Vec::new(),
            key_after: Vec::new(),
            partial: PartialUpdate::default(),
            plan,
        })
    }

    /// The plan that it works by.
    pub fn plan(&self) -> &Arc<TablePlan> {
        &self.plan
    }

    /// Rows so far.
    pub fn rows(&self) -> usize {
        self.envelope.rows()
    }

    /// Bytes of the batch so far, about: the rows as the log holds them, what they inflate to, and the envelope.
    pub fn bytes(&self) -> usize {
        self.wire_bytes + self.rows() * ENVELOPE_ROW_BYTES
    }

    /// Appends all rows of an event, or none of them and the error.
    pub fn append(&mut self, event: &RowsEvent<'_>, stamp: &Stamp<'_>) -> Result<RowCounts, Error> {
        let first_row = self.rows();
        if first_row == 0 {
            self.columns.iter_mut().for_each(|column| column.begin());
        }
        let appended = match self.append_rows(event, stamp) {
            Ok(counts) => self.seal().map(|()| counts),
            Err(error) => Err((self.rows(), error)),
        };
        match appended {
            Ok(counts) => {
                self.envelope.end_event(stamp);
                self.wire_bytes += event.rows.len();
                if self.inflates {
                    let inflated = self.columns.iter_mut().map(|column| column.take_inflated());
                    self.wire_bytes += inflated.sum::<usize>();
                }
                Ok(counts)
            }
            Err((row, error)) => {
                self.truncate(first_row);
                let halves = if event.kind == RowsKind::Update { 2 } else { 1 };
                let row = row.saturating_sub(first_row) / halves + 1;
                Err(error.context(format_args!(
                    "table {}, row {row} of the event",
                    self.plan.table.full_name()
                )))
            }
        }
    }

    /// The rows so far as a batch; the builder is empty afterwards.
    pub fn finish(&mut self) -> Result<RecordBatch, Error> {
        let mut arrays = Vec::with_capacity(self.plan.schema.fields().len());
        let columns = self.columns.iter_mut().zip(&self.plan.is_selected);
        for (column, _) in columns.filter(|(_, is_selected)| **is_selected) {
            arrays.push(column.finish()?);
        }
        arrays.extend(self.envelope.finish(&self.plan.envelope, self.present_width()));
        self.wire_bytes = 0;
        RecordBatch::try_new(Arc::clone(&self.plan.schema), arrays)
            .map_err(|error| Error::new(ErrorKind::Internal, error.to_string()))
    }

    /// Zero dates that became NULL since the last call: column index and count.
    pub fn take_zero_dates(&mut self) -> impl Iterator<Item = (usize, u64)> + '_ {
        self.columns
            .iter_mut()
            .enumerate()
            .map(|(index, column)| (index, column.take_zero_dates()))
            .filter(|(_, count)| *count > 0)
    }

    fn append_rows(
        &mut self,
        event: &RowsEvent<'_>,
        stamp: &Stamp<'_>,
    ) -> Result<RowCounts, Error> {
        let width = self.columns.len();
        if event.width != width {
            return Err(Error::malformed(format!(
                "the rows have {} columns, the table map has {width}",
                event.width
            )));
        }
        let before = Image::new(event.columns, width);
        let after = Image::new(event.columns_after, width);
        let first = i64::from(stamp.rows_event) << 32;
        let mut counts = RowCounts::default();
        let mut rows = Reader::new(event.rows);
        let is_update = event.kind == RowsKind::Update;
        // An image without columns has no bytes: it is one row, with every column left out.
        if before.count == 0 && (!is_update || after.count == 0) {
            rows.finish("a row image without columns")?;
        }
        let mut ordinal = first;
        loop {
            match event.kind {
                RowsKind::Write => {
                    self.append_image(&mut rows, &before)
                        .map_err(|error| self.cell_error(error))?;
                    self.append_envelope(ChangeType::Insert, ordinal, &before);
                    counts.inserts += 1;
                }
                RowsKind::Delete => {
                    self.append_image(&mut rows, &before)
                        .map_err(|error| self.cell_error(error))?;
                    self.append_envelope(ChangeType::Delete, ordinal, &before);
                    counts.deletes += 1;
                }
                RowsKind::Update if event.has_value_options => {
                    self.append_partial_update(&mut rows, &before, &after, ordinal)
                        .map_err(|error| self.cell_error(error))?;
                    counts.updates += 1;
                }
                RowsKind::Update => {
                    self.append_update(&mut rows, &before, &after, ordinal)
                        .map_err(|error| self.cell_error(error))?;
                    counts.updates += 1;
                }
            }
            ordinal += 2;
            if rows.is_empty() {
                return Ok(counts);
            }
        }
    }

    fn append_update(
        &mut self,
        rows: &mut Reader<'_>,
        before: &Image<'_>,
        after: &Image<'_>,
        ordinal: i64,
    ) -> CellResult {
        let splits = self.split_key_updates && before.is_full && after.is_full;
        if !splits {
            self.append_image(rows, before)?;
            self.append_envelope(ChangeType::UpdatePreimage, ordinal, before);
            self.append_image(rows, after)?;
            self.append_envelope(ChangeType::UpdatePostimage, ordinal + 1, after);
            return Ok(());
        }
        let row = rows.as_slice();
        let mut key_before = std::mem::take(&mut self.key_before);
        let mut key_after = std::mem::take(&mut self.key_after);
        key_before.clear();
        key_after.clear();
        self.append_keyed_image(rows, before, row.len(), &mut key_before)?;
        self.append_envelope(ChangeType::UpdatePreimage, ordinal, before);
        self.append_keyed_image(rows, after, row.len(), &mut key_after)?;
        self.append_envelope(ChangeType::UpdatePostimage, ordinal + 1, after);
        // By bytes, not by collation: where the server holds `a` and `A` for one key, a lake does not.
        let cells = |ranges: &[Range<usize>]| -> bool {
            ranges.iter().zip(&key_after).all(|(b, a)| row.get(b.clone()) == row.get(a.clone()))
        };
        if !cells(&key_before) {
            self.envelope.split_update();
        }
        self.key_before = key_before;
        self.key_after = key_after;
        Ok(())
    }

    #[inline]
    fn append_envelope(&mut self, change_type: ChangeType, ordinal: i64, image: &Image<'_>) {
        self.envelope.append(change_type, ordinal);
        if self.wants_present {
            self.envelope.append_present(image.present.0);
        }
    }

    /// One row image into the columns.
    #[inline]
    fn append_image(&mut self, rows: &mut Reader<'_>, image: &Image<'_>) -> CellResult {
        let nulls = null_bits(rows, image)?;
        if image.is_full && no_nulls(nulls, image.count) {
            for (index, column) in self.columns.iter_mut().enumerate() {
                column.append(rows).map_err(|error| (index, error))?;
            }
            return Ok(());
        }
        let mut bit = 0;
        for (index, column) in self.columns.iter_mut().enumerate() {
            if !image.present.get(index) {
                column.append_null();
                continue;
            }
            if nulls.get(bit) {
                column.append_null();
            } else {
                column.append(rows).map_err(|error| (index, error))?;
            }
            bit += 1;
        }
        Ok(())
    }

    /// One full row image into the columns; `key` gets the places of the key's cells, counted from a row of `row_len`
    /// bytes left. A NULL cell has an empty place at 0.
    fn append_keyed_image(
        &mut self,
        rows: &mut Reader<'_>,
        image: &Image<'_>,
        row_len: usize,
        key: &mut Vec<Range<usize>>,
    ) -> CellResult {
        let nulls = null_bits(rows, image)?;
        let is_key = &self.plan.is_key;
        for (index, (column, is_key)) in self.columns.iter_mut().zip(is_key).enumerate() {
            let start = row_len - rows.left();
            if nulls.get(index) {
                column.append_null();
                if *is_key {
                    key.push(0..0);
                }
                continue;
            }
            column.append(rows).map_err(|error| (index, error))?;
            if *is_key {
                key.push(start..row_len - rows.left());
            }
        }
        Ok(())
    }

    /// Checks what columns check once an event; an error comes with its row.
    fn seal(&mut self) -> Result<(), (usize, Error)> {
        for index in 0..self.columns.len() {
            let sealed = self.columns.get_mut(index).map_or(Ok(()), |column| column.seal());
            sealed.map_err(|(row, error)| (row, self.cell_error((index, error))))?;
        }
        Ok(())
    }

    fn truncate(&mut self, rows: usize) {
        for column in &mut self.columns {
            column.truncate(rows);
        }
        let width = self.present_width();
        self.envelope.truncate(rows, width);
    }

    fn present_width(&self) -> usize {
        Bitmap::byte_count(self.columns.len())
    }

    fn cell_error(&self, (index, error): (usize, DecodeError)) -> Error {
        let name = self.plan.column_name(index);
        let column = self.plan.table.columns.get(index);
        let is_text = column.is_some_and(|column| column.column_type.is_character());
        let is_invalid = is_text && matches!(error, DecodeError::Text { .. });
        let error = Error::from(error).context(format_args!("column {name}"));
        match is_invalid {
            true => error.advise("invalid_text='replace' or 'binary' takes such cells"),
            false => error,
        }
    }
}

#[inline]
fn null_bits<'a>(rows: &mut Reader<'a>, image: &Image<'_>) -> CellResult<Bitmap<'a>> {
    let bytes = Bitmap::byte_count(image.count);
    rows.take(bytes, "null bits").map(Bitmap).map_err(|error| (0, error))
}

/// Whether none of the first `count` bits is 1. The unused bits of the last byte may be.
#[inline]
fn no_nulls(nulls: Bitmap<'_>, count: usize) -> bool {
    match nulls.0 {
        [] => true,
        [byte] => byte & (0xff_u8 >> ((8 - count % 8) % 8)) == 0,
        [whole @ .., last] => {
            last & (0xff_u8 >> ((8 - count % 8) % 8)) == 0 && whole.iter().all(|byte| *byte == 0)
        }
    }
}

/// What the envelope of a row takes, about.
const ENVELOPE_ROW_BYTES: usize = 48;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unused_null_bits_do_not_count() {
        assert!(no_nulls(Bitmap(&[0xfe]), 1));
        assert!(!no_nulls(Bitmap(&[0xff]), 1));
        assert!(no_nulls(Bitmap(&[0]), 8));
        assert!(!no_nulls(Bitmap(&[0x80]), 8));
        assert!(no_nulls(Bitmap(&[0, 0xfc]), 10));
        assert!(!no_nulls(Bitmap(&[1, 0xfc]), 10));
    }
}
