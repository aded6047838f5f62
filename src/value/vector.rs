//! VECTOR(n): `n` floats, little-endian, one after another.
//!
//! ```text
//! [1.5, -2]      00 00 c0 3f   00 00 00 c0
//! ```
//!
//! <https://dev.mysql.com/doc/refman/9.4/en/vector.html>

use crate::error::DecodeError;
use crate::wire::Result;

/// The number of bytes of one element.
const ELEMENT_BYTES: usize = size_of::<f32>();

/// Returns the number of elements in `bytes`; a length that is not a multiple of 4 is an error.
#[inline]
pub fn dimension(bytes: &[u8]) -> Result<usize> {
    match bytes.len() % ELEMENT_BYTES {
        0 => Ok(bytes.len() / ELEMENT_BYTES),
        over => Err(DecodeError::LeftOver { what: "VECTOR elements", bytes: over }),
    }
}

/// Iterates over the elements; a length that is not a multiple of 4 is an error.
#[inline]
pub fn elements(bytes: &[u8]) -> Result<impl ExactSizeIterator<Item = f32> + '_> {
    dimension(bytes)?;
    let (elements, _) = bytes.as_chunks::<ELEMENT_BYTES>();
    Ok(elements.iter().map(|element| f32::from_le_bytes(*element)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats() {
        let bytes = [0, 0, 0xc0, 0x3f, 0, 0, 0, 0xc0];
        assert_eq!(dimension(&bytes), Ok(2));
        assert_eq!(elements(&bytes).unwrap().collect::<Vec<_>>(), [1.5, -2.0]);
        assert_eq!(dimension(&[]), Ok(0));
        assert!(dimension(&bytes[..7]).is_err());
        assert!(elements(&bytes[..7]).is_err());
    }
}
