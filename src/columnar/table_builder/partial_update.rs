//! Rows of a Partial_update_rows event: documents of the after image are put together from those of the before image.
//!
//! The cells of the before image are taken in as always, and their places in the event kept: a partial cell of the after
//! image is the document at that place with its diffs applied. With `json='diff'` it is the diffs themselves, unless the
//! update becomes a delete and an insert.

use super::{CellResult, Image, TableBuilder, null_bits};
use crate::binlog::partial_columns;
use crate::columnar::envelope::ChangeType;
use crate::columnar::type_options::Json;
use crate::error::DecodeError;
use crate::schema::{Column, ColumnType};
use crate::value::json;
use crate::wire::{Bitmap, Reader, Result};
use std::ops::Range;

/// What is kept of the row at hand; the buffers are used again for the next.
#[derive(Default)]
pub(super) struct PartialUpdate {
    before: Vec<Place>,
    after: Vec<Place>,
    /// The partial cells of the after image: their columns, and where their diffs stand.
    diffs: Vec<(usize, Range<usize>)>,
    /// Which columns the after image holds.
    present: Vec<u8>,
    /// A document put together, as a cell: its length, then its bytes.
    cell: Vec<u8>,
}

/// Where a cell stands, counted from the row's first byte.
#[derive(Clone)]
enum Place {
    Absent,
    Null,
    At(Range<usize>),
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
        self.append_partial_image(rows, row.len(), after, &mut partial)?;
        let splits = self.split_key_updates
            && before.is_full
            && after.is_full
            && self.key_changes(row, &partial);
        // An insert holds whole documents.
        let as_diffs = self.plan.types.json == Json::Diff && !splits;
        self.append_partial_cells(row, as_diffs, &mut partial)?;
        let present = Bitmap(&partial.present);
        let after = Image { present, ..*after };
        self.append_envelope(ChangeType::UpdatePostimage, ordinal + 1, &after);
        if splits {
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

    /// An after image into the columns, all but its partial cells. `row_len` counts the bytes from the before image on.
    fn append_partial_image(
        &mut self,
        rows: &mut Reader<'_>,
        row_len: usize,
        image: &Image<'_>,
        partial: &mut PartialUpdate,
    ) -> CellResult {
        let PartialUpdate { after, diffs, present, .. } = partial;
        after.clear();
        diffs.clear();
        present.clear();
        present.extend_from_slice(image.present.0);
        let is_json = |column: &Column| matches!(column.column_type, ColumnType::Json { .. });
        let table = &self.plan.table.columns;
        let json_columns = table.iter().filter(|column| is_json(column)).count();
        let partial_columns = partial_columns(rows, json_columns).map_err(|error| (0, error))?;
        let nulls = null_bits(rows, image)?;
        let (mut bit, mut json_bit) = (0, 0);
        for (index, (column, described)) in self.columns.iter_mut().zip(table).enumerate() {
            let is_json = is_json(described);
            let is_partial = is_json && partial_columns.get(json_bit);
            json_bit += usize::from(is_json);
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
            let in_column = |error| (index, error);
            let mut start = row_len - rows.left();
            if is_partial {
                let len = rows.u32("length of JSON diffs").map_err(in_column)?;
                start = row_len - rows.left();
                rows.take(len as usize, "JSON diffs").map_err(in_column)?;
                diffs.push((index, start..row_len - rows.left()));
            } else {
                column.append(rows).map_err(in_column)?;
            }
            after.push(Place::At(start..row_len - rows.left()));
        }
        Ok(())
    }

    /// The partial cells of the after image: as their diffs, or put together from the before image.
    fn append_partial_cells(
        &mut self,
        row: &[u8],
        as_diffs: bool,
        partial: &mut PartialUpdate,
    ) -> CellResult {
        let PartialUpdate { before, diffs, present, cell, .. } = partial;
        for (index, place) in diffs {
            let index = *index;
            let diffs = row.get(place.clone()).unwrap_or_default();
            let Some(column) = self.columns.get_mut(index) else { continue };
            let appended = match before.get(index) {
                _ if as_diffs => column.append_diffs(diffs),
                Some(Place::At(_)) if !self.plan.is_selected(index) => Ok(()),
                Some(Place::At(place)) if diffs.is_empty() => {
                    column.append(&mut Reader::new(row.get(place.clone()).unwrap_or_default()))
                }
                Some(Place::At(place)) => {
                    let before = row.get(place.clone()).unwrap_or_default();
                    patch_cell(before, diffs, self.plan.length_bytes(index), cell)
                        .and_then(|()| column.append(&mut Reader::new(cell)))
                        .inspect(|()| self.wire_bytes += cell.len())
                }
                Some(Place::Null) if diffs.is_empty() => {
                    column.append_null();
                    Ok(())
                }
                Some(Place::Null) => {
                    let why = "it changes a document that is NULL";
                    Err(DecodeError::DoesNotApply { what: "JSON diff", why })
                }
                // It is as it was, and nobody knows how: the same as a column that the image leaves out.
                _ if diffs.is_empty() => {
                    column.append_null();
                    if let Some(byte) = present.get_mut(index / 8) {
                        *byte &= !(1 << (index % 8));
                    }
                    Ok(())
                }
                _ => Err(DecodeError::PartialWithoutBefore),
            };
            appended.map_err(|error| (index, error))?;
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

/// Makes a cell of the document in the cell `before` with its diffs applied.
fn patch_cell(before: &[u8], diffs: &[u8], length_bytes: usize, cell: &mut Vec<u8>) -> Result<()> {
    cell.clear();
    cell.resize(length_bytes, 0);
    json::apply_diffs(before.get(length_bytes..).unwrap_or_default(), diffs, cell)?;
    let len = cell.len() - length_bytes;
    let bytes = len.to_le_bytes();
    if bytes.iter().skip(length_bytes).any(|byte| *byte != 0) {
        let limit = (1 << (8 * length_bytes)) - 1;
        return Err(DecodeError::Limit {
            what: "bytes of a JSON document",
            value: len as u64,
            limit,
        });
    }
    for (byte, length) in cell.iter_mut().zip(bytes).take(length_bytes) {
        *byte = length;
    }
    Ok(())
}
