//! Converts batches to a caller's schema: columns are matched by name, missing columns are NULL,
//! wider types are converted, and narrower types are errors.
//!
//! A column matches the field of the same name. If there is none, it matches a field whose name
//! differs in letter case only: servers treat these names as equal. Structs are matched field by
//! field, because in the nested layout they contain the table's columns.

use super::envelope::Envelope;
use super::present::{PresentMap, as_binary, present_maps};
use super::widen::widen;
use crate::error::Error;
use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, RecordBatch, StructArray, new_null_array};
use arrow_schema::{DataType, Field, Fields, SchemaRef};
use std::sync::Arc;

/// The reaction to a batch whose schema is not the required one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OnSchemaChange {
    /// An error.
    #[default]
    Error,
    /// Missing columns are NULL, new ones are dropped, types are widened.
    Conform,
    /// Like `Conform`, but an error if columns are missing while others are dropped: these may be
    /// the same columns after a rename, and their values would be lost.
    Evolve,
}

/// Columns without a match, by name.
#[derive(Debug, Default)]
struct Gaps {
    /// Columns of the log that the schema does not have.
    dropped: Vec<String>,
    /// Columns of the schema that the log does not have.
    missing: Vec<String>,
    /// The missing columns that the source has filled in since, according to their metadata: NOT
    /// NULL, or with a DEFAULT.
    filled: Vec<String>,
}

/// Converts batches of one table to one schema.
#[derive(Debug)]
pub struct Conform {
    target: SchemaRef,
    on_change: OnSchemaChange,
    /// The last schema of a batch, and for each target column its source.
    plan: Option<(SchemaRef, Vec<Option<usize>>)>,
    /// The columns that were dropped, and how many of them were returned to the caller.
    dropped: Vec<String>,
    reported: usize,
    /// The envelope of the batches, if the schema is a caller's.
    envelope: Option<Envelope>,
    /// For the last schema of a batch: the columns of `_present` whose bits move.
    present: Option<(SchemaRef, Vec<(usize, PresentMap)>)>,
}

impl Conform {
    /// Creates a conversion to the schema `target`.
    pub fn new(target: SchemaRef, on_change: OnSchemaChange) -> Self {
        Self {
            target,
            on_change,
            plan: None,
            dropped: Vec::new(),
            reported: 0,
            envelope: None,
            present: None,
        }
    }

    /// For a caller's schema, and batches with an envelope: the bits of `_present` become those of
    /// the schema's table columns, in order. The columns of the envelope are recognized by their
    /// names.
    pub fn with_envelope(self, envelope: &Envelope) -> Self {
        Self { envelope: Some(envelope.clone()), ..self }
    }

    /// The schema of all converted batches.
    pub fn schema(&self) -> &SchemaRef {
        &self.target
    }

    /// Returns the columns that were dropped since the last call. Each column is returned only
    /// once.
    pub fn take_dropped(&mut self) -> Vec<String> {
        let new = self.dropped.get(self.reported..).unwrap_or_default().to_vec();
        self.reported = self.dropped.len();
        new
    }

    /// Converts a batch to the schema.
    pub fn apply(&mut self, batch: &RecordBatch) -> Result<RecordBatch, Error> {
        let schema = batch.schema();
        let mut gaps = Gaps::default();
        if same_columns(schema.fields(), self.target.fields()) {
            // The fields inside a list or struct may have other names or metadata.
            let columns = batch.columns().iter().zip(self.target.fields());
            let mut columns = columns
                .map(|(column, field)| fitted(column, field, &mut gaps))
                .collect::<Result<Vec<_>, _>>()?;
            self.place_bits(&schema, &mut columns)?;
            return RecordBatch::try_new(Arc::clone(&self.target), columns)
                .map_err(|error| Error::schema(error.to_string()));
        }
        if self.on_change == OnSchemaChange::Error {
            return Err(Error::schema(difference(&schema, &self.target)));
        }
        let sources = self.sources(&schema)?;
        let mut columns: Vec<ArrayRef> = Vec::with_capacity(sources.len());
        for (field, source) in self.target.fields().iter().zip(sources) {
            columns.push(match source.and_then(|index| batch.columns().get(index)) {
                None => new_null_array(field.data_type(), batch.num_rows()),
                Some(column) => fitted(column, field, &mut gaps)?,
            });
        }
        self.note(gaps, &[])?;
        self.place_bits(&schema, &mut columns)?;
        RecordBatch::try_new(Arc::clone(&self.target), columns)
            .map_err(|error| Error::schema(error.to_string()))
    }

