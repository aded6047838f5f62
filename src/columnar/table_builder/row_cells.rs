//! Checks whether an update changes certain columns of a table: compares the row images without
//! decoding them.

use super::image::{Image, ImageCell, differs, place_cells};
use crate::binlog::RowsEvent;
use crate::columnar::builder::CellSize;
use crate::schema::Column;
use crate::wire::Reader;

/// The sizes of a table's cells.
#[derive(Debug, Clone)]
pub struct RowCells(Vec<CellSize>);

impl RowCells {
    /// Determines the sizes for a table; `None` if the size of a column's cells is not known.
    pub fn of(columns: &[Column], is_mariadb: bool) -> Option<Self> {
        columns
            .iter()
            .map(|column| CellSize::of(column, is_mariadb).ok())
            .collect::<Option<_>>()
            .map(Self)
    }

    /// True if an Update_rows event changes the value of one of the columns in any row, or if this
    /// cannot be determined.
    pub fn are_changed(&self, event: &RowsEvent<'_>, columns: &[usize]) -> bool {
        // Partial documents have a different size.
        event.has_value_options || self.differ(event, columns).unwrap_or(true)
    }

    fn differ(&self, event: &RowsEvent<'_>, columns: &[usize]) -> Option<bool> {
        let image = |present| Image::new(present, event.width, event.rows.len());
        let (before, after) = (image(event.columns), image(event.columns_after));
        let (mut old, mut new) = (Vec::new(), Vec::new());
        let mut rows = Reader::new(event.rows);
        let width = self.0.len();
        let is_wanted = |index: usize| columns.contains(&index);
        while !rows.is_empty() {
            place_cells(&mut rows, &before, &self.0, width, is_wanted, &mut old).ok()?;
            place_cells(&mut rows, &after, &self.0, width, is_wanted, &mut new).ok()?;
            let is_changed = |(old, new): (&ImageCell, &ImageCell)| match (old, new) {
                // binlog_row_image=MINIMAL: the new row contains only the columns that the
                // statement sets.
                (ImageCell::Absent, new) => *new != ImageCell::Absent,
                (old, new) => differs(event.rows, old, new),
            };
            if old.iter().zip(&new).any(is_changed) {
                return Some(true);
            }
        }
        Some(false)
    }
}

#[cfg(test)]
mod tests {
    use super::RowCells;
    use crate::binlog::{EventType, RowsEvent};
    use crate::schema::{Column, ColumnType};

    fn changed(body: &[u8], columns: &[usize]) -> bool {
        let table = [Column::new(None, ColumnType::Tiny), Column::new(None, ColumnType::Tiny)];
        let cells = RowCells::of(&table, false).unwrap();
        cells.are_changed(&RowsEvent::decode(body, EventType(31), 6).unwrap(), columns)
    }

    #[test]
    fn updates() {
        let head = [1, 0, 0, 0, 0, 0, 1, 0, 2, 0, 2];
        let full = |rows: &[u8]| [&head[..], &[3, 3], rows].concat();
        let second = full(&[0, 1, 5, 0, 1, 6]);
        assert!(!changed(&second, &[0]) && changed(&second, &[1]) && changed(&second, &[0, 1]));
        let null = full(&[0, 1, 5, 2, 1]);
        assert!(!changed(&null, &[0]) && changed(&null, &[1]));
        let in_the_second_row = full(&[0, 1, 5, 0, 1, 5, 0, 2, 5, 0, 3, 5]);
        assert!(changed(&in_the_second_row, &[0]) && !changed(&in_the_second_row, &[1]));
        let minimal = [&head[..], &[1, 2], &[0, 1, 0, 6]].concat();
        assert!(!changed(&minimal, &[0]) && changed(&minimal, &[1]));
        assert!(changed(&full(&[0, 1]), &[0]), "cut");
    }
}
