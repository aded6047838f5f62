//! The certificate of a load: the rows of each chunk, as counts and hashes. `binarrow load check` compares it with the log and the
//! server.
//!
//! A certificate is a file of JSON objects, one per line. It contains no values.
//!
//! | line | content |
//! |---|---|
//! | `begin` | the version of the format, and the position at which the load begins |
//! | `table` | before the first chunk of a table: the columns that are hashed, the columns of the key, the types |
//! | `chunk` | after each chunk: a [`ChunkCount`] |
//! | `complete` | at the end: the position from which the log continues |
//!
//! Masked columns are not hashed, because their values depend on a salt; nor are the generated columns of MariaDB, which the log
//! does not always contain. `row_hash.rs` describes the hash.

use super::key::LoadKey;
use super::row_hash::hash_rows;
use super::rows::TableRows;
use crate::columnar::{TablePlan, TypeOptions};
use crate::error::{Error, ErrorKind, Result};
use crate::position::{ChunkCount, Position};
use crate::schema::Generated;
use arrow_array::cast::AsArray;
use arrow_array::{Array, RecordBatch};
use arrow_schema::{DataType, Field};
use serde_json::{Value, json};
use std::fmt;
use std::sync::Arc;

/// The file of a certificate.
#[derive(Clone)]
pub struct CertificateFile(Arc<Append>);

/// A function that appends a line.
type Append = dyn Fn(&str) -> Result<()> + Send + Sync;

impl CertificateFile {
    /// Creates the file from a function that appends a line.
    pub fn new(append: impl Fn(&str) -> Result<()> + Send + Sync + 'static) -> Self {
        Self(Arc::new(append))
    }

    /// The load begins at a position.
    pub(super) fn begin(&self, position: &Position) -> Result<()> {
        self.append(
            &json!({"begin": {"version": CERTIFICATE_VERSION, "position": of_position(position)?}}),
        )
    }

    /// The chunks of a table follow.
    pub(super) fn table(&self, table: &Value) -> Result<()> {
        self.append(&json!({ "table": table }))
    }

    /// A chunk was read.
    pub(super) fn chunk(&self, count: &ChunkCount) -> Result<()> {
        self.append(&json!({"chunk": of_json(&count.to_json()?)?}))
    }

    /// The load is complete.
    pub(super) fn complete(&self, position: &Position) -> Result<()> {
        self.append(&json!({"complete": {"position": of_position(position)?}}))
    }

    fn append(&self, line: &Value) -> Result<()> {
        (self.0)(&format!("{line}\n"))
    }
}

impl fmt::Debug for CertificateFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("CertificateFile")
    }
}

fn of_position(position: &Position) -> Result<Value> {
    // The progress of the load contains keys.
    of_json(&Position { load: None, ..position.clone() }.to_json()?)
}

fn of_json(text: &str) -> Result<Value> {
    serde_json::from_str(text)
        .map_err(|error| Error::new(ErrorKind::Internal, format!("JSON of a certificate: {error}")))
}

/// Counts the rows of a chunk.
pub(super) struct Counting {
    pub(super) count: ChunkCount,
    columns: HashedColumns,
}

impl Counting {
    /// # Errors
    /// A column has no hash.
    pub(super) fn new(rows: &TableRows, count: ChunkCount) -> Result<Self> {
        let columns = HashedColumns::of(rows.plan());
        columns.hash(&RecordBatch::new_empty(Arc::clone(&rows.plan().schema)), |_| {})?;
        Ok(Self { count, columns })
    }

    /// The line of the table. A filtered table lacks rows.
    pub(super) fn table(&self, rows: &TableRows, types: TypeOptions, is_filtered: bool) -> Value {
        let plan = rows.plan();
        let key = LoadKey::of(&plan.table).filter(|_| rows.has_order());
        json!({
            "chunk": self.count.number,
            "columns": self.columns.names,
            "database": self.count.database,
            "filtered": is_filtered,
            "key": key.map(|key| key.names()).unwrap_or_default(),
            "table": self.count.table,
            "types": {
                "enum": types.enumeration.as_str(),
                "geometry": types.geometry.as_str(),
                "invalid_text": types.invalid_text.as_str(),
                "json": types.json.as_str(),
                "profile": types.profile.as_str(),
                "time": types.time.as_str(),
                "zero_dates": types.zero_dates.as_str(),
            },
        })
    }

    /// Adds the rows of a batch.
    pub(super) fn add(&mut self, batch: &RecordBatch) -> Result<()> {
        let mut sum = self.count.hash;
        self.columns.hash(batch, |hash| sum = sum.wrapping_add(hash))?;
        self.count.hash = sum;
        self.count.rows += batch.num_rows() as u64;
        Ok(())
    }
}

/// The columns of a table that are hashed.
struct HashedColumns {
    names: Vec<String>,
    /// The index of the struct that contains the columns: batches have the nested layout.
    after: Option<usize>,
    /// The indexes of the columns, in the batch or the struct.
    indexes: Vec<usize>,
}

impl HashedColumns {
    fn of(plan: &TablePlan) -> Self {
        let fields = plan.schema.fields();
        // The columns of the envelope have no such type.
        let is_flat = fields.iter().any(|field| is_of_table(field));
        let after = fields.iter().position(|field| field.name() == "after").filter(|_| !is_flat);
        let inner = after.and_then(|index| match fields.get(index)?.data_type() {
            DataType::Struct(inner) => Some(inner),
            _ => None,
        });
        let is_hashed = |field: &Field| {
            let column = plan.column(field.name()).map(|(_, column)| column);
            let is_logged = !plan.is_mariadb()
                || column.is_none_or(|column| {
                    matches!(column.generated, None | Some(Generated::No))
                        && column.visible != Some(false)
                });
            is_of_table(field) && !field.metadata().contains_key("binarrow.mask") && is_logged
        };
        let hashed = inner.unwrap_or(fields).iter().enumerate();
        let hashed = hashed.filter(|(_, field)| is_hashed(field));
        let (indexes, names) = hashed.map(|(index, field)| (index, field.name().clone())).unzip();
        Self { names, after, indexes }
    }

    fn hash(&self, batch: &RecordBatch, each: impl FnMut(u128)) -> Result<()> {
        let columns = match self.after.and_then(|index| batch.columns().get(index)) {
            Some(after) => after.as_struct().columns(),
            None => batch.columns(),
        };
        let hashed = self.indexes.iter().filter_map(|index| columns.get(*index));
        hash_rows(hashed.map(|column| column.as_ref() as &dyn Array), each)
    }
}

fn is_of_table(field: &Field) -> bool {
    field.metadata().contains_key("mysql.type")
}

/// The version of the format.
pub const CERTIFICATE_VERSION: u32 = 1;
