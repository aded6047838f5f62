//! Builds the index of a file: its segments from one pass over its events, and their contents from another over its rows.

use super::batch::ChangeBatch;
use super::index_rule::{indexed_plan, is_integer, is_number, is_text};
use super::options::{DecodeOptions, ReadOptions};
use super::read::{Poll, Reader};
use super::unlogged_changes::{Reaction, UnloggedChanges};
use crate::binlog::TableMap;
use crate::cancel::CancelToken;
use crate::columnar::{Envelope, EnvelopeColumn, InvalidText, PlanOptions, TablePlan};
use crate::error::{Error, ErrorKind, Result};
use crate::index::{
    Binding, ColumnContent, Index, IndexedSegment, IndexedTable, fit, hash_of_bytes,
    hash_of_integer,
};
use crate::source::{InputFile, LogOptions, PlainLog, PlainSegment, plain_segments};
use arrow_array::cast::AsArray;
use arrow_array::types::{
    Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrowPrimitiveType};
use arrow_schema::DataType;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

/// The approximate size of a segment.
pub const INDEX_SEGMENT_BYTES: u64 = 1 << 20;

/// An index has at most this part of the size of its log.
const SHARE: u64 = 200;

/// The size that an index may have in any case.
const LEAST_SIZE: u64 = 4096;

/// Builds the index of a file, with parts of about a size, and at most another size. `open` returns the file, which is read
/// twice.
///
/// # Errors
/// The file cannot be read, a server may still write to it, or the index would be too large.
pub fn build_index(
    open: &dyn Fn() -> InputFile,
    (segment_bytes, most_bytes): (u64, Option<u64>),
    cancel: &CancelToken,
) -> Result<Index> {
    let log = plain_segments(open(), segment_bytes, cancel)?;
    if !log.is_closed {
        return Err(Error::unsupported(
            "the log has no end (a Rotate or Stop event): a server may still write to it, and an index is of a complete file",
        ));
    }
    let most_bytes = most_bytes.unwrap_or_else(|| (log.bytes / SHARE).max(LEAST_SIZE));
    let binding = Binding { log_bytes: log.bytes, segment_bytes, most_bytes, ..Binding::default() };
    let binding = open().binding(binding)?.ok_or_else(|| {
        Error::unsupported("the size of the file is not known, so that no index can be bound to it")
    })?;
    let mut contents = Contents::new(&log);
    contents.read(open(), cancel)?;
    let tables = contents.tables;
    let PlainLog { segments, maps, .. } = log;
    let (segments, columns) = joined(segments, tables);
    fit(Index { binding, maps, segments }, &columns)
}

/// The numbers of tables by database and name; `None` if there are two structures of the table.
type TableNumbers = HashMap<(Arc<str>, Arc<str>), Option<usize>>;

/// The contents of tables in segments.
struct Contents<'l> {
    log: &'l PlainLog,
    /// For each segment, the numbers of its tables.
    names: Vec<TableNumbers>,
    tables: Vec<Vec<TableContent>>,
}

#[derive(Default, Clone)]
struct TableContent {
    inserts: u64,
    updates: u64,
    deletes: u64,
    columns: Vec<ColumnContent>,
}

impl<'l> Contents<'l> {
    fn new(log: &'l PlainLog) -> Self {
        let names = log.segments.iter().map(|segment| names_of(segment, log)).collect();
        let empty = |segment: &PlainSegment| vec![TableContent::default(); segment.tables.len()];
        Self { log, names, tables: log.segments.iter().map(empty).collect() }
    }

