//! The rows of a table as record batches, in the form of the change stream.

use super::image::{CellForm, push_image};
use super::members;
use super::snapshot::{Locks, Snapshot};
use crate::baseline::TableNow;
use crate::binlog::{RowsEvent, RowsKind};
use crate::cancel::CancelToken;
use crate::change::UpdateRule;
use crate::columnar::{CommitDetails, PlanOptions, Stamp, TableBuilder, TablePlan};
use crate::error::{Error, ErrorKind, Result};
use crate::net::Server;
use crate::position::file_number;
use crate::protocol::BinaryRow;
use crate::reader::BatchLimits;
use crate::schema::{Column, ColumnType, TableSchema, quoted, quoted_name};
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
    /// The locks that may be used to open the snapshot.
    pub locks: Locks,
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
    /// One bit for each column of the table: the selected ones.
    present: Vec<u8>,
    names: Vec<Arc<str>>,
    /// The images of rows that are not in the builder yet.
    images: Vec<u8>,
    image_rows: i64,
    stamp: LoadStamp,
    rows: u64,
    has_ended: bool,
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

impl TableRows {
    /// Opens a snapshot over this connection, and starts to read the rows.
    ///
    /// # Errors
    /// There is no such table, or it is a view; the account may not read it; a type that a SELECT does not return; the condition is
    /// not valid; the server has no binary log.
    pub fn open(mut server: Server, request: &TableRequest) -> Result<Self> {
        server.connection().query("SET SESSION sql_mode = ''")?;
        let snapshot = match request.plan.envelope.needs_position() {
            true => Some(Snapshot::open(&mut server, request.locks)?),
            false => server.open_snapshot().map(|()| None)?,
        };
        let kind = TableKind::ask(&mut server, &request.database, &request.table)?;
        let now = TableNow::ask(&mut server, &request.database, &request.table)?;
        let mut table = loaded_schema(now.schema);
        members::complete(&mut server, &mut table)?;
        let plan = Arc::new(TablePlan::of_table(table, now.is_mariadb, &request.plan)?);
        let mut query = Query::of(&plan)?;
        let commit_timestamp = server.clock()?;
        prepare_session(&mut server)?;
        let sql = query.sql(&plan.table, kind, request.condition.as_deref());
        query.start(&mut server, &sql, request.condition.is_some())?;
        let (file, position) = match &snapshot {
            Some(snapshot) => (snapshot.position.file.clone(), snapshot.position.offset),
            None => (String::new(), 0),
        };
        let number = file_number(&file).unwrap_or_default();
        let stamp = LoadStamp {
            // No transaction starts one byte before the position, and that of the position itself is newer than the rows.
            commit_version: commit_version(number, position) - 1,
            commit_timestamp,
            file,
            position,
            server_id: server.identity().server_id,
            next_ordinal: 0,
        };
        Ok(Self {
            server,
            snapshot,
            builder: TableBuilder::try_new(plan, UpdateRule::default())?,
            limits: request.limits,
            forms: query.forms,
            present: query.present,
            names: query.names,
            images: Vec::new(),
            image_rows: 0,
            stamp,
            rows: 0,
            has_ended: false,
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

    /// The number of rows that were returned.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// Reads rows until a batch is full; `None` after the last one. The snapshot then ends.
    ///
    /// # Errors
    /// The connection is lost; the table was changed by a statement such as ALTER TABLE; a value is not valid.
    pub fn next_batch(&mut self, cancel: &CancelToken) -> Result<Option<RecordBatch>> {
        while !self.has_ended && !self.is_full() {
            self.fill(cancel)?;
        }
        if self.builder.rows() == 0 {
            return Ok(None);
        }
        let batch = self.builder.finish()?;
        self.rows += batch.num_rows() as u64;
        Ok(Some(batch))
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
        while self.images.len() < IMAGES_BYTES && self.image_rows < room {
            let Some(payload) = self.server.connection().next_row().map_err(explain)? else {
                self.has_ended = true;
                break;
            };
            let row = BinaryRow::decode(payload, self.forms.len())?;
            push_image(&self.forms, &row, &mut self.images).map_err(|(index, error)| {
                let name = self.names.get(index).map_or("?", AsRef::as_ref);
                Error::from(error).context(format_args!("column {name}"))
            })?;
            self.image_rows += 1;
        }
        if self.has_ended {
            self.server.connection().query("COMMIT")?;
        }
        if self.image_rows > 0 {
            self.append()?;
        }
        Ok(())
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
        self.builder.append(&event, &stamp)?;
        self.stamp.next_ordinal += 2 * self.image_rows;
        Ok(())
    }
}

/// The query of the selected columns, and the forms of their values.
struct Query {
    expressions: Vec<String>,
    names: Vec<Arc<str>>,
    forms: Vec<CellForm>,
    present: Vec<u8>,
}

impl Query {
    fn of(plan: &TablePlan) -> Result<Self> {
        let columns = plan.table.columns.len();
        let mut query = Self {
            expressions: Vec::new(),
            names: Vec::new(),
            forms: Vec::new(),
            present: vec![0; columns.div_ceil(8)],
        };
        for (index, column) in plan.selected_columns() {
            let Some(name) = column.name.clone().filter(|_| !is_hidden(column)) else { continue };
            let in_table =
                |error: Error| error.context(format_args!("table {}", plan.table.full_name()));
            let (form, expression) = CellForm::of(column, &name).map_err(in_table)?;
            query.forms.push(form);
            query.expressions.push(expression);
            query.names.push(name);
            if let Some(byte) = query.present.get_mut(index / 8) {
                *byte |= 1 << (index % 8);
            }
        }
        match query.forms.is_empty() {
            true => Err(Error::config("no column of the table is selected")),
            false => Ok(query),
        }
    }

    fn sql(&self, table: &TableSchema, kind: TableKind, condition: Option<&str>) -> String {
        let columns = self.expressions.join(", ");
        let mut name = format!("{}.{}", quoted_name(&table.database), quoted_name(&table.table));
        if kind == TableKind::Versioned {
            // The log contains the rows of its history too.
            name.push_str(" FOR SYSTEM_TIME ALL");
        }
        match condition {
            None => format!("SELECT {columns} FROM {name}"),
            // The end of the line ends a comment in the condition.
            Some(condition) => format!("SELECT {columns} FROM {name} WHERE ({condition}\n)"),
        }
    }

    fn start(&mut self, server: &mut Server, sql: &str, has_condition: bool) -> Result<()> {
        let sent = server.connection().select(sql).map_err(|error| match has_condition {
            true if error.server_code().is_some() => error.context("the query with ⟦where⟧"),
            _ => explain(error),
        })?;
        if sent.len() != self.forms.len() {
            return Err(Error::malformed(
                "the server returns another number of columns than requested",
            ));
        }
        for ((form, sent), name) in self.forms.iter_mut().zip(sent).zip(&self.names) {
            *form = form.as_sent(sent).ok_or_else(|| {
                Error::new(
                    ErrorKind::Schema,
                    format!(
                        "column {name}: the server sends values of type {}, which is not the type of the column: the table was \
                         changed; read it again",
                        sent.type_code
                    ),
                )
            })?;
        }
        Ok(())
    }
}

/// The kind of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TableKind {
    Plain,
    /// MariaDB's table WITH SYSTEM VERSIONING, which keeps old rows.
    Versioned,
}

impl TableKind {
    /// Queries the kind of a table; an error for a view.
    fn ask(server: &mut Server, database: &str, table: &str) -> Result<Self> {
        let sql = format!(
            "SELECT TABLE_TYPE FROM information_schema.TABLES WHERE TABLE_SCHEMA = {} AND TABLE_NAME = {}",
            quoted(database),
            quoted(table)
        );
        match server.connection().query_value(&sql)?.as_deref() {
            Some("VIEW" | "SYSTEM VIEW") => Err(Error::schema(format!(
                "{database}.{table} is a view, which has no rows of its own: read the tables from which it selects"
            ))),
            Some("SYSTEM VERSIONED") => Ok(Self::Versioned),
            _ => Ok(Self::Plain),
        }
    }
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

/// True if a SELECT cannot name the column: MariaDB's hash of a long unique key.
fn is_hidden(column: &Column) -> bool {
    column.visible == Some(false)
        && column.column_type == ColumnType::LongLong
        && column.name.as_ref().is_some_and(|name| name.starts_with("DB_ROW_HASH_"))
}

/// Sets the session so that values have the form of the log: text in the character set of its column, and
/// TIMESTAMP in UTC.
fn prepare_session(server: &mut Server) -> Result<()> {
    let connection = server.connection();
    connection.query("SET SESSION time_zone = '+00:00', net_write_timeout = 86400")?;
    connection.query("SET SESSION character_set_results = NULL")?;
    Ok(())
}

fn explain(error: Error) -> Error {
    match error.server_code() {
        Some(TABLE_DEFINITION_CHANGED) => error.advise(
            "a statement such as ALTER TABLE changed the table after the snapshot was opened: read it again",
        ),
        _ => error,
    }
}

const TABLE_DEFINITION_CHANGED: u16 = 1412;

/// The number of bytes of images that are decoded together: they stay in the processor's cache.
const IMAGES_BYTES: usize = 128 << 10;