    fn sources(&mut self, schema: &SchemaRef) -> Result<Vec<Option<usize>>, Error> {
        if let Some((seen, sources)) = &self.plan
            && Arc::ptr_eq(seen, schema)
        {
            return Ok(sources.clone());
        }
        let mut gaps = Gaps::default();
        let sources = sources_of(self.target.fields(), schema.fields(), &mut gaps);
        self.note(gaps, &self.envelope_names())?;
        self.plan = Some((Arc::clone(schema), sources.clone()));
        Ok(sources)
    }

    /// Records the names of dropped columns, or returns an error if the policy forbids the gaps.
    /// `envelope`: names of columns that are not the table's.
    fn note(&mut self, gaps: Gaps, envelope: &[String]) -> Result<(), Error> {
        let Gaps { dropped, missing, filled } = gaps;
        let lost: Vec<_> =
            dropped.iter().filter(|name| !envelope.contains(name)).cloned().collect();
        let is_strict = self.on_change == OnSchemaChange::Evolve;
        if is_strict && !missing.is_empty() && !lost.is_empty() {
            return Err(Error::schema(format!(
                "a column may have been renamed: the log has {}, which the schema lacks, and lacks {}, which the schema has. \
                 Add both to ⟦schema⟧, or fill the columns that the log lacks with NULL: \
                 ⟦on_schema_change=conform⟧",
                lost.join(", "),
                missing.join(", ")
            )));
        }
        if is_strict && !filled.is_empty() {
            return Err(Error::schema(format!(
                "rows that were logged before {} was added lack it, and the server filled it in later (NOT NULL, or a \
                 DEFAULT): the log does not contain these values. Read these rows with \
                 ⟦on_schema_change=conform⟧, which returns NULL, and add the values afterwards",
                filled.join(", ")
            )));
        }
        for name in dropped {
            self.drop_column(name);
        }
        Ok(())
    }

    /// The names of the envelope's columns if the schema is a caller's, which may lack them.
    fn envelope_names(&self) -> Vec<String> {
        let Some(envelope) = &self.envelope else { return Vec::new() };
        envelope.columns.iter().map(|column| envelope.column_name(*column)).collect()
    }

    /// Moves the bits of `_present` to the places of the schema's columns.
    fn place_bits(&mut self, found: &SchemaRef, columns: &mut [ArrayRef]) -> Result<(), Error> {
        let Some(envelope) = &self.envelope else { return Ok(()) };
        if !self.present.as_ref().is_some_and(|(seen, _)| Arc::ptr_eq(seen, found)) {
            let maps = present_maps(found, &self.target, &envelope.prefix, find);
            self.present = Some((Arc::clone(found), maps));
        }
        for (place, map) in self.present.iter().flat_map(|(_, maps)| maps) {
            let Some(column) = columns.get_mut(*place) else { continue };
            let to = column.data_type();
            let bits = as_binary(column).ok_or_else(|| no_bits(to))?;
            let moved = widen(&map.apply(&bits), to);
            *column = moved.ok().flatten().ok_or_else(|| no_bits(to))?;
        }
        Ok(())
    }

    fn drop_column(&mut self, name: String) {
        if !self.dropped.contains(&name) {
            self.dropped.push(name);
        }
    }
}

/// Returns the index of the matching column for each field of the schema.
fn sources_of(wanted: &Fields, found: &Fields, gaps: &mut Gaps) -> Vec<Option<usize>> {
    let mut is_free = vec![true; found.len()];
    let mut take = |found: Option<usize>| {
        let is_free = is_free.get_mut(found?)?;
        std::mem::take(is_free).then_some(found?)
    };
    let mut sources: Vec<_> =
        wanted.iter().map(|field| take(found.find(field.name()).map(|(index, _)| index))).collect();
    for (field, source) in wanted.iter().zip(&mut sources).filter(|(_, source)| source.is_none()) {
        let name = field.name().to_lowercase();
        *source = take(found.iter().position(|other| other.name().to_lowercase() == name));
    }
    let unwanted = found.iter().zip(is_free).filter(|(_, is_free)| *is_free);
    let missing = wanted.iter().zip(&sources).filter(|(_, source)| source.is_none());
    gaps.dropped.extend(unwanted.map(|(field, _)| field.name().clone()));
    for (field, _) in missing {
        gaps.missing.push(field.name().clone());
        if is_filled(field) {
            gaps.filled.push(field.name().clone());
        }
    }
    sources
}