    fn read(&mut self, file: InputFile, cancel: &CancelToken) -> Result<()> {
        let mut plan = PlanOptions {
            envelope: Envelope {
                columns: vec![EnvelopeColumn::ChangeType, EnvelopeColumn::BinlogPosition],
                prefix: PREFIX.to_owned(),
            },
            ..indexed_plan()
        };
        plan.types.invalid_text = InvalidText::Replace;
        let unlogged =
            UnloggedChanges { asked: Some(Reaction::Ignore), ..UnloggedChanges::default() };
        let options = ReadOptions {
            cut: LogOptions { skip_statements: true, ..LogOptions::default() },
            decode: DecodeOptions { plan, unlogged, ..DecodeOptions::default() },
            ..ReadOptions::default()
        };
        let mut reader = Reader::try_new(vec![file], options)?;
        loop {
            match reader.poll(ASK_AGAIN)? {
                Poll::Batch(batch) => self.add(&batch)?,
                Poll::End => return Ok(()),
                Poll::Pending | Poll::Item(_) => cancel.check()?,
            }
        }
    }

    /// Adds the rows of a batch to the segments that contain them.
    fn add(&mut self, batch: &ChangeBatch) -> Result<()> {
        let other = || Error::new(ErrorKind::Internal, "a batch has no columns of the envelope");
        let envelope = |name: &str| batch.batch.column_by_name(&format!("{PREFIX}{name}"));
        let places =
            envelope("binlog_position").and_then(|places| places.as_primitive_opt::<Int64Type>());
        let places = places.ok_or_else(other)?;
        let kinds = envelope("change_type").and_then(|kinds| kinds.as_string_opt::<i32>());
        let kinds = kinds.ok_or_else(other)?;
        let key = (Arc::clone(&batch.database), Arc::clone(&batch.table));
        let mut from = 0;
        while from < places.len() {
            let segment = self.segment_at(places.value(from) as u64);
            let upto = (from..places.len())
                .find(|row| self.segment_at(places.value(*row) as u64) != segment)
                .unwrap_or(places.len());
            if let Some(segment) = segment
                && let Some(Some(table)) = self.names.get(segment).and_then(|names| names.get(&key))
                && let Some(content) =
                    self.tables.get_mut(segment).and_then(|tables| tables.get_mut(*table))
            {
                for row in from..upto {
                    match kinds.value(row) {
                        "insert" => content.inserts += 1,
                        "update_postimage" => content.updates += 1,
                        "delete" => content.deletes += 1,
                        _ => {}
                    }
                }
                content.add_columns(batch, from..upto);
            }
            from = upto;
        }
        Ok(())
    }

    fn segment_at(&self, offset: u64) -> Option<usize> {
        let segments = &self.log.segments;
        let after = segments.partition_point(|segment| segment.range.start <= offset);
        let number = after.checked_sub(1)?;
        segments.get(number).filter(|segment| offset < segment.range.end).map(|_| number)
    }
}

/// The segments of an index, and the contents of their columns.
fn joined(
    segments: Vec<PlainSegment>,
    contents_of: Vec<Vec<TableContent>>,
) -> (Vec<IndexedSegment>, Vec<Vec<Vec<ColumnContent>>>) {
    let mut contents = Vec::new();
    let mut indexed = Vec::new();
    for (segment, tables) in segments.into_iter().zip(contents_of) {
        let mut columns = Vec::new();
        let mut found = Vec::new();
        for (table, mut content) in segment.tables.iter().zip(tables) {
            content.columns.iter_mut().for_each(|column| {
                column.hashes.sort_unstable();
                column.hashes.dedup();
            });
            // A column that an image leaves out makes every condition on it an error.
            columns.push(match table.has_full_images {
                true => content.columns,
                false => Vec::new(),
            });
            found.push(IndexedTable {
                map: table.map,
                inserts: content.inserts,
                updates: content.updates,
                deletes: content.deletes,
                columns: Vec::new(),
            });
        }
        contents.push(columns);
        let PlainSegment { range, may_lack_changes, times, gtids, .. } = segment;
        indexed.push(IndexedSegment { range, may_lack_changes, times, gtids, tables: found });
    }
    (indexed, contents)
}

