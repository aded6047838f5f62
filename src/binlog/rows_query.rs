//! Rows_query_event, and MariaDB's Annotate_rows_event: the statement that caused the rows after
//! it.
//!
//! <https://dev.mysql.com/doc/dev/mysql-server/latest/classmysql_1_1binlog_1_1event_1_1Rows__query__event.html>

use crate::binlog::EventType;
use crate::wire::{Reader, Result};

/// A statement's text, in the client's character set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RowsQuery<'a> {
    /// The text.
    pub sql: &'a [u8],
}

impl<'a> RowsQuery<'a> {
    /// Decodes the statement of an event of either kind from its body without its checksum; `None`
    /// for any other event.
    pub fn of(event_type: EventType, body: &'a [u8]) -> Result<Option<Self>> {
        match event_type {
            EventType::ROWS_QUERY => Self::decode(body).map(Some),
            EventType::MARIADB_ANNOTATE_ROWS => Ok(Some(Self::annotate(body))),
            _ => Ok(None),
        }
    }

    /// Decodes the body of a Rows_query event without its checksum. The text comes after one byte
    /// with its length modulo 256, which is ignored.
    pub fn decode(body: &'a [u8]) -> Result<Self> {
        let mut reader = Reader::new(body);
        reader.u8("rows query length")?;
        Ok(Self { sql: reader.rest() })
    }

    /// Decodes the body of an Annotate_rows event without its checksum: the complete body is the
    /// text.
    pub const fn annotate(body: &'a [u8]) -> Self {
        Self { sql: body }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bodies() {
        let mut body = vec![300u32 as u8];
        body.resize(301, b'x');
        assert_eq!(RowsQuery::decode(&body).unwrap().sql.len(), 300);
        assert_eq!(RowsQuery::annotate(b"insert").sql, b"insert");
        assert!(RowsQuery::decode(b"").is_err());
    }
}
