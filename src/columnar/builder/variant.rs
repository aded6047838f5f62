//! JSON of MySQL as Parquet's Variant: a struct of two binary columns, which Spark reads as a
//! VARIANT.

use super::ColumnBuilder;
use super::length::CellLength;
use super::nulls::Nulls;
use super::var_bytes::VarBytes;
use crate::columnar::spare::SpareVectors;
use crate::error::{Error, ErrorKind};
use crate::value::json::VariantEncoder;
use crate::wire::{Reader, Result};
use arrow_array::{ArrayRef, StructArray};
use arrow_schema::{DataType, Field, Fields};
use std::collections::HashMap;
use std::sync::Arc;

pub(super) struct JsonVariant {
    length: CellLength,
    encoder: VariantEncoder,
    column: VariantColumn,
}

impl JsonVariant {
    pub(super) fn new(length: CellLength) -> Self {
        Self { length, encoder: VariantEncoder::default(), column: VariantColumn::default() }
    }
}

impl ColumnBuilder for JsonVariant {
    fn data_type(&self) -> DataType {
        VariantColumn::data_type()
    }

    fn append(&mut self, image: &mut Reader<'_>) -> Result<()> {
        let document = self.length.cell(image)?;
        let Self { encoder, column, .. } = self;
        column.append_with(|value, metadata| encoder.encode(document, value, metadata))
    }

    fn begin(&mut self, spare: &SpareVectors) {
        self.column.values.begin(spare);
        self.column.metadata.begin(spare);
    }

    fn append_null(&mut self) {
        self.column.append_null();
    }

    fn truncate(&mut self, rows: usize) {
        self.column.values.truncate(rows);
        self.column.metadata.truncate(rows);
        self.column.nulls.truncate(rows);
    }

    fn finish(&mut self) -> std::result::Result<ArrayRef, Error> {
        self.column.finish()
    }
}

/// Variants under construction.
#[derive(Default)]
pub(crate) struct VariantColumn {
    values: VarBytes,
    metadata: VarBytes,
    nulls: Nulls,
}

impl VariantColumn {
    /// The Arrow type that Spark recognizes as a VARIANT.
    pub(crate) fn data_type() -> DataType {
        DataType::Struct(fields())
    }

    /// Appends a variant; `write` writes its value and its metadata. After an error, the row may be
    /// in only one of them; it is removed with the other rows of the invalid rows event.
    pub(crate) fn append_with(
        &mut self,
        write: impl FnOnce(&mut Vec<u8>, &mut Vec<u8>) -> Result<()>,
    ) -> Result<()> {
        let Self { values, metadata, .. } = self;
        values.append_with(|value| metadata.append_with(|metadata| write(value, metadata)))?;
        Ok(())
    }

    /// Appends a NULL.
    pub(crate) fn append_null(&mut self) {
        self.nulls.append_null(self.values.rows());
        self.values.append_empty();
        self.metadata.append_empty();
    }

    /// The number of bytes so far.
    pub(crate) fn bytes(&self) -> usize {
        self.values.bytes().len() + self.metadata.bytes().len()
    }

    /// Returns the rows so far as an array; the column is empty afterwards.
    pub(crate) fn finish(&mut self) -> std::result::Result<ArrayRef, Error> {
        let nulls = self.nulls.finish(self.values.rows());
        let columns = vec![self.values.finish_binary()?, self.metadata.finish_binary()?];
        StructArray::try_new(fields(), columns, nulls)
            .map(|array| Arc::new(array) as ArrayRef)
            .map_err(|error| Error::new(ErrorKind::Internal, error.to_string()))
    }
}

/// The fields that Spark recognizes as a VARIANT.
fn fields() -> Fields {
    let mark = HashMap::from([("variant".to_owned(), "true".to_owned())]);
    Fields::from(vec![
        Field::new("value", DataType::Binary, false),
        Field::new("metadata", DataType::Binary, false).with_metadata(mark),
    ])
}
