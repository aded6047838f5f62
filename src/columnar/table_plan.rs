//! The properties that are constant for all rows of one Table_map: the table's structure, the Arrow
//! schema, the key columns.

use super::builder::{CellSize, ColumnBuilder, make_builder, masked_builder, skip_builder};
use super::envelope::Envelope;
use super::field::field;
use super::layout::Layout;
use super::mask::{Mask, Masks};
use super::row_steps::RowSteps;
use super::selection::Selection;
use super::type_options::TypeOptions;
use crate::binlog::{FormatDescription, TableMap};
use crate::error::{Error, ErrorKind};
use crate::history::{Catalog, Schemas, complete_schema};
use crate::schema::{Column, ColumnType, RowKey, TableSchema};
use arrow_schema::{Fields, Schema, SchemaRef};
use ring::hmac;
use std::collections::HashMap;
use std::sync::Arc;

/// The source of column names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum ColumnNames {
    /// The log; an error if it contains none.
    #[default]
    Log,
    /// The log; `@1`, `@2`, … if it contains none.
    Positional,
    /// No names: batches have no columns of the table, and rows are only counted.
    None,
}

/// The value of columns that a row image leaves out, if the batch does not show that they are left
/// out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum PartialImages {
    /// NULL.
    #[default]
    Null,
    /// An error for inserted rows and for rows after an update.
    Error,
}

/// The options that determine a table's batches.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PlanOptions {
    /// The Arrow types.
    pub types: TypeOptions,
    /// The table's columns that are selected.
    pub columns: Selection,
    /// The meaning of a row.
    pub layout: Layout,
    /// The masks of columns.
    pub masks: Masks,
    /// The columns after the table's own.
    pub envelope: Envelope,
    /// The source of column names.
    pub column_names: ColumnNames,
    /// The value of columns that an image leaves out.
    pub partial_images: PartialImages,
    /// Structures of tables, for metadata that the log does not contain.
    pub schemas: Arc<Schemas>,
}

/// The plan for the rows of one Table_map.
pub struct TablePlan {
    /// The table's structure from the log, completed with the structure that was given for it.
    pub table: TableSchema,
    /// The structure in which masked columns have the types of their replacements, if there are
    /// any.
    shown: Option<TableSchema>,
    /// The schema of its batches.
    pub schema: SchemaRef,
    /// The table's own fields that are selected.
    pub fields: Fields,
    /// The meaning of a row of its batches.
    pub(super) layout: Layout,
    /// For each column, true if it is part of the row key.
    pub(super) is_key: Vec<bool>,
    /// `is_key` as a bitmap.
    pub(super) key_bits: Vec<u8>,
    /// The columns of the key.
    pub(super) key_columns: Vec<usize>,
    /// The number of leading columns that contain the complete key.
    pub(super) key_end: usize,
    /// True if the key consists of all columns.
    pub(super) is_row_key: bool,
    /// The name of each column.
    pub names: Vec<Arc<str>>,
    /// For each column, true if it is selected.
    pub(super) is_selected: Vec<bool>,
    /// The patterns of masks that match at least one column.
    pub(crate) matched_masks: Vec<Arc<str>>,
    /// The mask of each column.
    masks: Vec<Option<Mask>>,
    /// The key of masks that hash.
    mask_key: hmac::Key,
    /// For each column, the size of its cells, to skip them.
    pub(super) cell_sizes: Vec<CellSize>,
    /// The columns in steps, for rows without NULLs.
    pub(super) row_steps: RowSteps,
    /// The envelope of its batches.
    pub(super) envelope: Envelope,
    /// True if images that leave out a selected column are errors.
    pub(super) wants_full_images: bool,
    pub(super) types: TypeOptions,
    is_mariadb: bool,
    /// The known structure that contradicts the log; the log is used without it.
    pub(crate) history_mismatch: Option<String>,
    /// The keyword that provided the structure, if it does not come from the log alone.
    pub(super) given_by: Option<&'static str>,
}

impl TablePlan {
    /// Creates the plan for a table map.
    pub fn try_new(
        map: &TableMap<'_>,
        format: &FormatDescription,
        options: &PlanOptions,
    ) -> Result<Self, Error> {
        Self::of(map, format, options, None)
    }

    /// Creates the plan with the structures of a history, if one is given.
    pub fn of(
        map: &TableMap<'_>,
        format: &FormatDescription,
        options: &PlanOptions,
        catalog: Option<&Catalog>,
    ) -> Result<Self, Error> {
        let log = map.schema(format)?;
        let (database, table) = (log.database.clone(), log.table.clone());
        Self::of_log(log, map, format, options, catalog)
            .map_err(|error| error.of_table(&database, &table))
    }

