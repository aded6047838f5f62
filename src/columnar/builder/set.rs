//! SET: its members as text, or its bits as a number if the members are not known.
//!
//! A cell is the bits, little-endian in 1, 2, 3, 4 or 8 bytes.

use super::primitive::Cell;
use super::var_bytes::{BLOCK, VarBytes};
use super::var_len::VarLenCell;
use crate::error::DecodeError;
use crate::wire::{Reader, Result};
use arrow_array::types::{Decimal128Type, UInt64Type};
use arrow_schema::DataType;
use std::sync::Arc;

/// The members whose bits are set, joined by commas, as SELECT shows them.
pub(super) struct SetText {
    bytes: u8,
    members: Arc<[Arc<str>]>,
    /// The texts of the smallest values, which are all values of most columns. `None`: not needed so far.
    texts: Vec<Option<Joined>>,
}

/// The text of a value.
#[derive(Clone)]
struct Joined {
    /// The length of the text.
    len: usize,
    /// The text, and zeros after it up to the length of a block, so that a short text is copied without a function call.
    padded: Box<[u8]>,
}

impl Joined {
    fn of(text: &[u8]) -> Self {
        let mut padded = text.to_vec();
        padded.resize(text.len().max(BLOCK), 0);
        Self { len: text.len(), padded: padded.into() }
    }
}

impl SetText {
    pub(super) fn new(bytes: u8, members: Arc<[Arc<str>]>) -> Self {
        Self { bytes, members, texts: Vec::new() }
    }

    /// Appends the text of a value.
    fn write(&self, bits: u64, out: &mut Vec<u8>) -> Result<()> {
        let mut left = bits;
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

    /// Remembers the text of a value if the value is small.
    #[cold]
    fn remember(&mut self, bits: u64, text: &[u8]) {
        if let Some(index) = usize::try_from(bits).ok().filter(|index| *index < MAX_TEXTS) {
            if self.texts.len() <= index {
                self.texts.resize(index + 1, None);
            }
            if let Some(place) = self.texts.get_mut(index) {
                *place = Some(Joined::of(text));
            }
        }
    }
}

impl VarLenCell for SetText {
    fn read(&mut self, image: &mut Reader<'_>, out: &mut Vec<u8>) -> Result<()> {
        let bits = image.uint_le(usize::from(self.bytes), "SET")?;
        self.write(bits, out)
    }

    #[inline]
    fn append(&mut self, image: &mut Reader<'_>, values: &mut VarBytes) -> Result<()> {
        let bits = match self.bytes {
            1 => u64::from(image.u8("SET")?),
            bytes => image.uint_le(usize::from(bytes), "SET")?,
        };
        match self.texts.get(usize::try_from(bits).unwrap_or(usize::MAX)) {
            Some(Some(text)) => values.append_start(text.len, &text.padded),
            _ => values.append_with(|out| {
                let start = out.len();
                self.write(bits, out)?;
                self.remember(bits, out.get(start..).unwrap_or_default());
                Ok(())
            }),
        }
    }
}

/// The number of values whose texts are remembered: all values of a SET with 8 members.
const MAX_TEXTS: usize = 256;

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

#[cfg(test)]
mod tests {
    use super::super::var_len::VarLen;
    use super::*;
    use arrow_array::cast::AsArray;

    #[test]
    fn texts_of_values_that_come_again() {
        let members: Arc<[Arc<str>]> = (0..12).map(|member| format!("m{member}").into()).collect();
        let mut column = VarLen::text(SetText::new(2, members));
        for bits in [0_u16, 5, 5, 0, 255, 256, 257, 255, 256, 0x800, 5] {
            column.append(&mut Reader::new(&bits.to_le_bytes())).unwrap();
        }
        for bits in [0x1000_u16, 0x1001] {
            assert!(column.append(&mut Reader::new(&bits.to_le_bytes())).is_err());
        }
        let texts = column.finish().unwrap();
        let texts: Vec<_> = texts.as_string::<i32>().iter().flatten().collect();
        let low = "m0,m1,m2,m3,m4,m5,m6,m7";
        let expected = ["", "m0,m2", "m0,m2", "", low, "m8", "m0,m8", low, "m8", "m11", "m0,m2"];
        assert_eq!(texts, expected);
    }

    #[test]
    fn bits_beyond_the_members() {
        let members: Arc<[Arc<str>]> = ["a", "b"].map(Arc::from).into();
        let mut column = VarLen::text(SetText::new(1, members));
        for _ in 0..2 {
            let error = column.append(&mut Reader::new(&[6])).unwrap_err();
            assert_eq!(
                error,
                DecodeError::Invalid { what: "SET bit beyond the members", value: 2 }
            );
        }
        assert_eq!(column.finish().unwrap().len(), 0);
    }
}
