//! Rows of a Partial_update_rows event: documents of the after image are put together from those of the before image.
//!
//! The cells of the before image are taken in as always, and their places in the event kept: a partial cell of the after
//! image is the document at that place with its diffs applied. With `json='diff'` it is the diffs themselves.

use super::{CellResult, Image, TableBuilder, null_bits};
use crate::binlog::partial_columns;
use crate::columnar::builder::ColumnBuilder;
use crate::columnar::envelope::ChangeType;
use crate::columnar::type_options::Json;
use crate::error::DecodeError;
use crate::schema::ColumnType;
use crate::value::json;
use crate::wire::{Bitmap, Reader, Result};
use std::ops::Range;

/// What is kept of the row at hand; the buffers are used again for the next.
#[derive(Default)]
pub(super) struct PartialUpdate {
    before: Vec<Place>,
    after: Vec<Place>,
    /// A document put together, as a cell: its length, then its bytes.
    cell: Vec<u8>,
    /// Which columns the after image holds.
    present: Vec<u8>,
}

/// Where a cell stands, counted from the row's first byte.
#[derive(Clone)]
enum Place {
    Absent,
    Null,
    At(Range<usize>),
}

/// What became of a partial cell.
#[derive(PartialEq, Eq)]
enum Found {
    Value,
    /// It is as it was, and nobody knows how: the same as a column that the image leaves out.
    Absent,
}

impl TableBuilder {
    /// One row: both images, and two rows of the batch.
    pub(super) fn append_partial_update(
        &mut self,
        rows: &mut Reader<'_>,
        before: &Image<'_>,
        after: &Image<'_>,
        ordinal: i64,
    ) -> CellResult {
        let row = rows.as_slice();
        let mut partial = std::mem::take(&mut self.partial);
        self.append_placed_image(rows, before, &mut partial.before)?;
        self.append_envelope(ChangeType::UpdatePreimage, ordinal, before);
        self.append_partial_image(rows, row, after, &mut partial)?;
        let present = Bitmap(&partial.present);
        self.append_envelope(
            ChangeType::UpdatePostimage,
            ordinal + 1,
            &Image { present, ..*after },
        );
        let splits = self.split_key_updates && before.is_full && after.is_full;
        if splits && self.key_changes(row, &partial) {
            self.envelope.split_update();
        }
        self.partial = partial;
        Ok(())
    }

    /// One row image into the columns; `places` gets where its cells stand.
    fn append_placed_image(
        &mut self,
        rows: &mut Reader<'_>,
        image: &Image<'_>,
        places: &mut Vec<Place>,
    ) -> CellResult {
        places.clear();
        let row_len = rows.left();
        let nulls = null_bits(rows, image)?;
        let mut bit = 0;
        for (index, column) in self.columns.iter_mut().enumerate() {
            if !image.present.get(index) {
                column.append_null();
                places.push(Place::Absent);
                continue;
            }
            if nulls.get(bit) {
                column.append_null();
                places.push(Place::Null);
            } else {
                let start = row_len - rows.left();
                column.append(rows).map_err(|error| (index, error))?;
                places.push(Place::At(start..row_len - rows.left()));
            }
            bit += 1;
        }
        Ok(())
    }

