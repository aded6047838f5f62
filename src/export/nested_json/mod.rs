//! Batches of many tables as batches of one schema: the rows are documents, as JSON text or Spark's
//! VARIANT.
//!
//! ```text
//! _database  _table  _op  before                after                 _commit_version  …
//! shop       orders  u    {"id":1,"price":9.5}  {"id":1,"price":9.9}  1099511628112
//! shop       users   c    NULL                  {"id":7,"name":"Ana"} 1099511628591
//! ```
//!
//! A document has the columns of the row's image, with the names that they had when the row was
//! logged: a column that the image left out is missing, a NULL is `null`. Small batches of many
//! tables are combined.
//!
//! `cells.rs` reads the columns of a batch, `json.rs` writes them as text, `value::json` as a variant.

mod cells;
mod json;

use super::nested::{Nested, Side, unfit};
use crate::change::Operations;
use crate::columnar::{
    Envelope, EnvelopeColumn, Json, Layout, TypeOptions, VarBytes, VariantColumn, concat,
};
use crate::error::{DecodeError, Error, ErrorKind, Result};
use crate::history::NewType;
use crate::reader::{BatchLimits, ChangeBatch, DecodeOptions, Progress};
use crate::source::start_of;
use crate::value::json::RowEncoder;
use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{
    Array, ArrayRef, Int64Array, RecordBatch, StringArray, TimestampMicrosecondArray,
    new_null_array,
};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use cells::DocumentColumn;
use std::sync::Arc;

/// Combines batches; each batch is added completely before the next one.
pub struct NestedJson {
    schema: SchemaRef,
    limits: BatchLimits,
    databases: VarBytes,
    tables: VarBytes,
    before: SideColumn,
    after: SideColumn,
    envelope: Vec<EnvelopePart>,
    /// The number of bytes of its text in the rows so far.
    envelope_bytes: usize,
    /// The batch that is not used up, and its next row.
    source: Option<(ChangeBatch, usize)>,
    /// True if every change of a table is one of its batches.
    has_all_operations: bool,
}

/// The effect of a statement on the rows and columns that a table had before it.
#[derive(Debug, Clone, Copy, Default)]
pub struct AlteredTable<'s> {
    /// True for CREATE TABLE. With IF NOT EXISTS, the table may have existed before.
    pub is_created: bool,
    /// True if rows, or values of existing columns, may change without row events.
    pub changes_rows: bool,
    /// The names, in lower case, of the columns whose values may change; empty if rows may be removed or added. With a type if
    /// the type before the statement decides, and is not known.
    pub converted_columns: &'s [(String, Option<NewType>)],
    /// The names of columns that it drops, in lower case.
    pub dropped_columns: &'s [String],
    /// The old and the new names of columns that it renames, in lower case.
    pub renamed_columns: &'s [(String, String)],
}

/// A column of the envelope: its name in the input batches, and its values.
struct EnvelopePart {
    column: EnvelopeColumn,
    name: String,
    data_type: DataType,
    pieces: Vec<ArrayRef>,
}

/// The documents of one side.
enum SideColumn {
    Json(VarBytes),
    Variant(VariantColumn, Box<RowEncoder>),
}

impl NestedJson {
    /// Creates the combination of batches that are read with these options. The options are changed so
    /// that the batches contain everything that is needed.
    ///
    /// # Errors
    /// [`ErrorKind::Config`]: the types are not those of Spark.
    pub fn of(options: &mut DecodeOptions) -> Result<Self> {
        let plan = &mut options.plan;
        if !plan.types.is_spark() {
            return Err(Error::config(
                "nested JSON contains values in the forms of Spark: read with ⟦types=spark⟧, or TypeOptions(⟦profile=spark⟧, ...)",
            ));
        }
        let is_variant = plan.types.json == Json::Variant;
        if is_variant {
            // Documents inside documents share one dictionary of keys.
            plan.types.json = Json::Bytes;
        }
        let given = Layout::Nested.envelope(&plan.envelope);
        let schema = Arc::new(schema(&given, &plan.types, is_variant));
        let own = Envelope { columns: given.columns.clone(), ..Envelope::default() };
        let part = |(column, field): (&EnvelopeColumn, Field)| EnvelopePart {
            column: *column,
            name: own.column_name(*column),
            data_type: field.data_type().clone(),
            pieces: Vec::new(),
        };
        let fields = given.fields(&plan.types);
        let envelope = given.columns.iter().zip(fields).map(part).collect();
        plan.layout = Layout::Nested;
        plan.envelope.prefix = own.prefix;
        for needed in
            [EnvelopeColumn::Present, EnvelopeColumn::CommitVersion, EnvelopeColumn::ChangeOrdinal]
        {
            if !plan.envelope.has(needed) {
                plan.envelope.columns.push(needed);
            }
        }
        let side = || match is_variant {
            false => SideColumn::Json(VarBytes::default()),
            true => SideColumn::Variant(VariantColumn::default(), Box::default()),
        };
        Ok(Self {
            schema,
            limits: options.limits,
            databases: VarBytes::default(),
            tables: VarBytes::default(),
            before: side(),
            after: side(),
            envelope,
            envelope_bytes: 0,
            source: None,
            has_all_operations: options.operations == Operations::default(),
        })
    }