    fn of_log(
        log: TableSchema,
        map: &TableMap<'_>,
        format: &FormatDescription,
        options: &PlanOptions,
        catalog: Option<&Catalog>,
    ) -> Result<Self, Error> {
        let (table, history_mismatch) = match catalog {
            Some(catalog) => complete_schema(catalog, log, map, format)?,
            None => (options.schemas.complete(log, map, format)?, None),
        };
        let remedy = |table: &TableSchema| remedy(format, options, &table.database, &table.table);
        let given_by = match catalog {
            Some(_) => Some("⟦history⟧"),
            None => options.schemas.has(&table.database, &table.table).then_some("⟦schemas⟧"),
        };
        let mut plan = Self::make((table, history_mismatch), format.is_mariadb, options, &remedy)?;
        plan.given_by = given_by;
        Ok(plan)
    }

    /// Creates the plan for a table whose structure is known as far as its log contains it.
    pub fn of_table(
        table: TableSchema,
        is_mariadb: bool,
        options: &PlanOptions,
    ) -> Result<Self, Error> {
        let advice = |table: &TableSchema| options.schemas.advice(&table.database, &table.table);
        let name = (table.database.clone(), table.table.clone());
        Self::make((table, None), is_mariadb, options, &advice)
            .map_err(|error| error.of_table(&name.0, &name.1))
    }

    fn make(
        (table, history_mismatch): (TableSchema, Option<String>),
        is_mariadb: bool,
        options: &PlanOptions,
        remedy: &dyn Fn(&TableSchema) -> String,
    ) -> Result<Self, Error> {
        let in_table = |error: Error| error.context(format_args!("table {}", table.full_name()));
        let advise = |error: Error| match error.kind() {
            ErrorKind::Schema => error.advise(remedy(&table)),
            _ => error,
        };
        let columns = table.columns.iter().enumerate();
        let names: Vec<Arc<str>> = columns
            .map(|(index, column)| column_name(column, index, options.column_names))
            .collect::<Result<_, _>>()
            .map_err(|error| advise(in_table(error)))?;
        let is_selected = match options.column_names {
            ColumnNames::None => vec![false; names.len()],
            _ => options.columns.of(&table, &names).map_err(in_table)?,
        };
        let masks = options.masks.of(&table, &names).map_err(in_table)?;
        let mask_key = options.masks.key();
        let mut fields = Vec::with_capacity(names.len() + options.envelope.columns.len());
        let mut cell_sizes = Vec::with_capacity(names.len());
        let columns = table.columns.iter().zip(&names).zip(&is_selected).zip(&masks).enumerate();
        for (index, (((column, name), is_selected), mask)) in columns {
            let in_column =
                |error: Error| advise(in_table(error.context(format_args!("column {name}"))));
            cell_sizes.push(CellSize::of(column, is_mariadb).map_err(in_column)?);
            if *is_selected {
                let types = &options.types;
                let builder = match mask {
                    None => make_builder(column, types, is_mariadb),
                    Some(mask) => masked_builder(*mask, &mask_key, column, types, is_mariadb),
                };
                let data_type = builder.map_err(in_column)?.data_type();
                fields.push(field(name, data_type, &table, index, column, types, *mask));
            }
        }
        let envelope = options.layout.envelope(&options.envelope);
        let reserved: Vec<_> = envelope.fields(&options.types).collect();
        for reserved in reserved.iter().filter(|_| options.layout == Layout::Flat) {
            if fields.iter().any(|field| field.name().eq_ignore_ascii_case(reserved.name())) {
                return Err(Error::config(format!(
                    "table {}: its column {} has the name of an envelope column: \
                     set envelope_prefix to something other than {:?}",
                    table.full_name(),
                    reserved.name(),
                    options.envelope.prefix,
                )));
            }
        }
        let fields = Fields::from(fields);
        let key = table.row_key();
        let is_key: Vec<bool> = (0..table.columns.len()).map(|index| key.holds(index)).collect();
        let key_bits = is_key
            .chunks(8)
            .map(|bits| bits.iter().rev().fold(0, |byte, is_key| byte << 1 | u8::from(*is_key)));
        let metadata = HashMap::from([
            ("mysql.database".to_owned(), table.database.to_string()),
            ("mysql.table".to_owned(), table.table.to_string()),
        ]);
        Ok(Self {
            schema: Arc::new(Schema::new_with_metadata(
                options.layout.fields(&fields, reserved),
                metadata,
            )),
            shown: shown(&table, &masks),
            fields,
            layout: options.layout,
            key_bits: key_bits.collect(),
            key_columns: (0..is_key.len()).filter(|index| key.holds(*index)).collect(),
            key_end: is_key.iter().rposition(|is_key| *is_key).map_or(0, |last| last + 1),
            is_row_key: key == RowKey::FullRow,
            is_key,
            matched_masks: options.masks.matched(&table, &names),
            names,
            is_selected,
            masks,
            mask_key,
            row_steps: RowSteps::of(&cell_sizes),
            cell_sizes,
            wants_full_images: options.partial_images == PartialImages::Error
                && !envelope.wants_present(),
            envelope,
            types: options.types,
            given_by: None,
            is_mariadb,
            history_mismatch,
            table,
        })
    }