/// True if the server fills an added column in existing rows; the log does not contain these
/// values.
fn is_filled(field: &Field) -> bool {
    let says = |key: &str, word: &str| field.metadata().get(key).is_some_and(|said| said == word);
    says("mysql.nullable", "false") || says("mysql.has_default", "true")
}

/// Returns the column with this name; if there is none, a column whose name differs in letter case
/// only.
fn find<'f>(fields: &'f Fields, name: &str) -> Option<&'f Field> {
    let found = fields.find(name).map(|(_, field)| field).or_else(|| {
        let lower = name.to_lowercase();
        fields.iter().find(|other| other.name().to_lowercase() == lower)
    });
    found.map(AsRef::as_ref)
}

fn no_bits(data_type: &DataType) -> Error {
    Error::schema(format!(
        "a column of the type {data_type} cannot contain the bits of present columns: use Binary"
    ))
}

/// True if names and types are the same, in the same order; metadata may differ.
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

/// Returns the column as the field requires it. Columns inside it without a match are added to
/// `gaps`.
fn fitted(column: &ArrayRef, field: &Field, gaps: &mut Gaps) -> Result<ArrayRef, Error> {
    let DataType::Struct(wanted) = field.data_type() else { return widened(column, field) };
    let Some(found) = column.as_struct_opt() else { return widened(column, field) };
    let mut columns = Vec::with_capacity(wanted.len());
    let sources = sources_of(wanted, found.fields(), gaps);
    for (field, source) in wanted.iter().zip(sources) {
        columns.push(match source.and_then(|index| found.columns().get(index)) {
            None => new_null_array(field.data_type(), found.len()),
            Some(column) => fitted(column, field, gaps)?,
        });
    }
    let nulls = found.nulls().cloned();
    StructArray::try_new_with_length(wanted.clone(), columns, nulls, found.len())
        .map(|array| Arc::new(array) as ArrayRef)
        .map_err(|error| Error::schema(format!("column {}: {error}", field.name())))
}

fn widened(column: &ArrayRef, field: &Field) -> Result<ArrayRef, Error> {
    let (from, to) = (column.data_type(), field.data_type());
    let widened = widen(column, to)
        .map_err(|error| Error::schema(format!("column {}: {error}", field.name())))?;
    widened.ok_or_else(|| {
        Error::schema(format!(
            "column {} is {from} in the log and cannot become {to} without loss: use a type in the schema that can represent both",
            field.name()
        ))
    })
}

/// Describes the differences between the schema of a batch and the required schema, in one line.
fn difference(found: &SchemaRef, wanted: &SchemaRef) -> String {
    let mut parts = differences(found.fields(), wanted.fields(), "");
    if parts.is_empty() {
        parts.push("its columns are in a different order".into());
    }
    format!(
        "the structure of the table changes within the log: {}; ⟦on_schema_change=conform⟧ converts all batches to one schema",
        parts.join(", ")
    )
}

