//! Rows of an Update_rows event: the result of an update depends on whether it changes the row key.

use super::image::{Image, ImageCell, Images, differs, is_same, place_cells};
use super::{CellResult, Held, TableBuilder};
use crate::change::{NewRow, OldRow, UpdatedRows};
use crate::columnar::envelope_builder::ChangeType;
use crate::wire::Reader;

/// The places of the key's cells in the images of the current row. The buffers are reused for the
/// next row.
#[derive(Default)]
pub(super) struct KeyPlaces {
    before: Vec<ImageCell>,
    after: Vec<ImageCell>,
}

impl KeyPlaces {
    fn differ(&self, event_rows: &[u8]) -> bool {
        let mut places = self.before.iter().zip(&self.after);
        places.any(|(before, after)| differs(event_rows, before, after))
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
        let Images { before, after, .. } = images;
        if !self.rule.asks_for_key(images.are_full()) {
            self.sides.before().placed.add_image(rows, before, &self.plan)?;
            self.sides.after().placed.add_image(rows, after, &self.plan)?;
            self.end_pair(ordinal, Held::All(before.present), Held::All(after.present));
            return Ok(());
        }
        if self.rule.old_value && !self.sides.is_nested() {
            return self.append_both(rows, images, ordinal);
        }
        let mut keys = std::mem::take(&mut self.keys);
        let appended = self.append_by_key(rows, images, ordinal, &mut keys);
        self.keys = keys;
        appended
    }

    /// Appends two rows of the flat layout. Their keys determine their change types afterwards.
    fn append_both(
        &mut self,
        rows: &mut Reader<'_>,
        Images { before, after, rows: event_rows }: &Images<'_>,
        ordinal: i64,
    ) -> CellResult {
        let (row, placed) = (rows.as_slice(), &mut self.sides.after().placed);
        placed.add_image(rows, before, &self.plan)?;
        let (first, second) = row.split_at_checked(row.len() - rows.left()).unwrap_or_default();
        placed.add_image(rows, after, &self.plan)?;
        let key_changed = if self.plan.is_row_key {
            let second = second.get(..second.len() - rows.left()).unwrap_or_default();
            !is_same(first, second, before.count)
        } else {
            placed.last_keys_differ(event_rows, &self.plan)
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
        let Images { before, after, rows: event_rows } = images;
        let plan = &*self.plan;
        let is_key = |index: usize| plan.is_key.get(index).is_some_and(|is_key| *is_key);
        if self.rule.old_value {
            let mut row = *rows;
            self.sides.before().placed.add_image(&mut row, before, plan)?;
        }
        let (all, end) = (plan.is_key.len(), plan.key_end);
        place_cells(rows, before, &plan.cell_sizes, all, is_key, &mut keys.before)?;
        let mut ahead = *rows;
        place_cells(&mut ahead, after, &plan.cell_sizes, end, is_key, &mut keys.after)?;

        let updated = self.rule.update(keys.differ(event_rows), images.are_full());
        if updated.old == Some(OldRow::DeleteByKey) {
            self.sides.before().placed.add_key(keys.before.iter(), plan);
        }
        self.append_deleted(updated, ordinal, before);
        // Without a preimage before it, a postimage without its key would be useless.
        let held = if self.rule.old_value || after.is_full {
            self.sides.after().placed.add_image(rows, after, &self.plan)?;
            Held::All(after.present)
        } else {
            self.sides.after().placed.add_filled_image(
                rows,
                after,
                keys.before.iter(),
                &self.plan,
            )?;
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
        self.sides.no_after(&self.plan);
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
        self.sides.no_before(&self.plan);
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
