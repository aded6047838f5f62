//! Reads a range of a table's rows, for a task that reads a part of an initial load.
//!
//! The rows are read in chunks, each in a snapshot of its own, so that no transaction is open for long. All rows get one
//! position, which each snapshot contains: changes between it and a snapshot are in the rows, and a reader of the log from the
//! position on gets them again.

use super::chunk::{Chunk, Reading, ReleasedChunk};
use super::load_options::LoadOptions;
use super::query::Part;
use super::query_errors::{MAX_CHANGES, PAUSE, is_change};
use super::rows::{TableRequest, TableRows};
use crate::cancel::CancelToken;
use crate::columnar::PlanOptions;
use crate::error::{Error, ErrorKind, Result};
use crate::net::Server;
use crate::position::{KeyValues, LoadProgress, Position, RowsRead, TableLoad};
use crate::reader::{self, BatchLimits, Parts, ReadOptions, Reader, adapt};
use crate::source::{Connecting, LiveOptions, SpentSegment};
use std::sync::Arc;

/// A range of the rows of a table.
#[derive(Debug, Clone)]
pub struct TableRange {
    /// The database of the table.
    pub database: String,
    /// The table.
    pub table: String,
    /// The key after which it begins; `None` for the first rows.
    pub after: Option<KeyValues>,
    /// The key with which it ends; `None` for the last rows.
    pub upto: Option<KeyValues>,
    /// Its number: `_change_ordinal` of its rows begins there.
    pub number: u32,
    /// The position of all rows; `None` for that of each snapshot.
    pub position: Option<Position>,
}

/// Starts to read a range.
///
/// # Errors
/// The threads cannot be started. Errors of the server are those of the reader.
pub fn read_range(
    range: TableRange,
    mut live: LiveOptions,
    mut options: ReadOptions,
    load: LoadOptions,
) -> Result<Reader> {
    if options.decode.filter.is_some() {
        return Err(Error::config("⟦where⟧ filters changes: leave it out to read existing rows"));
    }
    adapt(&mut live, &mut options);
    let rows = RangeRows {
        connecting: Connecting::new(&live),
        live: live.clone(),
        plan: options.decode.plan.clone(),
        limits: options.decode.limits,
        options: load,
        position: Arc::new(range.position.clone().unwrap_or_default()),
        range,
        rows: 0,
        server: None,
        current: None,
        changes: 0,
        has_ended: false,
    };
    Reader::of_parts(&live, options, None, move |_| Ok((rows, None)))
}

/// The chunks of a range.
struct RangeRows {
    /// The rows that are missing.
    range: TableRange,
    options: LoadOptions,
    plan: PlanOptions,
    limits: BatchLimits,
    live: LiveOptions,
    connecting: Connecting,
    position: Arc<Position>,
    /// The number of rows that were read.
    rows: u64,
    /// The connection, between two chunks.
    server: Option<Server>,
    current: Option<ReleasedChunk<TableRows>>,
    /// The number of chunks in a row that failed because a statement changed the table.
    changes: u32,
    has_ended: bool,
}

impl Parts for RangeRows {
    fn next_part(&mut self) -> Result<Option<reader::Part>> {
        if let Some(chunk) = self.current.take() {
            self.end_chunk(chunk)?;
        }
        while !self.has_ended {
            match self.open_chunk() {
                Ok(chunk) => {
                    let (outputs, chunk) = chunk.release(Arc::clone(&self.position));
                    self.current = Some(chunk);
                    return Ok(Some(reader::Part::Decoded(outputs)));
                }
                Err(error) => self.wait_out(error)?,
            }
        }
        Ok(None)
    }

    fn recycle(&mut self, _spent: SpentSegment) {
        // Rows are not decoded from segments.
    }

    fn cancel_with(&mut self, cancel: &CancelToken) {
        self.live.cancel = cancel.clone();
    }
}

impl RangeRows {
    /// Opens the snapshot of the next chunk.
    fn open_chunk(&mut self) -> Result<Chunk> {
        let server = match self.server.take() {
            Some(server) => server,
            None => self.connecting.open()?,
        };
        self.check_server(&server)?;
        let range = &self.range;
        let request = TableRequest {
            database: range.database.clone(),
            table: range.table.clone(),
            condition: None,
            part: Some(Part {
                after: range.after.clone(),
                upto: range.upto.clone(),
                limit: self.options.rows_of_snapshot(),
                number: range.number,
                rows_before: self.rows,
                snapshot: None,
                reached: None,
                position: range.position.clone(),
            }),
            locks: self.options.locks,
            log: None,
            max_rows_per_second: self.options.max_rows_per_second,
            plan: self.plan.clone(),
            limits: self.limits,
        };
        let rows = TableRows::open(server, &request)?;
        if rows.has_restarted() {
            return Err(Error::schema(format!(
                "the key of {}.{} was changed after its rows were divided into ranges: start the query again, and it divides them \
                 again",
                range.database, range.table
            )));
        }
        if range.position.is_none() {
            let snapshot = rows.snapshot().map(|snapshot| snapshot.position.clone());
            self.position = Arc::new(snapshot.unwrap_or_default());
        }
        let table = TableLoad::new(range.database.clone(), range.table.clone());
        let load = LoadProgress { tables: vec![table], ..LoadProgress::default() };
        let reading = Reading::new(rows, load, 0, self.live.cancel.clone());
        Chunk::start(reading, Position::clone(&self.position))
    }

    /// Waits for the end of a chunk. After a lost connection, the rest is read in another chunk.
    fn end_chunk(&mut self, chunk: ReleasedChunk<TableRows>) -> Result<()> {
        let end = chunk.end()?;
        self.rows += end.rows;
        self.server = end.open.map(TableRows::into_server);
        let read = end.load.tables.into_iter().next().map(|table| table.read);
        match (read, end.failure) {
            (Some(RowsRead::All), None) => self.has_ended = true,
            (Some(RowsRead::UpTo(key)), failure) => {
                self.range.after = Some(key);
                self.connecting.works();
                self.changes = 0;
                failure.map_or(Ok(()), |error| self.wait_out(error))?;
            }
            (_, None) => self.has_ended = true,
            // No row was returned.
            (Some(RowsRead::Nothing), Some(error)) => self.wait_out(error)?,
            (_, Some(error)) => return Err(error),
        }
        Ok(())
    }

    /// Waits until a chunk may be opened again after an error whose cause may pass.
    fn wait_out(&mut self, error: Error) -> Result<()> {
        if is_change(&error) && self.changes < MAX_CHANGES {
            self.changes += 1;
            return self.connecting.sleep(PAUSE);
        }
        self.connecting.wait_out(error)
    }

    /// Checks that the rows are those of the server of the log.
    fn check_server(&self, server: &Server) -> Result<()> {
        let id = &server.identity().id;
        match self.range.position.as_ref().and_then(|position| position.server.as_ref()) {
            Some(wanted) if wanted != id => Err(Error::new(
                ErrorKind::ServerIdentity,
                format!(
                    "the initial load reads the server {wanted}, and the server {id} answers: a load continues only on its server"
                ),
            )),
            _ => Ok(()),
        }
    }
}
