//! The rows of a table as record batches, in the form of the change stream.

use super::image::{CellForm, push_image};
use super::key::{KeyReader, LoadKey};
use super::members;
use super::pace::Pace;
use super::query::{ORDINALS_OF_ROW, Part, Query, TableKind, explain};
use super::session::{hold, prepare_session};
use super::snapshot::{Locks, Snapshot};
use super::source_log::SourceLog;
use crate::baseline::TableNow;
use crate::binlog::{RowsEvent, RowsKind};
use crate::cancel::CancelToken;
use crate::change::UpdateRule;
use crate::columnar::{CommitDetails, PlanOptions, Stamp, TableBuilder, TablePlan};
use crate::error::{Error, ErrorKind, Result};
use crate::net::Server;
use crate::position::{KeyValues, RowsRead, file_number};
use crate::protocol::BinaryRow;
use crate::reader::BatchLimits;
use crate::schema::{ColumnType, NameCase, TableSchema};
use crate::source::commit_version;
use crate::wire::Bitmap;
use arrow_array::RecordBatch;
use std::sync::Arc;

/// The rows to read, and the form of their batches.
#[derive(Debug, Clone)]
pub struct TableRequest {
    /// The database of the table.
    pub database: String,
    /// The table.
    pub table: String,
    /// A condition in SQL, of the rows to read; all rows if `None`.
    pub condition: Option<String>,
    /// The part to read; all rows if `None`.
    pub part: Option<Part>,
    /// The locks that may be used to open the snapshot.
    pub locks: Locks,
    /// The log to which the rows belong, if it is that of another server.
    pub log: Option<SourceLog>,
    /// The maximum number of rows per second; `None` for no limit.
    pub max_rows_per_second: Option<u32>,
    /// The options that determine the schema of batches.
    pub plan: PlanOptions,
    /// The size of batches.
    pub limits: BatchLimits,
}

/// The rows of one table in one snapshot, read while they are requested.
pub struct TableRows {
    server: Server,
    /// `None` if the envelope needs no position.
    snapshot: Option<Snapshot>,
    builder: TableBuilder,
    limits: BatchLimits,
    forms: Vec<CellForm>,
    /// The number of columns of an image.
    image_columns: usize,
    /// One bit for each column of the table: the selected ones.
    present: Vec<u8>,
    names: Vec<Arc<str>>,
    /// The reader of keys, if a part is read by key.
    key: Option<KeyReader>,
    /// The key of the last row that is in the builder.
    last: Option<KeyValues>,
    /// True if all rows are read although a part was requested: the table has another key.
    has_restarted: bool,
    /// The log to which the rows belong, if it is that of another server.
    log: Option<SourceLog>,
    /// True if a reader of the log needs the place after all changes that the rows contain.
    joins_log: bool,
    /// True if the snapshot remains open after the last row.
    keeps_snapshot: bool,
    /// The number of rows that are missing from the part.
    left: u64,
    /// The images of rows that are not in the builder yet.
    images: Vec<u8>,
    image_rows: i64,
    stamp: LoadStamp,
    pace: Option<Pace>,
    estimate: u64,
    has_ended: bool,
    has_failed: bool,
}

/// The envelope of all rows.
struct LoadStamp {
    commit_version: i64,
    commit_timestamp: i64,
    file: String,
    position: u64,
    server_id: u32,
    next_ordinal: i64,
}

impl LoadStamp {
    fn new(
        request: &TableRequest,
        snapshot: Option<&Snapshot>,
        commit_timestamp: i64,
        server_id: u32,
    ) -> Self {
        let (file, position) = match snapshot {
            Some(snapshot) => (snapshot.position.file.clone(), snapshot.position.offset),
            None => (String::new(), 0),
        };
        let part = request.part.as_ref();
        let place = part.and_then(|part| part.reached.as_ref().or(part.position.as_ref()));
        let shift = place.map_or(0, |position| u64::from(position.version_shift));
        let number = file_number(&file).unwrap_or_default() + shift;
        Self {
            // No transaction starts one byte before the position, and that of the position itself is newer than the rows.
            commit_version: commit_version(number, position) - 1,
            commit_timestamp,
            file,
            position,
            server_id,
            next_ordinal: part.map_or(0, Part::first_ordinal),
        }
    }
}

