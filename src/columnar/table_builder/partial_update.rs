//! Rows of a Partial_update_rows event: documents of the after image are built from those of the
//! before image.
//!
//! The places of all cells are found first. A partial cell of the after image is the document at
//! its place in the before image, with the diffs of the cell applied. With `json='diff'` it is the
//! diffs themselves, except if the update becomes a delete and an insert.

use super::image::{Image, ImageCell, Images, differs, null_bits, place_cells};
use super::row_columns::append_place;
use super::{CellResult, Held, TableBuilder};
use crate::binlog::{RowsKind, partial_columns};
use crate::change::{NewRow, OldRow};
use crate::columnar::builder::ColumnBuilder;
use crate::columnar::table_plan::TablePlan;
use crate::columnar::type_options::Json;
use crate::error::DecodeError;
use crate::schema::{Column, ColumnType};
use crate::value::json;
use crate::wire::{Bitmap, Reader, Result};

/// The parts of the current row. The buffers are reused for the next row.
#[derive(Default)]
pub(super) struct PartialUpdate {
    /// A place for each column.
    before: Vec<ImageCell>,
    after: Vec<ImageCell>,
    /// The columns that the after image contains.
    present: Vec<u8>,
    /// A new document as a cell: its length, then its bytes.
    cell: Vec<u8>,
    /// The number of bytes of such documents.
    put_together: usize,
}

impl TableBuilder {
    /// Appends one row: both images.
    pub(super) fn append_partial_update(
        &mut self,
        rows: &mut Reader<'_>,
        images: &Images<'_>,
        ordinal: i64,
    ) -> CellResult {
        let mut partial = std::mem::take(&mut self.partial);
        let appended = self.append_patched(rows, images, ordinal, &mut partial);
        self.wire_bytes += std::mem::take(&mut partial.put_together);
        self.partial = partial;
        appended
    }

    fn append_patched(
        &mut self,
        rows: &mut Reader<'_>,
        images: &Images<'_>,
        ordinal: i64,
        partial: &mut PartialUpdate,
    ) -> CellResult {
        let (Images { before, after, rows: event_rows }, mut row) = (images, *rows);
        let (plan, rule) = (&*self.plan, self.rule);
        let all = plan.is_key.len();
        place_cells(rows, before, &plan.cell_sizes, all, |_| true, &mut partial.before)?;
        place_patched_cells(rows, after, plan, &mut partial.after)?;
        partial.present.clear();
        partial.present.extend_from_slice(after.present.0);

        let places = partial.before.iter().zip(&partial.after).zip(&plan.is_key);
        let mut key = places.filter(|(_, is_key)| **is_key);
        let key_changed = key.any(|((before, after), _)| differs(event_rows, before, after));
        let updated = rule.update(key_changed, images.are_full());

        let placed = &mut self.sides.before().placed;
        match updated.old {
            Some(OldRow::Preimage | OldRow::Delete) => {
                placed.add_image(&mut row, before, plan)?;
            }
            Some(OldRow::DeleteByKey) => {
                let places = partial.before.iter().zip(&plan.is_key);
                let key = places.filter(|(_, is_key)| **is_key).map(|(place, _)| place);
                placed.add_key(key, plan);
            }
            None => {}
        }
        self.append_deleted(updated, ordinal, before);
        // An insert contains complete documents.
        let as_diffs = self.plan.types.json == Json::Diff && updated.new != NewRow::Insert;
        let filled = self.sides.fill(event_rows, RowsKind::Update, &self.plan);
        filled.map_err(|(_, error)| error)?;
        self.append_patched_image(event_rows, as_diffs, partial)?;
        let image = Bitmap(&partial.present);
        let held = match rule.old_value {
            true => Held::All(image),
            false => Held::Filled { image, key_of: before.present },
        };
        self.end_update(updated, ordinal, before, held);
        Ok(())
    }

