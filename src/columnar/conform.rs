//! A batch under a caller's schema: columns by name, missing ones NULL, widening done, narrowing refused.

use crate::error::{Error, ErrorKind};
use arrow_array::{ArrayRef, RecordBatch, new_null_array};
use arrow_schema::{DataType, Field, SchemaRef};
use std::sync::Arc;

/// What a batch whose schema is not the wanted one leads to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OnSchemaChange {
    /// An error.
    #[default]
    Error,
    /// Missing columns are NULL, new ones are dropped, types are widened.
    Conform,
}

/// Brings batches of one table under one schema.
#[derive(Debug)]
pub struct Conform {
    target: SchemaRef,
    on_change: OnSchemaChange,
    /// The last schema seen, and for each target column where it comes from.
    plan: Option<(SchemaRef, Vec<Option<usize>>)>,
    /// Columns that were dropped, and how many of them the caller has been told.
    dropped: Vec<String>,
    told: usize,
}

impl Conform {
    /// For batches that are to have the schema `target`.
    pub fn new(target: SchemaRef, on_change: OnSchemaChange) -> Self {
        Self { target, on_change, plan: None, dropped: Vec::new(), told: 0 }
    }

    /// The schema that all batches come out with.
    pub fn schema(&self) -> &SchemaRef {
        &self.target
    }

    /// Columns dropped since the last call, each named once in the life of this value.
    pub fn take_dropped(&mut self) -> Vec<String> {
        let new = self.dropped.get(self.told..).unwrap_or_default().to_vec();
        self.told = self.dropped.len();
        new
    }

    /// The batch under the wanted schema.
    pub fn apply(&mut self, batch: &RecordBatch) -> Result<RecordBatch, Error> {
        let schema = batch.schema();
        if same_columns(&schema, &self.target) {
            // The fields inside of a list or struct may be named or marked otherwise.
            let columns = batch.columns().iter().zip(self.target.fields());
            let columns =
                columns.map(|(column, field)| widen(column, field)).collect::<Result<_, _>>()?;
            return RecordBatch::try_new(Arc::clone(&self.target), columns)
                .map_err(|error| Error::new(ErrorKind::Internal, error.to_string()));
        }
        if self.on_change == OnSchemaChange::Error {
            return Err(Error::schema(difference(&schema, &self.target)));
        }
        let sources = self.sources(&schema);
        let mut columns: Vec<ArrayRef> = Vec::with_capacity(sources.len());
        for (field, source) in self.target.fields().iter().zip(sources) {
            columns.push(match source.and_then(|index| batch.columns().get(index)) {
                None => new_null_array(field.data_type(), batch.num_rows()),
                Some(column) => widen(column, field)?,
            });
        }
        RecordBatch::try_new(Arc::clone(&self.target), columns)
            .map_err(|error| Error::schema(error.to_string()))
    }

    fn sources(&mut self, schema: &SchemaRef) -> Vec<Option<usize>> {
        if let Some((seen, sources)) = &self.plan
            && Arc::ptr_eq(seen, schema)
        {
            return sources.clone();
        }
        let sources: Vec<_> =
            self.target.fields().iter().map(|field| schema.index_of(field.name()).ok()).collect();
        for field in schema.fields() {
            if self.target.index_of(field.name()).is_err() && !self.dropped.contains(field.name()) {
                self.dropped.push(field.name().clone());
            }
        }
        self.plan = Some((Arc::clone(schema), sources.clone()));
        sources
    }
}

/// Names and types in order; metadata may differ.
fn same_columns(one: &SchemaRef, other: &SchemaRef) -> bool {
    one.fields().len() == other.fields().len()
        && one
            .fields()
            .iter()
            .zip(other.fields())
            .all(|(a, b)| a.name() == b.name() && a.data_type().equals_datatype(b.data_type()))
}

fn widen(column: &ArrayRef, field: &Field) -> Result<ArrayRef, Error> {
    let (from, to) = (column.data_type(), field.data_type());
    if from == to {
        return Ok(Arc::clone(column));
    }
    let equal = from.equals_datatype(to);
    if !equal && !is_widening(from, to) {
        return Err(Error::schema(format!(
            "column {} is {from} in the log and cannot become {to} without loss",
            field.name()
        )));
    }
    arrow_cast::cast(column, to)
        .map_err(|error| Error::schema(format!("column {}: {error}", field.name())))
}

/// Whether every value of `from` has an equal one in `to`.
fn is_widening(from: &DataType, to: &DataType) -> bool {
    use DataType::*;
    let bits = |data_type: &DataType| match data_type {
        Int8 | UInt8 => 8,
        Int16 | UInt16 => 16,
        Int32 | UInt32 => 32,
        Int64 | UInt64 => 64,
        _ => 0,
    };
    match (from, to) {
        (Int8 | Int16 | Int32 | Int64, Int16 | Int32 | Int64)
        | (UInt8 | UInt16 | UInt32 | UInt64, UInt16 | UInt32 | UInt64)
        | (UInt8 | UInt16 | UInt32, Int16 | Int32 | Int64) => bits(to) > bits(from),
        (Int8 | Int16 | Int32 | Int64 | UInt8 | UInt16 | UInt32 | UInt64, Decimal128(p, s)) => {
            let digits = match bits(from) {
                8 => 3,
                16 => 5,
                32 => 10,
                _ => 20,
            };
            i16::from(*p) - i16::from(*s) >= digits
        }
        (Float32, Float64) => true,
        (Int8 | Int16 | UInt8 | UInt16, Float32 | Float64) | (Int32 | UInt32, Float64) => true,
        (Decimal128(p, s), Decimal128(q, t) | Decimal256(q, t))
        | (Decimal256(p, s), Decimal256(q, t)) => {
            t >= s && i16::from(*q) - i16::from(*t) >= i16::from(*p) - i16::from(*s)
        }
        (Dictionary(_, value), Utf8 | LargeUtf8) => **value == Utf8,
        (Utf8, LargeUtf8) | (Binary, LargeBinary) => true,
        _ => false,
    }
}

/// What a batch has otherwise than it should, in a line.
fn difference(found: &SchemaRef, wanted: &SchemaRef) -> String {
    let missing: Vec<_> = wanted
        .fields()
        .iter()
        .filter(|field| found.index_of(field.name()).is_err())
        .map(|field| format!("{} is missing", field.name()))
        .collect();
    let new: Vec<_> = found
        .fields()
        .iter()
        .filter(|field| wanted.index_of(field.name()).is_err())
        .map(|field| format!("{} is new", field.name()))
        .collect();
    let changed: Vec<_> = wanted
        .fields()
        .iter()
        .filter_map(|field| {
            let other = found.field_with_name(field.name()).ok()?;
            (!other.data_type().equals_datatype(field.data_type())).then(|| {
                format!(
                    "{} is {} instead of {}",
                    field.name(),
                    other.data_type(),
                    field.data_type()
                )
            })
        })
        .collect();
    let mut parts = [missing, new, changed].concat();
    if parts.is_empty() {
        parts.push("its columns are in another order".into());
    }
    format!(
        "the table's structure changes in mid-stream: {}; on_schema_change='conform' brings batches under one schema",
        parts.join(", ")
    )
}