impl TableRows {
    /// Opens a snapshot over this connection, and starts to read the rows.
    ///
    /// # Errors
    /// There is no such table, or it is a view; the account may not read it; a type that a SELECT does not return; the condition is
    /// not valid; the server has no binary log.
    pub fn open(mut server: Server, request: &TableRequest) -> Result<Self> {
        prepare_session(&mut server)?;
        let commit_timestamp = server.clock()?;
        let mut snapshot = open_snapshot(&mut server, request)?;
        let (database, name) = match server.identity().name_case {
            NameCase::Folded => (request.database.to_lowercase(), request.table.to_lowercase()),
            _ => (request.database.clone(), request.table.clone()),
        };
        let kind = TableKind::ask(&mut server, &database, &name)?;
        if let Some(snapshot) = snapshot.as_mut().filter(|_| !kind.has_snapshots) {
            snapshot.is_exact = false;
        }
        let plan = plan_rows(&mut server, &database, &name, request)?;
        let mut query = Query::of(&plan)?;
        // The history of a row has its key.
        let key = request.part.as_ref().filter(|_| !kind.is_versioned);
        let key = key.and_then(|part| Some((LoadKey::of(&plan.table)?, part)));
        let reader = key.as_ref().map(|(key, _)| query.add_key(key, &plan.table)).transpose()?;
        let part = key.as_ref().map(|(key, part)| (key, part.of_key(key)));
        let part = part.as_ref().map(|(key, part)| (*key, part));
        let has_restarted = request.part.as_ref().is_some_and(|asked| {
            asked.has_bounds() && part.is_none_or(|(_, part)| !part.has_bounds())
        });
        // Values have the form of the log: text in the character set of its column.
        server.connection().query("SET SESSION character_set_results = NULL")?;
        if part.is_some_and(|(_, part)| part.has_bounds()) {
            // A key may be a date such as February 31.
            server.connection().query("SET SESSION sql_mode = 'ALLOW_INVALID_DATES'")?;
        }
        let sql = query.sql(&plan.table, kind, request.condition.as_deref(), part)?;
        query.start(&mut server, &sql, request.condition.is_some())?;
        let server_id = server.identity().server_id;
        let stamp = LoadStamp::new(request, snapshot.as_ref(), commit_timestamp, server_id);
        let left = part.map_or(u64::MAX, |(_, part)| part.limit);
        Ok(Self {
            server,
            snapshot,
            builder: TableBuilder::try_new(plan, UpdateRule::default())?,
            limits: request.limits,
            forms: query.forms,
            image_columns: query.image_columns,
            present: query.present,
            names: query.names,
            left,
            key: reader,
            last: None,
            has_restarted,
            log: request.log.clone(),
            joins_log: request.part.as_ref().is_some_and(|part| part.position.is_none()),
            keeps_snapshot: request.part.as_ref().is_some_and(|part| part.snapshot.is_some()),
            images: Vec::new(),
            image_rows: 0,
            stamp,
            pace: request.max_rows_per_second.map(Pace::new),
            estimate: kind.estimate,
            has_ended: false,
            has_failed: false,
        })
    }

    /// The plan of all batches.
    pub fn plan(&self) -> &Arc<TablePlan> {
        self.builder.plan()
    }

    /// The snapshot; `None` if the envelope needs no position.
    pub fn snapshot(&self) -> Option<&Snapshot> {
        self.snapshot.as_ref()
    }

    /// The rows of the table that were read, with all batches until now.
    pub fn read(&self) -> RowsRead {
        match &self.last {
            _ if self.has_ended && self.left > 0 => RowsRead::All,
            Some(key) => RowsRead::UpTo(key.clone()),
            None => RowsRead::Some,
        }
    }

    /// True if rows that were read before are read again: the table has another key since.
    pub fn has_restarted(&self) -> bool {
        self.has_restarted
    }

    /// True if the table has an order, so that a read can continue after a row.
    pub fn has_order(&self) -> bool {
        self.key.is_some()
    }

