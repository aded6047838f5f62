//! DECIMAL: decimal128 up to 38 digits; decimal256, or text for Spark, if there are more.

use super::ColumnBuilder;
use super::primitive::{Cell, Primitive};
use super::var_len::{VarLen, VarLenCell};
use crate::value::decimal;
use crate::wire::{Reader, Result};
use arrow_array::types::{Decimal128Type, Decimal256Type};
use arrow_buffer::i256;
use arrow_schema::DataType;

pub(super) fn make(precision: u8, scale: u8, spark: bool) -> Box<dyn ColumnBuilder> {
    let bytes = decimal::byte_count(precision, scale);
    if let Some(form) = decimal::ShortDecimal::of(precision, scale) {
        return Primitive::boxed(Short { precision, scale, form });
    }
    match (precision, spark) {
        (..=38, _) => Primitive::boxed(Narrow { precision, scale, bytes }),
        (_, false) => Primitive::boxed(Wide { precision, scale, bytes }),
        (_, true) => VarLen::text(DecimalText { precision, scale, bytes }),
    }
}

struct Short {
    precision: u8,
    scale: u8,
    form: decimal::ShortDecimal,
}

impl Cell for Short {
    type Arrow = Decimal128Type;

    fn data_type(&self) -> DataType {
        DataType::Decimal128(self.precision, self.scale as i8)
    }

    #[inline(always)] // in the loop over cells
    fn read(&self, image: &mut Reader<'_>) -> Result<Option<i128>> {
        let bytes = image.take(self.form.bytes(), "DECIMAL")?;
        match self.form.decode(bytes) {
            Some(value) => Ok(Some(i128::from(value))),
            None => self.read_any(bytes),
        }
    }
}

impl Short {
    /// Returns the error for bytes that are not a valid value.
    #[cold]
    #[inline(never)]
    fn read_any(&self, bytes: &[u8]) -> Result<Option<i128>> {
        decimal::decode_i128(bytes, self.precision, self.scale).map(Some)
    }
}

struct Narrow {
    precision: u8,
    scale: u8,
    bytes: usize,
}

impl Cell for Narrow {
    type Arrow = Decimal128Type;

    fn data_type(&self) -> DataType {
        DataType::Decimal128(self.precision, self.scale as i8)
    }

    #[inline]
    fn read(&self, image: &mut Reader<'_>) -> Result<Option<i128>> {
        let bytes = image.take(self.bytes, "DECIMAL")?;
        decimal::decode_i128(bytes, self.precision, self.scale).map(Some)
    }
}

struct Wide {
    precision: u8,
    scale: u8,
    bytes: usize,
}

impl Cell for Wide {
    type Arrow = Decimal256Type;

    fn data_type(&self) -> DataType {
        DataType::Decimal256(self.precision, self.scale as i8)
    }

    fn read(&self, image: &mut Reader<'_>) -> Result<Option<i256>> {
        let bytes = image.take(self.bytes, "DECIMAL")?;
        let wide = decimal::decode_wide(bytes, self.precision, self.scale)?;
        let [a, b, c, d] = wide.magnitude;
        let low = u128::from(a) | u128::from(b) << 64;
        let high = u128::from(c) | u128::from(d) << 64;
        let value = i256::from_parts(low, high as i128);
        Ok(Some(if wide.negative { value.wrapping_neg() } else { value }))
    }
}

pub(super) struct DecimalText {
    pub(super) precision: u8,
    pub(super) scale: u8,
    pub(super) bytes: usize,
}

impl VarLenCell for DecimalText {
    fn read(&mut self, image: &mut Reader<'_>, out: &mut Vec<u8>) -> Result<()> {
        let bytes = image.take(self.bytes, "DECIMAL")?;
        decimal::write_text(bytes, self.precision, self.scale, out)
    }
}
