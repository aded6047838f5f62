//! What is constant for all rows under one Table_map: the table's structure, the Arrow schema, the key columns.

use super::builder::{CellSize, ColumnBuilder, make_builder, skip_builder};
use super::envelope::Envelope;
use super::field::field;
use super::selection::Selection;
use super::type_options::TypeOptions;
use crate::binlog::{FormatDescription, TableMap};
use crate::error::{Error, ErrorKind};
use crate::history::Schemas;
use crate::schema::{Column, ColumnType, HandleKey, TableSchema};
use arrow_schema::{Schema, SchemaRef};
use std::collections::HashMap;
use std::sync::Arc;

/// Where column names come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum ColumnNames {
    /// The log; an error where it has none.
    #[default]
    Log,
    /// The log; `@1`, `@2`, … where it has none.
    Positional,
}

/// What a row of a batch is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Layout {
    /// One row of the table.
    #[default]
    Flat,
    /// One change: the row before and the row after beside each other.
    Nested,
}

/// What shapes a table's batches.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PlanOptions {
    /// Which Arrow types.
    pub types: TypeOptions,
    /// Which of the table's columns are wanted.
    pub columns: Selection,
    /// What a row is.
    pub layout: Layout,
    /// Which columns stand after the table's own.
    pub envelope: Envelope,
    /// Where column names come from.
    pub column_names: ColumnNames,
    /// Structures of tables, for what the log leaves out.
    pub schemas: Arc<Schemas>,
}

/// The plan for the rows under one Table_map.
pub struct TablePlan {
    /// The table's structure as the log tells it, and what was given for it.
    pub table: TableSchema,
    /// The schema of its batches.
    pub schema: SchemaRef,
    /// What a row of its batches is.
    pub(super) layout: Layout,
    /// For each column whether it is part of the handle key.
    pub(super) is_key: Vec<bool>,
    /// For each column its name.
    pub(super) names: Vec<Arc<str>>,
    /// For each column whether it is wanted.
    pub(super) is_selected: Vec<bool>,
    /// The same as a bitmap.
    pub(super) key_bits: Vec<u8>,
    /// How many columns must be looked at to see the whole key.
    pub(super) key_end: usize,
    /// Whether the whole row is the key.
    pub(super) is_row_key: bool,
    /// For each column how its cells are passed over.
    pub(super) cell_sizes: Vec<CellSize>,
    /// The envelope of its batches.
    pub(super) envelope: Envelope,
    pub(super) types: TypeOptions,
    is_mariadb: bool,
}

impl TablePlan {
    /// Makes the plan for a table map.
    pub fn try_new(
        map: &TableMap<'_>,
        format: &FormatDescription,
        options: &PlanOptions,
    ) -> Result<Self, Error> {
        let table = options.schemas.complete(map.schema(format)?, map, format)?;
        let in_table = |error: Error| error.context(format_args!("table {}", table.full_name()));
        let told_too_little = |error: Error| match error.kind() {
            ErrorKind::Schema => {
                error.advise(remedy(format, options, &table.database, &table.table))
            }
            _ => error,
        };
        let columns = table.columns.iter().enumerate();
        let names: Vec<Arc<str>> = columns
            .map(|(index, column)| column_name(column, index, options.column_names))
            .collect::<Result<_, _>>()
            .map_err(|error| told_too_little(in_table(error)))?;
        let is_selected = options.columns.of(&table, &names).map_err(in_table)?;
        let mut fields = Vec::with_capacity(names.len() + options.envelope.columns.len());
        let mut cell_sizes = Vec::with_capacity(names.len());
        let columns = table.columns.iter().zip(&names).zip(&is_selected).enumerate();
        for (index, ((column, name), is_selected)) in columns {
            let in_column = |error: Error| {
                told_too_little(in_table(error.context(format_args!("column {name}"))))
            };
            cell_sizes.push(CellSize::of(column, format.is_mariadb).map_err(in_column)?);
            if *is_selected {
                let builder = make_builder(column, &options.types, format.is_mariadb);
                let data_type = builder.map_err(in_column)?.data_type();
                fields.push(field(name, data_type, &table, index, column, &options.types));
            }
        }
        for reserved in options.envelope.fields(&options.types) {
            if fields.iter().any(|field| field.name().eq_ignore_ascii_case(reserved.name())) {
                return Err(Error::config(format!(
                    "table {}: its column {} has the name of an envelope column: \
                     set envelope_prefix to something other than {:?}",
                    table.full_name(),
                    reserved.name(),
                    options.envelope.prefix,
                )));
            }
            fields.push(reserved);
        }
        let key = table.handle_key();
        let is_key: Vec<bool> = (0..table.columns.len()).map(|index| key.holds(index)).collect();
        let key_bits = is_key
            .chunks(8)
            .map(|bits| bits.iter().rev().fold(0, |byte, is_key| byte << 1 | u8::from(*is_key)));
        let metadata = HashMap::from([
            ("mysql.database".to_owned(), table.database.to_string()),
            ("mysql.table".to_owned(), table.table.to_string()),
        ]);
        Ok(Self {
            schema: Arc::new(Schema::new_with_metadata(fields, metadata)),
            layout: options.layout,
            key_bits: key_bits.collect(),
            key_end: is_key.iter().rposition(|is_key| *is_key).map_or(0, |last| last + 1),
            is_row_key: key == HandleKey::WholeRow,
            is_key,
            names,
            is_selected,
            cell_sizes,
            envelope: options.envelope.clone(),
            types: options.types,
            is_mariadb: format.is_mariadb,
            table,
        })
    }

