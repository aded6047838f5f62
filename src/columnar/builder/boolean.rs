//! BIT(1) as bool.

use super::ColumnBuilder;
use super::nulls::Nulls;
use crate::error::Error;
use crate::wire::{Reader, Result};
use arrow_array::{ArrayRef, BooleanArray};
use arrow_buffer::BooleanBufferBuilder;
use arrow_schema::DataType;
use std::sync::Arc;

pub(super) struct BitBuilder {
    bits: BooleanBufferBuilder,
    nulls: Nulls,
}

impl Default for BitBuilder {
    fn default() -> Self {
        Self { bits: BooleanBufferBuilder::new(0), nulls: Nulls::default() }
    }
}

impl ColumnBuilder for BitBuilder {
    fn data_type(&self) -> DataType {
        DataType::Boolean
    }

    fn append(&mut self, image: &mut Reader<'_>) -> Result<()> {
        self.bits.append(image.u8("BIT")? & 1 == 1);
        Ok(())
    }

    fn append_null(&mut self) {
        self.nulls.append_null(self.bits.len());
        self.bits.append(false);
    }

    fn truncate(&mut self, rows: usize) {
        self.bits.truncate(rows);
        self.nulls.truncate(rows);
    }

    fn finish(&mut self) -> std::result::Result<ArrayRef, Error> {
        let nulls = self.nulls.finish(self.bits.len());
        Ok(Arc::new(BooleanArray::new(self.bits.finish(), nulls)))
    }
}
