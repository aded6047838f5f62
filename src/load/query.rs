//! The query of a table's rows: its columns, its table, its condition.

use super::image::CellForm;
use super::key::{KeyReader, LoadKey, Side};
use super::snapshot::Snapshot;
use crate::columnar::TablePlan;
use crate::error::{Error, ErrorKind, Result};
use crate::net::Server;
use crate::position::{KeyValues, Position};
use crate::schema::{Column, ColumnType, TableSchema, quoted, quoted_name};
use std::fmt::Write as _;
use std::sync::Arc;

/// A part of a table's rows, in the order of its key.
#[derive(Debug, Clone)]
pub struct Part {
    /// The key after which it begins; `None` for the first rows.
    pub after: Option<KeyValues>,
    /// The key with which it ends; `None` for the last rows.
    pub upto: Option<KeyValues>,
    /// The maximum number of rows. A table that has no order is read completely.
    pub limit: u64,
    /// Its number in the load: `_change_ordinal` of its rows begins there.
    pub number: u32,
    /// The number of rows with this number that were read before.
    pub rows_before: u64,
    /// The snapshot that is open already, and remains open; by default one is opened and closed.
    pub snapshot: Option<Snapshot>,
    /// The position that the load has reached: the snapshot contains all transactions before it.
    pub reached: Option<Position>,
    /// The position that the rows get instead of that of the snapshot, which must contain all transactions before it.
    pub position: Option<Position>,
}

impl Part {
    /// The part; from the first to the last row if its bounds are not values of this key.
    pub(super) fn of_key(&self, key: &LoadKey) -> Self {
        let is_of_key = self.after.iter().chain(&self.upto).all(|bound| key.has(bound));
        match is_of_key {
            true => self.clone(),
            false => Self { after: None, upto: None, ..self.clone() },
        }
    }

    /// True if it does not contain all rows.
    pub(super) fn has_bounds(&self) -> bool {
        self.after.is_some() || self.upto.is_some()
    }

    /// `_change_ordinal` of its first row.
    pub(super) fn first_ordinal(&self) -> i64 {
        let rows = i64::try_from(self.rows_before).unwrap_or(i64::MAX);
        (i64::from(self.number) << 32).saturating_add(rows.saturating_mul(ORDINALS_OF_ROW))
    }
}

/// A row of an event has two ordinals: those of its old and new values.
pub(super) const ORDINALS_OF_ROW: i64 = 2;

/// The query of the selected columns, and the forms of their values.
pub(super) struct Query {
    expressions: Vec<String>,
    pub(super) names: Vec<Arc<str>>,
    pub(super) forms: Vec<CellForm>,
    /// The number of columns that an image contains. Others after them are of the key only.
    pub(super) image_columns: usize,
    /// One bit for each column of the table: the selected ones.
    pub(super) present: Vec<u8>,
}

impl Query {
    /// The query of no column.
    fn of_columns(count: usize) -> Self {
        Self {
            expressions: Vec::new(),
            names: Vec::new(),
            forms: Vec::new(),
            image_columns: 0,
            present: vec![0; count.div_ceil(8)],
        }
    }

    /// The query of the columns of a key.
    pub(super) fn of_key(key: &LoadKey, table: &TableSchema) -> Result<(Self, KeyReader)> {
        let mut query = Self::of_columns(table.columns.len());
        let reader = query.add_key(key, table)?;
        Ok((query, reader))
    }

    /// The statement of the first row that meets a condition, in an order.
    pub(super) fn first_sql(
        &self,
        table: &TableSchema,
        key: &LoadKey,
        condition: Option<&str>,
        order: &str,
    ) -> String {
        let condition =
            condition.map(|condition| format!(" WHERE {condition}")).unwrap_or_default();
        format!(
            "SELECT {} FROM {} {}{condition} ORDER BY {order} LIMIT 1",
            self.expressions.join(", "),
            quoted_table(table),
            key.hint()
        )
    }

    pub(super) fn of(plan: &TablePlan) -> Result<Self> {
        let mut query = Self::of_columns(plan.table.columns.len());
        for (index, column) in plan.selected_columns() {
            let Some(name) = column.name.clone().filter(|_| !is_hidden(column)) else { continue };
            let in_table = |error: Error| {
                let table = &plan.table;
                let error = error.context(format_args!("table {}", table.full_name()));
                error.of_table(&table.database, &table.table)
            };
            let (form, expression) = CellForm::of(column, &name).map_err(in_table)?;
            query.forms.push(form);
            query.expressions.push(expression);
            query.names.push(name);
            if let Some(byte) = query.present.get_mut(index / 8) {
                *byte |= 1 << (index % 8);
            }
        }
        query.image_columns = query.forms.len();
        match query.forms.is_empty() {
            true => Err(Error::config("no column of the table is selected")),
            false => Ok(query),
        }
    }

