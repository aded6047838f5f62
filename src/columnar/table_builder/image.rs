//! Row images: the columns that they contain, and the places of their cells.

use super::CellResult;
use crate::binlog::{RowsEvent, RowsKind};
use crate::columnar::builder::CellSize;
use crate::error::Error;
use crate::wire::{Bitmap, Reader};
use std::ops::Range;

/// The images of each row of an event. Only updates have two.
pub(super) struct Images<'a> {
    pub(super) before: Image<'a>,
    pub(super) after: Image<'a>,
    /// All rows of the event.
    pub(super) rows: &'a [u8],
}

impl<'a> Images<'a> {
    /// # Errors
    /// The rows do not have `width` columns.
    pub(super) fn try_new(event: &RowsEvent<'a>, width: usize) -> Result<Self, Error> {
        if event.width != width {
            return Err(Error::malformed(format!(
                "the rows have {} columns, the table map has {width}",
                event.width
            )));
        }
        let image = |present| Image::new(present, width, event.rows.len());
        let before = image(event.columns);
        let after = match event.kind {
            RowsKind::Update => image(event.columns_after),
            RowsKind::Write | RowsKind::Delete => before,
        };
        Ok(Self { before, after, rows: event.rows })
    }

    /// True if both images have all columns.
    pub(super) fn are_full(&self) -> bool {
        self.before.is_full && self.after.is_full
    }
}

/// The columns that an image contains.
#[derive(Clone, Copy)]
pub(super) struct Image<'a> {
    pub(super) present: Bitmap<'a>,
    pub(super) count: usize,
    pub(super) is_full: bool,
    /// The number of bytes of the event's rows: places are counted from their start, and a cursor knows how many are left.
    pub(super) event_len: usize,
}

impl<'a> Image<'a> {
    pub(super) fn new(present: Bitmap<'a>, width: usize, event_len: usize) -> Self {
        let count = present.count_ones(width);
        Self { present, count, is_full: count == width, event_len }
    }
}

/// The cell of a column in an image, with its place in the rows of the event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ImageCell {
    /// The image does not contain the column.
    Absent,
    Null,
    At(Range<usize>),
    /// JSON diffs instead of a document. Without diffs the document is unchanged.
    Diffs(Range<usize>),
}

/// True if a column differs between the images of a row, compared by bytes: a server's collation
/// may treat `a` and `A` as the same key, but a lake does not. False if only one image contains the
/// column.
pub(super) fn differs(event_rows: &[u8], before: &ImageCell, after: &ImageCell) -> bool {
    match (before, after) {
        (ImageCell::At(before), ImageCell::At(after)) => {
            event_rows.get(before.clone()) != event_rows.get(after.clone())
        }
        (ImageCell::At(_), ImageCell::Diffs(diffs)) => !diffs.is_empty(),
        (ImageCell::Absent, _) | (_, ImageCell::Absent) | (ImageCell::Null, ImageCell::Null) => {
            false
        }
        _ => true,
    }
}

/// True if two images of `count` columns each are the same.
pub(super) fn is_same(before: &[u8], after: &[u8], count: usize) -> bool {
    let bytes = Bitmap::byte_count(count);
    match (before.split_at_checked(bytes), after.split_at_checked(bytes)) {
        (Some((before_nulls, before)), Some((after_nulls, after))) => {
            // The unused bits of the last byte do not count.
            let unused = |index: usize| (8 * (index + 1)).saturating_sub(count).min(7);
            let mut nulls = before_nulls.iter().zip(after_nulls).enumerate();
            before == after
                && nulls.all(|(index, (one, other))| (one ^ other) << unused(index) == 0)
        }
        _ => false,
    }
}

/// Skips the first `end` columns of an image. The places of the wanted columns are added to `places`.
pub(super) fn place_cells(
    rows: &mut Reader<'_>,
    image: &Image<'_>,
    sizes: &[CellSize],
    end: usize,
    is_wanted: impl Fn(usize) -> bool,
    places: &mut Vec<ImageCell>,
) -> CellResult {
    places.clear();
    let nulls = null_bits(rows, image)?;
    let mut bit = 0;
    for (index, size) in sizes.iter().enumerate().take(end) {
        let mut place = ImageCell::Absent;
        if image.present.get(index) {
            place = ImageCell::Null;
            if !nulls.get(bit) {
                let start = image.event_len - rows.left();
                size.skip(rows).map_err(|error| (index, error))?;
                place = ImageCell::At(start..image.event_len - rows.left());
            }
            bit += 1;
        }
        if is_wanted(index) {
            places.push(place);
        }
    }
    Ok(())
}

/// Reads the null bits at the start of an image.
#[inline]
pub(super) fn null_bits<'a>(rows: &mut Reader<'a>, image: &Image<'_>) -> CellResult<Bitmap<'a>> {
    let bytes = Bitmap::byte_count(image.count);
    rows.take(bytes, "null bits").map(Bitmap).map_err(|error| (0, error))
}

/// True if none of the first `count` bits is 1. The unused bits of the last byte may be 1.
#[inline]
pub(super) fn no_nulls(nulls: Bitmap<'_>, count: usize) -> bool {
    match nulls.0 {
        [] => true,
        [byte] => byte & (0xff_u8 >> ((8 - count % 8) % 8)) == 0,
        [full @ .., last] => {
            last & (0xff_u8 >> ((8 - count % 8) % 8)) == 0 && full.iter().all(|byte| *byte == 0)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unused_null_bits_do_not_count() {
        assert!(no_nulls(Bitmap(&[0xfe]), 1));
        assert!(!no_nulls(Bitmap(&[0xff]), 1));
        assert!(no_nulls(Bitmap(&[0]), 8));
        assert!(!no_nulls(Bitmap(&[0x80]), 8));
        assert!(no_nulls(Bitmap(&[0, 0xfc]), 10));
        assert!(!no_nulls(Bitmap(&[1, 0xfc]), 10));
        assert!(is_same(&[0xfe, 7], &[0, 7], 1));
        assert!(!is_same(&[0xfe, 7], &[0xff, 7], 1));
        assert!(!is_same(&[0, 7], &[0, 8], 1));
        assert!(!is_same(&[0, 7], &[0], 1));
        assert!(is_same(&[5, 0xf2, 7], &[5, 2, 7], 10));
        assert!(!is_same(&[5, 0xf2, 7], &[5, 1, 7], 10));
        assert!(!is_same(&[0x85, 2, 7], &[5, 2, 7], 10));
    }

    #[test]
    fn what_differs() {
        let row = b"aAa";
        let at = |start| ImageCell::At(start..start + 1);
        assert!(!differs(row, &at(0), &at(2)));
        assert!(differs(row, &at(0), &at(1)));
        assert!(differs(row, &at(0), &ImageCell::Null));
        assert!(differs(row, &ImageCell::Null, &at(0)));
        assert!(differs(row, &ImageCell::Null, &ImageCell::At(0..0)));
        assert!(!differs(row, &ImageCell::Null, &ImageCell::Null));
        assert!(differs(row, &at(0), &ImageCell::Diffs(1..2)));
        assert!(!differs(row, &at(0), &ImageCell::Diffs(1..1)));
        for one in [ImageCell::Absent, ImageCell::Null, at(0)] {
            assert!(!differs(row, &one, &ImageCell::Absent), "{one:?}");
            assert!(!differs(row, &ImageCell::Absent, &one), "{one:?}");
        }
    }
}
