//! Reads inputs as rows that tests can compare.

use arrow_array::{Array, ArrayRef, Int64Array, RecordBatch, StringArray, cast::AsArray, types};
use arrow_cast::display::{ArrayFormatter, FormatOptions};
use arrow_schema::{DataType, TimeUnit};
use binarrow::Error;
use binarrow::cancel::CancelToken;
use binarrow::columnar::{ColumnNames, EnvelopeColumn, PlanOptions};
use binarrow::position::Position;
use binarrow::reader::{
    BatchLimits, ChangeBatch, DecodeOptions, Output, ReadOptions, Reader, SegmentDecoder, Stats,
    Tracker,
};
use binarrow::source::{InputFile, LogOptions, Segments, Split, Start, Stop, scan_splits};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

/// A row as a test compares it. Rows are ordered as in the log.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Row {
    pub(crate) version: i64,
    pub(crate) ordinal: i64,
    /// `database.table`
    pub(crate) table: Arc<str>,
    pub(crate) change: String,
    /// Microseconds since 1970.
    pub(crate) timestamp: i64,
    /// The offset of its rows event.
    pub(crate) position: i64,
    pub(crate) columns: Arc<[String]>,
    /// The table's own columns as text.
    pub(crate) cells: Vec<Option<String>>,
    /// The columns that the image contained, if `_present` was requested.
    pub(crate) present: Option<Vec<u8>>,
    /// The requested columns of [`DETAILS`], as text.
    pub(crate) details: Vec<Option<String>>,
}

/// Envelope columns that contain details of the commit and of the statement.
pub(crate) const DETAILS: [&str; 5] =
    ["_gtid", "_original_commit_timestamp", "_thread_id", "_xid", "_query"];

impl Row {
    /// Returns the cell of a column, by its name.
    pub(crate) fn cell(&self, column: &str) -> Option<&str> {
        let index = self.columns.iter().position(|name| name == column)?;
        self.cells[index].as_deref()
    }
}

/// The result of a read.
#[derive(Debug, Default)]
pub(crate) struct Outcome {
    /// In the order in which they were returned.
    pub(crate) rows: Vec<Row>,
    /// The number of rows up to the end of each batch, and its position.
    pub(crate) batches: Vec<(usize, Arc<Position>)>,
    pub(crate) error: Option<Error>,
    pub(crate) position: Option<Arc<Position>>,
    pub(crate) warnings: Vec<String>,
    pub(crate) stats: Stats,
}

impl Outcome {
    /// Checks that there was no error.
    pub(crate) fn ok(self) -> Self {
        if let Some(error) = &self.error {
            panic!("{error:?}");
        }
        self
    }

    /// Returns the error, which must exist.
    pub(crate) fn failure(&self) -> &Error {
        self.error.as_ref().expect("an error")
    }

    /// The rows of each table, in the order in which they were returned.
    pub(crate) fn by_table(&self) -> BTreeMap<Arc<str>, Vec<Row>> {
        by_table(&self.rows)
    }

    /// All rows in log order, as `insert d.t 1`.
    pub(crate) fn changes(&self) -> Vec<String> {
        let mut rows: Vec<&Row> = self.rows.iter().collect();
        rows.sort();
        rows.iter()
            .map(|row| {
                let id = row.cells[0].as_deref().unwrap_or("NULL");
                format!("{} {} {id}", row.change, row.table)
            })
            .collect()
    }

    /// The first column of all rows in log order; all must be inserts.
    pub(crate) fn inserted(&self) -> Vec<i32> {
        let mut rows: Vec<&Row> = self.rows.iter().collect();
        rows.sort();
        rows.iter()
            .map(|row| {
                assert_eq!(row.change, "insert");
                row.cells[0].as_deref().unwrap().parse().unwrap()
            })
            .collect()
    }

    pub(crate) fn offset(&self) -> u64 {
        self.position.as_ref().expect("a position").offset
    }
}

/// The rows by table; those of each table in the given order.
pub(crate) fn by_table(rows: &[Row]) -> BTreeMap<Arc<str>, Vec<Row>> {
    let mut tables: BTreeMap<Arc<str>, Vec<Row>> = BTreeMap::new();
    for row in rows {
        tables.entry(Arc::clone(&row.table)).or_default().push(row.clone());
    }
    tables
}