    /// True if the documents are variants.
    pub fn is_variant(&self) -> bool {
        matches!(self.after, SideColumn::Variant(..))
    }

    /// The schema of all batches.
    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// The number of rows so far.
    pub fn rows(&self) -> usize {
        self.databases.rows()
    }

    /// True if rows of the added batch are left.
    pub fn is_in_batch(&self) -> bool {
        self.source.is_some()
    }

    /// The position at which to resume if rows of the last batch are left; `None` if it is not known.
    pub fn place(&self) -> Option<Progress> {
        let (change, row) = self.source.as_ref()?;
        if *row == 0 {
            return Some(change.before.clone());
        }
        let versions = numbers(change, EnvelopeColumn::CommitVersion)?;
        let ordinals = numbers(change, EnvelopeColumn::ChangeOrdinal)?;
        if !self.has_all_operations || is_second_half(ordinals, *row) {
            return None;
        }
        let version = *versions.get(*row)?;
        let first = versions.partition_point(|other| *other < version);
        let own = ordinals.get(first..*row)?;
        let changes = own.chunk_by(|one, next| one >> 1 == next >> 1).count();
        let table = (Arc::clone(&change.database), Arc::clone(&change.table));
        change.before.within(&table, start_of(version), changes as u64)
    }

    /// Adds a batch; [`Self::fill`] uses its rows.
    pub fn take_in(&mut self, change: ChangeBatch) {
        self.source = Some((change, 0));
    }

    /// Appends rows of the added batch. Returns true as soon as there are enough rows for a batch.
    ///
    /// # Errors
    /// The batch was read with other options, or a row is too large.
    pub fn fill(&mut self) -> Result<bool> {
        if let Some((change, from)) = self.source.take() {
            let end = self.append(&change, from)?;
            if end < change.batch.num_rows() {
                self.source = Some((change, end));
            }
        }
        Ok(self.is_full())
    }

    /// Appends a row for a statement that creates or alters a table or, without `altered`, empties it. Without a table, it
    /// applies to all tables of the database. The row is before all other rows of its transaction.
    ///
    /// # Errors
    /// The batch is too large.
    pub fn append_statement(
        &mut self,
        (database, table): (&str, Option<&str>),
        altered: Option<&AlteredTable<'_>>,
        (commit_version, commit_timestamp): (Option<i64>, Option<i64>),
    ) -> Result<()> {
        self.databases.append(database.as_bytes())?;
        match table {
            Some(table) => self.tables.append(table.as_bytes())?,
            None => self.tables.append_null(),
        }
        self.before.append_null();
        match (altered, &mut self.after) {
            (Some(altered), SideColumn::Json(texts)) => {
                texts.append_with(|out| {
                    json::write_altered(altered, out);
                    Ok(())
                })?;
            }
            (_, after) => after.append_null(),
        }
        let op = if altered.is_some() { "a" } else { "t" };
        let time = || TimestampMicrosecondArray::from(vec![commit_timestamp]).with_timezone("UTC");
        for part in &mut self.envelope {
            part.pieces.push(match part.column {
                EnvelopeColumn::Op => Arc::new(StringArray::from(vec![op])),
                EnvelopeColumn::CommitVersion => Arc::new(Int64Array::from(vec![commit_version])),
                EnvelopeColumn::CommitTimestamp => Arc::new(time()),
                EnvelopeColumn::ChangeOrdinal => Arc::new(Int64Array::from(vec![-1])),
                _ => new_null_array(&part.data_type, 1),
            });
        }
        Ok(())
    }

    /// Returns the rows so far as a batch.
    pub fn finish(&mut self) -> Result<RecordBatch> {
        if self.rows() == 0 {
            return Ok(RecordBatch::new_empty(Arc::clone(&self.schema)));
        }
        let mut parts = self.envelope.iter_mut().map(EnvelopePart::finish);
        let op = parts.next().transpose()?;
        let mut columns = vec![self.databases.finish_text()?, self.tables.finish_text()?];
        columns.extend(op);
        columns.extend([self.before.finish()?, self.after.finish()?]);
        for part in parts {
            columns.push(part?);
        }
        self.envelope_bytes = 0;
        RecordBatch::try_new(Arc::clone(&self.schema), columns).map_err(internal)
    }

    fn is_full(&self) -> bool {
        // Each batch has at least one row, whatever the limits are.
        let bytes = self.before.bytes() + self.after.bytes() + self.envelope_bytes;
        self.rows() >= self.limits.rows.max(1) || (self.rows() > 0 && bytes >= self.limits.bytes)
    }