    /// Appends the after image: its partial cells as diffs, or as documents made from the before image.
    fn append_patched_image(
        &mut self,
        event_rows: &[u8],
        as_diffs: bool,
        partial: &mut PartialUpdate,
    ) -> CellResult {
        let plan = &*self.plan;
        let mut builders = self.sides.after().builders_of_row();
        let places = partial.before.iter().zip(&partial.after).zip(&plan.is_key);
        for (index, ((before, after), is_key)) in places.enumerate() {
            let Some(column) = builders.next() else { break };
            let appended = match after {
                ImageCell::Diffs(place) => {
                    let diffs = event_rows.get(place.clone()).unwrap_or_default();
                    let patch = Patch {
                        event_rows,
                        before,
                        diffs,
                        length_bytes: plan.length_bytes(index),
                        is_selected: plan.is_selected(index),
                        is_nulled: plan.is_nulled(index),
                    };
                    let as_diffs = as_diffs && !plan.is_hashed(index);
                    match patch.append(column, as_diffs, &mut partial.cell) {
                        Ok(Patched::Document(bytes)) => {
                            partial.put_together += bytes;
                            Ok(())
                        }
                        // The document is unchanged and its value is not known, like that of a
                        // column that the image leaves out.
                        Ok(Patched::Unknown) => {
                            if let Some(byte) = partial.present.get_mut(index / 8) {
                                *byte &= !(1 << (index % 8));
                            }
                            Ok(())
                        }
                        Err(error) => Err(error),
                    }
                }
                ImageCell::Absent if *is_key && !self.rule.old_value => {
                    append_place(column, event_rows, before)
                }
                after => append_place(column, event_rows, after),
            };
            appended.map_err(|error| (index, error))?;
        }
        Ok(())
    }
}

/// Finds the places of an after image's cells; for partial cells, the places of their diffs.
pub(super) fn place_patched_cells(
    rows: &mut Reader<'_>,
    image: &Image<'_>,
    plan: &TablePlan,
    places: &mut Vec<ImageCell>,
) -> CellResult {
    places.clear();
    let is_json = |column: &Column| matches!(column.column_type, ColumnType::Json { .. });
    let table = &plan.table.columns;
    let json_columns = table.iter().filter(|column| is_json(column)).count();
    let partial_columns = partial_columns(rows, json_columns).map_err(|error| (0, error))?;
    let nulls = null_bits(rows, image)?;
    let (mut bit, mut json_bit) = (0, 0);
    for (index, (described, size)) in table.iter().zip(&plan.cell_sizes).enumerate() {
        let is_json = is_json(described);
        let is_partial = is_json && partial_columns.get(json_bit);
        json_bit += usize::from(is_json);
        if !image.present.get(index) {
            places.push(ImageCell::Absent);
            continue;
        }
        let is_null = nulls.get(bit);
        bit += 1;
        if is_null {
            places.push(ImageCell::Null);
            continue;
        }
        let in_column = |error| (index, error);
        if is_partial {
            let len = rows.u32("length of JSON diffs").map_err(in_column)?;
            let start = image.event_len - rows.left();
            rows.take(len as usize, "JSON diffs").map_err(in_column)?;
            places.push(ImageCell::Diffs(start..image.event_len - rows.left()));
        } else {
            let start = image.event_len - rows.left();
            size.skip(rows).map_err(in_column)?;
            places.push(ImageCell::At(start..image.event_len - rows.left()));
        }
    }
    Ok(())
}

/// A partial cell.
struct Patch<'a> {
    event_rows: &'a [u8],
    /// The place of the document that it changes.
    before: &'a ImageCell,
    diffs: &'a [u8],
    length_bytes: usize,
    is_selected: bool,
    is_nulled: bool,
}

/// The result of a partial cell.
enum Patched {
    /// A document, with its number of bytes in addition to those in the event, or its diffs.
    Document(usize),
    /// NULL, because the value is not known.
    Unknown,
}

impl Patch<'_> {
    fn append(
        &self,
        column: &mut dyn ColumnBuilder,
        as_diffs: bool,
        cell: &mut Vec<u8>,
    ) -> Result<Patched> {
        let Self { event_rows, before, diffs, length_bytes, is_selected, is_nulled } = self;
        match before {
            _ if as_diffs => column.append_diffs(diffs)?,
            // The document is unchanged, and its value is not known.
            ImageCell::Absent | ImageCell::Diffs(_) if diffs.is_empty() => {
                column.append_null();
                return Ok(Patched::Unknown);
            }
            _ if !is_selected => {}
            _ if *is_nulled => column.append_null(),
            ImageCell::At(place) if !diffs.is_empty() => {
                let before = event_rows.get(place.clone()).unwrap_or_default();
                patch_cell(before, diffs, *length_bytes, cell)?;
                column.append(&mut Reader::new(cell))?;
                return Ok(Patched::Document(cell.len()));
            }
            ImageCell::Null if !diffs.is_empty() => {
                let why = "it changes a document that is NULL";
                return Err(DecodeError::DoesNotApply { what: "JSON diff", why });
            }
            ImageCell::At(_) | ImageCell::Null => append_place(column, event_rows, before)?,
            _ => return Err(DecodeError::PartialWithoutBefore),
        }
        Ok(Patched::Document(0))
    }
}

/// Applies the diffs to the document in the cell `before`, and writes the result as a cell.
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
