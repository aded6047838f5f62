//! ENUM: as its member, as a dictionary of the members, or as its ordinal if the members are not
//! known.
//!
//! A cell is the ordinal in 1 or 2 bytes, counted from 1. The ordinal 0 is the empty error value.

use super::ColumnBuilder;
use super::nulls::Nulls;
use super::primitive::Cell;
use super::var_len::VarLenCell;
use crate::error::{DecodeError, Error};
use crate::wire::{Reader, Result};
use arrow_array::types::{Int32Type, UInt16Type};
use arrow_array::{Array, ArrayRef, DictionaryArray, StringArray, UInt16Array};
use arrow_buffer::ScalarBuffer;
use arrow_schema::DataType;
use std::sync::Arc;

/// The member as text.
pub(super) struct EnumText {
    pub(super) bytes: u8,
    pub(super) members: Arc<[Arc<str>]>,
}

impl VarLenCell for EnumText {
    #[inline]
    fn read(&mut self, image: &mut Reader<'_>, out: &mut Vec<u8>) -> Result<()> {
        let ordinal = ordinal(image, self.bytes)?;
        if let Some(index) = usize::from(ordinal).checked_sub(1) {
            let member = self.members.get(index).ok_or_else(|| no_member(ordinal))?;
            out.extend_from_slice(member.as_bytes());
        }
        Ok(())
    }
}

/// A dictionary of the members. Keys are the ordinals: entry 0 of the dictionary is the empty error value.
pub(super) struct EnumDictionary {
    bytes: u8,
    dictionary: Arc<StringArray>,
    keys: Vec<u16>,
    nulls: Nulls,
}

impl EnumDictionary {
    pub(super) fn new(bytes: u8, members: &[Arc<str>]) -> Self {
        let words = std::iter::once("").chain(members.iter().map(AsRef::as_ref));
        let dictionary = Arc::new(StringArray::from_iter_values(words));
        Self { bytes, dictionary, keys: Vec::new(), nulls: Nulls::default() }
    }
}

impl ColumnBuilder for EnumDictionary {
    fn data_type(&self) -> DataType {
        DataType::Dictionary(Box::new(DataType::UInt16), Box::new(DataType::Utf8))
    }

    #[inline]
    fn append(&mut self, image: &mut Reader<'_>) -> Result<()> {
        let ordinal = ordinal(image, self.bytes)?;
        if usize::from(ordinal) >= self.dictionary.len() {
            return Err(no_member(ordinal));
        }
        self.keys.push(ordinal);
        Ok(())
    }

    fn append_null(&mut self) {
        self.nulls.append_null(self.keys.len());
        self.keys.push(0);
    }

    fn append_nulls(&mut self, rows: usize) {
        let end = self.keys.len() + rows;
        self.nulls.append_nulls(self.keys.len()..end);
        self.keys.resize(end, 0);
    }

    fn truncate(&mut self, rows: usize) {
        self.keys.truncate(rows);
        self.nulls.truncate(rows);
    }

    fn finish(&mut self) -> std::result::Result<ArrayRef, Error> {
        let keys = std::mem::take(&mut self.keys);
        let nulls = self.nulls.finish(keys.len());
        let keys = UInt16Array::new(ScalarBuffer::from(keys), nulls);
        let dictionary = Arc::clone(&self.dictionary) as ArrayRef;
        DictionaryArray::<UInt16Type>::try_new(keys, dictionary)
            .map(|array| Arc::new(array) as ArrayRef)
            .map_err(|error| Error::new(crate::ErrorKind::Internal, error.to_string()))
    }
}

/// The ordinal.
pub(super) struct EnumOrdinal16 {
    pub(super) bytes: u8,
}

impl Cell for EnumOrdinal16 {
    type Arrow = UInt16Type;

    fn read(&self, image: &mut Reader<'_>) -> Result<Option<u16>> {
        ordinal(image, self.bytes).map(Some)
    }
}

/// The ordinal for Spark, which has no unsigned integers.
pub(super) struct EnumOrdinal32 {
    pub(super) bytes: u8,
}

impl Cell for EnumOrdinal32 {
    type Arrow = Int32Type;

    fn read(&self, image: &mut Reader<'_>) -> Result<Option<i32>> {
        ordinal(image, self.bytes).map(|ordinal| Some(i32::from(ordinal)))
    }
}

/// Reads the ordinal of an ENUM with `bytes` bytes.
#[inline]
fn ordinal(image: &mut Reader<'_>, bytes: u8) -> Result<u16> {
    match bytes {
        1 => image.u8("ENUM").map(u16::from),
        _ => image.u16("ENUM"),
    }
}

#[cold]
fn no_member(ordinal: u16) -> DecodeError {
    DecodeError::Invalid { what: "ENUM ordinal beyond the members", value: u64::from(ordinal) }
}
