//! Prepared statements: rows of a query in the binary protocol, in which numbers and dates are not text.
//!
//! ```text
//! PREPARE_OK   00 | statement id u32 | columns u16 | parameters u16 | 00 | warnings u16
//! row          00 | NULL bitmap, whose first two bits are unused | the values that are not NULL
//! ```
//!
//! <https://dev.mysql.com/doc/dev/mysql-server/latest/page_protocol_com_stmt_prepare.html>,
//! <https://dev.mysql.com/doc/dev/mysql-server/latest/page_protocol_binary_resultset.html>

use super::response::OK;
use crate::error::DecodeError;
use crate::wire::{Reader, Result};

/// `COM_STMT_PREPARE`
pub fn prepare(sql: &str) -> Vec<u8> {
    [&[0x16], sql.as_bytes()].concat()
}

/// `COM_STMT_EXECUTE` of a statement without parameters and without a cursor: the server sends all rows.
pub fn execute(id: u32) -> Vec<u8> {
    const NO_CURSOR: u8 = 0;
    const ONE_ITERATION: u32 = 1;
    let mut out = vec![0x17];
    out.extend(id.to_le_bytes());
    out.push(NO_CURSOR);
    out.extend(ONE_ITERATION.to_le_bytes());
    out
}

/// `COM_STMT_CLOSE`, which the server does not answer.
pub fn close_statement(id: u32) -> Vec<u8> {
    [&[0x19][..], &id.to_le_bytes()].concat()
}

/// The answer to `COM_STMT_PREPARE`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Prepared {
    /// The statement's number in its session.
    pub id: u32,
    /// The number of columns of its rows.
    pub columns: u16,
    /// The number of its parameters.
    pub parameters: u16,
}

impl Prepared {
    /// Decodes the first packet of the answer, which must not be an ERR packet.
    pub fn decode(payload: &[u8]) -> Result<Self> {
        const WHAT: &str = "answer to COM_STMT_PREPARE";
        let mut reader = Reader::new(payload);
        match reader.u8(WHAT)? {
            OK => {}
            value => return Err(DecodeError::Invalid { what: WHAT, value: value.into() }),
        }
        let (id, columns, parameters) = (reader.u32(WHAT)?, reader.u16(WHAT)?, reader.u16(WHAT)?);
        Ok(Self { id, columns, parameters })
    }
}

/// The type of a result column, from its definition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ResultColumn {
    /// The type code of the protocol.
    pub type_code: u8,
    /// The largest number of characters of its values.
    pub length: u32,
}

impl ResultColumn {
    /// Decodes a column definition.
    pub fn decode(payload: &[u8]) -> Result<Self> {
        let mut reader = Reader::new(payload);
        for what in ["catalog", "schema", "table", "original table", "name", "original name"] {
            reader.lenenc_str(what)?;
        }
        const WHAT: &str = "column definition";
        let mut fixed = Reader::new(reader.lenenc_str(WHAT)?);
        fixed.u16(WHAT)?; // the collation
        let length = fixed.u32(WHAT)?;
        Ok(Self { type_code: fixed.u8(WHAT)?, length })
    }
}

/// A row in the binary protocol.
#[derive(Debug, Clone, Copy)]
pub struct BinaryRow<'a> {
    nulls: &'a [u8],
    values: &'a [u8],
}

impl<'a> BinaryRow<'a> {
    /// Decodes the payload of a row with this number of columns. The values are not decoded.
    #[inline]
    pub fn decode(payload: &'a [u8], columns: usize) -> Result<Self> {
        const WHAT: &str = "row of a prepared statement";
        let mut reader = Reader::new(payload);
        match reader.u8(WHAT)? {
            OK => {}
            value => return Err(DecodeError::Invalid { what: WHAT, value: value.into() }),
        }
        let nulls = reader.take((columns + 2).div_ceil(8), WHAT)?;
        Ok(Self { nulls, values: reader.rest() })
    }

    /// True if the value of column `index` is NULL.
    #[inline]
    pub fn is_null(&self, index: usize) -> bool {
        let bit = index + 2;
        self.nulls.get(bit / 8).is_some_and(|byte| byte >> (bit % 8) & 1 == 1)
    }

    /// The values that are not NULL, one after another.
    #[inline]
    pub fn values(&self) -> Reader<'a> {
        Reader::new(self.values)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_the_manual_lays_them_out() {
        assert_eq!(prepare("SELECT 1"), b"\x16SELECT 1");
        assert_eq!(execute(7), b"\x17\x07\0\0\0\0\x01\0\0\0");
        let prepared = Prepared::decode(b"\0\x07\0\0\0\x02\0\x01\0\0\0\0").unwrap();
        assert_eq!(prepared, Prepared { id: 7, columns: 2, parameters: 1 });
        assert!(Prepared::decode(b"\xfe").is_err() && Prepared::decode(b"\0\x07").is_err());
    }

    #[test]
    fn definitions() {
        let definition = b"\x03def\x01d\x01t\x01t\x01c\x01c\x0c\x2d\0\x0a\0\0\0\xfd\x20\0\0\0\0";
        let column = ResultColumn::decode(definition).unwrap();
        assert_eq!(column, ResultColumn { type_code: 0xfd, length: 10 });
        for end in 0..definition.len() {
            let _ = ResultColumn::decode(&definition[..end]);
        }
        assert!(ResultColumn::decode(&definition[..12]).is_err());
    }

    #[test]
    fn rows() {
        // Seven columns need two bytes of bits: the first two bits are not used.
        let row = BinaryRow::decode(b"\0\x04\x01abc", 7).unwrap();
        let nulls: Vec<_> = (0..7).filter(|index| row.is_null(*index)).collect();
        assert_eq!(nulls, [0, 6]);
        assert_eq!(row.values().rest(), b"abc");
        assert!(BinaryRow::decode(b"\0\x04", 7).is_err());
        assert!(BinaryRow::decode(b"\xff\0\0", 7).is_err());
    }
}
