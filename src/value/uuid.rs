//! UUID of MariaDB: 16 bytes in the order of the text.
//!
//! ```text
//! 12 3e 45 67 e8 9b 12 d3 a4 56 42 66 55 44 00 00      123e4567-e89b-12d3-a456-426655440000
//! ```
//!
//! <https://mariadb.com/kb/en/uuid-data-type/>

use crate::error::DecodeError;
use crate::wire::{Result, write_hex};

/// Appends the text that SELECT shows.
pub fn write_text(bytes: [u8; 16], out: &mut Vec<u8>) {
    for (index, byte) in bytes.into_iter().enumerate() {
        if matches!(index, 4 | 6 | 8 | 10) {
            out.push(b'-');
        }
        write_hex(&[byte], out);
    }
}

/// Parses the text that SELECT shows.
///
/// # Errors
/// The text is not a UUID.
pub fn parse(text: &[u8]) -> Result<[u8; 16]> {
    let bad = || DecodeError::Invalid { what: "the text of a UUID", value: text.len() as u64 };
    let text = std::str::from_utf8(text).map_err(|_| bad())?;
    let digits: String = text.split('-').collect();
    match digits.len() {
        32 => u128::from_str_radix(&digits, 16).map(u128::to_be_bytes).map_err(|_| bad()),
        _ => Err(bad()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text() {
        let mut out = Vec::new();
        write_text(0x123e4567_e89b_12d3_a456_426655440000_u128.to_be_bytes(), &mut out);
        assert_eq!(out, b"123e4567-e89b-12d3-a456-426655440000");
        assert_eq!(parse(&out), Ok(0x123e4567_e89b_12d3_a456_426655440000_u128.to_be_bytes()));
        for bad in ["", "123e4567", "123e4567-e89b-12d3-a456-42665544000x", "\u{e9}"] {
            assert!(parse(bad.as_bytes()).is_err(), "{bad}");
        }
    }
}
