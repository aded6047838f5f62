//! SET: its members as text, or its bits as a number if the members are not known.
//!
//! A cell is the bits, little-endian in 1, 2, 3, 4 or 8 bytes.

use super::primitive::Cell;
use super::var_len::VarLenCell;
use crate::error::DecodeError;
use crate::wire::{Reader, Result};
use arrow_array::types::{Decimal128Type, UInt64Type};
use arrow_schema::DataType;
use std::sync::Arc;

/// The members whose bits are set, joined by commas, as SELECT shows them.
pub(super) struct SetText {
    pub(super) bytes: u8,
    pub(super) members: Arc<[Arc<str>]>,
}

impl VarLenCell for SetText {
    fn read(&mut self, image: &mut Reader<'_>, out: &mut Vec<u8>) -> Result<()> {
        let mut left = image.uint_le(usize::from(self.bytes), "SET")?;
        let mut separator: &[u8] = b"";
        while left != 0 {
            let index = left.trailing_zeros();
            let member = self.members.get(index as usize).ok_or(DecodeError::Invalid {
                what: "SET bit beyond the members",
                value: u64::from(index),
            })?;
            out.extend_from_slice(separator);
            out.extend_from_slice(member.as_bytes());
            separator = b",";
            left &= left - 1;
        }
        Ok(())
    }
}

/// The bits.
pub(super) struct SetBits {
    pub(super) bytes: u8,
}

impl Cell for SetBits {
    type Arrow = UInt64Type;

    fn read(&self, image: &mut Reader<'_>) -> Result<Option<u64>> {
        image.uint_le(usize::from(self.bytes), "SET").map(Some)
    }
}

/// The bits for Spark, which has no unsigned integers: decimal(20,0).
pub(super) struct SetDecimal {
    pub(super) bytes: u8,
}

impl Cell for SetDecimal {
    type Arrow = Decimal128Type;

    fn data_type(&self) -> DataType {
        DataType::Decimal128(20, 0)
    }

    fn read(&self, image: &mut Reader<'_>) -> Result<Option<i128>> {
        image.uint_le(usize::from(self.bytes), "SET").map(|bits| Some(i128::from(bits)))
    }
}
