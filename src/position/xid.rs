//! The id of an XA transaction, the same whether an event, a statement or a stored position names it.

use std::fmt;

use crate::error::DecodeError;
use crate::limits::MAX_XID_PART_BYTES;
use crate::wire::Result;

/// The id that a transaction manager gave an XA transaction.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Xid {
    /// Format of the two parts; 1 unless the client said otherwise.
    pub format_id: u32,
    /// The global transaction.
    pub gtrid: Vec<u8>,
    /// The branch; may be empty.
    pub bqual: Vec<u8>,
}

impl Xid {
    /// An id of parts that are short enough.
    pub fn try_new(format_id: u32, gtrid: &[u8], bqual: &[u8]) -> Result<Self> {
        for (what, part) in [("gtrid length", gtrid), ("bqual length", bqual)] {
            if part.len() > MAX_XID_PART_BYTES {
                let (value, limit) = (part.len() as u64, MAX_XID_PART_BYTES as u64);
                return Err(DecodeError::Limit { what, value, limit });
            }
        }
        Ok(Self { format_id, gtrid: gtrid.to_vec(), bqual: bqual.to_vec() })
    }
}

/// As servers write it into the log: `X'616263',X'',1`.
impl fmt::Display for Xid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "X'{}',X'{}',{}", to_hex(&self.gtrid), to_hex(&self.bqual), self.format_id)
    }
}

/// Two lower-case digits a byte.
pub(crate) fn to_hex(bytes: &[u8]) -> String {
    let digit = |nibble: u8| char::from_digit(u32::from(nibble), 16).unwrap_or('0');
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}

/// The bytes of pairs of digits, of either case; `None` for anything else.
pub(crate) fn from_hex(text: &[u8]) -> Option<Vec<u8>> {
    let digit =
        |byte: u8| char::from(byte).to_digit(16).and_then(|nibble| u8::try_from(nibble).ok());
    let (pairs, rest) = text.as_chunks::<2>();
    if !rest.is_empty() {
        return None;
    }
    pairs.iter().map(|[high, low]| Some(digit(*high)? << 4 | digit(*low)?)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text() {
        let xid = Xid::try_new(17, b"abc", &[0, 0xff]).unwrap();
        assert_eq!(xid.to_string(), "X'616263',X'00ff',17");
        assert!(Xid::try_new(1, &[0; 65], b"").is_err());
        assert!(Xid::try_new(1, &[0; 64], &[0; 64]).is_ok());
    }

    #[test]
    fn hex() {
        let all: Vec<u8> = (0..=255).collect();
        assert_eq!(from_hex(to_hex(&all).as_bytes()), Some(all));
        assert_eq!(from_hex(b"aBf"), None);
        assert_eq!(from_hex(b"g0"), None);
    }
}
