//! BIT(n): the bits as a number. A cell is big-endian, in (n + 7) / 8 bytes.

use super::ColumnBuilder;
use super::primitive::{Cell, Primitive};
use crate::wire::{Reader, Result};
use arrow_array::types::{Decimal128Type, Int64Type, UInt64Type};
use arrow_schema::DataType;

pub(super) fn make(bits: u8, spark: bool) -> Box<dyn ColumnBuilder> {
    let bytes = usize::from(bits.div_ceil(8));
    match (bits, spark) {
        (_, false) => Primitive::boxed(Bits { bytes }),
        (64.., true) => Primitive::boxed(BitsDecimal { bytes }),
        (_, true) => Primitive::boxed(BitsSigned { bytes }),
    }
}

struct Bits {
    bytes: usize,
}

impl Cell for Bits {
    type Arrow = UInt64Type;

    fn read(&self, image: &mut Reader<'_>) -> Result<Option<u64>> {
        image.uint_be(self.bytes, "BIT").map(Some)
    }
}

struct BitsSigned {
    bytes: usize,
}

impl Cell for BitsSigned {
    type Arrow = Int64Type;

    fn read(&self, image: &mut Reader<'_>) -> Result<Option<i64>> {
        image.uint_be(self.bytes, "BIT").map(|bits| Some(bits as i64))
    }
}

struct BitsDecimal {
    bytes: usize,
}

impl Cell for BitsDecimal {
    type Arrow = Decimal128Type;

    fn data_type(&self) -> DataType {
        DataType::Decimal128(20, 0)
    }

    fn read(&self, image: &mut Reader<'_>) -> Result<Option<i128>> {
        image.uint_be(self.bytes, "BIT").map(|bits| Some(i128::from(bits)))
    }
}