    /// Returns builders for all columns of the table; those of columns that are not selected return
    /// no array.
    pub(super) fn builders(&self) -> Result<Vec<Box<dyn ColumnBuilder>>, Error> {
        let wanted = self.is_selected.iter().zip(&self.masks);
        let columns = self.table.columns.iter().zip(&self.cell_sizes).zip(wanted);
        columns
            .map(|((column, size), wanted)| match wanted {
                (false, _) => Ok(skip_builder(*size)),
                (true, None) => make_builder(column, &self.types, self.is_mariadb),
                (true, Some(mask)) => {
                    masked_builder(*mask, &self.mask_key, column, &self.types, self.is_mariadb)
                }
            })
            .collect()
    }

    /// The table's structure as readers of its batches see it: masked columns have the types of
    /// their replacements.
    pub fn shown_table(&self) -> &TableSchema {
        self.shown.as_ref().unwrap_or(&self.table)
    }

    /// The database and the name of the table.
    pub fn key(&self) -> (Arc<str>, Arc<str>) {
        (Arc::clone(&self.table.database), Arc::clone(&self.table.table))
    }

    /// The name of column `index`.
    pub(super) fn column_name(&self, index: usize) -> &str {
        self.names.get(index).map_or("?", AsRef::as_ref)
    }

    /// The columns of the table that are selected, each with its index in the table.
    pub fn selected_columns(&self) -> impl Iterator<Item = (usize, &Column)> {
        let columns = self.table.columns.iter().enumerate();
        columns.zip(&self.is_selected).filter_map(|(column, selected)| selected.then_some(column))
    }

    /// True if the values of column `index` are selected.
    pub(super) fn is_selected(&self, index: usize) -> bool {
        self.is_selected.get(index) == Some(&true)
    }

    /// True if the values of column `index` are hashed.
    pub(crate) fn is_hashed(&self, index: usize) -> bool {
        self.masks.get(index) == Some(&Some(Mask::Sha256))
    }

    /// True if the values of column `index` are replaced by NULL.
    pub(crate) fn is_nulled(&self, index: usize) -> bool {
        self.masks.get(index) == Some(&Some(Mask::Null))
    }

    /// The approximate minimum memory for the cells of a row: numbers have their width, all others
    /// an offset.
    pub(super) fn least_row_bytes(&self) -> usize {
        let widths =
            self.fields.iter().map(|field| field.data_type().primitive_width().unwrap_or(4));
        let sides = match self.layout {
            Layout::Flat => 1,
            Layout::Nested => 2,
        };
        widths.sum::<usize>() * sides
    }

    /// True if cells may become larger than they are in the log.
    pub(super) fn inflates(&self) -> bool {
        self.masks.iter().any(Option::is_some)
            || self.table.columns.iter().any(|column| column.column_type.is_compressed())
    }

    /// The number of bytes of the length of a cell of column `index`, which is JSON.
    pub(super) fn length_bytes(&self, index: usize) -> usize {
        match self.table.columns.get(index).map(|column| &column.column_type) {
            Some(ColumnType::Json { length_bytes }) => usize::from(*length_bytes),
            _ => 4,
        }
    }

    /// Finds a column of the table by its name in batches, with its index in the table.
    pub fn column(&self, name: &str) -> Option<(usize, &Column)> {
        let index = self.names.iter().position(|own| **own == *name)?;
        self.shown_table().columns.get(index).map(|column| (index, column))
    }

    /// True if a MariaDB server wrote the log.
    pub const fn is_mariadb(&self) -> bool {
        self.is_mariadb
    }

    /// The name of a date column in warnings about zero dates.
    pub fn column_label(&self, index: usize) -> String {
        format!("{}.{}", self.table.full_name(), self.column_name(index))
    }

    /// True if ENUM and SET columns are returned as numbers because the log does not contain their
    /// members.
    pub fn lacks_members(&self) -> bool {
        self.table.columns.iter().zip(&self.is_selected).any(|(column, is_selected)| {
            let has_members =
                matches!(column.column_type, ColumnType::Enum { .. } | ColumnType::Set { .. });
            *is_selected && has_members && column.members.is_none()
        })
    }
}

fn shown(table: &TableSchema, masks: &[Option<Mask>]) -> Option<TableSchema> {
    masks.iter().any(Option::is_some).then(|| {
        let mut table = table.clone();
        for (column, mask) in table.columns.iter_mut().zip(masks) {
            if let Some(mask) = mask {
                *column = mask.shown(column);
            }
        }
        table
    })
}

fn column_name(column: &Column, index: usize, names: ColumnNames) -> Result<Arc<str>, Error> {
    match (&column.name, names) {
        (Some(name), _) => Ok(Arc::clone(name)),
        (None, ColumnNames::Positional | ColumnNames::None) => Ok(format!("@{}", index + 1).into()),
        (None, ColumnNames::Log) => {
            Err(Error::schema("the log does not contain the names of columns"))
        }
    }
}

/// The advice for a log that contains too little metadata about a table. It names servers that
/// cannot log more.
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
        format!("{server} {major}.{minor}.{patch} has no option to log more metadata; ")
    };
    remedy.push_str(&options.schemas.advice(database, table));
    if options.column_names == ColumnNames::Log {
        remedy.push_str(", or use the names @1, @2, ... with ⟦column_names=positional⟧");
    }
    remedy
}
