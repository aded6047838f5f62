//! Counts the changes in a rows event without decoding its rows.

use super::CellResult;
use super::image::{ImageCell, Images, place_cells};
use super::partial_update::place_patched_cells;
use crate::binlog::{RowsEvent, RowsKind};
use crate::columnar::table_plan::TablePlan;
use crate::error::{Error, Result};
use crate::wire::Reader;

impl TablePlan {
    /// Returns the number of changes of the table in an event.
    ///
    /// # Errors
    /// Its rows do not match the table, or are truncated.
    pub fn count_changes(&self, event: &RowsEvent<'_>) -> Result<u64> {
        let images = Images::try_new(event, self.table.columns.len())?;
        let mut rows = Reader::new(event.rows);
        let mut places = Vec::new();
        let mut changes = 0;
        loop {
            let left = rows.left();
            self.pass_change(&mut rows, event, &images, &mut places)
                .map_err(|(_, error)| Error::from(error).context(self.table.full_name()))?;
            changes += 1;
            // Images without columns have no bytes: they are one change.
            if rows.is_empty() || rows.left() == left {
                return Ok(changes);
            }
        }
    }

    fn pass_change(
        &self,
        rows: &mut Reader<'_>,
        event: &RowsEvent<'_>,
        Images { before, after, .. }: &Images<'_>,
        places: &mut Vec<ImageCell>,
    ) -> CellResult {
        let all = self.cell_sizes.len();
        place_cells(rows, before, &self.cell_sizes, all, |_| false, places)?;
        match event.kind {
            RowsKind::Update if event.has_value_options => {
                place_patched_cells(rows, after, self, places)
            }
            RowsKind::Update => place_cells(rows, after, &self.cell_sizes, all, |_| false, places),
            RowsKind::Write | RowsKind::Delete => Ok(()),
        }
    }
}