    /// Adds the columns of a key that are not selected. Returns the reader of the key.
    pub(super) fn add_key(&mut self, key: &LoadKey, table: &TableSchema) -> Result<KeyReader> {
        let mut places = Vec::new();
        for column in key.columns().filter_map(|index| table.columns.get(index)) {
            let Some(name) = column.name.clone() else { continue };
            let place = self.names.iter().position(|selected| *selected == name);
            if place.is_none() {
                let (form, expression) = CellForm::of(column, &name)?;
                self.forms.push(form);
                self.expressions.push(expression);
                self.names.push(name);
            }
            let place = place.unwrap_or(self.names.len() - 1);
            places.push((place, column.unsigned == Some(true)));
        }
        Ok(KeyReader::new(key, places))
    }

    /// The statement: all rows that meet the conditions, or the next part of them by the key.
    pub(super) fn sql(
        &self,
        table: &TableSchema,
        kind: TableKind,
        condition: Option<&str>,
        part: Option<(&LoadKey, &Part)>,
    ) -> Result<String> {
        let columns = self.expressions.join(", ");
        let mut name = quoted_table(table);
        if kind.is_versioned {
            // The log contains the rows of its history too.
            name.push_str(" FOR SYSTEM_TIME ALL");
        }
        let mut conditions = Vec::new();
        if let Some(condition) = condition {
            // The end of the line ends a comment in the condition.
            conditions.push(format!("({condition}\n)"));
        }
        if let Some((key, part)) = part {
            let _ = write!(name, " {}", key.hint());
            for (side, bound) in [(Side::After, &part.after), (Side::UpTo, &part.upto)] {
                if let Some(bound) = bound {
                    conditions.push(key.condition(side, bound)?);
                }
            }
        }
        let mut sql = format!("SELECT {columns} FROM {name}");
        if !conditions.is_empty() {
            let _ = write!(sql, " WHERE {}", conditions.join(" AND "));
        }
        if let Some((key, part)) = part {
            let _ = write!(sql, " ORDER BY {} LIMIT {}", key.order(), part.limit);
        }
        Ok(sql)
    }

    pub(super) fn start(
        &mut self,
        server: &mut Server,
        sql: &str,
        has_condition: bool,
    ) -> Result<()> {
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

/// The name of a table in SQL.
pub(super) fn quoted_table(table: &TableSchema) -> String {
    format!("{}.{}", quoted_name(&table.database), quoted_name(&table.table))
}

/// The kind of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TableKind {
    /// True for MariaDB's table WITH SYSTEM VERSIONING, which keeps old rows.
    pub(super) is_versioned: bool,
    /// False if a SELECT reads the rows of the present instead of those of the snapshot.
    pub(super) has_snapshots: bool,
    /// The server's estimate of the number of rows.
    pub(super) estimate: u64,
}

impl TableKind {
    /// Queries the kind of a table; an error for a view.
    pub(super) fn ask(server: &mut Server, database: &str, table: &str) -> Result<Self> {
        let sql = format!(
            "SELECT TABLE_TYPE, ENGINE, TABLE_ROWS FROM information_schema.TABLES WHERE TABLE_SCHEMA = {} AND TABLE_NAME = {}",
            quoted(database),
            quoted(table)
        );
        let row = server.connection().query(&sql)?.into_iter().next().unwrap_or_default();
        let cell =
            |index: usize| row.get(index).and_then(|cell| cell.as_deref()).unwrap_or_default();
        let (kind, engine) = (cell(0), cell(1));
        if matches!(kind, "VIEW" | "SYSTEM VIEW") {
            return Err(Error::schema(format!(
                "{database}.{table} is a view, which has no rows of its own: read the tables from which it selects"
            )));
        }
        let has_snapshots = SNAPSHOT_ENGINES.iter().any(|own| own.eq_ignore_ascii_case(engine));
        Ok(Self {
            is_versioned: kind == "SYSTEM VERSIONED",
            has_snapshots: has_snapshots && kind != "SEQUENCE",
            estimate: cell(2).parse().unwrap_or_default(),
        })
    }
}

/// The storage engines that read the rows of a snapshot.
const SNAPSHOT_ENGINES: [&str; 3] = ["InnoDB", "RocksDB", "TokuDB"];

/// True if a SELECT cannot name the column: MariaDB's hash of a long unique key.
fn is_hidden(column: &Column) -> bool {
    column.visible == Some(false)
        && column.column_type == ColumnType::LongLong
        && column.name.as_ref().is_some_and(|name| name.starts_with("DB_ROW_HASH_"))
}

/// Adds the remedy to an error of the query.
pub(super) fn explain(error: Error) -> Error {
    match error.server_code() {
        Some(TABLE_DEFINITION_CHANGED) => error.advise(
            "a statement such as ALTER TABLE changed the table after the snapshot was opened: read it again",
        ),
        _ => error,
    }
}

const TABLE_DEFINITION_CHANGED: u16 = 1412;