    /// The server's estimate of the number of rows of the table, which may be wrong by half.
    pub fn estimated_rows(&self) -> u64 {
        self.estimate
    }

    /// True if the last row was read.
    pub fn has_ended(&self) -> bool {
        self.has_ended
    }

    /// A place in the log after all changes that the rows contain; `None` if that is the position of the snapshot.
    ///
    /// # Errors
    /// The connection is lost, or the account may not query the end of the log.
    pub fn end_of_changes(&mut self) -> Result<Option<(String, u64)>> {
        match &self.snapshot {
            Some(snapshot) if !snapshot.is_exact && self.joins_log => match &self.log {
                Some(log) => log.end().map(Some),
                None => self.server.end_of_log().map(Some),
            },
            _ => Ok(None),
        }
    }

    /// The connection, for the next read.
    pub fn into_server(self) -> Server {
        self.server
    }

    /// Reads rows until a batch is full; `None` after the last one. The snapshot then ends.
    ///
    /// # Errors
    /// The connection is lost; the table was changed by a statement such as ALTER TABLE; a value is not valid.
    pub fn next_batch(&mut self, cancel: &CancelToken) -> Result<Option<RecordBatch>> {
        if self.has_failed {
            return Err(Error::config("the read has failed: read the table again"));
        }
        while !self.has_ended && !self.is_full() {
            self.has_failed = true;
            self.fill(cancel)?;
            self.has_failed = false;
        }
        if self.builder.rows() == 0 {
            return Ok(None);
        }
        self.builder.finish().map(Some)
    }

    /// The zero dates that became NULL since the last call: the name of the column, and their number.
    pub fn take_zero_dates(&mut self) -> Vec<(String, u64)> {
        let plan = Arc::clone(self.builder.plan());
        self.builder
            .take_zero_dates()
            .map(|(index, count)| (plan.column_label(index), count))
            .collect()
    }

    fn is_full(&self) -> bool {
        self.builder.rows() >= self.limits.rows || self.builder.bytes() >= self.limits.bytes
    }

    /// Appends the next rows to the builder.
    fn fill(&mut self, cancel: &CancelToken) -> Result<()> {
        cancel.check()?;
        self.images.clear();
        self.image_rows = 0;
        let room = self.limits.rows.saturating_sub(self.builder.rows()).max(1) as i64;
        let room = self.pace.as_ref().map_or(room, |pace| room.min(pace.step()));
        while self.images.len() < IMAGES_BYTES && self.image_rows < room {
            let Some(payload) = self.server.connection().next_row().map_err(explain)? else {
                self.has_ended = true;
                break;
            };
            let row = BinaryRow::decode(payload, self.forms.len())?;
            let forms = self.forms.get(..self.image_columns).unwrap_or_default();
            let rest = push_image(forms, &row, &mut self.images).map_err(|(index, error)| {
                let name = self.names.get(index).map_or("?", AsRef::as_ref);
                let table = &self.builder.plan().table;
                let error = Error::from(error)
                    .context(format_args!("table {}, column {name}", table.full_name()));
                error.of_table(&table.database, &table.table)
            })?;
            if self.image_columns == self.forms.len() {
                rest.finish("row of a prepared statement")?;
            }
            self.image_rows += 1;
            self.left = self.left.saturating_sub(1);
            let is_last =
                self.images.len() >= IMAGES_BYTES || self.image_rows == room || self.left == 0;
            if is_last && let Some(key) = &self.key {
                self.last = Some(key.read(&self.forms, &row)?);
            }
        }
        if self.image_rows > 0 {
            self.append()?;
        }
        if self.has_ended && !self.keeps_snapshot {
            // All rows are there: if this fails, the connection and its transaction have ended.
            drop(self.server.connection().query("COMMIT"));
        }
        match &mut self.pace {
            Some(pace) => pace.wait(self.image_rows as u64, cancel),
            None => Ok(()),
        }
    }

