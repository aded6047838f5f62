//! BINARY, VARBINARY, BLOB, GEOMETRY: bytes.

use super::ColumnBuilder;
use super::length::CellLength;
use super::var_bytes::VarBytes;
use crate::error::Error;
use crate::value::geometry;
use crate::wire::{Reader, Result};
use arrow_array::ArrayRef;
use arrow_schema::DataType;

/// Bytes as stored; BINARY(n) padded back to n, for the server cuts trailing zeros.
pub(super) struct Binary {
    length: CellLength,
    pad_to: usize,
    values: VarBytes,
}

impl Binary {
    pub(super) fn new(length: CellLength) -> Self {
        Self::padded(length, 0)
    }

    pub(super) fn padded(length: CellLength, pad_to: usize) -> Self {
        Self { length, pad_to, values: VarBytes::default() }
    }
}

impl ColumnBuilder for Binary {
    fn data_type(&self) -> DataType {
        DataType::Binary
    }

    #[inline]
    fn append(&mut self, image: &mut Reader<'_>) -> Result<()> {
        let cell = self.length.cell(image)?;
        if cell.len() >= self.pad_to {
            return self.values.append(cell);
        }
        let pad_to = self.pad_to;
        self.values.append_with(|out| {
            out.extend_from_slice(cell);
            out.resize(out.len() + pad_to - cell.len(), 0);
            Ok(())
        })
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
        self.values.finish_binary()
    }
}

/// A GEOMETRY as EWKB, or as WKB without its SRID.
pub(super) struct GeometryBytes {
    length: CellLength,
    extended: bool,
    values: VarBytes,
}

impl GeometryBytes {
    pub(super) fn new(length_bytes: u8, extended: bool) -> Self {
        Self { length: CellLength::blob(length_bytes), extended, values: VarBytes::default() }
    }
}

impl ColumnBuilder for GeometryBytes {
    fn data_type(&self) -> DataType {
        DataType::Binary
    }

    fn append(&mut self, image: &mut Reader<'_>) -> Result<()> {
        let cell = self.length.cell(image)?;
        if self.extended {
            return self.values.append_with(|out| geometry::write_ewkb(cell, out));
        }
        let (_srid, wkb) = geometry::split(cell)?;
        self.values.append(wkb)
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
        self.values.finish_binary()
    }
}
