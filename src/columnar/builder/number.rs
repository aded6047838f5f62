//! Integers, floats and YEAR.
//!
//! | cell | bytes, little-endian |
//! |---|---|
//! | TINYINT, SMALLINT, MEDIUMINT, INT, BIGINT | 1, 2, 3, 4, 8 |
//! | FLOAT, DOUBLE | 4, 8, IEEE 754 |
//! | YEAR | 1: 0 is 0000, else 1900 + n |

use super::primitive::Cell;
use crate::wire::{Reader, Result};
use arrow_array::types::{
    Decimal128Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type,
    UInt16Type, UInt32Type, UInt64Type,
};
use arrow_schema::DataType;

/// Defines a cell without parameters: its Arrow type and the conversion of its bytes to a value.
macro_rules! cell {
    ($($(#[$doc:meta])* $name:ident => $arrow:ty, |$image:ident| $value:expr;)+) => {$(
        $(#[$doc])*
        pub(super) struct $name;

        impl Cell for $name {
            type Arrow = $arrow;

            #[inline]
            fn read(
                &self,
                $image: &mut Reader<'_>,
            ) -> Result<Option<<$arrow as arrow_array::ArrowPrimitiveType>::Native>> {
                Ok(Some($value))
            }
        }
    )+};
}

const WHAT: &str = "number";

cell! {
    Tiny => Int8Type, |image| image.u8(WHAT)? as i8;
    TinyUnsigned => UInt8Type, |image| image.u8(WHAT)?;
    TinyUnsignedWide => Int16Type, |image| i16::from(image.u8(WHAT)?);
    Short => Int16Type, |image| image.u16(WHAT)? as i16;
    ShortUnsigned => UInt16Type, |image| image.u16(WHAT)?;
    ShortUnsignedWide => Int32Type, |image| i32::from(image.u16(WHAT)?);
    /// The sign bit is in the third byte: the shifts up and down copy it to the fourth.
    Int24 => Int32Type, |image| ((image.u24(WHAT)? << 8) as i32) >> 8;
    Int24Unsigned => UInt32Type, |image| image.u24(WHAT)?;
    Int24UnsignedWide => Int32Type, |image| image.u24(WHAT)? as i32;
    Long => Int32Type, |image| image.u32(WHAT)? as i32;
    LongUnsigned => UInt32Type, |image| image.u32(WHAT)?;
    LongUnsignedWide => Int64Type, |image| i64::from(image.u32(WHAT)?);
    LongLong => Int64Type, |image| image.i64(WHAT)?;
    LongLongUnsigned => UInt64Type, |image| image.u64(WHAT)?;
    Float => Float32Type, |image| f32::from_le_bytes(image.array(WHAT)?);
    Double => Float64Type, |image| f64::from_le_bytes(image.array(WHAT)?);
    Year => Int16Type, |image| match image.u8(WHAT)? {
        0 => 0,
        year => 1900 + i16::from(year),
    };
}

/// BIGINT UNSIGNED for Spark: decimal(20,0).
pub(super) struct LongLongUnsignedWide;

impl Cell for LongLongUnsignedWide {
    type Arrow = Decimal128Type;

    fn data_type(&self) -> DataType {
        DataType::Decimal128(20, 0)
    }

    #[inline]
    fn read(&self, image: &mut Reader<'_>) -> Result<Option<i128>> {
        Ok(Some(i128::from(image.u64(WHAT)?)))
    }
}
