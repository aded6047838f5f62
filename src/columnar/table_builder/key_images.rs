//! Row images of which only the key is needed: see [`TypeOptions::key_of`](crate::columnar::TypeOptions).

use crate::columnar::table_plan::TablePlan;
use crate::schema::ColumnType;

impl TablePlan {
    /// True if a column is decoded although only keys are needed: a column of the key, or one that may show that the table is
    /// system-versioned.
    pub(super) fn is_in_key_images(&self, index: usize) -> bool {
        let may_end_period = |index: usize| {
            self.table.columns.get(index).is_some_and(|column| {
                !column.nullable && column.column_type == ColumnType::Timestamp2 { fsp: 6 }
            })
        };
        self.is_key.get(index) == Some(&true) || self.is_mariadb() && may_end_period(index)
    }
}
