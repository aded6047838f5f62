//! Rows of an Update_rows event: the result of an update depends on whether it changes the row key.

use super::image::{Image, Images, Place, differs, is_same, place_cells};
use super::{CellResult, Held, TableBuilder};
use crate::change::{NewRow, OldRow, UpdatedRows};
use crate::columnar::envelope_builder::ChangeType;
use crate::wire::Reader;

/// The places of the key's cells in the images of the current row. The buffers are reused for the
/// next row.
#[derive(Default)]
pub(super) struct KeyPlaces {
    before: Vec<Place>,
    after: Vec<Place>,
}

impl KeyPlaces {
    fn differ(&self, row: &[u8]) -> bool {
        self.before.iter().zip(&self.after).any(|(before, after)| differs(row, before, after))
    }
}

impl TableBuilder {
    /// Appends one row: both images.
    pub(super) fn append_update(
        &mut self,
        rows: &mut Reader<'_>,
        images: &Images<'_>,
        ordinal: i64,
    ) -> CellResult {
        if !self.rule.asks_for_key(images.are_full()) {
            let Images { before, after } = images;
            self.sides.before().append_image(rows, before)?;
            self.sides.after().append_image(rows, after)?;
            self.end_pair(ordinal, Held::All(before.present), Held::All(after.present));
            return Ok(());
        }
        let mut keys = std::mem::take(&mut self.keys);
        let appended = match self.rule.old_value && !self.sides.is_nested() {
            true => self.append_both(rows, images, ordinal, &mut keys),
            false => self.append_by_key(rows, images, ordinal, &mut keys),
        };
        self.keys = keys;
        appended
    }

    /// Appends two rows of the flat layout. Their keys determine their change types afterwards.
    fn append_both(
        &mut self,
        rows: &mut Reader<'_>,
        images: &Images<'_>,
        ordinal: i64,
        keys: &mut KeyPlaces,
    ) -> CellResult {
        let (Images { before, after }, row) = (images, rows.as_slice());
        let columns = self.sides.after();
        let key_changed = if self.plan.is_row_key {
            columns.append_image(rows, before)?;
            let (first, second) = row.split_at_checked(row.len() - rows.left()).unwrap_or_default();
            columns.append_image(rows, after)?;
            let second = second.get(..second.len() - rows.left()).unwrap_or_default();
            !is_same(first, second, before.count)
        } else {
            let is_key = &self.plan.is_key;
            columns.append_placed_image(rows, before, row.len(), is_key, &mut keys.before)?;
            columns.append_placed_image(rows, after, row.len(), is_key, &mut keys.after)?;
            keys.differ(row)
        };
        self.end_pair(ordinal, Held::All(before.present), Held::All(after.present));
        if key_changed {
            self.envelope.split_update();
        }
        Ok(())
    }

    /// Appends the rows that the rule requires for these keys.
    fn append_by_key(
        &mut self,
        rows: &mut Reader<'_>,
        images: &Images<'_>,
        ordinal: i64,
        keys: &mut KeyPlaces,
    ) -> CellResult {
        let (Images { before, after }, row) = (images, rows.as_slice());
        let plan = &*self.plan;
        let is_key = |index: usize| plan.is_key.get(index).is_some_and(|is_key| *is_key);
        if self.rule.old_value {
            let columns = self.sides.before();
            columns.append_placed_image(rows, before, row.len(), &plan.is_key, &mut keys.before)?;
        } else {
            let all = plan.is_key.len();
            place_cells(rows, before, row.len(), &plan.cell_sizes, all, is_key, &mut keys.before)?;
        }
        let (mut ahead, end) = (*rows, plan.key_end);
        place_cells(&mut ahead, after, row.len(), &plan.cell_sizes, end, is_key, &mut keys.after)?;

        let updated = self.rule.update(keys.differ(row), images.are_full());
        if updated.old == Some(OldRow::DeleteByKey) {
            self.sides.before().append_key(row, keys.before.iter(), plan)?;
        }
        self.append_deleted(updated, ordinal, before);
        // Without a preimage before it, a postimage without its key would be useless.
        let held = if self.rule.old_value || after.is_full {
            self.sides.after().append_image(rows, after)?;
            Held::All(after.present)
        } else {
            let key = keys.before.iter();
            self.sides.after().append_filled_image(rows, after, row, key, &self.plan)?;
            Held::Filled { image: after.present, key_of: before.present }
        };
        self.end_update(updated, ordinal, before, held);
        Ok(())
    }

    /// Ends the row that an update deletes, if there is one.
    pub(super) fn append_deleted(
        &mut self,
        updated: UpdatedRows,
        ordinal: i64,
        before: &Image<'_>,
    ) {
        let held = match updated.old {
            Some(OldRow::Delete) => Held::All(before.present),
            Some(OldRow::DeleteByKey) => Held::Key(before.present),
            Some(OldRow::Preimage) | None => return,
        };
        self.sides.no_after();
        self.end_row(ChangeType::Delete, ordinal, held, Held::Nothing);
    }

    /// Ends the row after an update, and its preimage.
    pub(super) fn end_update(
        &mut self,
        updated: UpdatedRows,
        ordinal: i64,
        before: &Image<'_>,
        held: Held<'_>,
    ) {
        let change_type = match updated.new {
            NewRow::Insert => ChangeType::Insert,
            NewRow::Postimage => ChangeType::UpdatePostimage,
        };
        if updated.old == Some(OldRow::Preimage) {
            return self.end_pair(ordinal, Held::All(before.present), held);
        }
        self.sides.no_before();
        let is_alone = updated.old.is_none() && self.sides.is_nested();
        let ordinal = if is_alone { ordinal } else { ordinal + 1 };
        self.end_row(change_type, ordinal, Held::Nothing, held);
    }

    /// Ends the two images of an update: two rows, or one row that contains both.
    pub(super) fn end_pair(&mut self, ordinal: i64, before: Held<'_>, after: Held<'_>) {
        if self.sides.is_nested() {
            return self.end_row(ChangeType::Update, ordinal, before, after);
        }
        self.end_row(ChangeType::UpdatePreimage, ordinal, before, Held::Nothing);
        self.end_row(ChangeType::UpdatePostimage, ordinal + 1, Held::Nothing, after);
    }
}
