//! VECTOR as a list of float32; a value may have fewer elements than the column allows.

use super::ColumnBuilder;
use super::length::CellLength;
use super::nulls::Nulls;
use crate::error::{DecodeError, Error};
use crate::value::vector;
use crate::wire::{Reader, Result};
use arrow_array::{ArrayRef, Float32Array, ListArray};
use arrow_buffer::{OffsetBuffer, ScalarBuffer};
use arrow_schema::{DataType, Field, FieldRef};
use std::sync::Arc;

pub(super) struct VectorList {
    length: CellLength,
    element: FieldRef,
    ends: Vec<i32>,
    elements: Vec<f32>,
    nulls: Nulls,
}

impl VectorList {
    pub(super) fn new(length: CellLength) -> Self {
        Self {
            length,
            element: Arc::new(Field::new("element", DataType::Float32, true)),
            ends: Vec::new(),
            elements: Vec::new(),
            nulls: Nulls::default(),
        }
    }
}

impl ColumnBuilder for VectorList {
    fn data_type(&self) -> DataType {
        DataType::List(Arc::clone(&self.element))
    }

    fn append(&mut self, image: &mut Reader<'_>) -> Result<()> {
        let cell = self.length.cell(image)?;
        let elements = vector::elements(cell)?;
        let end = self.elements.len() + elements.len();
        let end = i32::try_from(end).map_err(|_| DecodeError::Limit {
            what: "elements of one column in one batch",
            value: end as u64,
            limit: i32::MAX as u64,
        })?;
        self.elements.extend(elements);
        self.ends.push(end);
        Ok(())
    }

    fn append_null(&mut self) {
        self.nulls.append_null(self.ends.len());
        self.ends.push(self.elements.len() as i32);
    }

    fn truncate(&mut self, rows: usize) {
        self.ends.truncate(rows);
        self.elements.truncate(self.ends.last().map_or(0, |end| *end as usize));
        self.nulls.truncate(rows);
    }

    fn finish(&mut self) -> std::result::Result<ArrayRef, Error> {
        let nulls = self.nulls.finish(self.ends.len());
        let mut offsets = Vec::with_capacity(self.ends.len() + 1);
        offsets.push(0);
        offsets.append(&mut self.ends);
        let elements = Float32Array::from(std::mem::take(&mut self.elements));
        ListArray::try_new(
            Arc::clone(&self.element),
            OffsetBuffer::new(ScalarBuffer::from(offsets)),
            Arc::new(elements),
            nulls,
        )
        .map(|array| Arc::new(array) as ArrayRef)
        .map_err(|error| Error::new(crate::ErrorKind::Internal, error.to_string()))
    }
}
