//! The columns of a table: those that are returned, that identify a row, and that are compared.

use crate::columnar::TablePlan;
use crate::error::{Error, ErrorKind, Result};
use crate::load::RowBytes;
use crate::schema::{Column, ColumnType, Generated, RowKey};
use arrow_array::{Array, RecordBatch};
use arrow_schema::{Schema, SchemaRef};
use std::sync::Arc;

/// A table whose rows are read, with the columns of its batches.
#[derive(Debug)]
pub(super) struct Table {
    /// `database.table`
    pub(super) name: String,
    /// The selected columns.
    pub(super) schema: SchemaRef,
    /// The columns that are returned.
    pub(super) output: Vec<usize>,
    /// The columns that identify a row: those of the key, or all.
    pub(super) identity: Vec<usize>,
    pub(super) has_key: bool,
    /// The columns of which equal values are equal in rows of the log and of the server.
    compared: Vec<usize>,
    /// The columns that an image must contain, by their numbers in the table, and their names.
    required: Vec<(usize, String)>,
    /// The members of each ENUM and SET column.
    members: Vec<Option<Arc<[Arc<str>]>>>,
    /// The names of the columns that are not returned because the log does not contain them.
    pub(super) not_logged: Vec<String>,
}

impl Table {
    pub(super) fn try_new(plan: &TablePlan, wanted: Option<&[String]>) -> Result<Self> {
        let name = plan.table.full_name();
        let selected: Vec<(usize, &Column)> = plan.selected_columns().collect();
        let is_logged = |column: &Column| is_logged(column, plan.is_mariadb());
        let names: Vec<&str> = plan.fields.iter().map(|field| field.name().as_str()).collect();
        let name_of = |place: usize| names.get(place).copied().unwrap_or_default().to_owned();
        let columns = || selected.iter().enumerate();
        let logged = columns().filter(|(_, (_, column))| is_logged(column));
        let logged: Vec<usize> = logged.map(|(place, _)| place).collect();
        let not_logged = columns().filter(|(_, (_, column))| !is_logged(column));
        let not_logged: Vec<String> = not_logged.map(|(place, _)| name_of(place)).collect();
        let output = match wanted {
            None => logged.clone(),
            Some(wanted) => wanted
                .iter()
                .map(|column| {
                    let own = |place: &&usize| names.get(**place) == Some(&column.as_str());
                    logged.iter().find(own).copied().ok_or_else(|| {
                        Error::schema(format!("table {name}: the log has no column {column:?}"))
                    })
                })
                .collect::<Result<_>>()?,
        };
        let key =
            key_places(plan, &selected).filter(|key| key.iter().all(|at| logged.contains(at)));
        let is_json = |place: &usize| {
            let column = selected.get(*place).map(|(_, column)| &column.column_type);
            matches!(column, Some(ColumnType::Json { .. } | ColumnType::JsonText { .. }))
        };
        let required = logged
            .iter()
            .filter_map(|place| selected.get(*place).map(|(number, _)| (*number, name_of(*place))));
        Ok(Self {
            schema: Arc::new(Schema::new_with_metadata(
                plan.fields.clone(),
                plan.schema.metadata().clone(),
            )),
            output,
            has_key: key.is_some(),
            compared: logged.iter().copied().filter(|place| !is_json(place)).collect(),
            required: required.collect(),
            members: members(plan),
            identity: key.unwrap_or(logged),
            not_logged,
            name,
        })
    }

    /// The table's columns of a batch.
    ///
    /// # Errors
    /// The batch has other columns.
    pub(super) fn rows(&self, batch: &RecordBatch) -> Result<RecordBatch> {
        let own = self.schema.fields();
        let is_same = batch.num_columns() >= own.len()
            && own.iter().zip(batch.schema_ref().fields()).all(|(own, other)| {
                own.name() == other.name() && own.data_type() == other.data_type()
            });
        if !is_same {
            return Err(Error::schema(format!(
                "table {}: its columns are others than those of the table now: a statement changed them. Read its rows at a later moment",
                self.name
            )));
        }
        let columns = batch.columns().iter().take(own.len()).cloned().collect();
        RecordBatch::try_new(Arc::clone(&self.schema), columns).map_err(|error| internal(&error))
    }

