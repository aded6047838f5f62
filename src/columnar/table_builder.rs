//! Rows of one table with one structure, as a record batch under construction.

mod count;
mod image;
mod partial_update;
mod placed_rows;
mod row_cells;
mod row_columns;
mod row_error;
mod runs;
mod sides;
mod stored_rows;
mod updates;

use super::envelope_builder::{ChangeType, EnvelopeBuilder, Stamp};
use super::layout::{Layout, after_op};
use super::row_images::RowImages;
use super::spare::SpareVectors;
use super::table_plan::TablePlan;
use crate::binlog::{RowsEvent, RowsKind};
use crate::change::{OldRow, UpdateRule};
use crate::error::{DecodeError, Error, ErrorKind};
use crate::wire::{Bitmap, Reader};
use arrow_array::RecordBatch;
use image::{Image, Images};
use partial_update::PartialUpdate;
pub use row_cells::RowCells;
use row_columns::RowColumns;
use sides::Sides;
use std::sync::Arc;
pub use stored_rows::{StoredChanges, StoredImages, StoredRows};
use updates::KeyPlaces;

/// Appends rows events, each completely or not at all, and returns record batches.
pub struct TableBuilder {
    plan: Arc<TablePlan>,
    sides: Sides,
    envelope: EnvelopeBuilder,
    rule: UpdateRule,
    wants_present: bool,
    /// True if cells may be larger than they are in the log.
    inflates: bool,
    wire_bytes: usize,
    /// The approximate minimum number of bytes of a row's cells in memory.
    least_row_bytes: usize,
    keys: KeyPlaces,
    partial: PartialUpdate,
    spare: SpareVectors,
}

/// The number of changes in one event, by type.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RowCounts {
    /// The number of inserted rows.
    pub inserts: u64,
    /// The number of updated rows.
    pub updates: u64,
    /// The number of deleted rows.
    pub deletes: u64,
}

impl RowCounts {
    /// The counts of an event with changes of one kind.
    pub(crate) fn of(kind: RowsKind, changes: u64) -> Self {
        let mut counts = Self::default();
        match kind {
            RowsKind::Write => counts.inserts = changes,
            RowsKind::Update => counts.updates = changes,
            RowsKind::Delete => counts.deletes = changes,
        }
        counts
    }

    /// The number of changes: an update is one.
    pub const fn changes(&self) -> u64 {
        self.inserts + self.updates + self.deletes
    }
}

/// The columns that one side of a row contains.
#[derive(Clone, Copy)]
enum Held<'a> {
    /// The row does not have this side.
    Nothing,
    /// The columns of an image.
    All(Bitmap<'a>),
    /// The columns of an image that are part of the key.
    Key(Bitmap<'a>),
    /// The columns of an image, and the key columns of another image.
    Filled { image: Bitmap<'a>, key_of: Bitmap<'a> },
}

impl Held<'_> {
    /// Returns one bit for each of the columns. `key_bits`: the bits of the key.
    fn bytes(self, key_bits: &[u8], columns: usize) -> impl Iterator<Item = u8> {
        // Servers may set the unused bits of the last byte.
        let byte = move |bitmap: Bitmap<'_>, index: usize| {
            let byte = bitmap.0.get(index).copied().unwrap_or(0);
            let beyond = (8 * (index + 1)).saturating_sub(columns);
            byte & (0xff_u8 >> beyond.min(7))
        };
        key_bits.iter().enumerate().map(move |(index, key)| match self {
            Held::Nothing => 0,
            Held::All(image) => byte(image, index),
            Held::Key(image) => byte(image, index) & key,
            Held::Filled { image, key_of } => byte(image, index) | byte(key_of, index) & key,
        })
    }
}

/// The result for a cell; the error contains its column and the reason.
type CellResult<T = ()> = Result<T, (usize, DecodeError)>;

