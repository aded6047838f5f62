//! ENUM and SET as text, where the members are known.

use super::ColumnBuilder;
use super::number::enum_ordinal;
use super::var_bytes::VarBytes;
use crate::error::{DecodeError, Error};
use crate::wire::{Reader, Result};
use arrow_array::ArrayRef;
use arrow_schema::DataType;
use std::sync::Arc;

/// An ENUM's member; the ordinal 0 is the empty error value.
pub(super) struct EnumText {
    bytes: u8,
    members: Arc<[Arc<str>]>,
    values: VarBytes,
}

impl EnumText {
    pub(super) fn new(bytes: u8, members: &Arc<[Arc<str>]>) -> Self {
        Self { bytes, members: Arc::clone(members), values: VarBytes::default() }
    }
}

impl ColumnBuilder for EnumText {
    fn data_type(&self) -> DataType {
        DataType::Utf8
    }

    fn append(&mut self, image: &mut Reader<'_>) -> Result<()> {
        let ordinal = enum_ordinal(image, self.bytes)?;
        let member = match usize::from(ordinal).checked_sub(1) {
            None => "",
            Some(index) => self.members.get(index).ok_or(DecodeError::Invalid {
                what: "ENUM ordinal beyond the members",
                value: u64::from(ordinal),
            })?,
        };
        self.values.append(member.as_bytes())
    }

    fn begin(&mut self) {
        self.values.begin();
    }

    fn append_null(&mut self) {
        self.values.append_null();
    }

    fn truncate(&mut self, rows: usize) {
        self.values.truncate(rows);
    }

    fn finish(&mut self) -> std::result::Result<ArrayRef, Error> {
        self.values.finish_text()
    }
}

/// A SET's members joined by commas, as SELECT shows them.
pub(super) struct SetText {
    bytes: u8,
    members: Arc<[Arc<str>]>,
    values: VarBytes,
}

impl SetText {
    pub(super) fn new(bytes: u8, members: &Arc<[Arc<str>]>) -> Self {
        Self { bytes, members: Arc::clone(members), values: VarBytes::default() }
    }
}

impl ColumnBuilder for SetText {
    fn data_type(&self) -> DataType {
        DataType::Utf8
    }

    fn append(&mut self, image: &mut Reader<'_>) -> Result<()> {
        let bits = image.uint_le(usize::from(self.bytes), "SET")?;
        let members = &self.members;
        self.values.append_with(|out| write_members(bits, members, out))
    }

    fn begin(&mut self) {
        self.values.begin();
    }

    fn append_null(&mut self) {
        self.values.append_null();
    }

    fn truncate(&mut self, rows: usize) {
        self.values.truncate(rows);
    }

    fn finish(&mut self) -> std::result::Result<ArrayRef, Error> {
        self.values.finish_text()
    }
}

/// The members whose bits are set, joined by commas.
pub(super) fn write_members(bits: u64, members: &[Arc<str>], out: &mut Vec<u8>) -> Result<()> {
    let mut left = bits;
    let mut separator: &[u8] = b"";
    while left != 0 {
        let index = left.trailing_zeros();
        let member = members.get(index as usize).ok_or(DecodeError::Invalid {
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
