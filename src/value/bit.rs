//! BIT(n): 1 to 64 bits in `(n + 7) / 8` bytes, big-endian.
//!
//! ```text
//! BIT(10) = 513      02 01
//! ```
//!
//! <https://dev.mysql.com/doc/refman/8.4/en/bit-type.html>

use crate::error::DecodeError;
use crate::wire::Result;

/// BIT(64) is the widest.
pub const MAX_BYTES: usize = 8;

/// The bits as a number. No bytes are no bits: 0.
#[inline]
pub fn decode(bytes: &[u8]) -> Result<u64> {
    if bytes.len() > MAX_BYTES {
        return Err(DecodeError::Limit {
            what: "BIT length in bytes",
            value: bytes.len() as u64,
            limit: MAX_BYTES as u64,
        });
    }
    Ok(bytes.iter().fold(0, |bits, byte| bits << 8 | u64::from(*byte)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn big_endian() {
        assert_eq!(decode(&[0x02, 0x01]), Ok(513));
        assert_eq!(decode(&[0xff; 8]), Ok(u64::MAX));
        assert_eq!(decode(&[]), Ok(0));
        assert!(decode(&[0; 9]).is_err());
    }
}