    /// Appends the images to the builder, as the rows of a Write_rows event.
    fn append(&mut self) -> Result<()> {
        let columns = Bitmap(&self.present);
        let event = RowsEvent {
            table_id: 0,
            flags: 0,
            kind: RowsKind::Write,
            width: self.builder.plan().table.columns.len(),
            columns,
            columns_after: columns,
            has_value_options: false,
            rows: &self.images,
        };
        let stamp = Stamp {
            commit_version: self.stamp.commit_version,
            commit_timestamp: self.stamp.commit_timestamp,
            first_ordinal: self.stamp.next_ordinal,
            file: &self.stamp.file,
            position: self.stamp.position,
            server_id: self.stamp.server_id,
            details: CommitDetails::default(),
        };
        let counts = self.builder.append(&event, &stamp)?;
        if counts.inserts != self.image_rows as u64 {
            let message = "rows were converted to another number of rows: a defect of binarrow; please report it";
            return Err(Error::new(ErrorKind::Internal, message));
        }
        self.stamp.next_ordinal += ORDINALS_OF_ROW * self.image_rows;
        Ok(())
    }
}

/// Opens the snapshot of the rows, and moves its position as requested. `None` if the envelope needs no position.
fn open_snapshot(server: &mut Server, request: &TableRequest) -> Result<Option<Snapshot>> {
    let part = request.part.as_ref();
    let reached = part.and_then(|part| part.reached.as_ref());
    let given = part.and_then(|part| part.position.as_ref());
    let needs_position =
        reached.is_some() || given.is_some() || request.plan.envelope.needs_position();
    let mut snapshot = match part.and_then(|part| part.snapshot.clone()) {
        Some(snapshot) => snapshot,
        None if needs_position => {
            let mut snapshot = Snapshot::open(server, request.locks)?;
            if let Some(log) = &request.log {
                log.place(server, &mut snapshot, reached)?;
            }
            snapshot
        }
        None => {
            server.open_snapshot()?;
            return Ok(None);
        }
    };
    if let Some(reached) = reached {
        snapshot.move_to(reached);
    }
    if let Some(given) = given {
        snapshot.move_back_to(given)?;
    }
    Ok(Some(snapshot))
}

/// Determines the structure of the table and the form of its batches. The table cannot be changed from then on.
fn plan_rows(
    server: &mut Server,
    database: &str,
    name: &str,
    request: &TableRequest,
) -> Result<Arc<TablePlan>> {
    hold(server, database, name)?;
    let now = TableNow::ask(server, database, name)?;
    let mut table = loaded_schema(now.schema);
    let mut plan = TablePlan::of_table(table.clone(), now.is_mariadb, &request.plan)?;
    if members::complete(server, &mut table, &plan)? {
        plan = TablePlan::of_table(table, now.is_mariadb, &request.plan)?;
    }
    if request.part.is_none() {
        // A load reads other tables too: the reader warns of masks that match no column of any.
        check_masks(&plan, &request.plan)?;
    }
    Ok(Arc::new(plan))
}

/// The structure of rows that are loaded, where it differs from that of rows in the log.
fn loaded_schema(mut table: TableSchema) -> TableSchema {
    use ColumnType as T;
    for column in &mut table.columns {
        column.column_type = match &column.column_type {
            T::Json { length_bytes } => T::JsonText { length_bytes: *length_bytes },
            T::TimeOld { fsp } => T::Time2 { fsp: fsp.unwrap_or_default() },
            T::DateTimeOld { fsp } => T::DateTime2 { fsp: fsp.unwrap_or_default() },
            T::TimestampOld { fsp } => T::Timestamp2 { fsp: fsp.unwrap_or_default() },
            other => other.clone(),
        };
    }
    table
}

/// An error if a mask matches no column: values that it should hide would be returned.
fn check_masks(plan: &TablePlan, options: &PlanOptions) -> Result<()> {
    let matched = plan.matched_masks.iter().cloned().collect();
    match options.masks.unmatched(&matched).next() {
        None => Ok(()),
        Some(pattern) => Err(Error::config(format!(
            "⟦mask⟧: {pattern} matches no column of {}",
            plan.table.full_name()
        ))),
    }
}

/// The number of bytes of images that are decoded together: they stay in the processor's cache.
const IMAGES_BYTES: usize = 128 << 10;
