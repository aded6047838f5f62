//! A column of fixed-width values: numbers, decimals, dates and times.

use super::ColumnBuilder;
use super::cells::Cells;
use super::nulls::Nulls;
use crate::columnar::spare::{SpareVectors, Spared};
use crate::error::{DecodeError, Error};
use crate::wire::{Reader, Result};
use arrow_array::{ArrayRef, ArrowPrimitiveType, PrimitiveArray};
use arrow_schema::DataType;
use std::sync::Arc;

/// The conversion of the cells of one MySQL type to values of one Arrow type.
pub(super) trait Cell: Send + 'static {
    /// The native value of the Arrow type.
    type Arrow: ArrowPrimitiveType<Native: Spared>;

    /// The Arrow type with its parameters.
    fn data_type(&self) -> DataType {
        Self::Arrow::DATA_TYPE
    }

    /// Reads a cell; `None` is a date that Arrow cannot represent: it becomes NULL.
    fn read(
        &self,
        image: &mut Reader<'_>,
    ) -> Result<Option<<Self::Arrow as ArrowPrimitiveType>::Native>>;
}

/// Values of one type, with validity if needed.
pub(super) struct Primitive<C: Cell> {
    cell: C,
    values: Vec<<C::Arrow as ArrowPrimitiveType>::Native>,
    nulls: Nulls,
    zero_dates: u64,
    expected_rows: usize,
    spare: SpareVectors,
}

impl<C: Cell> Primitive<C> {
    pub(super) fn boxed(cell: C) -> Box<dyn ColumnBuilder> {
        Box::new(Self {
            cell,
            values: Vec::new(),
            nulls: Nulls::default(),
            zero_dates: 0,
            expected_rows: 0,
            spare: SpareVectors::default(),
        })
    }
}

impl<C: Cell> ColumnBuilder for Primitive<C> {
    fn data_type(&self) -> DataType {
        self.cell.data_type()
    }

    fn begin(&mut self, spare: &SpareVectors) {
        if self.values.capacity() == 0 {
            self.values = spare.take(self.expected_rows);
            self.spare = spare.clone();
        }
    }

    #[inline]
    fn append(&mut self, image: &mut Reader<'_>) -> Result<()> {
        match self.cell.read(image)? {
            Some(value) => self.values.push(value),
            None => {
                self.zero_dates += 1;
                self.append_null();
            }
        }
        Ok(())
    }

    fn append_cells(&mut self, cells: Cells<'_>) -> std::result::Result<(), (usize, DecodeError)> {
        let Self { cell, values, nulls, zero_dates, .. } = self;
        let first = values.len();
        let mut next = first;
        let mut failed = None;
        // The length of this iterator is known, so `extend` checks the capacity once.
        values.extend(cells.iter().map(|image| {
            let row = next;
            next += 1;
            let read = match image {
                None => None,
                Some(mut image) => match cell.read(&mut image) {
                    Ok(None) => {
                        *zero_dates += 1;
                        None
                    }
                    Ok(read) => read,
                    Err(error) => {
                        failed.get_or_insert((row - first, error));
                        None
                    }
                },
            };
            read.unwrap_or_else(|| {
                nulls.append_null(row);
                Default::default()
            })
        }));
        failed.map_or(Ok(()), Err)
    }

    fn append_null(&mut self) {
        self.nulls.append_null(self.values.len());
        self.values.push(Default::default());
    }

    fn append_nulls(&mut self, rows: usize) {
        let end = self.values.len() + rows;
        self.nulls.append_nulls(self.values.len()..end);
        self.values.resize(end, Default::default());
    }

    fn truncate(&mut self, rows: usize) {
        self.values.truncate(rows);
        self.nulls.truncate(rows);
    }

    fn take_zero_dates(&mut self) -> u64 {
        std::mem::take(&mut self.zero_dates)
    }

    fn finish(&mut self) -> std::result::Result<ArrayRef, Error> {
        // A small batch at the end of a segment does not predict the size of the next one.
        self.expected_rows = self.values.len().max(self.expected_rows / 2);
        let values = std::mem::take(&mut self.values);
        let nulls = self.nulls.finish(values.len());
        let array = PrimitiveArray::<C::Arrow>::new(self.spare.lend(values), nulls);
        Ok(Arc::new(array.with_data_type(self.cell.data_type())))
    }
}
