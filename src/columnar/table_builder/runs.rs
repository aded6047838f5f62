//! Runs of rows that one event inserts or deletes. Work that is the same for all rows is done once per run.

use super::TableBuilder;
use super::image::Image;
use super::{CellResult, FEW_ROWS};
use crate::binlog::RowsKind;
use crate::change::OldRow;
use crate::columnar::envelope_builder::ChangeType;
use crate::wire::Reader;

impl TableBuilder {
    /// The change type of the rows of an event, if they are complete rows of the flat layout that differ only in their cells.
    pub(super) fn run_type(&self, kind: RowsKind, image: &Image<'_>) -> Option<ChangeType> {
        // An image without columns has no bytes, so the number of images is not known from the number of bytes.
        let has_rows = image.count > 0 && image.event_len >= self.least_row_bytes * FEW_ROWS;
        if !has_rows || self.sides.is_nested() || self.wants_present {
            return None;
        }
        match kind {
            RowsKind::Write => Some(ChangeType::Insert),
            RowsKind::Delete => {
                let is_by_key = self.rule.delete() == OldRow::DeleteByKey && !self.plan.is_row_key;
                (!is_by_key).then_some(ChangeType::Delete)
            }
            RowsKind::Update => None,
        }
    }

    /// Appends and counts at least one row, and more until rows must be decoded or no bytes are left.
    pub(super) fn append_run(
        &mut self,
        rows: &mut Reader<'_>,
        image: &Image<'_>,
        change_type: ChangeType,
        (ordinal, count): (&mut i64, &mut u64),
    ) -> CellResult {
        let (added, result) = self.sides.after().placed.add_images(rows, image, &self.plan);
        self.envelope.append_run(change_type, *ordinal, added);
        *ordinal += 2 * added as i64;
        *count += added as u64;
        result
    }
}