    /// Builders for all columns of the table; those of columns that are not selected have no array.
    pub(super) fn builders(&self) -> Result<Vec<Box<dyn ColumnBuilder>>, Error> {
        let columns = self.table.columns.iter().zip(&self.cell_sizes).zip(&self.is_selected);
        columns
            .map(|((column, size), is_selected)| match is_selected {
                true => make_builder(column, &self.types, self.is_mariadb),
                false => Ok(skip_builder(*size)),
            })
            .collect()
    }

    /// The name of column `index`.
    pub(super) fn column_name(&self, index: usize) -> &str {
        self.names.get(index).map_or("?", AsRef::as_ref)
    }

    /// Whether the values of column `index` are wanted.
    pub(super) fn is_selected(&self, index: usize) -> bool {
        self.is_selected.get(index) == Some(&true)
    }

    /// How many bytes the length of a cell of column `index` takes, where that is JSON.
    pub(super) fn length_bytes(&self, index: usize) -> usize {
        match self.table.columns.get(index).map(|column| &column.column_type) {
            Some(ColumnType::Json { length_bytes }) => usize::from(*length_bytes),
            _ => 4,
        }
    }

    /// Columns of dates whose zero values become NULL, for warnings.
    pub fn column_label(&self, index: usize) -> String {
        format!("{}.{}", self.table.full_name(), self.column_name(index))
    }

    /// Whether ENUM and SET columns are given as numbers, for the log names no members.
    pub fn lacks_members(&self) -> bool {
        self.table.columns.iter().zip(&self.is_selected).any(|(column, is_selected)| {
            let has_members =
                matches!(column.column_type, ColumnType::Enum { .. } | ColumnType::Set { .. });
            *is_selected && has_members && column.members.is_none()
        })
    }
}

fn column_name(column: &Column, index: usize, names: ColumnNames) -> Result<Arc<str>, Error> {
    match (&column.name, names) {
        (Some(name), _) => Ok(Arc::clone(name)),
        (None, ColumnNames::Positional) => Ok(format!("@{}", index + 1).into()),
        (None, ColumnNames::Log) => Err(Error::schema("the log names no columns")),
    }
}

/// What to do where the log tells too little of a table; servers that cannot tell more are named.
fn remedy(
    format: &FormatDescription,
    options: &PlanOptions,
    database: &str,
    table: &str,
) -> String {
    let mut remedy = if format.optional_metadata_reliable() {
        "set binlog_row_metadata=FULL on the server, or ".to_owned()
    } else {
        let server = if format.is_mariadb { "MariaDB" } else { "MySQL" };
        let (major, minor, patch) = format.version;
        format!("{server} {major}.{minor}.{patch} has no option that makes it tell more; ")
    };
    remedy.push_str(&options.schemas.advice(database, table));
    if options.column_names == ColumnNames::Log {
        remedy.push_str(", or ask for names @1, @2, ... with column_names='positional'");
    }
    remedy
}
