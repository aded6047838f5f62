//! GEOMETRY as EWKB, or as WKB without its SRID.

use super::length::CellLength;
use super::var_len::VarLenCell;
use crate::value::geometry;
use crate::wire::{Reader, Result};

pub(super) struct Ewkb {
    pub(super) length: CellLength,
}

impl VarLenCell for Ewkb {
    fn read(&mut self, image: &mut Reader<'_>, out: &mut Vec<u8>) -> Result<()> {
        geometry::write_ewkb(self.length.cell(image)?, out)
    }
}

pub(super) struct Wkb {
    pub(super) length: CellLength,
}

impl VarLenCell for Wkb {
    fn read(&mut self, image: &mut Reader<'_>, out: &mut Vec<u8>) -> Result<()> {
        let (_srid, wkb) = geometry::split(self.length.cell(image)?)?;
        out.extend_from_slice(wkb);
        Ok(())
    }
}
