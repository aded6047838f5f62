//! The NULLs of a column. Only a NULL costs anything: rows after the last one have no bits until the end.

use arrow_buffer::{BooleanBuffer, Buffer, NullBuffer};
use std::ops::Range;

/// Validity bits of a column under construction. The caller knows the row count.
#[derive(Debug, Default)]
pub(super) struct Nulls {
    /// One bit per row up to the byte of the last NULL: 0 for NULL. Empty if there is none.
    valid: Vec<u8>,
}

impl Nulls {
    /// Appends a NULL, which is row `row`, after all rows before it.
    #[inline]
    pub(super) fn append_null(&mut self, row: usize) {
        if row / 8 >= self.valid.len() {
            self.valid.resize(row / 8 + 1, ALL_VALID);
        }
        if let Some(byte) = self.valid.get_mut(row / 8) {
            *byte &= !(1 << (row % 8));
        }
    }

    /// Appends NULLs with the row numbers `rows`, which follow all earlier rows.
    pub(super) fn append_nulls(&mut self, rows: Range<usize>) {
        let first = rows.start.next_multiple_of(8).min(rows.end);
        let last = (rows.end / 8 * 8).max(first);
        (rows.start..first).for_each(|row| self.append_null(row));
        if first < last {
            self.valid.resize(first / 8, ALL_VALID);
            self.valid.resize(last / 8, 0);
        }
        (last..rows.end).for_each(|row| self.append_null(row));
    }

    pub(super) fn truncate(&mut self, rows: usize) {
        self.valid.truncate(rows.div_ceil(8));
        if let Some(byte) = self.valid.get_mut(rows / 8) {
            *byte |= ALL_VALID << (rows % 8);
        }
    }

    /// Returns the bits of all `rows` rows; `None` if no row is NULL.
    pub(super) fn finish(&mut self, rows: usize) -> Option<NullBuffer> {
        if self.valid.is_empty() {
            return None;
        }
        let mut valid = std::mem::take(&mut self.valid);
        valid.resize(rows.div_ceil(8), ALL_VALID);
        Some(NullBuffer::new(BooleanBuffer::new(Buffer::from_vec(valid), 0, rows)))
    }
}

const ALL_VALID: u8 = 0xff;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_without_bits_are_valid() {
        let mut nulls = Nulls::default();
        assert!(nulls.finish(5).is_none());
        for row in [3, 8, 17] {
            nulls.append_null(row);
        }
        nulls.truncate(17);
        nulls.append_null(21);
        let bits = nulls.finish(40).unwrap();
        let found: Vec<_> = (0..40).filter(|row| bits.is_null(*row)).collect();
        assert_eq!((found, bits.len()), (vec![3, 8, 21], 40));
        nulls.append_null(0);
        nulls.truncate(0);
        assert_eq!(nulls.finish(9).map_or(0, |bits| bits.null_count()), 0);
    }

    #[test]
    fn several_nulls() {
        for start in 0..20 {
            for end in start..40 {
                let (mut one, mut many) = (Nulls::default(), Nulls::default());
                for nulls in [&mut one, &mut many] {
                    nulls.append_null(start / 2);
                    nulls.truncate(start);
                }
                (start..end).for_each(|row| one.append_null(row));
                many.append_nulls(start..end);
                for nulls in [&mut one, &mut many] {
                    nulls.append_null(end + 3);
                }
                assert_eq!(one.finish(50), many.finish(50), "{start}..{end}");
            }
        }
    }
}