/// Options for all values of [`Row`]: one thread, and the names `@1` and so on if the log has none.
pub(crate) fn options() -> ReadOptions {
    let mut plan = PlanOptions { column_names: ColumnNames::Positional, ..PlanOptions::default() };
    plan.envelope.columns.push(EnvelopeColumn::BinlogPosition);
    ReadOptions {
        decode: DecodeOptions { plan, ..DecodeOptions::default() },
        threads: 1,
        ..ReadOptions::default()
    }
}

/// Options with segments of another size.
pub(crate) fn segments_of(bytes: usize) -> ReadOptions {
    let options = options();
    ReadOptions { cut: LogOptions { segment_bytes: bytes, ..options.cut }, ..options }
}

/// Options for a read between two places.
pub(crate) fn between(options: ReadOptions, start: Start, stop: Stop) -> ReadOptions {
    ReadOptions { cut: LogOptions { start, stop, ..options.cut }, ..options }
}

/// Options with batches of at most `rows` rows.
pub(crate) fn batches_of(rows: usize, options: ReadOptions) -> ReadOptions {
    let limits = BatchLimits { rows, ..options.decode.limits };
    ReadOptions { decode: DecodeOptions { limits, ..options.decode }, ..options }
}

/// Options for all rows, including those of transactions that did not commit.
pub(crate) fn emitting(options: ReadOptions) -> ReadOptions {
    ReadOptions {
        cut: LogOptions { emit_uncommitted: true, ..options.cut },
        decode: DecodeOptions { emit_uncommitted: true, ..options.decode },
        ..options
    }
}

/// A start at a position.
pub(crate) fn from(position: &Position) -> Start {
    Start::Position(Box::new(position.clone()))
}

/// A stop at a position.
pub(crate) fn up_to(position: &Position) -> Stop {
    Stop::Position(Box::new(position.clone()))
}

/// A file of the file system.
pub(crate) fn local(path: &str, place: u64) -> InputFile {
    InputFile::at_path(path, place)
}

/// The ranges of one file.
pub(crate) fn split_file(
    path: &Path,
    place: u64,
    target_bytes: u64,
) -> binarrow::Result<Vec<Split>> {
    let path = path.to_str().unwrap();
    scan_splits((local(path, place), path), place, target_bytes, true, &CancelToken::default())
}

/// Reads with a [`Reader`], on its threads.
pub(crate) fn read(files: Vec<InputFile>, options: ReadOptions) -> Outcome {
    let mut outcome = Outcome::default();
    let mut reader = match Reader::try_new(files, options) {
        Ok(reader) => reader,
        Err(error) => return Outcome { error: Some(error), ..outcome },
    };
    loop {
        match reader.next_batch() {
            Ok(Some(batch)) => outcome.take(&batch),
            Ok(None) => break,
            Err(error) => {
                outcome.error = Some(error);
                break;
            }
        }
    }
    assert!(reader.next_batch().unwrap().is_none(), "nothing comes after the end");
    outcome.position = reader.position().map(Arc::new);
    outcome.warnings = reader.take_warnings();
    outcome.stats = reader.stats().clone();
    outcome.check();
    outcome
}

/// Reads on this thread: this is cheap, and a panic does not become an error.
pub(crate) fn decode(files: Vec<InputFile>, options: &ReadOptions) -> Outcome {
    let mut outcome = Outcome::default();
    let mut decoder = SegmentDecoder::new(Arc::new(options.decode.clone()));
    let mut tracker = Tracker::default();
    let mut log = match Segments::try_new(files, options.cut.clone()) {
        Ok(log) => log,
        Err(error) => return Outcome { error: Some(error), ..outcome },
    };
    loop {
        let segment = match log.next_segment() {
            Ok(Some(segment)) => segment,
            Ok(None) => break,
            Err(error) => {
                outcome.error = Some(error);
                break;
            }
        };
        let decoded = decoder.decode(segment, &mut |output| {
            match output {
                Output::Batch(mut batch, reach) => {
                    let table = (Arc::clone(&batch.database), Arc::clone(&batch.table));
                    (batch.before, batch.progress) = tracker.deliver(table, reach);
                    outcome.take(&batch);
                }
                Output::Item(item) | Output::Note(item) => {
                    panic!("nothing was included, and {item:?} came")
                }
                Output::End { position, open, stats, warnings } => {
                    tracker.end(Arc::clone(&position), open);
                    outcome.position = Some(position);
                    outcome.stats.add(&stats);
                    outcome.warnings.extend(warnings);
                }
            }
            true
        });
        if let Err(error) = decoded {
            outcome.error = Some(error);
            break;
        }
    }
    outcome.check();
    outcome
}

