//! GEOMETRY: a spatial reference id, then well-known binary (WKB).
//!
//! ```text
//! SRID 4326, POINT(1 2)
//! e6 10 00 00 | 01 | 01 00 00 00 | 00 … f0 3f | 00 … 00 40
//! SRID  u32 LE  │    type          x            y
//!               └ byte order: 1 little, 0 big
//!
//! as EWKB: 01 | 01 00 00 20 | e6 10 00 00 | 00 … f0 3f | 00 … 00 40
//! ```
//!
//! The body of the geometry is returned unchanged: the points keep the order that the server
//! stores.
//!
//! <https://dev.mysql.com/doc/refman/8.4/en/gis-data-formats.html>

use crate::error::DecodeError;
use crate::wire::{Reader, Result};

/// The bit of EWKB's type word that means that an SRID follows.
const EWKB_SRID: u32 = 0x2000_0000;

/// Returns the SRID and the WKB of a stored value.
#[inline]
pub fn split(bytes: &[u8]) -> Result<(u32, &[u8])> {
    let mut reader = Reader::new(bytes);
    let srid = reader.u32("geometry SRID")?;
    Ok((srid, reader.rest()))
}

/// Appends a stored value as EWKB, or as plain WKB if its SRID is 0. Only the outermost geometry
/// contains the SRID. Nothing is appended if the value is too short for a geometry.
pub fn write_ewkb(bytes: &[u8], out: &mut Vec<u8>) -> Result<()> {
    let (srid, wkb) = split(bytes)?;
    let mut reader = Reader::new(wkb);
    let order = reader.u8("WKB byte order")?;
    let kind = reader.array::<4>("WKB type")?;
    let (kind, srid_bytes) = match order {
        0 => ((u32::from_be_bytes(kind) | EWKB_SRID).to_be_bytes(), srid.to_be_bytes()),
        1 => ((u32::from_le_bytes(kind) | EWKB_SRID).to_le_bytes(), srid.to_le_bytes()),
        value => {
            return Err(DecodeError::Invalid { what: "WKB byte order", value: u64::from(value) });
        }
    };
    if srid == 0 {
        out.extend_from_slice(wkb);
        return Ok(());
    }
    out.push(order);
    out.extend_from_slice(&kind);
    out.extend_from_slice(&srid_bytes);
    out.extend_from_slice(reader.rest());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ewkb(bytes: &[u8]) -> Result<Vec<u8>> {
        let mut out = Vec::new();
        write_ewkb(bytes, &mut out).map(|()| out)
    }

    #[test]
    fn point_with_srid() {
        let body = [0, 0, 0, 0, 0, 0, 0xf0, 0x3f, 0, 0, 0, 0, 0, 0, 0, 0x40];
        let stored = [&[0xe6, 0x10, 0, 0, 1, 1, 0, 0, 0][..], &body].concat();
        assert_eq!(split(&stored).unwrap().0, 4326);
        let expected = [&[1, 1, 0, 0, 0x20, 0xe6, 0x10, 0, 0][..], &body].concat();
        assert_eq!(ewkb(&stored).unwrap(), expected);
    }

    #[test]
    fn srid_zero_is_plain_wkb() {
        let stored = [0, 0, 0, 0, 1, 7, 0, 0, 0, 0, 0, 0, 0];
        assert_eq!(ewkb(&stored).unwrap(), &stored[4..]);
    }

    #[test]
    fn big_endian() {
        let stored = [0xe6, 0x10, 0, 0, 0, 0, 0, 0, 7, 0, 0, 0, 0];
        assert_eq!(ewkb(&stored).unwrap(), [0, 0x20, 0, 0, 7, 0, 0, 0x10, 0xe6, 0, 0, 0, 0]);
    }

    #[test]
    fn too_short_or_unknown_order() {
        let stored = [1, 0, 0, 0, 1, 7, 0, 0, 0];
        for end in 0..stored.len() {
            assert!(ewkb(&stored[..end]).is_err());
        }
        assert!(ewkb(&[0, 0, 0, 0, 2, 7, 0, 0, 0]).is_err());
    }
}
