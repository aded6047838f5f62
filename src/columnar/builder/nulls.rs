//! Which rows of a column are NULL; nothing is kept until the first one is.

use arrow_buffer::{BooleanBufferBuilder, NullBuffer};

/// Validity bits of a column under construction. The caller knows the row count.
#[derive(Debug, Default)]
pub(super) struct Nulls(Option<BooleanBufferBuilder>);

impl Nulls {
    /// The next row has a value.
    #[inline]
    pub(super) fn append_valid(&mut self) {
        if let Some(bits) = &mut self.0 {
            bits.append(true);
        }
    }

    /// The next row, number `row`, is NULL.
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