    /// Checks that ENUM and SET columns of changes have the members of the table now.
    ///
    /// # Errors
    /// The log does not contain the members, and SHOW CREATE TABLE prints other ones.
    pub(super) fn check_members(&self, plan: &TablePlan) -> Result<()> {
        match members(plan) == self.members {
            true => Ok(()),
            false => Err(Error::unsupported(format!(
                "table {}: the log does not contain the members of an ENUM or SET column, and SHOW CREATE TABLE prints characters \
                 above U+FFFF as '?': leave the column out, or set binlog_row_metadata=FULL",
                self.name
            ))),
        }
    }

    /// The columns that are returned.
    pub(super) fn returned(&self, rows: &RecordBatch) -> Result<RecordBatch> {
        rows.project(&self.output).map_err(|error| internal(&error))
    }

    /// The schema of the rows that are returned.
    pub(super) fn output_schema(&self) -> Result<SchemaRef> {
        self.schema.project(&self.output).map(Arc::new).map_err(|error| internal(&error))
    }

    /// The bytes by which rows are identified.
    pub(super) fn identities<'r>(&self, rows: &'r RecordBatch) -> Result<RowBytes<'r>> {
        bytes(rows, &self.identity)
    }

    /// The bytes by which two rows with the same key are compared.
    pub(super) fn compared<'r>(&self, rows: &'r RecordBatch) -> Result<RowBytes<'r>> {
        bytes(rows, &self.compared)
    }

    /// An error if a key contains NULL, which several zero dates may have become.
    pub(super) fn check_keys(&self, rows: &RecordBatch) -> Result<()> {
        let columns = self.identity.iter().filter(|_| self.has_key);
        let with_null = columns.filter_map(|place| Some((place, rows.columns().get(*place)?)));
        match with_null.filter(|(_, column)| column.null_count() > 0).map(|(place, _)| place).next()
        {
            None => Ok(()),
            Some(place) => {
                let name = self.schema.fields().get(*place).map_or("?", |field| field.name());
                Err(Error::unsupported(format!(
                    "table {}: the key column {name} contains dates that became NULL, so that keys are not unique: set ⟦zero_dates=text⟧",
                    self.name
                )))
            }
        }
    }

    /// The first column that an image lacks.
    pub(super) fn lacks(&self, present: &[u8]) -> Option<&str> {
        let has = |number: usize| {
            present.get(number / 8).is_some_and(|bits| bits >> (number % 8) & 1 == 1)
        };
        self.required.iter().find(|(number, _)| !has(*number)).map(|(_, name)| name.as_str())
    }
}

fn members(plan: &TablePlan) -> Vec<Option<Arc<[Arc<str>]>>> {
    plan.selected_columns().map(|(_, column)| column.members.clone()).collect()
}

/// The places of the key's columns among the selected ones; `None` without a key.
fn key_places(plan: &TablePlan, selected: &[(usize, &Column)]) -> Option<Vec<usize>> {
    let RowKey::Columns(parts) = plan.table.row_key() else { return None };
    let place = |number: usize| selected.iter().position(|(own, _)| *own == number);
    parts.iter().map(|part| place(part.column)).collect()
}

/// False for columns whose values MariaDB does not log.
fn is_logged(column: &Column, is_mariadb: bool) -> bool {
    let is_generated = matches!(column.generated, Some(Generated::Virtual | Generated::Stored));
    // The hash of a long UNIQUE key.
    let is_hash = column.name.as_ref().is_some_and(|name| name.starts_with("DB_ROW_HASH_"));
    !is_mariadb || !(is_generated || is_hash)
}

fn bytes<'r>(rows: &'r RecordBatch, places: &[usize]) -> Result<RowBytes<'r>> {
    let columns = places.iter().filter_map(|place| rows.columns().get(*place));
    RowBytes::of(columns.map(|column| column.as_ref() as &dyn Array))
}

pub(super) fn internal(error: &arrow_schema::ArrowError) -> Error {
    Error::new(ErrorKind::Internal, error.to_string())
}
