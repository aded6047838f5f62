//! The current schema of a server's table, with the types of batches from its log.

use super::connection_spec::PyConnectionSpec;
use super::interrupts::abandonable;
use crate::baseline::TableNow;
use crate::columnar::{ColumnNames, Envelope, PlanOptions, TablePlan, TypeOptions};
use crate::error::{Error, Result};
use crate::schema::{RowMetadata, TableSchema};
use arrow_schema::SchemaRef;
use pyo3::prelude::*;

/// Queries the first server that answers. `follows`: true if the structures of tables come from
/// another source than `schemas`.
pub(super) fn server_schema(
    py: Python<'_>,
    spec: &PyConnectionSpec,
    (database, table): (&str, &str),
    options: PlanOptions,
    follows: bool,
) -> PyResult<SchemaRef> {
    let mut server = spec.connect(py)?;
    let name = (database.to_owned(), table.to_owned());
    abandonable(py, move || {
        let now = TableNow::ask(&mut server, &name.0, &name.1)?;
        schema_of(&now, &options, follows)
    })
}

/// The schema of the rows of a table that a history contains, without envelope.
pub(super) fn rows_schema(
    table: TableSchema,
    is_mariadb: bool,
    types: TypeOptions,
) -> Result<SchemaRef> {
    let envelope = Envelope { columns: Vec::new(), prefix: String::new() };
    let options = PlanOptions { types, envelope, ..PlanOptions::default() };
    let now = TableNow { schema: table, row_metadata: RowMetadata::Minimal, is_mariadb };
    schema_of(&now, &options, true)
}

fn schema_of(now: &TableNow, options: &PlanOptions, follows: bool) -> Result<SchemaRef> {
    let TableNow { schema: known, row_metadata, is_mariadb } = now;
    let is_known = follows || options.schemas.has(&known.database, &known.table);
    if !is_known && *row_metadata != RowMetadata::Full && options.column_names == ColumnNames::Log {
        return Err(nameless(&known.full_name(), (*row_metadata, *is_mariadb), options));
    }
    let logged = known.as_logged(*row_metadata, *is_mariadb);
    let table = if is_known { logged.complete(known)? } else { logged };
    TablePlan::of_table(table, *is_mariadb, options).map(|plan| plan.schema)
}

fn nameless(
    name: &str,
    (row_metadata, is_mariadb): (RowMetadata, bool),
    options: &PlanOptions,
) -> Error {
    let (database, table) = name.split_once('.').unwrap_or((name, ""));
    let set = match row_metadata {
        RowMetadata::NoLog => {
            "set binlog_row_metadata=FULL, which MySQL has from 8.0.1 on and MariaDB from 10.5 on"
        }
        _ if is_mariadb => {
            "SET GLOBAL binlog_row_metadata = FULL, and write binlog_row_metadata = FULL under [mariadb] in the server's option \
             file"
        }
        _ => "SET PERSIST binlog_row_metadata = FULL",
    };
    Error::config(format!(
        "table {name}: the server's log contains no column names: {set} (events logged after that contain names), or {}",
        options.schemas.advice(database, table)
    ))
}
