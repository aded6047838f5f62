//! ENUM as a dictionary of its members.

use super::ColumnBuilder;
use super::nulls::Nulls;
use super::number::enum_ordinal;
use crate::error::{DecodeError, Error};
use crate::wire::{Reader, Result};
use arrow_array::types::UInt16Type;
use arrow_array::{Array, ArrayRef, DictionaryArray, StringArray, UInt16Array};
use arrow_buffer::ScalarBuffer;
use arrow_schema::DataType;
use std::sync::Arc;

/// Keys are the ordinals: entry 0 of the dictionary is the empty error value.
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
        let ordinal = enum_ordinal(image, self.bytes)?;
        if usize::from(ordinal) >= self.dictionary.len() {
            return Err(DecodeError::Invalid {
                what: "ENUM ordinal beyond the members",
                value: u64::from(ordinal),
            });
        }
        self.keys.push(ordinal);
        self.nulls.append_valid();
        Ok(())
    }

    fn append_null(&mut self) {
        self.nulls.append_null(self.keys.len());
        self.keys.push(0);
    }

    fn truncate(&mut self, rows: usize) {
        self.keys.truncate(rows);
        self.nulls.truncate(rows);
    }

    fn finish(&mut self) -> std::result::Result<ArrayRef, Error> {
        let keys = std::mem::take(&mut self.keys);
        let keys = UInt16Array::new(ScalarBuffer::from(keys), self.nulls.finish());
        let dictionary = Arc::clone(&self.dictionary) as ArrayRef;
        DictionaryArray::<UInt16Type>::try_new(keys, dictionary)
            .map(|array| Arc::new(array) as ArrayRef)
            .map_err(|error| Error::new(crate::ErrorKind::Internal, error.to_string()))
    }
}