/// Returns one text for each column that differs; `place` is written before its name.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::columnar::EnvelopeColumn;
    use crate::error::ErrorKind;
    use arrow_array::types::{Int32Type, Int64Type};
    use arrow_array::{BooleanArray, Date32Array, Int32Array, Int64Array};
    use arrow_schema::{Schema, TimeUnit};

    fn batch(columns: &[(&str, ArrayRef)]) -> RecordBatch {
        RecordBatch::try_from_iter_with_nullable(
            columns.iter().map(|(name, column)| (*name, Arc::clone(column), true)),
        )
        .unwrap()
    }

    fn ints(values: &[i32]) -> ArrayRef {
        Arc::new(Int32Array::from(values.to_vec()))
    }

    fn conform(fields: &[(&str, DataType)]) -> Conform {
        let field =
            |(name, data_type): &(&str, DataType)| Field::new(*name, data_type.clone(), true);
        let schema = Schema::new(fields.iter().map(field).collect::<Vec<_>>());
        Conform::new(Arc::new(schema), OnSchemaChange::Conform)
    }

    #[test]
    fn what_may_be_a_new_name_is_an_error() {
        let wanted = |names: &[&str]| {
            let field = |name: &&str| Field::new(*name, DataType::Int32, true);
            let schema = Schema::new(names.iter().map(field).collect::<Vec<_>>());
            let envelope = Envelope { columns: vec![EnvelopeColumn::Xid], prefix: "_".to_owned() };
            Conform::new(Arc::new(schema), OnSchemaChange::Evolve).with_envelope(&envelope)
        };
        let row = batch(&[("a", ints(&[1])), ("_total", ints(&[2])), ("_xid", ints(&[3]))]);
        for names in [&["a"][..], &["a", "_total", "more"], &["_total", "_xid"]] {
            wanted(names).apply(&row).unwrap();
        }
        for names in [&["a", "total"][..], &["_total", "b"], &["a", "_gtid"]] {
            let error = wanted(names).apply(&row).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Schema);
        }
    }

    #[test]
    fn what_the_source_has_filled_in_is_an_error() {
        let row = batch(&[("a", ints(&[1]))]);
        for (key, said, is_filled) in [
            ("mysql.nullable", "false", true),
            ("mysql.nullable", "true", false),
            ("mysql.has_default", "true", true),
            ("mysql.has_default", "false", false),
        ] {
            let metadata = std::collections::HashMap::from([(key.to_owned(), said.to_owned())]);
            let added = Field::new("b", DataType::Int32, true).with_metadata(metadata);
            let schema = Arc::new(Schema::new(vec![Field::new("a", DataType::Int32, true), added]));
            let mut evolve = Conform::new(Arc::clone(&schema), OnSchemaChange::Evolve);
            assert_eq!(evolve.apply(&row).is_err(), is_filled);
            Conform::new(schema, OnSchemaChange::Conform).apply(&row).unwrap();
        }
    }

    #[test]
    fn columns_go_by_name_and_each_dropped_one_is_reported_once() {
        let mut conform = conform(&[("a", DataType::Int64), ("b", DataType::Int32)]);
        for _ in 0..2 {
            let swapped = batch(&[("b", ints(&[1])), ("new", ints(&[2])), ("a", ints(&[3]))]);
            let row = conform.apply(&swapped).unwrap();
            assert_eq!(row.column(0).as_primitive::<Int64Type>().value(0), 3);
            assert_eq!(row.column(1).as_primitive::<Int32Type>().value(0), 1);
        }
        assert_eq!(conform.take_dropped(), ["new"]);
        conform.apply(&batch(&[("new", ints(&[2])), ("newer", ints(&[2]))])).unwrap();
        assert_eq!(conform.take_dropped(), ["newer"]);
    }

    #[test]
    fn a_name_in_another_case_is_the_same_unless_both_are_there() {
        let mut conform = conform(&[("id", DataType::Int32), ("ID", DataType::Int32)]);
        let one = conform.apply(&batch(&[("Id", ints(&[1]))])).unwrap();
        assert_eq!((one.column(0).null_count(), one.column(1).null_count()), (0, 1));
        let both = conform.apply(&batch(&[("ID", ints(&[1])), ("id", ints(&[2]))])).unwrap();
        assert_eq!(both.column(0).as_primitive::<Int32Type>().value(0), 2);
        assert_eq!(both.column(1).as_primitive::<Int32Type>().value(0), 1);
        assert!(conform.take_dropped().is_empty());
    }

    #[test]
    fn what_the_server_widens_is_widened() {
        let moment = DataType::Timestamp(TimeUnit::Microsecond, None);
        let days: ArrayRef = Arc::new(Date32Array::from(vec![-719_528, 0, 2_932_896]));
        let dates = conform(&[("d", moment.clone())]).apply(&batch(&[("d", Arc::clone(&days))]));
        let micros = arrow_cast::cast(&days, &moment).unwrap();
        assert_eq!(dates.unwrap().column(0), &micros);
        assert_eq!(micros.null_count(), 0);
        let bits: ArrayRef = Arc::new(BooleanArray::from(vec![true, false]));
        let bits = conform(&[("b", DataType::Int64)]).apply(&batch(&[("b", bits)])).unwrap();
        assert_eq!(bits.column(0).as_primitive::<Int64Type>().values(), &[1, 0]);
    }

    #[test]
    fn what_would_lose_values_is_an_error() {
        let long: ArrayRef = Arc::new(Int64Array::from(vec![1]));
        let error = conform(&[("a", DataType::Int32)]).apply(&batch(&[("a", Arc::clone(&long))]));
        assert_eq!(error.unwrap_err().kind(), ErrorKind::Schema);
        let error = conform(&[("a", DataType::Utf8)]).apply(&batch(&[("a", long)]));
        assert_eq!(error.unwrap_err().kind(), ErrorKind::Schema);
        let required = Schema::new(vec![Field::new("a", DataType::Int32, false)]);
        let mut required = Conform::new(Arc::new(required), OnSchemaChange::Error);
        let null: ArrayRef = Arc::new(Int32Array::from(vec![None]));
        assert_eq!(required.apply(&batch(&[("a", null)])).unwrap_err().kind(), ErrorKind::Schema);
    }
}