impl TableBuilder {
    /// Creates a builder without rows.
    pub fn try_new(plan: Arc<TablePlan>, rule: UpdateRule) -> Result<Self, Error> {
        Ok(Self {
            sides: Sides::try_new(&plan)?,
            envelope: EnvelopeBuilder::new(&plan.envelope, &plan.types),
            rule,
            wants_present: plan.envelope.wants_present(),
            inflates: plan.inflates(),
            wire_bytes: 0,
            least_row_bytes: plan.least_row_bytes(),
            keys: KeyPlaces::default(),
            partial: PartialUpdate::default(),
            spare: SpareVectors::default(),
            plan,
        })
    }

    /// Sets the memory that its batches use again.
    pub fn with_spare(mut self, spare: SpareVectors) -> Self {
        self.spare = spare;
        self
    }

    /// The plan of its batches.
    pub fn plan(&self) -> &Arc<TablePlan> {
        &self.plan
    }

    /// The number of rows so far.
    pub fn rows(&self) -> usize {
        self.envelope.rows()
    }

    /// The approximate number of bytes of the batch so far: the rows as they are in the log, or
    /// inflated, and the envelope. If the memory for their cells is larger, it counts instead,
    /// because NULLs and columns that an image leaves out have no bytes in the log.
    pub fn bytes(&self) -> usize {
        let rows = self.rows();
        self.wire_bytes.max(rows * self.least_row_bytes) + rows * ENVELOPE_ROW_BYTES
    }

    /// Appends all rows of an event; after an error, none of them is appended.
    pub fn append(&mut self, event: &RowsEvent<'_>, stamp: &Stamp<'_>) -> Result<RowCounts, Error> {
        let first_row = self.rows();
        if first_row == 0 {
            self.sides.begin(&self.spare);
        }
        let mut counts = RowCounts::default();
        let appended = self.append_rows(event, stamp, &mut counts).and_then(|()| self.seal());
        let appended =
            appended.and_then(|()| self.envelope.end_event(stamp).map_err(|error| (0, error)));
        match appended {
            Ok(bytes) => {
                self.wire_bytes += event.rows.len() + bytes;
                if self.inflates {
                    self.wire_bytes += self.sides.take_inflated();
                }
                Ok(counts)
            }
            Err((row, error)) => {
                self.sides.truncate(first_row);
                self.envelope.truncate(first_row, self.present_width());
                Err(self.plan.row_error(row, error))
            }
        }
    }

    /// Returns the ends of pieces of at most `limit` rows from row `first` on. A piece never ends
    /// between the two rows of an update, even if it then has two rows with a limit of one. The
    /// last end is the end of the rows.
    pub fn cuts(&self, first: usize, limit: usize) -> Vec<usize> {
        let (limit, rows) = (limit.max(1), self.rows());
        let mut cuts = Vec::with_capacity(rows.saturating_sub(first).div_ceil(limit));
        let mut from = first;
        while from < rows {
            let mut cut = rows.min(from.saturating_add(limit));
            if self.envelope.is_second_half(cut) {
                cut = if cut > from + 1 { cut - 1 } else { cut + 1 };
            }
            cuts.push(cut);
            from = cut;
        }
        cuts
    }

    /// The number of changes in the row's event before the change of this row.
    pub fn changes_before(&self, row: usize) -> u64 {
        self.envelope.row_in_event(row)
    }

    /// Finds the first row of a change in the only event so far. The changes before it are left
    /// out.
    pub fn row_of_change(&self, change: u64) -> usize {
        let rows = 0..self.rows();
        rows.into_iter().find(|row| self.changes_before(*row) >= change).unwrap_or(self.rows())
    }

    /// Returns the rows so far as a batch; the builder is empty afterwards.
    pub fn finish(&mut self) -> Result<RecordBatch, Error> {
        let (plan, width) = (Arc::clone(&self.plan), self.present_width());
        let arrays = match plan.layout {
            Layout::Flat => {
                let mut arrays = self.sides.after().finish(&plan)?;
                arrays.extend(self.envelope.finish(&plan.envelope, width, &self.spare)?);
                arrays
            }
            Layout::Nested => {
                let before = self.envelope.validity(ChangeType::has_before);
                let after = self.envelope.validity(ChangeType::has_after);
                let sides = self.sides.finish_structs(&plan, before, after)?;
                after_op(self.envelope.finish(&plan.envelope, width, &self.spare)?, sides)
            }
        };
        self.wire_bytes = 0;
        RecordBatch::try_new(Arc::clone(&self.plan.schema), arrays)
            .map_err(|error| Error::new(ErrorKind::Internal, error.to_string()))
    }