    /// An after image with its value options into the columns. `row` begins with the before image.
    fn append_partial_image(
        &mut self,
        rows: &mut Reader<'_>,
        row: &[u8],
        image: &Image<'_>,
        partial: &mut PartialUpdate,
    ) -> CellResult {
        let PartialUpdate { before, after, cell, present } = partial;
        after.clear();
        present.clear();
        present.extend_from_slice(image.present.0);
        let types = self.plan.table.columns.iter().map(|column| &column.column_type);
        let json_columns = types.clone().filter(|t| matches!(t, ColumnType::Json { .. })).count();
        let in_first_column = |error| (0, error);
        let partial_columns = partial_columns(rows, json_columns).map_err(in_first_column)?;
        let nulls = null_bits(rows, image)?;
        let (mut bit, mut json_bit) = (0, 0);
        let wants_diffs = self.plan.types.json == Json::Diff;
        let columns = self.columns.iter_mut().zip(types).zip(before.iter());
        for (index, ((column, column_type), before)) in columns.enumerate() {
            let length_bytes = match column_type {
                ColumnType::Json { length_bytes } => Some(*length_bytes),
                _ => None,
            };
            let is_partial = length_bytes.is_some() && partial_columns.get(json_bit);
            json_bit += usize::from(length_bytes.is_some());
            if !image.present.get(index) {
                column.append_null();
                after.push(Place::Absent);
                continue;
            }
            let is_null = nulls.get(bit);
            bit += 1;
            if is_null {
                column.append_null();
                after.push(Place::Null);
                continue;
            }
            let start = row.len() - rows.left();
            let in_column = |error| (index, error);
            match length_bytes.filter(|_| is_partial) {
                None => column.append(rows).map_err(in_column)?,
                Some(length_bytes) => {
                    let len = rows.u32("length of JSON diffs").map_err(in_column)?;
                    let diffs = rows.take(len as usize, "JSON diffs").map_err(in_column)?;
                    if wants_diffs {
                        column.append_diffs(diffs).map_err(in_column)?;
                    } else {
                        let document = Before { place: before, row, length_bytes };
                        let found = document.append_patched(diffs, column.as_mut(), cell);
                        if found.map_err(in_column)? == Found::Absent
                            && let Some(byte) = present.get_mut(index / 8)
                        {
                            *byte &= !(1 << (index % 8));
                        }
                        self.wire_bytes += cell.len();
                    }
                }
            }
            after.push(Place::At(start..row.len() - rows.left()));
        }
        Ok(())
    }

    /// Whether the images differ in the key, by bytes.
    fn key_changes(&self, row: &[u8], partial: &PartialUpdate) -> bool {
        let cells = partial.before.iter().zip(&partial.after).zip(&self.plan.is_key);
        cells.filter(|(_, is_key)| **is_key).any(|((before, after), _)| match (before, after) {
            (Place::At(before), Place::At(after)) => {
                row.get(before.clone()) != row.get(after.clone())
            }
            (Place::Null, Place::Null) | (Place::Absent, Place::Absent) => false,
            _ => true,
        })
    }
}

/// What the before image says of a document.
struct Before<'b> {
    place: &'b Place,
    row: &'b [u8],
    length_bytes: u8,
}

impl Before<'_> {
    /// Appends the document with its diffs applied; it is put together in `cell`.
    fn append_patched(
        &self,
        diffs: &[u8],
        column: &mut dyn ColumnBuilder,
        cell: &mut Vec<u8>,
    ) -> Result<Found> {
        cell.clear();
        let before = match self.place {
            Place::At(range) => self.row.get(range.clone()).unwrap_or_default(),
            Place::Null if diffs.is_empty() => {
                column.append_null();
                return Ok(Found::Value);
            }
            Place::Null => {
                let why = "it changes a document that is NULL";
                return Err(DecodeError::DoesNotApply { what: "JSON diff", why });
            }
            Place::Absent if diffs.is_empty() => {
                column.append_null();
                return Ok(Found::Absent);
            }
            Place::Absent => return Err(DecodeError::PartialWithoutBefore),
        };
        if diffs.is_empty() {
            column.append(&mut Reader::new(before))?;
            return Ok(Found::Value);
        }
        let prefix = usize::from(self.length_bytes);
        cell.resize(prefix, 0);
        json::apply_diffs(before.get(prefix..).unwrap_or_default(), diffs, cell)?;
        let len = (cell.len() - prefix) as u64;
        let limit = u64::MAX >> (64 - 8 * u32::from(self.length_bytes).clamp(1, 4));
        if len > limit {
            return Err(DecodeError::Limit { what: "bytes of a JSON document", value: len, limit });
        }
        for (byte, length) in cell.iter_mut().zip(len.to_le_bytes()).take(prefix) {
            *byte = length;
        }
        column.append(&mut Reader::new(cell))?;
        Ok(Found::Value)
    }
}
