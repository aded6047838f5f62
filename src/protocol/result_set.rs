//! Rows of text: a server's answer to a query.
//!
//! ```text
//! OK or ERR | column count lenenc | one definition per column | EOF | rows | EOF or ERR
//! ```
//!
//! <https://dev.mysql.com/doc/dev/mysql-server/latest/page_protocol_com_query_response_text_resultset.html>

use super::response::{OK, is_eof, is_ok};
use crate::error::DecodeError;
use crate::limits::MAX_COLUMNS;
use crate::wire::{Reader, Result};

/// One row: a cell is text, or `None` for NULL.
pub type TextRow = Vec<Option<String>>;

/// A result set while its packets are received. Servers send it in this form to clients without
/// `DEPRECATE_EOF`.
#[derive(Debug, Default)]
pub struct ResultSet {
    state: State,
    columns: Vec<String>,
    rows: Vec<TextRow>,
    /// The approximate number of bytes of the rows in memory.
    size: usize,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum State {
    #[default]
    First,
    Columns(usize),
    EndOfColumns,
    Rows,
}

impl ResultSet {
    /// Adds the next packet, which must not be an ERR packet. Returns true if it was the last one.
    pub fn push(&mut self, payload: &[u8]) -> Result<bool> {
        match self.state {
            State::First => return self.push_first(payload),
            State::Columns(left) => {
                self.columns.push(column_name(payload)?);
                self.state = if left > 1 { State::Columns(left - 1) } else { State::EndOfColumns };
            }
            State::EndOfColumns => {
                if !is_eof(payload) {
                    return Err(invalid("packet after column definitions", payload));
                }
                self.state = State::Rows;
            }
            State::Rows if is_eof(payload) => return Ok(true),
            State::Rows => {
                self.size += payload.len() + self.columns.len() * size_of::<Option<String>>();
                if self.size > MAX_SIZE {
                    let (value, limit) = (self.size as u64, MAX_SIZE as u64);
                    return Err(DecodeError::Limit { what: "size of a result set", value, limit });
                }
                self.rows.push(row(payload, self.columns.len())?);
            }
        }
        Ok(false)
    }

    fn push_first(&mut self, payload: &[u8]) -> Result<bool> {
        match payload.first() {
            Some(&OK) if is_ok(payload) => return Ok(true),
            Some(&OK) => return Err(invalid("OK packet", payload)),
            // With this packet the server requests a file of this machine; the client never offered
            // one.
            Some(&LOCAL_INFILE) => {
                return Err(invalid("a server's answer that asks for a local file", payload));
            }
            _ => {}
        }
        let mut reader = Reader::new(payload);
        let count = reader.lenenc_len("column count")?;
        reader.finish("column count")?;
        if count == 0 || count > MAX_COLUMNS {
            let limit = MAX_COLUMNS as u64;
            return Err(DecodeError::Limit { what: "column count", value: count as u64, limit });
        }
        self.state = State::Columns(count);
        Ok(false)
    }

    /// The names of the columns, in order; empty if the statement returns no rows.
    pub fn columns(&self) -> &[String] {
        &self.columns
    }

    /// The rows.
    pub fn into_rows(self) -> Vec<TextRow> {
        self.rows
    }
}

fn column_name(payload: &[u8]) -> Result<String> {
    let mut reader = Reader::new(payload);
    for what in ["catalog", "schema", "table", "original table"] {
        reader.lenenc_str(what)?;
    }
    Ok(String::from_utf8_lossy(reader.lenenc_str("column name")?).into_owned())
}

fn row(payload: &[u8], columns: usize) -> Result<TextRow> {
    let mut reader = Reader::new(payload);
    let mut row = Vec::with_capacity(columns);
    for _ in 0..columns {
        if reader.as_slice().first() == Some(&NULL) {
            reader.u8("NULL")?;
            row.push(None);
        } else {
            row.push(Some(String::from_utf8_lossy(reader.lenenc_str("cell")?).into_owned()));
        }
    }
    reader.finish("row of a result set")?;
    Ok(row)
}

fn invalid(what: &'static str, payload: &[u8]) -> DecodeError {
    DecodeError::Invalid { what, value: payload.first().copied().unwrap_or_default().into() }
}

/// The answers to our queries are far smaller: that to `SHOW BINARY LOGS` has 200 bytes per file.
const MAX_SIZE: usize = 256 << 20;

const NULL: u8 = 0xfb;
const LOCAL_INFILE: u8 = 0xfb;

#[cfg(test)]
mod tests {
    use super::*;

    fn definition(name: &str) -> Vec<u8> {
        let mut out = b"\x03def\0\0\0".to_vec();
        out.push(name.len() as u8);
        out.extend(name.bytes());
        out.extend(b"\0\x0c\x2d\0\0\0\0\0\xfd\0\0\0\0\0");
        out
    }

    #[test]
    fn rows_of_text() {
        let mut set = ResultSet::default();
        for packet in
            [&[2][..], &definition("a"), &definition("b"), &[0xfe, 0, 0, 2, 0], b"\x01x\xfb"]
        {
            assert_eq!(set.push(packet), Ok(false));
        }
        assert_eq!(set.push(&[0xfe, 0, 0, 2, 0]), Ok(true));
        assert_eq!(set.columns(), ["a", "b"]);
        assert_eq!(set.into_rows(), [vec![Some("x".to_owned()), None]]);
        assert_eq!(ResultSet::default().push(&[0, 0, 0, 2, 0, 0, 0]), Ok(true));
    }

    #[test]
    fn rows_without_end() {
        let mut set = ResultSet::default();
        for packet in [&[1][..], &definition("a"), &[0xfe, 0, 0, 2, 0]] {
            set.push(packet).unwrap();
        }
        let cell = [b"\xfd\0\0\x10".as_slice(), &[7; 1 << 20]].concat();
        let pushed = (0..1000).take_while(|_| set.push(&cell).is_ok()).count();
        assert_eq!(pushed, 255);
    }

    #[test]
    fn no_file_of_ours_and_no_wild_counts() {
        assert!(ResultSet::default().push(b"\xfb/etc/passwd").is_err());
        assert!(ResultSet::default().push(&[0, 0, 0, 2]).is_err());
        for count in [&b"\xfd\0\0\xff"[..], b"\xfe\xff\xff\xff\xff\xff\xff\xff\xff", b"\xfc"] {
            assert!(ResultSet::default().push(count).is_err());
        }
        let mut set = ResultSet::default();
        set.push(&[1]).unwrap();
        assert!(set.push(b"\x03de").is_err());
    }
}