fn names_of(segment: &PlainSegment, log: &PlainLog) -> TableNumbers {
    let mut names = TableNumbers::new();
    for (number, table) in segment.tables.iter().enumerate() {
        let map = log.maps.get(table.map).and_then(|map| TableMap::decode(map, 0).ok());
        let Some(map) = map else { continue };
        let name = |bytes| Arc::from(&*String::from_utf8_lossy(bytes));
        names
            .entry((name(map.database), name(map.table)))
            .and_modify(|known| *known = None)
            .or_insert(Some(number));
    }
    names
}

impl TableContent {
    fn add_columns(&mut self, batch: &ChangeBatch, rows: std::ops::Range<usize>) {
        if self.columns.is_empty() {
            self.columns = chosen_columns(&batch.plan);
        }
        for content in &mut self.columns {
            if let Some(array) = batch.batch.columns().get(content.column) {
                add_values(content, array, rows.clone());
            }
        }
    }
}

/// The columns of a table that are indexed: those of the key, otherwise the first one, and others with integers.
fn chosen_columns(plan: &TablePlan) -> Vec<ColumnContent> {
    let keys: Vec<usize> = match plan.table.primary_key.as_slice() {
        [] => vec![0],
        parts => parts.iter().map(|part| part.column).collect(),
    };
    let mut chosen: Vec<ColumnContent> = Vec::new();
    for (number, column) in plan.table.columns.iter().enumerate() {
        let is_key = keys.contains(&number);
        let is_number = is_integer(column)
            && plan.fields.get(number).is_some_and(|field| is_number(field.data_type()));
        let is_text = is_text(column)
            && plan.fields.get(number).is_some_and(|field| *field.data_type() == DataType::Utf8);
        if (is_number && (is_key || chosen.len() < MOST_COLUMNS)) || (is_text && is_key) {
            let range = is_number.then_some(None);
            chosen.push(ColumnContent { column: number, is_key, range, hashes: Vec::new() });
        }
    }
    chosen
}

fn add_values(content: &mut ColumnContent, array: &dyn Array, rows: std::ops::Range<usize>) {
    match array.data_type() {
        DataType::Int8 => add_integers::<Int8Type>(content, array, rows),
        DataType::Int16 => add_integers::<Int16Type>(content, array, rows),
        DataType::Int32 => add_integers::<Int32Type>(content, array, rows),
        DataType::Int64 => add_integers::<Int64Type>(content, array, rows),
        DataType::UInt8 => add_integers::<UInt8Type>(content, array, rows),
        DataType::UInt16 => add_integers::<UInt16Type>(content, array, rows),
        DataType::UInt32 => add_integers::<UInt32Type>(content, array, rows),
        DataType::UInt64 => add_integers::<UInt64Type>(content, array, rows),
        DataType::Utf8 => {
            if let Some(array) = array.as_string_opt::<i32>() {
                let valid = rows.filter(|row| array.is_valid(*row));
                content.hashes.extend(valid.map(|row| hash_of_bytes(array.value(row).as_bytes())));
            }
        }
        _ => {}
    }
}

fn add_integers<T>(content: &mut ColumnContent, array: &dyn Array, rows: std::ops::Range<usize>)
where
    T: ArrowPrimitiveType,
    T::Native: Into<i128>,
{
    let Some(array) = array.as_primitive_opt::<T>() else { return };
    for row in rows.filter(|row| array.is_valid(*row)) {
        let value: i128 = array.value(row).into();
        if let Some(range) = &mut content.range {
            let (least, most) = range.unwrap_or((value, value));
            *range = Some((least.min(value), most.max(value)));
        }
        if content.is_key {
            content.hashes.push(hash_of_integer(value));
        }
    }
}

/// The prefix of the envelope, which no table's column has.
const PREFIX: &str = "\u{1}";

/// The number of columns of a table of which ranges are stored, besides those of its key.
const MOST_COLUMNS: usize = 8;

/// The time between two checks of the token.
const ASK_AGAIN: Duration = Duration::from_millis(50);
