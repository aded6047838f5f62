//! A batch under a caller's schema: columns by name, missing ones NULL, widening done, narrowing refused.
//!
//! Structs are gone into: the nested layout has the table's columns in them.

use crate::error::{Error, ErrorKind};
use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, RecordBatch, StructArray, new_null_array};
use arrow_schema::{DataType, Field, Fields, SchemaRef};
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
        let mut dropped = Vec::new();
        if same_columns(schema.fields(), self.target.fields()) {
            // The fields inside of a list or struct may be named or marked otherwise.
            let columns = batch.columns().iter().zip(self.target.fields());
            let columns = columns
                .map(|(column, field)| fitted(column, field, &mut dropped))
                .collect::<Result<_, _>>()?;
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
                Some(column) => fitted(column, field, &mut dropped)?,
            });
        }
        for name in dropped {
            self.drop_column(name);
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
            if self.target.index_of(field.name()).is_err() {
                self.drop_column(field.name().clone());
            }
        }
        self.plan = Some((Arc::clone(schema), sources.clone()));
        sources
    }

    fn drop_column(&mut self, name: String) {
        if !self.dropped.contains(&name) {
            self.dropped.push(name);
        }
    }
}

/// Names and types in order; metadata may differ.
fn same_columns(one: &Fields, other: &Fields) -> bool {
    one.len() == other.len()
        && one
            .iter()
            .zip(other)
            .all(|(a, b)| a.name() == b.name() && same_type(a.data_type(), b.data_type()))
}

fn same_type(one: &DataType, other: &DataType) -> bool {
    match (one, other) {
        (DataType::Struct(one), DataType::Struct(other)) => same_columns(one, other),
        _ => one.equals_datatype(other),
    }
}

/// The column as the field wants it. `dropped` gets the names of columns inside of it that find no place.
fn fitted(column: &ArrayRef, field: &Field, dropped: &mut Vec<String>) -> Result<ArrayRef, Error> {
    let DataType::Struct(wanted) = field.data_type() else { return widen(column, field) };
    let Some(found) = column.as_struct_opt() else { return widen(column, field) };
    let mut columns = Vec::with_capacity(wanted.len());
    for field in wanted {
        columns.push(match found.column_by_name(field.name()) {
            None => new_null_array(field.data_type(), found.len()),
            Some(column) => fitted(column, field, dropped)?,
        });
    }
    let unwanted = found.fields().iter().filter(|field| wanted.find(field.name()).is_none());
    dropped.extend(unwanted.map(|field| field.name().clone()));
    let nulls = found.nulls().cloned();
    StructArray::try_new_with_length(wanted.clone(), columns, nulls, found.len())
        .map(|array| Arc::new(array) as ArrayRef)
        .map_err(|error| Error::schema(format!("column {}: {error}", field.name())))
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
    let mut parts = differences(found.fields(), wanted.fields(), "");
    if parts.is_empty() {
        parts.push("its columns are in another order".into());
    }
    format!(
        "the table's structure changes in mid-stream: {}; on_schema_change='conform' brings batches under one schema",
        parts.join(", ")
    )
}

/// One part for each column that differs; `place` stands before its name.
fn differences(found: &Fields, wanted: &Fields, place: &str) -> Vec<String> {
    let name = |field: &Field| format!("{place}{}", field.name());
    let missing = wanted.iter().filter(|field| found.find(field.name()).is_none());
    let new = found.iter().filter(|field| wanted.find(field.name()).is_none());
    let mut parts: Vec<_> = missing.map(|field| format!("{} is missing", name(field))).collect();
    parts.extend(new.map(|field| format!("{} is new", name(field))));
    for field in wanted {
        let Some((_, other)) = found.find(field.name()) else { continue };
        match (other.data_type(), field.data_type()) {
            (DataType::Struct(found), DataType::Struct(wanted)) => {
                parts.extend(differences(found, wanted, &format!("{}.", name(field))));
            }
            (found, wanted) if found.equals_datatype(wanted) => {}
            (found, wanted) => {
                parts.push(format!("{} is {found} instead of {wanted}", name(field)));
            }
        }
    }
    parts
}
