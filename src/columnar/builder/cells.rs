//! The cells of one column in consecutive rows, before they are decoded.

use crate::wire::Reader;

/// The places of cells in the rows of one event.
#[derive(Clone, Copy)]
pub(crate) struct Cells<'a> {
    /// The rows of the event, from the byte on that all places are counted from.
    pub(crate) event_rows: &'a [u8],
    /// `width` places for each row, row after row, from the first cell of this column on.
    pub(crate) places: &'a [CellPlace],
    pub(crate) width: usize,
    pub(crate) rows: usize,
}

/// The offset of a cell in the rows of its event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct CellPlace(u32);

impl CellPlace {
    /// No cell: NULL, or a column that the image leaves out. No event is that large.
    pub(crate) const NULL: Self = Self(u32::MAX);

    /// The place at an offset; an event has less than 4 GiB.
    #[inline]
    pub(crate) const fn at(offset: usize) -> Self {
        Self(offset as u32)
    }

    /// The place at an offset if the bit is 0, or [`Self::NULL`] if it is 1.
    #[inline]
    pub(crate) const fn of_null_bit(bit: usize, offset: usize) -> Self {
        Self((offset | bit.wrapping_neg()) as u32)
    }

    /// The place that is `bytes` after this one.
    pub(crate) const fn after(self, bytes: usize) -> Self {
        Self(self.0.saturating_add(bytes as u32))
    }

    /// Returns a cursor at the cell; `None` for NULL.
    #[inline]
    fn cell(self, event_rows: &[u8]) -> Option<Reader<'_>> {
        event_rows.get(self.0 as usize..).map(Reader::new)
    }
}

impl<'a> Cells<'a> {
    /// A cursor at the cell of a row; `None` for NULL.
    #[inline]
    pub(crate) fn get(self, row: usize) -> Option<Reader<'a>> {
        self.places.get(row * self.width)?.cell(self.event_rows)
    }

    /// A cursor at each cell; `None` for NULL. Collections that are extended by it know its length.
    #[inline]
    pub(super) fn iter(self) -> impl Iterator<Item = Option<Reader<'a>>> {
        (0..self.rows).map(move |row| self.get(row))
    }
}