    /// Notes the columns that images contain, for [`Self::images`].
    pub fn watch_images(&mut self) {
        self.wants_present = true;
    }

    /// The changes so far. [`Self::watch_images`] was called before their rows.
    pub fn images(&self) -> RowImages {
        RowImages {
            changes: self.envelope.changes(),
            present: self.envelope.present().to_vec(),
            width: self.present_width(),
            layout: self.plan.layout,
        }
    }

    /// Returns the zero dates that became NULL since the last call: column index and count.
    pub fn take_zero_dates(&mut self) -> impl Iterator<Item = (usize, u64)> + '_ {
        self.sides.take_zero_dates()
    }

    /// An error contains its row in the event.
    fn append_rows(
        &mut self,
        event: &RowsEvent<'_>,
        stamp: &Stamp<'_>,
        counts: &mut RowCounts,
    ) -> Result<(), (u64, Error)> {
        let in_event = |error: Error| (0, error);
        let images = Images::try_new(event, self.plan.table.columns.len()).map_err(in_event)?;
        let Images { before, after, .. } = &images;
        if self.plan.wants_full_images {
            self.check_full_images(event.kind, &images).map_err(in_event)?;
        }
        let mut rows = Reader::new(event.rows);
        let is_update = event.kind == RowsKind::Update;
        // An image without columns has no bytes: it is one row in which all columns are left out.
        if before.count == 0 && (!is_update || after.count == 0) {
            rows.finish("a row image without columns").map_err(|error| in_event(error.into()))?;
        }
        let mut ordinal = stamp.first_ordinal;
        let run = self.run_type(event.kind, before);
        let count = match event.kind {
            RowsKind::Write => &mut counts.inserts,
            RowsKind::Update => &mut counts.updates,
            RowsKind::Delete => &mut counts.deletes,
        };
        loop {
            let appended = match run {
                Some(change_type) => {
                    self.append_run(&mut rows, before, change_type, (&mut ordinal, count))
                }
                None => {
                    let appended = match event.kind {
                        RowsKind::Write => self.append_insert(&mut rows, before, ordinal),
                        RowsKind::Delete => self.append_delete(&mut rows, before, ordinal),
                        RowsKind::Update if event.has_value_options => {
                            self.append_partial_update(&mut rows, &images, ordinal)
                        }
                        RowsKind::Update => self.append_update(&mut rows, &images, ordinal),
                    };
                    ordinal += 2;
                    *count += u64::from(appended.is_ok());
                    appended
                }
            };
            if let Err(error) = appended {
                let row = *count;
                // A value in a cell before this one may be invalid too: the first error is returned.
                return Err(self
                    .fill(event, row)
                    .err()
                    .unwrap_or_else(|| (row, self.plan.cell_error(error))));
            }
            if self.sides.are_full() || (rows.is_empty() && self.sides.have_placed_rows()) {
                let next = *count;
                self.fill(event, next)?;
            }
            if rows.is_empty() {
                return Ok(());
            }
        }
    }

    /// Decodes the rows that are placed. An error contains its row in the event; `next` is the row that is not complete.
    fn fill(&mut self, event: &RowsEvent<'_>, next: u64) -> Result<(), (u64, Error)> {
        let filled = self.sides.fill(event.rows, event.kind, &self.plan);
        let Err((row, error)) = filled else { return Ok(()) };
        let row = if row < self.rows() { self.envelope.row_in_event(row) } else { next };
        Err((row, self.plan.cell_error(error)))
    }

    /// Checks that rows contain all columns that are required.
    fn check_full_images(&self, kind: RowsKind, images: &Images<'_>) -> Result<(), Error> {
        let (image, takes_key) = match kind {
            RowsKind::Write => (&images.before, false),
            // An unchanged key can be taken from the row before.
            RowsKind::Update => (&images.after, !self.rule.old_value),
            RowsKind::Delete => return Ok(()),
        };
        if image.is_full {
            return Ok(());
        }
        let is_lost = |(index, is_key): &(usize, &bool)| {
            self.plan.is_selected(*index) && !image.present.get(*index) && !(**is_key && takes_key)
        };
        match self.plan.is_key.iter().enumerate().find(is_lost) {
            None => Ok(()),
            Some((index, _)) => Err(Error::schema(format!(
                "the log leaves out column {} of rows that {} (binlog_row_image MINIMAL or NOBLOB; on MariaDB also \
                 generated columns), so a batch could not distinguish it from NULL: add 'present' to the envelope, select other \
                 columns with ⟦columns⟧, or accept NULL with ⟦partial_images=null⟧",
                self.plan.column_name(index),
                if kind == RowsKind::Write { "are inserted" } else { "are updated" },
            ))),
        }
    }

    #[inline]
    fn append_insert(
        &mut self,
        rows: &mut Reader<'_>,
        image: &Image<'_>,
        ordinal: i64,
    ) -> CellResult {
        self.sides.no_before(&self.plan);
        self.add_image(rows, image, Sides::after)?;
        self.end_row(ChangeType::Insert, ordinal, Held::Nothing, Held::All(image.present));
        Ok(())
    }

    #[inline]
    fn append_delete(
        &mut self,
        rows: &mut Reader<'_>,
        image: &Image<'_>,
        ordinal: i64,
    ) -> CellResult {
        let held = if self.rule.delete() == OldRow::DeleteByKey && !self.plan.is_row_key {
            self.sides.before().placed.add_key_image(rows, image, &self.plan)?;
            Held::Key(image.present)
        } else {
            self.add_image(rows, image, Sides::before)?;
            Held::All(image.present)
        };
        self.sides.no_after(&self.plan);
        self.end_row(ChangeType::Delete, ordinal, held, Held::Nothing);
        Ok(())
    }

    /// Adds the only image of a row.
    #[inline]
    fn add_image(
        &mut self,
        rows: &mut Reader<'_>,
        image: &Image<'_>,
        side: impl FnOnce(&mut Sides) -> &mut RowColumns,
    ) -> CellResult {
        let columns = side(&mut self.sides);
        match image.event_len < self.least_row_bytes * FEW_ROWS {
            true => columns.append_image(rows, image),
            false => columns.placed.add_image(rows, image, &self.plan),
        }
    }

    /// Adds the envelope of a row.
    #[inline]
    fn end_row(
        &mut self,
        change_type: ChangeType,
        ordinal: i64,
        before: Held<'_>,
        after: Held<'_>,
    ) {
        self.envelope.append(change_type, ordinal);
        if self.wants_present {
            self.append_present(before, after);
        }
    }

    fn append_present(&mut self, before: Held<'_>, after: Held<'_>) {
        let (key, columns) = (&self.plan.key_bits, self.plan.is_key.len());
        match (self.plan.layout, before) {
            (Layout::Flat, Held::Nothing) => {
                self.envelope.append_present(after.bytes(key, columns))
            }
            (Layout::Flat, before) => self.envelope.append_present(before.bytes(key, columns)),
            (Layout::Nested, before) => {
                self.envelope
                    .append_present(before.bytes(key, columns).chain(after.bytes(key, columns)));
            }
        }
    }

    /// Performs the checks that columns do once per event. An error contains its row in the event.
    fn seal(&mut self) -> Result<(), (u64, Error)> {
        let Err((row, error)) = self.sides.seal() else { return Ok(()) };
        Err((self.envelope.row_in_event(row), self.plan.cell_error(error)))
    }

    /// The number of bytes of `_present` for each row.
    fn present_width(&self) -> usize {
        match self.plan.layout {
            Layout::Flat => self.plan.key_bits.len(),
            Layout::Nested => self.plan.key_bits.len() * 2,
        }
    }
}

/// Cells of events with about this number of rows are decoded one by one: with so few rows, finding the places of cells first
/// takes longer than it saves.
const FEW_ROWS: usize = 4;

/// The approximate number of bytes of a row's envelope.
const ENVELOPE_ROW_BYTES: usize = 48;