impl Outcome {
    fn take(&mut self, batch: &ChangeBatch) {
        self.rows.extend(rows_of(batch));
        self.batches.push((self.rows.len(), Arc::new(batch.position())));
    }

    /// Checks conditions that apply to every read.
    fn check(&self) {
        for (table, rows) in self.by_table() {
            for pair in rows.windows(2) {
                let order = |row: &Row| (row.version, row.ordinal);
                assert!(order(&pair[0]) < order(&pair[1]), "{table}: {pair:#?}");
            }
        }
        for pair in self.batches.windows(2) {
            let order = pair[0].1.compare(&pair[1].1);
            assert!(order.is_none_or(|order| order.is_le()), "positions go back: {pair:?}");
        }
    }
}

/// The rows of one batch.
pub(crate) fn rows_of(change: &ChangeBatch) -> Vec<Row> {
    let batch = &change.batch;
    let schema = batch.schema();
    let names: Vec<String> = schema.fields().iter().map(|field| field.name().clone()).collect();
    let width = names.iter().position(|name| name == "_change_type").unwrap();
    let columns: Arc<[String]> = names[..width].into();
    let table: Arc<str> = format!("{}.{}", change.database, change.table).into();
    let options = FormatOptions::default();
    let cells: Vec<ArrayRef> = batch.columns()[..width].iter().map(without_zone).collect();
    let formatters: Vec<_> = cells
        .iter()
        .map(|column| ArrayFormatter::try_new(column.as_ref(), &options).unwrap())
        .collect();
    let change_types: &StringArray = named(batch, "_change_type").as_string();
    let timestamps = named(batch, "_commit_timestamp");
    let timestamps = timestamps.as_primitive::<types::TimestampMicrosecondType>();
    let [versions, ordinals, positions]: [&Int64Array; 3] =
        ["_commit_version", "_change_ordinal", "_binlog_position"]
            .map(|name| named(batch, name).as_primitive());
    let present = batch.column_by_name("_present").map(|column| column.as_binary::<i32>());
    let details: Vec<ArrayRef> =
        DETAILS.iter().filter_map(|name| batch.column_by_name(name)).map(without_zone).collect();
    let details: Vec<_> = details
        .iter()
        .map(|column| ArrayFormatter::try_new(column.as_ref(), &options).unwrap())
        .zip(&details)
        .collect();
    (0..batch.num_rows())
        .map(|row| Row {
            version: versions.value(row),
            ordinal: ordinals.value(row),
            table: Arc::clone(&table),
            change: change_types.value(row).to_owned(),
            timestamp: timestamps.value(row),
            position: positions.value(row),
            columns: Arc::clone(&columns),
            cells: formatters
                .iter()
                .zip(batch.columns())
                .map(|(format, column)| column.is_valid(row).then(|| format.value(row).to_string()))
                .collect(),
            present: present.map(|bits| bits.value(row).to_vec()),
            details: details
                .iter()
                .map(|(format, column)| {
                    let text = format.value(row).to_string();
                    (column.is_valid(row) && !text.is_empty()).then_some(text)
                })
                .collect(),
        })
        .collect()
}

/// Converts a column to one that can be printed: the printer does not support time zones, not even
/// UTC.
fn without_zone(column: &ArrayRef) -> ArrayRef {
    match column.data_type() {
        DataType::Timestamp(TimeUnit::Microsecond, Some(_)) => {
            let utc = column.as_primitive::<types::TimestampMicrosecondType>();
            Arc::new(utc.reinterpret_cast::<types::Int64Type>())
        }
        _ => Arc::clone(column),
    }
}

fn named<'b>(batch: &'b RecordBatch, column: &str) -> &'b dyn Array {
    batch.column_by_name(column).unwrap_or_else(|| panic!("no column {column}")).as_ref()
}
