//! The rows of a query in the binary protocol, one by one as they arrive: nothing is collected.

use super::connection::{Connection, answer};
use crate::error::{Error, Result};
use crate::limits::MAX_COLUMNS;
use crate::protocol::{Prepared, ResultColumn, ServerRefusal, execute, is_eof, prepare};
use crate::wire::Reader;

impl Connection {
    /// Executes a query as a prepared statement, and returns its columns. [`Self::next_row`] then
    /// returns its rows. The server's rows must all be read, or the connection be dropped.
    ///
    /// # Errors
    /// The server refuses the query, or it has parameters or no columns.
    pub fn select(&mut self, sql: &str) -> Result<Vec<ResultColumn>> {
        let prepared = self.ask(&prepare(sql), |packets| {
            let prepared = Prepared::decode(answer(packets)?)?;
            // The definitions of the parameters and of the columns follow, each list with an EOF packet.
            for count in [prepared.parameters, prepared.columns] {
                let packets_of_list = if count > 0 { usize::from(count) + 1 } else { 0 };
                for _ in 0..packets_of_list {
                    answer(packets)?;
                }
            }
            Ok(prepared)
        })?;
        if prepared.parameters > 0 || prepared.columns == 0 {
            return Err(Error::config(
                "the statement is not a query without parameters: a '?' outside of quotes is a parameter",
            ));
        }
        // The first row may take any time: the server may have to search for it.
        self.send(&execute(prepared.id))?;
        let first = self.packet()?;
        let mut reader = Reader::new(first);
        let count = reader.lenenc_len("column count")?;
        if count == 0 || count > MAX_COLUMNS {
            return Err(Error::malformed("a query's answer has an impossible number of columns"));
        }
        let mut columns = Vec::with_capacity(count);
        for _ in 0..count {
            columns.push(ResultColumn::decode(self.packet()?)?);
        }
        match is_eof(self.packet()?) {
            true => {
                self.expect_rows(prepared.id);
                Ok(columns)
            }
            false => {
                Err(Error::malformed("the packet after column definitions is not an EOF packet"))
            }
        }
    }

    /// The payload of the next row; `None` after the last one.
    pub fn next_row(&mut self) -> Result<Option<&[u8]>> {
        self.advance()?;
        if is_eof(self.payload()) {
            self.end_rows();
            return Ok(None);
        }
        let payload = self.payload();
        match ServerRefusal::decode(payload) {
            Some(refusal) => Err(Error::refused(refusal)),
            None => Ok(Some(payload)),
        }
    }

    fn packet(&mut self) -> Result<&[u8]> {
        self.advance()?;
        let payload = self.payload();
        match ServerRefusal::decode(payload) {
            Some(refusal) => Err(Error::refused(refusal)),
            None => Ok(payload),
        }
    }
}
