//! The rows of the model, and their batches.

use super::faults::Fault;
use super::server::{Statement, TABLES};
use super::shared::{Shared, file_name};
use crate::cancel::CancelToken;
use crate::columnar::{PlanOptions, TablePlan};
use crate::error::{Error, ErrorKind, Result};
use crate::load::chunk::ChunkRows;
use crate::position::{KeyValues, RowsRead};
use crate::schema::{Column, ColumnType, TableSchema};
use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, ArrayRef, Int64Array, RecordBatch};
use std::sync::{Arc, LazyLock};

/// The rows of a chunk.
pub(super) struct ModelRows {
    pub(super) shared: Shared,
    /// The rows from the first one of the chunk on.
    pub(super) rows: std::vec::IntoIter<(i64, i64)>,
    /// The number of rows that are missing from the chunk.
    pub(super) left: usize,
    pub(super) has_ended: bool,
    pub(super) last: Option<i64>,
    pub(super) is_exact: bool,
    pub(super) version: i64,
    pub(super) ordinal: i64,
    pub(super) plan: Arc<TablePlan>,
    /// No statement changes the table meanwhile.
    pub(super) held: Option<Held>,
    pub(super) is_keyless: bool,
}

/// A table that statements wait for.
pub(super) struct Held(pub(super) Shared);

impl Drop for Held {
    fn drop(&mut self) {
        self.0.server().held = None;
    }
}

/// A row or a deletion: key, value, version, ordinal.
pub(super) type Row = (i64, Option<i64>, i64, i64);

impl ModelRows {
    /// An error, now and then, and steps of the server.
    fn may_fail(&self) -> Result<()> {
        let mut server = self.shared.server();
        server.run();
        match server.random.one_in(16) {
            true => Err(Error::new(ErrorKind::ConnectionLost, "the connection is lost")),
            false => Ok(()),
        }
    }
}

impl ChunkRows for ModelRows {
    fn next_batch(&mut self, _cancel: &CancelToken) -> Result<Option<RecordBatch>> {
        self.may_fail()?;
        let mut rows = Vec::new();
        while !self.has_ended && rows.len() < self.shared.batch_rows {
            let next = if self.left > 0 { self.rows.next() } else { None };
            let Some((key, value)) = next else {
                self.has_ended = true;
                self.held = None;
                break;
            };
            rows.push((key, Some(value), self.version, self.ordinal));
            self.ordinal += 2;
            self.left -= 1;
            self.last = Some(key);
        }
        match rows.is_empty() {
            true => Ok(None),
            false => batch(&rows).map(Some),
        }
    }

    fn read(&self) -> RowsRead {
        match self.last {
            _ if self.has_ended && self.left > 0 => RowsRead::All,
            Some(key) if !self.is_keyless => RowsRead::UpTo(key_values(key)),
            _ => RowsRead::Some,
        }
    }

    fn end_of_changes(&mut self) -> Result<Option<(String, u64)>> {
        if self.is_exact {
            return Ok(None);
        }
        self.may_fail()?;
        let end = self.shared.server().end;
        let is_known = self.shared.fault != Fault::ConsistentFromIgnored;
        Ok(is_known.then(|| (file_name(end.file), end.offset)))
    }

    fn take_zero_dates(&mut self) -> Vec<(String, u64)> {
        Vec::new()
    }

    fn plan(&self) -> &Arc<TablePlan> {
        &self.plan
    }
}

pub(super) fn key_values(key: i64) -> KeyValues {
    KeyValues { columns: vec!["id bigint".to_owned()], values: vec![key.to_string().into_bytes()] }
}

pub(super) fn key_of(key: &KeyValues) -> i64 {
    std::str::from_utf8(&key.values[0]).unwrap().parse().unwrap()
}

/// The plan of a table.
pub(super) fn plan(table: usize) -> Arc<TablePlan> {
    Arc::clone(&PLANS[table])
}

/// The number of a table whose rows are statements that change the others.
pub(super) const STATEMENTS: usize = TABLES;

/// A statement as the key of a row. With `is_loaded_again`, the tables are loaded from their first row.
pub(super) fn statement_code(statement: Statement, is_loaded_again: bool) -> i64 {
    let code = match statement {
        Statement::Truncate(table) => table as i64,
        Statement::Recreate(table) => 4 + table as i64,
        Statement::Exchange => 8,
    };
    code + if is_loaded_again { 16 } else { 0 }
}

/// The statement of a code, and whether the tables are loaded again.
pub(super) fn statement_of(code: i64) -> (Statement, bool) {
    let table = (code & 3) as usize;
    let statement = match code & 12 {
        0 => Statement::Truncate(table),
        4 => Statement::Recreate(table),
        _ => Statement::Exchange,
    };
    (statement, code & 16 != 0)
}

static PLANS: LazyLock<[Arc<TablePlan>; STATEMENTS + 1]> = LazyLock::new(|| {
    std::array::from_fn(|table| {
        let mut column = Column::new(Some("id".into()), ColumnType::LongLong);
        (column.nullable, column.unsigned) = (false, Some(false));
        let schema = TableSchema {
            database: "d".into(),
            table: table.to_string().into(),
            columns: vec![column],
            primary_key: Vec::new(),
            indexes: Vec::new(),
            comment: None,
        };
        Arc::new(TablePlan::of_table(schema, false, &PlanOptions::default()).unwrap())
    })
});

pub(super) fn batch(rows: &[Row]) -> Result<RecordBatch> {
    let column = |values: Int64Array| -> ArrayRef { Arc::new(values) };
    let columns = [
        ("key", column(rows.iter().map(|row| Some(row.0)).collect())),
        ("value", column(rows.iter().map(|row| row.1).collect())),
        ("version", column(rows.iter().map(|row| Some(row.2)).collect())),
        ("ordinal", column(rows.iter().map(|row| Some(row.3)).collect())),
    ];
    Ok(RecordBatch::try_from_iter_with_nullable(columns.map(|(name, column)| (name, column, true)))
        .unwrap())
}

pub(super) fn rows_of(batch: &RecordBatch) -> impl Iterator<Item = Row> {
    let columns: [_; 4] =
        std::array::from_fn(|index| batch.column(index).as_primitive::<Int64Type>());
    (0..batch.num_rows()).map(move |row| {
        let [key, value, version, ordinal] = columns;
        let value = value.is_valid(row).then(|| value.value(row));
        (key.value(row), value, version.value(row), ordinal.value(row))
    })
}
