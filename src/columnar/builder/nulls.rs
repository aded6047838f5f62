//! The NULLs of a column. No bits are stored before the first NULL.

use arrow_buffer::{BooleanBufferBuilder, NullBuffer};

/// Validity bits of a column under construction. The caller knows the row count.
#[derive(Debug, Default)]
pub(super) struct Nulls(Option<BooleanBufferBuilder>);

impl Nulls {
    /// Appends a row that has a value.
    #[inline]
    pub(super) fn append_valid(&mut self) {
        if let Some(bits) = &mut self.0 {
            bits.append(true);
        }
    }

    /// Appends a NULL, which is row `row`.
    pub(super) fn append_null(&mut self, row: usize) {
        let bits = self.0.get_or_insert_with(|| {
            let mut bits = BooleanBufferBuilder::new(row.next_power_of_two().max(1024));
            bits.append_n(row, true);
            bits
        });
        bits.append(false);
    }

    pub(super) fn truncate(&mut self, rows: usize) {
        if let Some(bits) = &mut self.0 {
            bits.truncate(rows);
        }
    }

    pub(super) fn finish(&mut self) -> Option<NullBuffer> {
        self.0.take().map(|mut bits| NullBuffer::new(bits.finish()))
    }
}