    /// Appends rows of a batch from row `from` on; returns the row after them.
    fn append(&mut self, change: &ChangeBatch, from: usize) -> Result<usize> {
        let in_table = |error: Error| {
            error.context(format_args!("table {}.{}", change.database, change.table))
        };
        let nested = Nested::try_new(change)?;
        let has_variants = matches!(self.before, SideColumn::Variant(..));
        let columns = |side| cells::columns(&nested, side, has_variants).map_err(in_table);
        let (before, after) = (columns(&nested.before)?, columns(&nested.after)?);
        let mut envelope = Vec::with_capacity(self.envelope.len());
        for part in &self.envelope {
            let column = change.batch.column_by_name(&part.name);
            envelope.push(column.ok_or_else(|| unfit(&part.name))?);
        }
        let offsets: Vec<_> = envelope.iter().filter_map(|column| offsets_of(column)).collect();
        let ordinals = numbers(change, EnvelopeColumn::ChangeOrdinal).unwrap_or_default();
        let mut row = from;
        // The two rows of an update stay together.
        while row < nested.rows()
            && (!self.is_full() || (row > from && is_second_half(ordinals, row)))
        {
            self.databases.append(change.database.as_bytes())?;
            self.tables.append(change.table.as_bytes())?;
            self.before.append(&nested.before, &before, row).map_err(|e| in_table(e.into()))?;
            self.after.append(&nested.after, &after, row).map_err(|e| in_table(e.into()))?;
            self.envelope_bytes += offsets.iter().map(|ends| len_at(ends, row)).sum::<usize>();
            row += 1;
        }
        for (part, column) in self.envelope.iter_mut().zip(envelope) {
            part.pieces.push(column.slice(from, row - from));
        }
        Ok(row)
    }
}

/// A numeric column of the envelope of the input batches.
fn numbers(change: &ChangeBatch, column: EnvelopeColumn) -> Option<&[i64]> {
    let name = Envelope::default().column_name(column);
    let column = change.batch.column_by_name(&name)?.as_primitive_opt::<Int64Type>()?;
    Some(column.values())
}

/// True if a row and the one before it belong to one change.
fn is_second_half(ordinals: &[i64], row: usize) -> bool {
    let before = row.checked_sub(1).and_then(|row| ordinals.get(row));
    matches!((before, ordinals.get(row)), (Some(one), Some(next)) if next % 2 == 1 && *one == next - 1)
}

/// The ends of the cells of a column of text or bytes: the statement of a row may be larger than
/// the row.
fn offsets_of(column: &ArrayRef) -> Option<&[i32]> {
    let text = column.as_string_opt::<i32>().map(|column| column.value_offsets());
    text.or_else(|| column.as_binary_opt::<i32>().map(|column| column.value_offsets()))
}

fn len_at(ends: &[i32], row: usize) -> usize {
    match ends.get(row..).unwrap_or_default() {
        [start, end, ..] => (end - start) as usize,
        _ => 0,
    }
}

impl EnvelopePart {
    fn finish(&mut self) -> Result<ArrayRef> {
        let array = concat(&self.pieces).map_err(internal)?;
        self.pieces.clear();
        Ok(array)
    }
}

impl SideColumn {
    fn append_null(&mut self) {
        match self {
            Self::Json(texts) => texts.append_null(),
            Self::Variant(variants, _) => variants.append_null(),
        }
    }

    fn append(
        &mut self,
        side: &Side<'_>,
        columns: &[DocumentColumn<'_>],
        row: usize,
    ) -> Result<(), DecodeError> {
        let is_there = side.is_there(row);
        match self {
            _ if !is_there => self.append_null(),
            Self::Json(texts) => {
                let held = side.present(row);
                return texts.append_with(|out| {
                    json::write(columns, held, row, out);
                    Ok(())
                });
            }
            Self::Variant(variants, encoder) => {
                let held = side.present(row);
                let cells = columns.iter().flat_map(|column| column.members(held, row));
                return variants
                    .append_with(|value, metadata| encoder.encode(cells, value, metadata));
            }
        }
        Ok(())
    }

    fn bytes(&self) -> usize {
        match self {
            Self::Json(texts) => texts.bytes().len(),
            Self::Variant(variants, _) => variants.bytes(),
        }
    }

    fn finish(&mut self) -> Result<ArrayRef> {
        match self {
            Self::Json(texts) => texts.finish_text(),
            Self::Variant(variants, _) => variants.finish(),
        }
    }
}

/// `_database`, `_table`, `_op`, `before`, `after`, and the rest of the envelope.
fn schema(envelope: &Envelope, types: &TypeOptions, is_variant: bool) -> Schema {
    let side_type = if is_variant { VariantColumn::data_type() } else { DataType::Utf8 };
    let text = |name| Field::new(format!("{}{name}", envelope.prefix), DataType::Utf8, true);
    let mut fields = vec![text("database"), text("table")];
    let sides = ["before", "after"].map(|name| Field::new(name, side_type.clone(), true));
    fields.extend(envelope.fields(types));
    fields.splice(3..3, sides);
    Schema::new(fields)
}

fn internal(error: arrow_schema::ArrowError) -> Error {
    Error::new(ErrorKind::Internal, error.to_string())
}
