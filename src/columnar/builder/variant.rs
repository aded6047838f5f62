//! JSON of MySQL as Parquet's Variant: a struct of two binary columns, which Spark takes for a VARIANT.

use super::ColumnBuilder;
use super::length::CellLength;
use super::nulls::Nulls;
use super::var_bytes::VarBytes;
use crate::error::{Error, ErrorKind};
use crate::value::json::VariantEncoder;
use crate::wire::{Reader, Result};
use arrow_array::{ArrayRef, StructArray};
use arrow_schema::{DataType, Field, Fields};
use std::collections::HashMap;
use std::sync::Arc;

pub(super) struct JsonVariant {
    length: CellLength,
    fields: Fields,
    encoder: VariantEncoder,
    values: VarBytes,
    metadata: VarBytes,
    nulls: Nulls,
}

impl JsonVariant {
    pub(super) fn new(length_bytes: u8) -> Self {
        Self {
            length: CellLength::blob(length_bytes),
            fields: fields(),
            encoder: VariantEncoder::default(),
            values: VarBytes::default(),
            metadata: VarBytes::default(),
            nulls: Nulls::default(),
        }
    }
}

impl ColumnBuilder for JsonVariant {
    fn data_type(&self) -> DataType {
        DataType::Struct(self.fields.clone())
    }

    fn append(&mut self, image: &mut Reader<'_>) -> Result<()> {
        let document = self.length.cell(image)?;
        let Self { encoder, values, metadata, .. } = self;
        // A row that only one of them has is cut off with the rest of the rows event that broke.
        values.append_with(|value| {
            metadata.append_with(|metadata| encoder.encode(document, value, metadata))
        })?;
        self.nulls.append_valid();
        Ok(())
    }

    fn begin(&mut self) {
        self.values.begin();
        self.metadata.begin();
    }

    fn append_null(&mut self) {
        self.nulls.append_null(self.values.rows());
        self.values.append_empty();
        self.metadata.append_empty();
    }

    fn truncate(&mut self, rows: usize) {
        self.values.truncate(rows);
        self.metadata.truncate(rows);
        self.nulls.truncate(rows);
    }

    fn finish(&mut self) -> std::result::Result<ArrayRef, Error> {
        let columns = vec![self.values.finish_binary()?, self.metadata.finish_binary()?];
        StructArray::try_new(self.fields.clone(), columns, self.nulls.finish())
            .map(|array| Arc::new(array) as ArrayRef)
            .map_err(|error| Error::new(ErrorKind::Internal, error.to_string()))
    }
}

/// The fields by which Spark knows a VARIANT.
fn fields() -> Fields {
    let mark = HashMap::from([("variant".to_owned(), "true".to_owned())]);
    Fields::from(vec![
        Field::new("value", DataType::Binary, false),
        Field::new("metadata", DataType::Binary, false).with_metadata(mark),
    ])
}
